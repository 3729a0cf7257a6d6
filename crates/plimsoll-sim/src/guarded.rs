//! A service behind a guard: the admission that protects real services, played against kinds of services.
//!
//! Unlike the [`Simulator`](crate::Simulator), which plays levels for a search, this plays clients that leave, retry and
//! belong to classes and tenants, and counts what a guard is for: goodput against the service's peak.

mod peak;
mod play;
mod service;
mod upstream;
mod work;

pub use peak::peak;
pub use play::{Clients, Fared, Plan, Played, play};
pub use upstream::{Drift, Shape, Upstream};

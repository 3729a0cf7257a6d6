//! Plays a system of queues on a virtual clock and writes the same windows as a real run.
//!
//! Deterministic: integer nanoseconds, ties broken by sequence number, one random stream per
//! entity. The same model and seed give the same windows on every platform.

mod arena;
mod attempts;
mod calendar;
mod conditions;
mod door;
pub mod guarded;
mod meter;
pub mod model;
mod service;
mod simulator;
mod station;

pub use model::{Model, ModelError, ServiceTime};
pub use simulator::Simulator;

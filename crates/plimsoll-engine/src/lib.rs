//! Executes a plan on isolated per-core workers and measures honestly.
//!
//! Hot path: [`EngineRunner`] sends a level to every worker; `worker.rs` turns the loop; `source.rs` says what is due;
//! `requests.rs` starts and ends attempts on the connections of `pool.rs`; `recorder.rs` counts them. For a script,
//! `scripted/` has virtual users in the place of `requests.rs`, for a workload `sessions.rs` has sessions of a driver, and
//! all else is the same. Workers share nothing but two
//! mailboxes.

mod crew;
mod disturbance;
pub mod echo;
mod gather;
mod message;
mod options;
mod pool;
pub mod preflight;
mod recorder;
mod requests;
mod runner;
pub mod scripted;
pub mod sessions;
mod source;
mod template;
mod worker;

pub use crew::CrewError;
pub use options::{Options, OptionsError, Origin, Places};
pub use recorder::Listed;
pub use runner::EngineRunner;
pub use template::{Rows, check_templates};

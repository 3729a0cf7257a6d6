//! Executes a plan on isolated per-core workers and measures honestly.
//!
//! Hot path: [`EngineRunner`] sends a level to every worker; `worker.rs` turns the loop;
//! `attempts.rs` starts and ends attempts; `recorder.rs` counts them. Workers share nothing but two
//! mailboxes.

mod arrival;
mod attempts;
mod crew;
pub mod echo;
mod gather;
mod message;
mod options;
pub mod preflight;
mod recorder;
mod runner;
pub mod scripted;
mod shared;
mod slots;
mod worker;

pub use crew::CrewError;
pub use options::Options;
pub use runner::EngineRunner;

//! Executes a script: virtual users on isolated per-core workers, each with an engine of its own.
//!
//! Reading path: [`ScriptRunner`] starts the workers and merges their windows; `users.rs` is what a worker's loop drives;
//! `play.rs` does what the executors ask and `levels.rs` what a search asks; `calls.rs` carries requests between virtual
//! users and `client.rs`, which puts them on connections of the engine's pool.

mod calls;
mod checks;
mod client;
mod counts;
mod exchange;
mod host;
mod levels;
mod named;
mod names;
mod play;
mod resolver;
mod run;
mod script;
mod search;
mod shared;
mod users;
mod vus;

pub use crate::message::{LogLine, Reached};
pub use counts::LevelCounts;
pub use names::{Family, Naming, Select};
pub use resolver::Lookup;
pub use run::{ScriptEnd, ScriptError, ScriptRunner, Tick, Watcher};
pub use script::{HttpDebug, Script, Seating};
pub use search::MeanIteration;

//! Runs k6-style JavaScript whose calls suspend the virtual user.
//!
//! No socket is opened and no clock is read here: a [`Suspension`] goes out, a [`Resumption`] comes back, and a [`Host`]
//! takes samples and log lines. Files are read through [`Sources`], only while a program is loaded.

mod error;
mod hex;
pub mod host;
pub mod http;
mod imports;
mod init;
mod iteration;
mod loader;
mod modules;
mod natives;
mod program;
mod raw;
mod realm;
mod rejections;
mod resolve;
mod runtime;
mod settings;
mod source;
mod sources;
pub mod tags;
mod thrown;
mod timers;
mod turn;
mod typescript;
mod vu;
mod vu_state;

pub use error::{Position, ScriptError};
pub use host::Host;
pub use program::{Load, Program};
pub use runtime::Runtime;
pub use settings::{Limits, Secrets, Settings, SystemTags};
pub use sources::{Disk, Memory, Sources};
pub use tags::{TagSetId, TagTable};
pub use turn::{End, Iteration, Resumption, Scenario, Suspension, Thrown};
pub use vu::Vu;

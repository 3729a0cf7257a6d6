//! What the lab orders and what the guardian says: one JSON document per line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_core::record::FaultKind;
use rustix::process::{Signal, WaitStatus};
use serde::{Deserialize, Serialize};

use crate::LabError;

/// What the lab wants done.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub(crate) enum Request {
    Start(Order),
    /// Do that to an instance so much later.
    Fault {
        id: String,
        after_ms: u64,
        what: FaultKind,
    },
}

/// Start one instance of a tier.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Name of the instance.
    pub(crate) id: String,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// Working folder.
    pub(crate) folder: PathBuf,
    /// Gets what it prints.
    pub(crate) log: PathBuf,
    /// Cores that it may use.
    pub(crate) cpu: Option<f64>,
    pub(crate) memory_bytes: Option<u64>,
    /// Where it goes if there is no quota to be had.
    pub(crate) cores: Vec<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "said")]
pub(crate) enum Reply {
    Started {
        id: String,
        pid: u32,
        /// How it is kept to its share, in words.
        isolation: String,
    },
    Refused {
        id: String,
        reason: String,
    },
    /// It will be done.
    Armed {
        id: String,
    },
    /// It was done as asked.
    Done {
        id: String,
        what: FaultKind,
    },
    /// A tier's own process is gone.
    Ended {
        id: String,
        how: String,
    },
}

/// `ended with exit code 1`, `was ended by signal 9 (SIGKILL)`.
pub(super) fn how(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => {
            let name = [
                (Signal::KILL, " (SIGKILL)"),
                (Signal::TERM, " (SIGTERM)"),
                (Signal::SEGV, " (SIGSEGV)"),
                (Signal::ABORT, " (SIGABRT)"),
            ];
            let name = name.iter().find(|(known, _)| known.as_raw() == signal);
            format!(
                "was ended by signal {signal}{}",
                name.map_or("", |(_, name)| *name)
            )
        }
        (None, None) => "ended".to_owned(),
    }
}

/// Goes into the tier's log, which its standard error is.
#[expect(
    clippy::print_stderr,
    reason = "the log of a tier that cannot be started"
)]
pub(super) fn complain(error: &LabError) {
    eprintln!("plimsoll: {error}");
}

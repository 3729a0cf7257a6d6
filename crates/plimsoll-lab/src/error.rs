//! What can go wrong before a service listens, each with the operand and the way out.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use plimsoll_core::Nanos;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum LabError {
    #[error("no service is called {name:?}{hint} `--list` shows them all", hint = suggestion(*.nearest))]
    UnknownService {
        name: String,
        nearest: Option<&'static str>,
    },
    #[error("{service} has no parameter {name:?}{hint} it has {known}", hint = suggestion(*.nearest))]
    UnknownParameter {
        service: &'static str,
        name: String,
        nearest: Option<&'static str>,
        known: String,
    },
    #[error("{name}={value} is outside {low} to {high}{unit}")]
    ParameterRange {
        name: &'static str,
        value: f64,
        low: f64,
        high: f64,
        unit: &'static str,
    },
    #[error("{name}={value} is not a whole number")]
    ParameterWhole { name: &'static str, value: f64 },
    #[error("{service} forwards to another service: name it with --upstream HOST:PORT")]
    UpstreamMissing { service: &'static str },
    #[error("{service} needs two services: --upstream LIST --upstream DATABASE")]
    UpstreamsTwo { service: &'static str },
    #[error("cannot listen on {address}: {source}{hint}", hint = listen_hint(.source))]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("core {core} is not one of the {allowed} that this process may use")]
    Core { core: usize, allowed: String },
    #[error("no CPU quota can be set here: {reason}; use --healthy, or run as root")]
    Quota { reason: String },
    #[error(
        "{folder} is not on a disk (one fsync took {micros:.1} µs); choose a folder with --dir"
    )]
    NoDisk { folder: String, micros: f64 },
    #[error("helper {name} did not start: {reason}")]
    Helper { name: &'static str, reason: String },
    #[error("cannot {action}: {source}")]
    Io {
        /// A verb phrase: `write to /var/tmp/x`.
        action: String,
        source: io::Error,
    },
    #[error("{place}: {problem}")]
    Experiment {
        /// File and line.
        place: String,
        problem: String,
    },
    #[error(
        "--real: {} has no real.toml: leave --real out to play it on embedded tiers, or write one (docs/lab.md, Real tiers)",
        shown_folder(.folder)
    )]
    NoReal { folder: PathBuf },
    #[error("--only {name}: there is no such variant{hint} (there are {known})")]
    NoVariant {
        name: String,
        hint: String,
        known: String,
    },
    #[error("tiers.{tier}: {problem}")]
    Tier { tier: String, problem: String },
    #[error(
        "tiers.{tier}.port: {port} on 127.0.0.1 cannot be had: {source}; end what listens there, or leave `port` out for a free one"
    )]
    Port {
        tier: String,
        port: u16,
        source: io::Error,
    },
    #[error(
        "variant `{variant}` asks for {asked} cores ({shares}) and this machine has {cores}: lower `cpu` of its tiers, their `instances`, or `cpu` of [test]"
    )]
    TooSmall {
        variant: String,
        /// Every share by name.
        shares: String,
        asked: f64,
        cores: usize,
    },
    #[error("tier {tier} {how}{}\n  {fix}", words(.said))]
    TierDied {
        tier: String,
        /// `ended with exit code 1 before it was ready`
        how: String,
        /// The last lines of its log, indented.
        said: String,
        fix: String,
    },
    #[error("tier {tier} was not ready within {within}: {what}{}\n  {fix}", words(.said))]
    NotReady {
        tier: String,
        within: Nanos,
        what: String,
        said: String,
        fix: String,
    },
    #[error("test.{key}: {problem}")]
    Look { key: String, problem: String },
    #[error("memory cannot be limited here: {reason}; leave `memory` out, or run as root")]
    Confine { reason: String },
    #[error("lab-launch and lab-guardian belong to plimsoll lab; start that instead")]
    Launch,
    #[error("stopped while a tier was started")]
    Stopped,
}

impl LabError {
    /// True when the command line is at fault rather than the machine.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownService { .. }
                | Self::UnknownParameter { .. }
                | Self::ParameterRange { .. }
                | Self::ParameterWhole { .. }
                | Self::UpstreamMissing { .. }
                | Self::UpstreamsTwo { .. }
                | Self::Core { .. }
        )
    }

    /// True when a tier that was to run did not, rather than the file that describes it.
    pub fn is_of_running_tier(&self) -> bool {
        matches!(self, Self::TierDied { .. } | Self::NotReady { .. })
    }

    pub(crate) fn tier(tier: &str, problem: impl Into<String>) -> Self {
        Self::Tier {
            tier: tier.to_owned(),
            problem: problem.into(),
        }
    }

    /// What a test wants looked at cannot be.
    pub(crate) fn look(key: &str, problem: impl Into<String>) -> Self {
        Self::Look {
            key: key.to_owned(),
            problem: problem.into(),
        }
    }

    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        |source| Self::Io { action, source }
    }
}

fn suggestion(name: Option<&'static str>) -> String {
    name.map_or_else(
        || ";".to_owned(),
        |name| format!("; did you mean {name:?}?"),
    )
}

/// The working folder has no name of its own.
fn shown_folder(folder: &Path) -> String {
    if folder.as_os_str().is_empty() {
        "this folder".to_owned()
    } else {
        folder.display().to_string()
    }
}

/// The last lines of a log as part of a sentence.
fn words(said: &str) -> String {
    if said.is_empty() {
        "; it printed nothing".to_owned()
    } else {
        format!("; its last words:\n{}", said.trim_end())
    }
}

fn listen_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "; choose another with --port, 0 takes a free one",
        io::ErrorKind::PermissionDenied => "; ports below 1024 need root",
        io::ErrorKind::AddrNotAvailable => "; --host must be an address of this machine",
        _ => "",
    }
}

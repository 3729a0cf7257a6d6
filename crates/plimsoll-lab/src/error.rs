//! What can go wrong before a service listens, each with the operand and the way out.

use std::io;
use std::net::SocketAddr;

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
    #[error("the shop's store at {path} failed: {source}")]
    Store {
        path: String,
        source: Box<redb::Error>,
    },
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

fn listen_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "; choose another with --port, 0 takes a free one",
        io::ErrorKind::PermissionDenied => "; ports below 1024 need root",
        io::ErrorKind::AddrNotAvailable => "; --host must be an address of this machine",
        _ => "",
    }
}

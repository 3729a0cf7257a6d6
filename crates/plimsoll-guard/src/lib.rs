//! Admits, queues, sheds and forwards: a proxy that keeps a service alive under any load.
//!
//! One thread, one upstream, HTTP/1.1 and HTTP/2 for clients. [`run`] serves until a signal asks it to stop.

mod access;
mod admin;
mod alarm;
mod client;
mod connection;
mod counts;
mod dial;
mod exchange;
mod flood;
mod gate;
mod http1;
mod http2;
mod incoming;
mod listener;
mod metrics;
mod outside;
mod pool;
mod refusal;
mod relay;
mod request;
mod scratch;
mod server;
mod shared;
mod side;
mod signals;
mod wire;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_net::tls::TlsError;
use thiserror::Error;

pub use access::{AccessLogConfig, LogTo};
pub use dial::{Dial, Place};
pub use listener::Certificate;
pub use server::run;

/// What is chosen at the start. Everything else is learned.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: Place,
    /// TLS on the listener; none: it speaks plainly.
    pub certificates: Vec<Certificate>,
    /// Clients may speak HTTP/2: by ALPN in TLS, by prior knowledge without.
    pub http2: bool,
    pub upstream: Dial,
    /// Metrics, readiness and `explain`.
    pub admin: Option<SocketAddr>,
    pub rule: Rule,
    /// Header that says how important a request is, set by somebody who may be trusted.
    pub class_header: Option<String>,
    /// Header that says whose request it is; without it that is the client's address.
    pub tenant_header: Option<String>,
    /// More connections than this are refused.
    pub connections_max: usize,
    /// How long requests under way may take after the signal to stop.
    pub drain: Duration,
    /// A stream of events or a tunnel in which nothing moves for so long is ended.
    pub stream_idle: Duration,
    pub access_log: Option<AccessLogConfig>,
}

/// Where it listens: port 0 has become a real one.
#[derive(Debug, Clone)]
pub struct Listening {
    pub proxy: Place,
    pub admin: Option<SocketAddr>,
}

#[derive(Debug, Error)]
pub enum GuardError {
    #[error("cannot listen on {place}: {source}; choose another with {flag}")]
    Listen {
        place: Place,
        flag: &'static str,
        source: std::io::Error,
    },
    #[error("cannot read the certificate or key {}: {source}", path.display())]
    CertificateFile {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot use the certificate {}: {source}", path.display())]
    Certificate { path: PathBuf, source: TlsError },
    #[error("cannot write the access log {}: {source}", path.display())]
    AccessLog {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot {what}: {source}")]
    Io {
        what: &'static str,
        source: std::io::Error,
    },
}

impl GuardError {
    fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

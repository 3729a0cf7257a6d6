//! Admits, queues, sheds, balances and forwards: a proxy that keeps a service alive under any load.
//!
//! One thread. [`run`] serves until a signal asks it to stop; [`settings`] reads what it is told from a file.

mod access;
mod admin;
mod alarm;
mod check;
mod client;
mod config;
mod connection;
mod counts;
mod dial;
mod digits;
mod enter;
mod exchange;
mod flood;
mod gate;
mod http1;
mod http2;
mod incoming;
mod keep;
mod listener;
mod metrics;
mod outside;
mod policy;
mod pool;
mod refusal;
mod relay;
mod repeats;
mod request;
mod said;
mod scratch;
mod server;
pub mod settings;
mod shared;
mod side;
mod told;
mod trust;
mod upstreams;
mod wire;

use std::net::SocketAddr;
use std::path::PathBuf;

use plimsoll_net::tls::TlsError;
use thiserror::Error;

pub use check::check;
pub use config::{
    AccessLogConfig, Certificate, Check, ClassRule, Config, Group, Listener, LogTo, Match, Origin,
    Retries, Route, Scheme, Start, TenantKey, Timeouts,
};
pub use dial::Place;
pub use server::{Host, run};
pub use trust::Network;

/// Where it listens: port 0 has become a real one.
#[derive(Debug, Clone)]
pub struct Listening {
    /// In the order of the listeners.
    pub proxies: Vec<Place>,
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
    #[error(
        "{sockets} sockets were passed (LISTEN_FDS) for {listeners} listeners: each place of `listen` takes one, in their order; \
         write as many as there are sockets"
    )]
    Passed { sockets: usize, listeners: usize },
    #[error("cannot listen on the socket that was passed as number {number}: {source}")]
    PassedSocket {
        number: usize,
        source: std::io::Error,
    },
    #[error(
        "the upstream `{origin}` has no address: {source}; write HOST:PORT as this host can resolve it"
    )]
    Resolve {
        origin: String,
        source: std::io::Error,
    },
    #[error("cannot read {what} {}: {source}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot use {what} {}: {source}", path.display())]
    Certificate {
        what: &'static str,
        path: PathBuf,
        source: TlsError,
    },
    #[error("cannot speak TLS to {origin}: {source}")]
    Secure { origin: String, source: TlsError },
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

//! Admits, queues, sheds, balances and forwards: a proxy that keeps a service alive under any load.
//!
//! One thread. [`run`] serves until a signal asks it to stop; [`settings`] reads what it is told from a file.

mod admin;
mod client;
mod config;
mod connection;
mod counts;
mod enter;
mod exchange;
mod gate;
mod incoming;
mod keep;
mod metrics;
mod policy;
mod pool;
mod refusal;
mod relay;
mod server;
pub mod settings;
mod shared;
mod upstreams;

use std::net::SocketAddr;

use thiserror::Error;

pub use config::{
    Check, ClassRule, Config, Group, Listener, Match, Origin, Retries, Route, Start, TenantKey,
    Timeouts,
};
pub use server::{Host, run};

/// Where it listens: port 0 has become a real one.
#[derive(Debug, Clone)]
pub struct Listening {
    /// In the order of the listeners.
    pub proxies: Vec<SocketAddr>,
    pub admin: Option<SocketAddr>,
}

#[derive(Debug, Error)]
pub enum GuardError {
    #[error("cannot listen on {address}: {source}; choose another with {flag}")]
    Listen {
        address: SocketAddr,
        flag: &'static str,
        source: std::io::Error,
    },
    #[error(
        "the upstream `{origin}` has no address: {source}; write HOST:PORT as this host can resolve it"
    )]
    Resolve {
        origin: String,
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

//! Admits, queues, sheds and forwards: a proxy that keeps a service alive under any load.
//!
//! One thread, one upstream, HTTP/1.1. [`run`] serves until a signal asks it to stop.

mod admin;
mod client;
mod connection;
mod counts;
mod exchange;
mod gate;
mod incoming;
mod metrics;
mod pool;
mod refusal;
mod relay;
mod server;
mod shared;

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use thiserror::Error;

pub use server::run;

/// What is chosen at the start. Everything else is learned.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    pub upstream: SocketAddr,
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
}

/// Where it listens: port 0 has become a real one.
#[derive(Debug, Clone, Copy)]
pub struct Listening {
    pub proxy: SocketAddr,
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

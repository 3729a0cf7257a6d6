//! The server: threads, sockets, and the way of a command from its bytes to its executor and back.

mod answer;
mod channel;
mod commands;
mod connection;
mod dispatch;
mod event_loop;
mod executors;
mod inbox;
mod layout;
mod letter;
mod own_thread;
mod placement;
mod pool;
mod session;
mod shared;
mod start;
mod stream;
mod tls;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::store::Durability;
pub use commands::listed;
pub use start::Server;

/// More shards than any machine here has cores for.
const SHARDS_MAX: usize = 256;

/// Who carries a command out, and who is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// The published design: a pool over one store, the deepest queue first, a commit per command.
    Shared,
    /// A thread and a store for each database.
    PerDatabase,
    /// An executor for each group of databases, fair among them, one commit per batch.
    Sharded,
}

impl Scheduler {
    pub const ALL: [Self; 3] = [Self::Sharded, Self::PerDatabase, Self::Shared];

    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::PerDatabase => "per-database",
            Self::Sharded => "sharded",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    /// A Unix socket beside the port.
    pub unix: Option<PathBuf>,
    /// Clients that come over TCP speak TLS, and no others are served there.
    pub tls: Option<TlsFiles>,
    pub data: PathBuf,
    pub durability: Durability,
    pub scheduler: Scheduler,
    /// `None`: what the directory has, or half of the cores for a new one.
    pub shards: Option<usize>,
    /// Clients must log in.
    pub auth: bool,
    /// Commands that wait per database; more are refused as retryable.
    pub queue: usize,
    pub connections: usize,
    /// For all shards together.
    pub cache_bytes: u64,
    /// What queries and clients hold together: cursors, sorts, groups, messages that came in part, replies that wait.
    pub memory_bytes: u64,
    /// Each fsync takes this much longer: shows group commit on a machine whose disk is fast.
    pub slow_fsync: Duration,
    /// Where warnings go, a line each.
    pub log: fn(&str),
}

/// PEM files; both may be the same one.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The server's own certificate first, then those that signed it.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: String,
        source: std::io::Error,
    },
    #[error("{path}: {source}", path = path.display())]
    Directory {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {problem}", path = path.display())]
    Tls { path: PathBuf, problem: String },
    #[error("{path}: not a layout that this version knows; use the version that wrote it, or another --data", path = path.display())]
    Layout { path: PathBuf },
    #[error("{path}: has files but none of DocDB; give an empty or new directory to --data", path = path.display())]
    NotOurs { path: PathBuf },
    #[error("{path}: was made with {found}; start it so, or give another --data", path = path.display())]
    OtherLayout { path: PathBuf, found: String },
    #[error("{path}: is a file; --data wants a folder", path = path.display())]
    NotAFolder { path: PathBuf },
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    #[error(transparent)]
    Users(#[from] crate::auth::UsersError),
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    #[error("the thread {0} ended by a fault of its own; what was acknowledged is on disk")]
    Died(String),
}

//! Drives databases through their official drivers on the engine's schedules and recorders.
//!
//! Reading path: `file.rs` reads a file, `asked.rs` makes a plan of what was asked for; `run.rs` plays it; `store.rs` fills the databases and looks at them
//! at the end; `host.rs` runs the sessions of a worker, `session.rs` is one of them, `keys.rs` knows which documents there
//! are, and `driver.rs` is what a store must be able to do.

mod asked;
#[cfg(feature = "cql")]
mod cql;
mod driver;
mod file;
mod host;
mod keys;
#[cfg(feature = "mongodb")]
mod mongo;
mod run;
mod sayings;
mod session;
mod store;
#[cfg(test)]
mod tests;
pub mod values;
mod wire;

use thiserror::Error;

pub use asked::{Asked, AskedClient, AskedLoad, PlanError};
pub use file::{HttpMix, MixRequest, WorkloadFile, loads_url};
pub use run::{Loaded, greet};
pub use store::{hosts, shown};

/// What can be wrong before, after or around a load; failures of operations are outcomes.
#[derive(Debug, Error)]
pub enum WorkloadError {
    #[error("`{0}` is no store that a workload knows: give mongodb://HOST:PORT or cql://HOST:PORT")]
    Scheme(String),
    #[error("{store}: {reason}; {fix}")]
    Unreachable {
        store: String,
        reason: String,
        fix: &'static str,
    },
    #[error("{doing} failed: {reason}")]
    Store { doing: String, reason: String },
    #[error("a worker ended without its books, so that nothing can be verified")]
    Lost,
    #[error("the event loop of the drivers cannot be made: {source}")]
    Runtime { source: std::io::Error },
}

impl WorkloadError {
    /// The store is to blame, and not what was asked for.
    pub fn is_of_store(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Store { .. })
    }
}

/// Which driver a URL needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    #[cfg(feature = "mongodb")]
    MongoDb,
    #[cfg(feature = "cql")]
    Cql,
}

impl StoreKind {
    /// Schemes that are known, each with what it belongs to.
    pub const SCHEMES: &[(&str, Self)] = &[
        #[cfg(feature = "mongodb")]
        ("mongodb", Self::MongoDb),
        #[cfg(feature = "cql")]
        ("cql", Self::Cql),
    ];

    /// A connection carries operations side by side, and what is stored has copies and a consistency.
    pub(crate) fn is_cql(self) -> bool {
        match self {
            #[cfg(feature = "mongodb")]
            Self::MongoDb => false,
            #[cfg(feature = "cql")]
            Self::Cql => true,
        }
    }

    pub fn of(store: &str) -> Result<Self, WorkloadError> {
        let scheme = store.split_once("://").map(|(scheme, _)| scheme);
        let mut known = Self::SCHEMES.iter();
        let found = known.find(|(known, _)| Some(*known) == scheme);
        let found = found.map(|(_, kind)| *kind);
        found.ok_or_else(|| WorkloadError::Scheme(shown(store)))
    }
}

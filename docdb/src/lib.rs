//! Stores and queries documents for real MongoDB drivers. [`server::Server::start`] is the one way in.
//!
//! From the socket inwards: `server` frames messages (`wire`) and finds the executor of a database, `scheduler` queues
//! and batches, `backend` and `command` carry one command out over a `shard`, `collection` keeps documents and their
//! indexes together, `store` makes a batch durable. `value`, `expression`, `query`, `update` and `aggregate` are pure:
//! documents in, documents out, nothing known of sockets or disks.

mod aggregate;
mod auth;
mod backend;
mod budget;
mod catalog;
mod collection;
mod command;
mod cursor;
mod elsewhere;
mod error;
mod expiry;
mod expression;
#[cfg(test)]
mod folder;
mod memory;
mod metrics;
mod query;
mod scheduler;
pub mod server;
mod shard;
mod spill;
mod store;
mod update;
mod value;
mod wire;

/// Parts for this workspace's tests, examples and fuzzer; no user of the database needs them.
pub mod internals {
    pub use crate::auth::ROLES;
    pub use crate::command::CommandKind;
    pub use crate::metrics::SPECS;
    pub use crate::scheduler::{Backend, Context, Step};
    pub use crate::wire::{HEADER_BYTES, Header, Request};

    /// The store alone, under the documents.
    pub mod store {
        pub use crate::store::{RealDisk, Shared, Space, Store, StoreError, StoreOptions};
    }

    /// One shard, without the server around it.
    pub mod shard {
        pub use crate::shard::{Shard, ShardOptions};
    }

    /// Bodies of fuzz targets: bytes in, what became of them out; they must not panic.
    pub mod hostile {
        pub use crate::aggregate::fuzz_pipeline;
        pub use crate::query::hostile::{WORDS, bson, filter, order};
        pub use crate::store::replay_hostile;
        pub use crate::update::fuzz_update;
        pub use crate::wire::read;
    }
}

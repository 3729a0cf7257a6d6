//! Stores and queries documents for real MongoDB drivers.
//!
//! From the socket inwards: `server` frames messages (`wire`) and finds the executor of a database,
//! `scheduler` queues and batches, `command` decodes one command, `collection` keeps documents and
//! their indexes together, `store` makes a batch durable. `value`, `query`, `update` and
//! `aggregate` are pure: documents in, documents out, nothing known of sockets or disks.

pub mod aggregate;
pub mod auth;
pub mod bson_writer;
pub mod catalog;
pub mod collection;
pub mod command;
pub mod cursor;
pub mod error;
mod expiry;
pub mod metrics;
pub mod query;
pub mod scheduler;
pub mod server;
pub mod shard;
pub mod store;
pub mod update;
pub mod value;
pub mod wire;

pub use error::{Code, CommandError};

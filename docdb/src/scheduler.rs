//! Queues commands per database, lets each database have its share, and commits what ran together once.
//!
//! Three arrangements on one binary, so that they can be compared: `sharded` (one executor per group of
//! databases, nothing shared), `per-database` (a thread and a journal each) and `shared` (the published design: a pool of
//! workers over one store, the deepest queue first).

mod census;
mod client;
mod deepest;
mod executor;
mod fair;
mod job;
mod operations;
mod pace;

pub(crate) use census::{Census, DatabaseSize};
pub(crate) use client::Client;
pub(crate) use deepest::DeepestQueue;
pub use executor::{Backend, Step};
pub(crate) use executor::{Executor, Interrupt, Limits};
pub(crate) use fair::FairQueue;
pub use job::Context;
pub(crate) use job::{Done, Job, RETRYABLE, Ticket, Work, queue_full, wall_time};
pub(crate) use operations::{Listed, Operations};

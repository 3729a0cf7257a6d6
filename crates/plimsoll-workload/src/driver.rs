//! What a driver must be able to do to be loaded: the operations of a mix on one database, and what surrounds a load.

use std::collections::BTreeMap;

use plimsoll_core::Outcome;
use plimsoll_core::test::Workload;

use crate::keys::Fate;

/// What the store said that an operation did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answer {
    /// Documents that were returned, stored, matched or removed.
    pub(crate) documents: u64,
    /// Of those documents.
    pub(crate) bytes: u64,
    /// The store only said that it had heard of it.
    pub(crate) is_unacknowledged: bool,
}

/// Why an operation did not come to its end.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) outcome: Outcome,
    /// The code of the store's error; zero without one.
    pub(crate) status: u16,
    /// Whether it was carried out all the same.
    pub(crate) fate: Fate,
    /// The store has that key already: of a second try the first was carried out.
    pub(crate) is_duplicate: bool,
    /// Another try might do.
    pub(crate) may_retry: bool,
    pub(crate) reason: String,
}

/// The place of one database in the plan of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seat<'a> {
    pub(crate) workload: &'a Workload,
    /// Among the databases of the plan.
    pub(crate) database: usize,
    /// Among the lanes of this worker, for the counters of its wire.
    pub(crate) lane: usize,
    /// Connections of its pool.
    pub(crate) connections: u32,
    /// Longest time that anything may take before the load.
    pub(crate) patience: std::time::Duration,
}

/// A pool of connections to one database. All of it lives on one thread.
pub(crate) trait Driver: Sized + 'static {
    /// Documents of one command while a database is filled, and how many such commands are under way.
    const FILL_BATCH: u32 = 500;
    const FILLERS: u32 = 4;

    /// Opens the pool, and every connection of it.
    async fn open(seat: Seat<'_>) -> Result<Self, Failure>;

    /// An operation that its caller gives up must be polled to its end all the same.
    fn must_finish(&self) -> bool {
        false
    }

    async fn read(&self, keys: &[u32]) -> Result<Answer, Failure>;
    async fn insert(&self, keys: &[u32]) -> Result<Answer, Failure>;
    /// Writes the documents anew, and counts their updates up by one.
    async fn update(&self, keys: &[u32]) -> Result<Answer, Failure>;
    async fn delete(&self, keys: &[u32]) -> Result<Answer, Failure>;

    /// Removes the database with everything in it.
    async fn clear(&self) -> Result<(), Failure>;
    /// Makes ready for documents what must be there before them.
    async fn prepare(&self) -> Result<(), Failure>;
    /// Every document: its key, and how often it was updated.
    async fn stored(&self) -> Result<BTreeMap<i64, i64>, Failure>;
}

//! Counters of one store for metrics; all since it was opened unless said otherwise.

use plimsoll_base::Nanos;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Batches committed, operations in them, and the largest batch in operations.
    pub batches: u64,
    pub operations: u64,
    pub(crate) largest_batch: u64,
    /// Syncs of the journal for a batch or an interval, how long they took together and at most.
    pub(crate) syncs: u64,
    pub(crate) sync_time: Nanos,
    pub(crate) longest_sync: Nanos,
    /// Bytes appended to the journal.
    pub(crate) journal_bytes: u64,
    /// Journal segments on disk now.
    pub(crate) segments: u64,
    /// Bytes in memtables now, those being flushed included.
    pub memtable_bytes: u64,
    /// Bytes in table files now.
    pub(crate) table_bytes: u64,
    pub tables: u64,
    pub flushes: u64,
    pub compactions: u64,
    /// Commits that waited because flushing or compaction was behind, and how long together.
    pub stalls: u64,
    pub(crate) stall_time: Nanos,
    /// How long opening took, and what was replayed then.
    pub(crate) open_time: Nanos,
    pub(crate) replayed_batches: u64,
    pub(crate) replayed_operations: u64,
}

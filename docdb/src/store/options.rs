//! What a store is opened with.

use std::fmt;
use std::sync::Arc;

use super::background::Shared;
use super::disk::{Disk, RealDisk};

/// When a batch is on the disk for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Before `commit` returns.
    Always,
    /// When `sync` returns, which the executor calls at least every so many milliseconds.
    Interval(u64),
}

impl fmt::Display for Durability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => write!(out, "always"),
            Self::Interval(milliseconds) => write!(out, "interval={milliseconds}ms"),
        }
    }
}

#[derive(Debug, Clone)]
pub struct StoreOptions {
    pub durability: Durability,
    /// What the memtables of this store may hold in bytes, those being flushed included.
    pub memtable_bytes: u64,
    /// Size of a journal segment in bytes; a larger batch gets a segment of its own.
    pub segment_bytes: u64,
    /// Cache of table blocks, open files and background threads, shared by the stores of a process.
    pub shared: Arc<Shared>,
    /// Where the store is kept; tests put faults in here.
    pub disk: Arc<dyn Disk>,
}

impl StoreOptions {
    pub(crate) const DEFAULT_MEMTABLE_BYTES: u64 = 64 << 20;
    pub(crate) const DEFAULT_CACHE_BYTES: u64 = 64 << 20;
    /// Large enough that creating one is rare, small enough that two of them are no burden.
    pub(crate) const DEFAULT_SEGMENT_BYTES: u64 = 32 << 20;

    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            durability: Durability::Always,
            memtable_bytes: Self::DEFAULT_MEMTABLE_BYTES,
            segment_bytes: Self::DEFAULT_SEGMENT_BYTES,
            shared,
            disk: Arc::new(RealDisk::default()),
        }
    }

    /// A memtable of this size is handed to the flush thread. While it is written, the next may grow to twice
    /// of this before commits wait; so all memtables together stay within the budget.
    pub(super) const fn seal_bytes(&self) -> u64 {
        self.memtable_bytes / 4
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self::new(Shared::start(Self::DEFAULT_CACHE_BYTES))
    }
}

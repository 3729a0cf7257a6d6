//! Keeps one shard on disk: an ordered key space whose batches are durable before they are acknowledged.
//!
//! A batch goes to memory at once (`memtable`) and on `commit` to the journal as one checksummed record, synced
//! once (`journal`). Full memtables become sorted table files (`tables`) in the background (`background`), after
//! which the journal segments that hold the same writes are used again. Opening a store replays the journal.

mod background;
mod directory;
mod disk;
mod error;
mod journal;
mod memtable;
mod options;
mod recovery;
mod scan;
mod shard;
mod slice;
mod snapshot;
mod statistics;
mod tables;
mod upkeep;

pub use background::Shared;
pub use disk::{Disk, DiskFile, RealDisk, SlowDisk};
pub use error::StoreError;
pub use journal::replay_hostile;
pub use options::{Durability, Options};
pub use scan::Scan;
pub use shard::{Commit, Store};
pub use slice::Slice;
pub use statistics::Statistics;

/// Longest key that can be stored, in bytes; from the table format.
pub const MAX_KEY: usize = u16::MAX as usize;

/// The parts of the key space. Each has tables of its own, because their sizes and their access differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Databases, collections and indexes: few and small.
    Catalog,
    Documents,
    /// Index entries; nearly all of an entry is its key.
    Indexes,
}

impl Space {
    pub const ALL: [Self; 3] = [Self::Catalog, Self::Documents, Self::Indexes];

    /// The name of its directory.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Catalog => "catalog",
            Self::Documents => "documents",
            Self::Indexes => "indexes",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }

    fn from_index(index: u8) -> Option<Self> {
        Self::ALL.get(usize::from(index)).copied()
    }
}

#[cfg(test)]
mod tests;

//! What was written since the last flush, in memory and sorted; a scan keeps seeing what it began with.
//!
//! Written by the executor only. A B-tree instead of the table crate's skip list: with one writer no lock-free
//! structure is needed, and a search touches a few cache lines instead of one or more per level.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Slice;

/// What one version costs beside its bytes: its share of a B-tree node and of the allocation. An estimate.
const OVERHEAD: u64 = 96;

#[derive(Debug, Default)]
pub(super) struct Memtable {
    entries: BTreeMap<Slice, Version>,
    bytes: u64,
}

/// One value of a key, or its deletion (`None`), and what it replaced.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) sequence: u64,
    pub(super) value: Option<Slice>,
    older: Option<Box<Version>>,
}

impl Version {
    /// The newest that is not newer than `snapshot`.
    fn at(&self, snapshot: u64) -> Option<&Self> {
        let mut version = self;
        while version.sequence > snapshot {
            version = version.older.as_deref()?;
        }
        Some(version)
    }

    fn cost(&self, key: &Slice) -> u64 {
        let value = self.value.as_ref().map_or(0, |value| value.len());
        (key.len() + value) as u64 + OVERHEAD
    }

    /// Drops what is older than the newest version that is not newer than `floor`; returns its cost.
    fn prune(&mut self, floor: u64, key: &Slice) -> u64 {
        let mut version = self;
        while version.sequence > floor {
            let Some(older) = version.older.as_deref_mut() else {
                return 0;
            };
            version = older;
        }
        let mut freed = 0;
        let mut next = version.older.take();
        while let Some(mut older) = next {
            freed += older.cost(key);
            next = older.older.take();
        }
        freed
    }
}

impl Memtable {
    /// Writes a value or a deletion. Versions that no snapshot at or above `floor` can see are dropped.
    pub(super) fn put(&mut self, key: Slice, value: Option<Slice>, sequence: u64, floor: u64) {
        let mut version = Version {
            sequence,
            value,
            older: None,
        };
        self.bytes += version.cost(&key);
        match self.entries.get_mut(&key) {
            None => {
                self.entries.insert(key, version);
            }
            Some(head) => {
                std::mem::swap(head, &mut version);
                head.older = Some(Box::new(version));
                self.bytes -= head.prune(floor, &key);
            }
        }
    }

    /// Takes back what was written to `key` after `sequence`.
    pub(super) fn undo(&mut self, key: &Slice, sequence: u64) {
        while let Some(head) = self.entries.get_mut(key) {
            if head.sequence <= sequence {
                return;
            }
            self.bytes -= head.cost(key);
            match head.older.take() {
                Some(older) => *head = *older,
                None => drop(self.entries.remove(key)),
            }
        }
    }

    pub(super) fn get(&self, key: &[u8], snapshot: u64) -> Lookup {
        match self.entries.get(key).and_then(|head| head.at(snapshot)) {
            None => Lookup::Absent,
            Some(version) => match &version.value {
                None => Lookup::Tombstone,
                Some(value) => Lookup::Value(value.clone()),
            },
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The newest version of every key in order.
    pub(super) fn newest(&self) -> impl Iterator<Item = (&Slice, &Version)> {
        self.entries.iter()
    }

    /// Up to `count` entries from one end of a range as of `snapshot`, deletions included, and whether there
    /// may be more. The caller has checked that the range is not reversed.
    pub(super) fn chunk(
        &self,
        range: &(Bound<Slice>, Bound<Slice>),
        snapshot: u64,
        count: usize,
        is_backwards: bool,
    ) -> (Vec<Entry>, bool) {
        let range = self.entries.range(range.clone());
        let visible = |(key, version): (&Slice, &Version)| {
            let version = version.at(snapshot)?;
            Some((key.clone(), version.value.clone()))
        };
        let found: Vec<Entry> = if is_backwards {
            range.rev().filter_map(visible).take(count).collect()
        } else {
            range.filter_map(visible).take(count).collect()
        };
        let is_full = found.len() == count;
        (found, is_full)
    }
}

/// A key with its value, or with `None` where it was deleted.
pub(super) type Entry = (Slice, Option<Slice>);

/// What a memtable knows of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lookup {
    /// An older memtable or a table may have it.
    Absent,
    Tombstone,
    Value(Slice),
}

/// A memtable that the executor writes while scans and the flush thread read it.
pub(super) type SharedMemtable = Arc<RwLock<Memtable>>;

pub(super) fn read(memtable: &SharedMemtable) -> RwLockReadGuard<'_, Memtable> {
    memtable.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write(memtable: &SharedMemtable) -> RwLockWriteGuard<'_, Memtable> {
    memtable.write().unwrap_or_else(PoisonError::into_inner)
}

//! Which sequence numbers open scans read at, so that writing keeps the versions that they see.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::directory::Directory;

/// The sequence numbers that open scans read at.
#[derive(Debug, Default)]
pub(super) struct Snapshots(Mutex<BTreeMap<u64, usize>>);

impl Snapshots {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn oldest(&self) -> u64 {
        self.lock().keys().next().copied().unwrap_or(u64::MAX)
    }
}

/// One open scan. It holds the directory's lock, because old table files go when it ends: a store opened anew
/// might have made files of the same names by then.
#[derive(Debug)]
pub(super) struct Snapshot {
    snapshots: Arc<Snapshots>,
    sequence: u64,
    is_undone: Arc<AtomicBool>,
    _directory: Arc<Directory>,
}

impl Snapshot {
    /// `is_undone` belongs to the batch that was begun before, if any.
    pub(super) fn take(
        snapshots: &Arc<Snapshots>,
        sequence: u64,
        is_undone: Arc<AtomicBool>,
        directory: &Arc<Directory>,
    ) -> Self {
        *snapshots.lock().entry(sequence).or_default() += 1;
        Self {
            snapshots: Arc::clone(snapshots),
            sequence,
            is_undone,
            _directory: Arc::clone(directory),
        }
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether the batch that was open when this was taken has been undone.
    pub(super) fn is_undone(&self) -> bool {
        self.is_undone.load(Ordering::Acquire)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut open = self.snapshots.lock();
        if let Some(count) = open.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.sequence);
            }
        }
    }
}

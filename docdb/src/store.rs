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
mod slice;
mod snapshot;
mod space;
mod statistics;
mod tables;
#[cfg(test)]
mod tests;
mod upkeep;

use std::mem;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use plimsoll_base::Nanos;
use plimsoll_base::clock::Clock;

pub use background::Shared;
pub use disk::RealDisk;
#[cfg(test)]
pub(crate) use disk::{Disk, DiskFile, TableStep};
pub use error::StoreError;
pub use journal::replay_hostile;
pub use options::{Durability, StoreOptions};
pub(crate) use scan::Scan;
pub(crate) use slice::Slice;
pub(crate) use space::MAX_KEY;
pub use space::Space;
pub(crate) use statistics::Statistics;

use self::directory::Directory;
use self::journal::{Batch, Journal};
use self::memtable::{Lookup, read, write};
use self::recovery::Recovered;
use self::scan::is_reversed;
use self::snapshot::{Snapshot, Snapshots};
use self::tables::Tables;
use self::upkeep::{AllTables, Flush, Memtables, Upkeep};

/// Runs in level zero of a space at which commits wait for merging. Reads look into each of them.
const MOST_RUNS: usize = 24;
/// How long to leave a full disk alone before a flush is tried again.
const RETRY: Nanos = Nanos::from_millis(500);

/// What a commit did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Commit {
    /// Whether the batch is on the disk for certain.
    pub(crate) is_durable: bool,
    /// Puts and deletes in the batch.
    pub operations: u64,
    /// Bytes appended to the journal, and how long the sync took.
    pub bytes: u64,
    pub(crate) sync_time: Nanos,
}

/// One shard's ordered key space, used by one executor thread.
#[derive(Debug)]
pub struct Store {
    options: StoreOptions,
    clock: Clock,
    journal: Journal,
    batch: Batch,
    /// Set when the current batch is undone, for the scans that saw some of it.
    is_undone: Arc<AtomicBool>,
    /// What a `put` could not take; the commit fails with it.
    refused: Option<StoreError>,
    active: Memtables,
    sealed: Option<Sealed>,
    tables: AllTables,
    upkeep: Arc<Upkeep>,
    snapshots: Arc<Snapshots>,
    /// Everything up to here is in tables.
    flushed: u64,
    read_only: Option<String>,
    statistics: Statistics,
    /// Last, so that the lock outlives everything that uses the directory. Scans hold it too.
    directory: Arc<Directory>,
}

/// Memtables that are being flushed, and what the journal may give up after that.
#[derive(Debug)]
struct Sealed {
    memtables: Memtables,
    bytes: u64,
    last: u64,
    segment: u64,
    /// When a flush that found no space may be tried again.
    retry_at: Option<Nanos>,
}

impl Store {
    /// Locks the directory, makes a store in it if there is none, and recovers what was committed.
    pub fn open(directory: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let clock = Clock::start();
        let Recovered {
            directory,
            journal,
            tables,
            memtables,
            flushed,
            statistics,
        } = recovery::open(directory, options, clock)?;
        let snapshots = Arc::<Snapshots>::default();
        let mut store = Self {
            options: options.clone(),
            clock,
            batch: Batch::default(),
            is_undone: Arc::default(),
            refused: None,
            active: memtables.map(|memtable| Arc::new(RwLock::new(memtable))),
            sealed: None,
            tables: Arc::new(tables),
            upkeep: Arc::new(Upkeep::new(Arc::clone(&snapshots))),
            snapshots,
            flushed,
            read_only: None,
            statistics,
            directory: Arc::new(directory),
            journal,
        };
        store.seal_if_full();
        Ok(store)
    }

    /// The value of a key, uncommitted writes of this executor included.
    pub fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>, StoreError> {
        let snapshot = self.newest();
        let index = space.index();
        let sealed = self.sealed.as_ref().map(|sealed| &sealed.memtables);
        for memtables in [Some(&self.active), sealed].into_iter().flatten() {
            match read(&memtables[index]).get(key, snapshot) {
                Lookup::Value(value) => return Ok(Some(value)),
                Lookup::Tombstone => return Ok(None),
                Lookup::Absent => {}
            }
        }
        self.tables[index].get(key)
    }

    /// The pairs of a range as they are now; later writes do not change what the scan returns.
    pub fn scan(&self, space: Space, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Scan {
        let range = (lower.map(Slice::from), upper.map(Slice::from));
        if is_reversed(&range) {
            return Scan::empty();
        }
        let index = space.index();
        let mut memtables = vec![Arc::clone(&self.active[index])];
        // Before the tables: a flush that ends in between is then seen twice, not never.
        if let Some(sealed) = &self.sealed {
            memtables.push(Arc::clone(&sealed.memtables[index]));
        }
        let snapshot = self.snapshot();
        Scan::new(memtables, &self.tables[index], range, snapshot)
    }

    /// Writes a value in the current batch.
    pub fn put(&mut self, space: Space, key: &[u8], value: &[u8]) {
        self.write(space, key, Some(value));
    }

    /// Deletes a key, which need not exist, in the current batch.
    pub fn delete(&mut self, space: Space, key: &[u8]) {
        self.write(space, key, None);
    }

    fn write(&mut self, space: Space, key: &[u8], value: Option<&[u8]>) {
        if self.refused.is_some() || self.read_only.is_some() {
            return;
        }
        if key.is_empty() || key.len() > MAX_KEY {
            self.refused = Some(StoreError::Size {
                what: "a key",
                bytes: key.len(),
                most: MAX_KEY,
            });
            return;
        }
        if let Err(error) = self.batch.push(space, key, value) {
            self.refused = Some(error);
            return;
        }
        let sequence = self.newest();
        let floor = self.journal.synced().min(self.snapshots.oldest());
        let value = value.map(Slice::from);
        write(&self.active[space.index()]).put(key.into(), value, sequence, floor);
    }

    /// Appends the current batch to the journal and, unless durability is an interval, makes it durable. After an
    /// error nothing of the batch is visible any more.
    pub fn commit(&mut self) -> Result<Commit, StoreError> {
        let result = self.try_commit();
        if result.is_err() {
            self.undo();
        }
        if !self.batch.is_empty() {
            let is_undone = mem::take(&mut self.is_undone);
            is_undone.store(result.is_err(), Ordering::Release);
        }
        self.batch.clear();
        result
    }

    fn try_commit(&mut self) -> Result<Commit, StoreError> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        self.check_writable()?;
        let mut commit = Commit {
            is_durable: self.journal.synced() == self.journal.written(),
            ..Commit::default()
        };
        if self.batch.is_empty() {
            return Ok(commit);
        }
        self.collect();
        self.make_room()?;
        let operations = u64::from(self.batch.count());
        commit.operations = operations;
        commit.bytes = match self.journal.append(&mut self.batch, self.flushed) {
            Err(error) if !error.is_out_of_space() => return Err(self.fail(&error)),
            result => result?,
        };
        commit.is_durable = self.options.durability == Durability::Always;
        if commit.is_durable {
            commit.sync_time = self.sync_journal()?;
        }
        self.statistics.batches += 1;
        self.statistics.operations += operations;
        self.statistics.largest_batch = self.statistics.largest_batch.max(operations);
        self.statistics.journal_bytes += commit.bytes;
        self.seal_if_full();
        Ok(commit)
    }

    /// Makes everything committed so far durable; returns how long that took.
    pub fn sync(&mut self) -> Result<Nanos, StoreError> {
        self.check_writable()?;
        if self.journal.synced() == self.journal.written() {
            return Ok(Nanos::ZERO);
        }
        self.sync_journal()
    }

    /// Whether everything committed is on the disk.
    pub(crate) fn is_synced(&self) -> bool {
        self.journal.synced() == self.journal.written()
    }

    /// Why nothing can be written any more, if so.
    #[cfg(test)]
    pub(crate) fn read_only_reason(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    pub fn statistics(&self) -> Statistics {
        let (flushes, compactions) = self.upkeep.counts();
        let sealed = self.sealed.as_ref().map_or(0, |sealed| sealed.bytes);
        Statistics {
            segments: self.journal.segments() as u64,
            memtable_bytes: self.active_bytes() + sealed,
            table_bytes: self.tables.iter().map(Tables::bytes).sum(),
            tables: self.tables.iter().map(Tables::count).sum::<usize>() as u64,
            flushes,
            compactions,
            ..self.statistics
        }
    }

    fn sync_journal(&mut self) -> Result<Nanos, StoreError> {
        let begun = self.clock.now();
        let result = self.journal.sync();
        let time = Nanos(self.clock.now().0.saturating_sub(begun.0));
        self.statistics.syncs += 1;
        self.statistics.sync_time = Nanos(self.statistics.sync_time.0 + time.0);
        self.statistics.longest_sync = self.statistics.longest_sync.max(time);
        match result {
            Ok(()) => Ok(time),
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// The sequence number up to which reads see. Read-only, that is what is durable: what was written after
    /// that may be gone at the next start, and nobody shall have seen it.
    fn newest(&self) -> u64 {
        match self.read_only {
            Some(_) => self.journal.synced(),
            None => self.journal.written() + u64::from(self.batch.count()),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let is_undone = if self.batch.is_empty() {
            Arc::default()
        } else {
            Arc::clone(&self.is_undone)
        };
        Snapshot::take(&self.snapshots, self.newest(), is_undone, &self.directory)
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        match &self.read_only {
            Some(reason) => Err(StoreError::ReadOnly {
                reason: reason.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Stops writes for good: nothing is known of the disk any more.
    fn fail(&mut self, error: &StoreError) -> StoreError {
        let reason = error.to_string();
        self.read_only = Some(reason.clone());
        StoreError::ReadOnly { reason }
    }

    /// Takes the current batch out of the memtables.
    fn undo(&mut self) {
        let floor = self.journal.written();
        for operation in self.batch.operations() {
            let key = operation.key.into();
            write(&self.active[operation.space.index()]).undo(&key, floor);
        }
    }

    fn active_bytes(&self) -> u64 {
        let bytes = self.active.iter().map(|memtable| read(memtable).bytes());
        bytes.sum()
    }

    /// Writes everything committed to tables and waits for that; so the next opening has nothing to replay.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        for _ in 0..2 {
            self.check_writable()?;
            self.upkeep.wait_for_flush();
            self.collect();
            self.seal();
        }
        self.check_writable()?;
        match &self.sealed {
            None => Ok(()),
            Some(_) => Err(self.out_of_space()),
        }
    }

    fn out_of_space(&self) -> StoreError {
        let path = self.directory.path().to_path_buf();
        StoreError::OutOfSpace { path }
    }

    /// Hands full memtables to the flush thread.
    fn seal_if_full(&mut self) {
        if self.active_bytes() >= self.options.seal_bytes()
            || self.journal.segments() > self.most_segments()
        {
            self.seal();
        }
    }

    /// Hands the memtables to the flush thread, unless it still has the last ones.
    fn seal(&mut self) {
        let is_empty = self.active.iter().all(|memtable| read(memtable).is_empty());
        if is_empty || self.sealed.is_some() || self.read_only.is_some() {
            return;
        }
        // Tables must not hold what the journal may lose: documents and indexes would differ after a crash.
        if !self.is_synced() && self.sync_journal().is_err() {
            return;
        }
        let bytes = self.active_bytes();
        let memtables = mem::replace(&mut self.active, empty_memtables());
        self.upkeep
            .begin_flush(&self.options.shared, &self.tables, &memtables, false);
        self.sealed = Some(Sealed {
            memtables,
            bytes,
            last: self.journal.written(),
            segment: self.journal.number(),
            retry_at: None,
        });
    }

    /// Segments that may pile up when memtables fill slowly because the same keys are written again and again.
    fn most_segments(&self) -> usize {
        let memtable = self.options.memtable_bytes / self.options.segment_bytes.max(1);
        usize::try_from(memtable)
            .unwrap_or(usize::MAX)
            .saturating_add(2)
    }

    /// Takes note of what the background threads have done.
    fn collect(&mut self) {
        if let Some(error) = self.upkeep.take_merge_failure() {
            self.fail(&error);
        }
        let Some(sealed) = &mut self.sealed else {
            return;
        };
        match self.upkeep.take_flush() {
            Flush::Done => {
                let (last, segment) = (sealed.last, sealed.segment);
                self.sealed = None;
                self.flushed = last;
                if let Err(error) = self.journal.release_before(segment, last) {
                    self.fail(&error);
                }
            }
            Flush::Failed(error) if error.is_out_of_space() => {
                sealed.retry_at = Some(Nanos(self.clock.now().0 + RETRY.0));
            }
            Flush::Failed(error) => {
                self.fail(&error);
            }
            Flush::Idle | Flush::Running => {}
        }
        self.retry_flush();
    }

    fn retry_flush(&mut self) {
        let now = self.clock.now();
        if let Some(sealed) = &mut self.sealed
            && sealed.retry_at.is_some_and(|at| now >= at)
        {
            sealed.retry_at = None;
            let (shared, tables) = (&self.options.shared, &self.tables);
            self.upkeep
                .begin_flush(shared, tables, &sealed.memtables, true);
        }
    }

    /// Waits where the background is behind by as much as is allowed.
    fn make_room(&mut self) -> Result<(), StoreError> {
        self.check_writable()?;
        let is_full = |store: &Self| {
            store.sealed.is_some() && store.active_bytes() >= 2 * store.options.seal_bytes()
        };
        let runs = self.upkeep.level_zero_runs();
        if !is_full(self) && runs < MOST_RUNS {
            return Ok(());
        }
        let begun = self.clock.now();
        if runs >= MOST_RUNS {
            self.upkeep.wait_for_merge(MOST_RUNS);
        }
        if is_full(self) {
            self.upkeep.wait_for_flush();
            self.collect();
        }
        self.statistics.stalls += 1;
        let waited = self.clock.now().0.saturating_sub(begun.0);
        self.statistics.stall_time = Nanos(self.statistics.stall_time.0 + waited);
        self.check_writable()?;
        if is_full(self) {
            return Err(self.out_of_space());
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.read_only.is_none() && !self.is_synced() {
            // Nobody is left to tell; a failure is that of a crash at this moment.
            drop(self.journal.sync());
        }
        self.upkeep.close();
    }
}

fn empty_memtables() -> Memtables {
    Default::default()
}

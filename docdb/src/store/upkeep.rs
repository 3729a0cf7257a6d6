//! Flushing and merging as a store sees them: jobs for the shared threads, and what became of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::background::{Queue, Shared};
use super::memtable::{SharedMemtable, read};
use super::snapshot::Snapshots;
use super::tables::Tables;
use super::{Space, StoreError};

pub(super) type AllTables = Arc<[Tables; Space::ALL.len()]>;
pub(super) type Memtables = [SharedMemtable; Space::ALL.len()];

/// How often a waiting executor looks whether things moved, should a wake-up be missed.
const GLANCE: Duration = Duration::from_millis(50);

/// The state of a store's jobs, shared with the threads that do them.
#[derive(Debug)]
pub(super) struct Upkeep {
    snapshots: Arc<Snapshots>,
    state: Mutex<Jobs>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Jobs {
    is_closing: bool,
    flush: Flush,
    /// Spaces of the memtable generation in `flush` that are on disk already.
    is_flushed: [bool; Space::ALL.len()],
    is_merging: bool,
    /// Runs in level zero, of the space that has most.
    runs: usize,
    flushes: u64,
    merges: u64,
    merge_failure: Option<StoreError>,
    /// By space the table number from which on a failed job may have left files that no list names.
    leftovers: [Option<u64>; Space::ALL.len()],
}

/// What became of the flush of one memtable generation.
#[derive(Debug, Default)]
pub(super) enum Flush {
    #[default]
    Idle,
    Running,
    Done,
    Failed(StoreError),
}

impl Upkeep {
    pub(super) fn new(snapshots: Arc<Snapshots>) -> Self {
        Self {
            snapshots,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the memtables written to tables, and merges after that where they are due.
    pub(super) fn begin_flush(
        self: &Arc<Self>,
        shared: &Shared,
        tables: &AllTables,
        memtables: &Memtables,
        is_retry: bool,
    ) {
        {
            let mut state = self.lock();
            state.flush = Flush::Running;
            if !is_retry {
                state.is_flushed = Default::default();
            }
        }
        let (upkeep, tables, memtables) = (Arc::clone(self), Arc::clone(tables), memtables.clone());
        let merges = shared.merge.queue.clone();
        shared
            .flush
            .queue
            .send(move || upkeep.flush(&merges, tables, memtables));
    }

    fn flush(self: Arc<Self>, merges: &Queue, tables: AllTables, memtables: Memtables) {
        let numbers = next_numbers(&tables);
        let result = guard(|| self.flush_spaces(&tables, &memtables));
        let runs = runs(&tables);
        if result.is_err() {
            self.note_leftovers(numbers);
        }
        self.clean(&tables, |state| state.is_merging);
        if result.is_ok() && !self.lock().is_closing {
            self.begin_merge(merges, &tables);
        }
        // The store may close as soon as it learns of the end; by then no file of it may be held here.
        drop((tables, memtables));
        let mut state = self.lock();
        state.runs = runs;
        state.flushes += u64::from(result.is_ok());
        state.flush = match result {
            Ok(()) => Flush::Done,
            Err(error) => Flush::Failed(error),
        };
        self.changed.notify_all();
    }

    fn flush_spaces(&self, tables: &AllTables, memtables: &Memtables) -> Result<(), StoreError> {
        for (index, (tables, memtable)) in tables.iter().zip(memtables).enumerate() {
            if self.lock().is_flushed.get(index) == Some(&true) {
                continue;
            }
            tables.flush(&read(memtable))?;
            if let Some(is_flushed) = self.lock().is_flushed.get_mut(index) {
                *is_flushed = true;
            }
        }
        Ok(())
    }

    fn begin_merge(self: &Arc<Self>, merges: &Queue, tables: &AllTables) {
        if std::mem::replace(&mut self.lock().is_merging, true) {
            return;
        }
        let (upkeep, tables) = (Arc::clone(self), Arc::clone(tables));
        merges.send(move || upkeep.merge(tables));
    }

    fn merge(self: Arc<Self>, tables: AllTables) {
        let numbers = next_numbers(&tables);
        let mut result = Ok(());
        let mut merged = true;
        while merged && result.is_ok() {
            merged = false;
            for tables in &*tables {
                if self.lock().is_closing {
                    break;
                }
                match guard(|| tables.compact()) {
                    Ok(did_merge) => merged |= did_merge,
                    Err(error) => result = Err(error),
                }
                self.lock().merges += u64::from(merged);
            }
            let runs = runs(&tables);
            self.lock().runs = runs;
            self.changed.notify_all();
        }
        if result.is_err() {
            self.note_leftovers(numbers);
        }
        self.clean(&tables, |state| matches!(state.flush, Flush::Running));
        drop(tables);
        let mut state = self.lock();
        state.is_merging = false;
        // Without space merging waits until the next flush finds some.
        state.merge_failure = result.err().filter(|error| !error.is_out_of_space());
        self.changed.notify_all();
    }

    /// Notes that a job failed which began when the next table numbers were `numbers`.
    fn note_leftovers(&self, numbers: [u64; Space::ALL.len()]) {
        for (leftover, number) in self.lock().leftovers.iter_mut().zip(numbers) {
            *leftover = Some(leftover.map_or(number, |earlier| earlier.min(number)));
        }
    }

    /// Removes what failed jobs left, so that a full disk does not get fuller with each try. Waits for a moment
    /// when no other job is writing and no scan holds on to files that were merged away.
    fn clean(&self, tables: &AllTables, is_other_running: impl Fn(&Jobs) -> bool) {
        let mut state = self.lock();
        if is_other_running(&state) || self.snapshots.oldest() != u64::MAX {
            return;
        }
        for (tables, leftover) in tables.iter().zip(&mut state.leftovers) {
            if let Some(number) = leftover.take() {
                tables.remove_unlisted(number);
            }
        }
    }

    /// Takes the result of a flush, if it has ended.
    pub(super) fn take_flush(&self) -> Flush {
        let mut state = self.lock();
        match state.flush {
            Flush::Running => Flush::Running,
            _ => std::mem::take(&mut state.flush),
        }
    }

    pub(super) fn take_merge_failure(&self) -> Option<StoreError> {
        self.lock().merge_failure.take()
    }

    pub(super) fn level_zero_runs(&self) -> usize {
        self.lock().runs
    }

    /// Waits until the flush under way has ended.
    pub(super) fn wait_for_flush(&self) {
        let mut state = self.lock();
        while matches!(state.flush, Flush::Running) {
            state = self.wait(state);
        }
    }

    /// Waits until level zero has fewer runs than `most`, or nothing merges.
    pub(super) fn wait_for_merge(&self, most: usize) {
        let mut state = self.lock();
        while state.is_merging && state.runs >= most {
            state = self.wait(state);
        }
    }

    /// Waits until no job of this store is left; none begins after that.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closing = true;
        while state.is_merging || matches!(state.flush, Flush::Running) {
            state = self.wait(state);
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, Jobs>) -> MutexGuard<'a, Jobs> {
        let (state, _) = self
            .changed
            .wait_timeout(state, GLANCE)
            .unwrap_or_else(PoisonError::into_inner);
        state
    }

    /// Flushes and merges done.
    pub(super) fn counts(&self) -> (u64, u64) {
        let state = self.lock();
        (state.flushes, state.merges)
    }
}

fn next_numbers(tables: &AllTables) -> [u64; Space::ALL.len()] {
    std::array::from_fn(|index| tables[index].next_number())
}

fn runs(tables: &AllTables) -> usize {
    let runs = tables.iter().map(Tables::level_zero_runs);
    runs.max().unwrap_or_default()
}

/// Turns a panic of the table crate, which asserts that its files are sound, into an error.
fn guard<T>(job: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|_| {
        Err(StoreError::ReadOnly {
            reason: "writing tables panicked, which a damaged table file may cause".to_owned(),
        })
    })
}

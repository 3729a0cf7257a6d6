//! Counts and histograms of one executor, written by its thread and read by whoever asks.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_base::Nanos;

use crate::error::Result;

/// What was made durable together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Committed {
    /// Puts and deletes in it.
    pub writes: usize,
    /// Bytes appended to the journal.
    pub bytes: u64,
    /// Time the disk took to acknowledge; `None` if it was not asked.
    pub fsync: Option<Nanos>,
}

/// Upper bounds of the time histograms, in nanoseconds: 10 µs to 10 s.
pub(super) const TIME_BOUNDS: [u64; 19] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];
/// Upper bounds of the batch size histogram, in commands.
pub(super) const SIZE_BOUNDS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// A histogram with fixed bounds: counts merge exactly, whoever adds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Buckets<const N: usize> {
    pub(crate) counts: [u64; N],
    /// Values above the last bound.
    pub(crate) above: u64,
    pub(crate) sum: u64,
}

impl<const N: usize> Default for Buckets<N> {
    fn default() -> Self {
        Self {
            counts: [0; N],
            above: 0,
            sum: 0,
        }
    }
}

impl<const N: usize> Buckets<N> {
    pub(crate) fn record(&mut self, bounds: &[u64; N], value: u64) {
        match self
            .counts
            .get_mut(bounds.partition_point(|bound| *bound < value))
        {
            Some(count) => *count += 1,
            None => self.above += 1,
        }
        self.sum += value;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.above += other.above;
        self.sum += other.sum;
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.above
    }
}

type Times = Buckets<{ TIME_BOUNDS.len() }>;

/// What one database was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DatabaseCounts {
    /// Arrival to release of the reply, of commands without any error.
    pub(crate) succeeded: Times,
    /// The same of commands with an error, or with a write error: never mixed with the above.
    pub failed: Times,
    /// Refused because the queue was full; not in the two above.
    pub refused: u64,
    /// Commands that wait now.
    pub(crate) depth: u64,
}

/// A copy of all counts at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub databases: BTreeMap<String, DatabaseCounts>,
    /// Arrival to first execution.
    pub waits: Times,
    /// Time for the disk to acknowledge a batch.
    pub fsyncs: Times,
    /// Whole commits, the store's own work included.
    pub commits: Times,
    /// Commands answered per commit.
    pub batches: Buckets<{ SIZE_BOUNDS.len() }>,
    pub(crate) journal_bytes: u64,
    pub writes: u64,
    pub(crate) failed_commits: u64,
}

impl Snapshot {
    pub(crate) fn add(&mut self, other: &Self) {
        for (name, counts) in &other.databases {
            let mine = self.databases.entry(name.clone()).or_default();
            mine.succeeded.add(&counts.succeeded);
            mine.failed.add(&counts.failed);
            mine.refused += counts.refused;
            mine.depth += counts.depth;
        }
        self.waits.add(&other.waits);
        self.fsyncs.add(&other.fsyncs);
        self.commits.add(&other.commits);
        self.batches.add(&other.batches);
        self.journal_bytes += other.journal_bytes;
        self.writes += other.writes;
        self.failed_commits += other.failed_commits;
    }
}

/// Databases with counts of their own; further ones are counted together, so that made-up names take no memory.
const DATABASES_MAX: usize = 1000;
const OTHERS: &str = "(others)";

/// The counts of one executor. Its lock is only ever contended by a reader of the metrics.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Snapshot>);

impl Meter {
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.lock().clone()
    }

    pub(crate) fn waited(&self, time: Nanos) {
        self.lock().waits.record(&TIME_BOUNDS, time.0);
    }

    pub(crate) fn refused(&self, database: &str) {
        counts(&mut self.lock(), database).refused += 1;
    }

    pub(crate) fn answered(&self, database: &str, time: Nanos, failed: bool) {
        let mut all = self.lock();
        let counts = counts(&mut all, database);
        let times = if failed {
            &mut counts.failed
        } else {
            &mut counts.succeeded
        };
        times.record(&TIME_BOUNDS, time.0);
    }

    pub(crate) fn committed(&self, committed: &Result<Committed>, answered: usize, time: Nanos) {
        let mut all = self.lock();
        if answered > 0 {
            all.batches.record(&SIZE_BOUNDS, answered as u64);
        }
        match committed {
            Ok(done) => {
                all.journal_bytes += done.bytes;
                all.writes += done.writes as u64;
                if let Some(fsync) = done.fsync {
                    all.fsyncs.record(&TIME_BOUNDS, fsync.0);
                    all.commits.record(&TIME_BOUNDS, time.0);
                }
            }
            Err(_) => all.failed_commits += 1,
        }
    }

    pub(crate) fn depths<'a>(&self, depths: impl Iterator<Item = (&'a str, usize)>) {
        let mut all = self.lock();
        for known in all.databases.values_mut() {
            known.depth = 0;
        }
        for (database, depth) in depths {
            counts(&mut all, database).depth = depth as u64;
        }
    }

    /// Counts stay valid when a thread died while it held them: each update is a few additions.
    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn counts<'a>(all: &'a mut Snapshot, database: &str) -> &'a mut DatabaseCounts {
    let known = all.databases.contains_key(database);
    let name = if known || all.databases.len() < DATABASES_MAX {
        database
    } else {
        OTHERS
    };
    if !known && !all.databases.contains_key(name) {
        all.databases
            .insert(name.to_owned(), DatabaseCounts::default());
    }
    all.databases.get_mut(name).expect("inserted above")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_below_their_bound_and_merge_exactly() {
        let mut one = Times::default();
        for value in [1, 10_000, 10_001, 11_000_000_000] {
            one.record(&TIME_BOUNDS, value);
        }
        assert_eq!((one.counts[0], one.counts[1], one.above), (2, 1, 1));
        let mut sum = one.clone();
        sum.add(&one);
        assert_eq!((sum.count(), sum.sum), (8, 2 * one.sum));
    }

    #[test]
    fn made_up_names_are_counted_together() {
        let meter = Meter::default();
        for name in 0..DATABASES_MAX + 50 {
            meter.refused(&format!("db{name:04}"));
        }
        let all = meter.snapshot();
        assert_eq!(all.databases.len(), DATABASES_MAX + 1);
        assert_eq!(all.databases[OTHERS].refused, 50);
    }
}

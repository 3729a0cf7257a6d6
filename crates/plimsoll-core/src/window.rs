//! One second of a run: what was due, what was sent, what came back, and how the generator fared.

use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, WINDOW_COUNT_MAX};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::units::Nanos;

/// How the generator itself did during a window; merged over workers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Intended start to the moment the generator took the attempt up: our own lateness.
    pub lag: Histogram,
    /// Dropped although a connection was free or could not be opened for want of a local resource.
    pub dropped_ours_count: u64,
    /// Dropped while every connection waited for the target.
    pub dropped_target_count: u64,
    /// Processor time of each worker thread, in worker order.
    pub worker_run_ns: Vec<Nanos>,
    /// Time each worker thread was runnable but waited for a processor.
    pub worker_wait_ns: Vec<Nanos>,
    /// How much later than asked a worker thread came round at worst: it waited for a processor, was stopped, or was busy.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub stall_max_ns: Nanos,
    /// All of that together, over the worker threads; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_ns: Option<Nanos>,
    /// Attempts that were due while a worker thread stalled, or until what had come meanwhile was worked off (as long again
    /// at most); absent if none was.
    #[serde(default, skip_serializing_if = "Disturbed::is_none")]
    pub disturbed: Disturbed,
    /// Connections open at the end of the window.
    pub connections_open: u32,
    /// Connections opened during the window.
    pub connects_count: u64,
}

/// Attempts that the generator's own stalls met: how they would have fared without, nobody knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbed {
    pub attempts_count: u64,
    pub failures_count: u64,
    /// Those that failed or came later than the n-th bound of the objectives.
    pub late_counts: Vec<u64>,
}

impl Disturbed {
    pub fn is_none(&self) -> bool {
        self.attempts_count == 0
    }

    /// Counts one that came to an end of its own.
    pub fn record(&mut self, outcome: Outcome, response: Nanos, bounds: &[Nanos]) {
        if outcome == Outcome::Interrupted {
            return;
        }
        let failed = outcome.is_failure();
        self.attempts_count += 1;
        self.failures_count += u64::from(failed);
        self.late_counts.resize(bounds.len(), 0);
        for (late, bound) in self.late_counts.iter_mut().zip(bounds) {
            *late += u64::from(failed || response > *bound);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.attempts_count += other.attempts_count;
        self.failures_count += other.failures_count;
        let length = self.late_counts.len().max(other.late_counts.len());
        self.late_counts.resize(length, 0);
        for (mine, theirs) in self.late_counts.iter_mut().zip(&other.late_counts) {
            *mine += theirs;
        }
    }
}

impl Health {
    /// Nothing was sent or read later than this: the worst of all attempts taken up and of all turns of a thread.
    pub fn latest(&self) -> Nanos {
        self.stall_max_ns.max(self.lag.max().unwrap_or_default())
    }

    /// Adds the health of the window that follows.
    fn fold(&mut self, next: &Self) {
        self.lag.merge(&next.lag);
        self.dropped_ours_count += next.dropped_ours_count;
        self.dropped_target_count += next.dropped_target_count;
        self.connections_open = self.connections_open.max(next.connections_open);
        self.connects_count += next.connects_count;
        self.stall_max_ns = self.stall_max_ns.max(next.stall_max_ns);
        self.disturbed.merge(&next.disturbed);
        let both = self.stalled_ns.zip(next.stalled_ns);
        self.stalled_ns = both.map(|(mine, theirs)| mine + theirs);
        let add = |mine: &mut Vec<Nanos>, theirs: &[Nanos]| {
            mine.resize(mine.len().max(theirs.len()), Nanos::ZERO);
            mine.iter_mut()
                .zip(theirs)
                .for_each(|(mine, &theirs)| *mine += theirs);
        };
        add(&mut self.worker_run_ns, &next.worker_run_ns);
        add(&mut self.worker_wait_ns, &next.worker_wait_ns);
    }
}

/// A window of about one second of one level. `start_ns` counts from the start of the run.
///
/// An attempt belongs to the level in which it was due and to the window in which it ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    pub level: u32,
    pub start_ns: Nanos,
    pub length_ns: Nanos,
    /// Attempts whose intended start fell into the window.
    pub due_count: u64,
    /// Attempts whose first byte was written in the window.
    pub sent_count: u64,
    /// Requests that were written once more, beside `sent_count`: the server had closed their kept connection, or said that
    /// it had not looked at them.
    #[serde(default, skip_serializing_if = "is_none_counted")]
    pub resent_count: u64,
    /// Requests that were written where a redirect led, beside `sent_count`.
    #[serde(default, skip_serializing_if = "is_none_counted")]
    pub followed_count: u64,
    /// Time integral of attempts due and not finished (waiting or on the wire), per second: mean N.
    pub in_flight_mean: f64,
    pub in_flight_max: u64,
    /// Due and not finished at the end of the window.
    pub in_flight_end: u64,
    /// Most attempts that were on the wire at once.
    pub wire_max: u64,
    /// Virtual users that were at work at its end, of a worker's last window the most at once; absent where no script plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vus: Option<u32>,
    /// One tally per operation of the plan; URL mode has one operation.
    pub operations: Vec<Tally>,
    /// Attempts due in an earlier level that ended in this window: counted there, not judged here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Carried>,
    /// What was done to each database of a workload, in the order of the plan; absent of other tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<Effects>,
    pub health: Health,
}

/// What operations on one database came to in a window, as the store said and as the driver's connections showed it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Effects {
    /// Operations that ended, however.
    pub attempts_count: u64,
    /// Of those, the ones that the store answered without an error.
    pub acknowledged_count: u64,
    /// Documents that the acknowledged ones asked for, and those that it says were returned, stored, matched or removed.
    pub asked_count: u64,
    pub returned_count: u64,
    pub inserted_count: u64,
    pub matched_count: u64,
    pub deleted_count: u64,
    /// Time integral of commands on the wire, in seconds.
    pub wire_seconds: f64,
    /// Most commands on the wire at once.
    pub wire_max: u64,
    /// Commands that were sent; more than operations where some were tried again.
    pub commands_count: u64,
}

impl Effects {
    /// Documents that something was done to.
    pub fn done(&self) -> u64 {
        self.returned_count + self.inserted_count + self.matched_count + self.deleted_count
    }

    /// Adds what another worker or the window that follows counted.
    pub fn merge(&mut self, other: &Self) {
        self.attempts_count += other.attempts_count;
        self.acknowledged_count += other.acknowledged_count;
        self.asked_count += other.asked_count;
        self.returned_count += other.returned_count;
        self.inserted_count += other.inserted_count;
        self.matched_count += other.matched_count;
        self.deleted_count += other.deleted_count;
        self.wire_seconds += other.wire_seconds;
        self.wire_max = self.wire_max.max(other.wire_max);
        self.commands_count += other.commands_count;
    }

    fn counts(&self) -> [u64; 9] {
        [
            self.attempts_count,
            self.acknowledged_count,
            self.asked_count,
            self.returned_count,
            self.inserted_count,
            self.matched_count,
            self.deleted_count,
            self.wire_max,
            self.commands_count,
        ]
    }
}

/// Adds up what each database saw.
pub fn merge_effects(mine: &mut Vec<Effects>, theirs: &[Effects]) {
    mine.resize(mine.len().max(theirs.len()), Effects::default());
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        mine.merge(theirs);
    }
}

/// Late ends of an earlier level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    pub level: u32,
    /// Attempts of that level that fell due after its last window, while the judge decided.
    #[serde(default)]
    pub due_count: u64,
    /// Time integral of attempts in flight between its last window and the next level, in seconds:
    /// no window's mean holds it, and a level that was interrupted has up to a second of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_flight_seconds: f64,
    pub tally: Tally,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_none_counted(count: &u64) -> bool {
    *count == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_no_time(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

impl Carried {
    /// Nothing of that level is left to tell.
    pub fn is_empty(&self) -> bool {
        self.due_count == 0 && self.in_flight_seconds == 0.0 && self.tally.attempts() == 0
    }

    /// Adds what else was carried of the same level.
    pub fn merge(&mut self, other: &Self) {
        self.due_count += other.due_count;
        self.in_flight_seconds += other.in_flight_seconds;
        self.tally.merge(&other.tally);
    }
}

impl Window {
    /// Adds the window that follows: counts and histograms add up, means weigh by length, what was
    /// seen at an end is the later end's, and what was highest stays highest.
    pub fn fold(&mut self, next: &Self) {
        let (mine, theirs) = (self.length_ns.as_secs_f64(), next.length_ns.as_secs_f64());
        let together = mine + theirs;
        if together > 0.0 {
            let weighed = self.in_flight_mean * mine + next.in_flight_mean * theirs;
            self.in_flight_mean = weighed / together;
        }
        // Lengths add up and gaps do not: rates are per second that was watched.
        self.length_ns += next.length_ns;
        self.due_count += next.due_count;
        self.sent_count += next.sent_count;
        self.resent_count += next.resent_count;
        self.followed_count += next.followed_count;
        self.in_flight_max = self.in_flight_max.max(next.in_flight_max);
        self.in_flight_end = next.in_flight_end;
        self.vus = next.vus.or(self.vus);
        self.wire_max = self.wire_max.max(next.wire_max);
        for (index, tally) in next.operations.iter().enumerate() {
            match self.operations.get_mut(index) {
                Some(mine) => mine.merge(tally),
                None => self.operations.push(tally.clone()),
            }
        }
        for carried in &next.carried {
            match self
                .carried
                .iter_mut()
                .find(|mine| mine.level == carried.level)
            {
                Some(mine) => mine.merge(carried),
                None => self.carried.push(carried.clone()),
            }
        }
        merge_effects(&mut self.databases, &next.databases);
        self.health.fold(&next.health);
    }

    pub fn end_ns(&self) -> Nanos {
        self.start_ns + self.length_ns
    }

    /// Every plain counter is one that a second can hold, so that sums over a record cannot overflow.
    pub(crate) fn is_plausible(&self) -> bool {
        let health = &self.health;
        let counts = [
            self.due_count,
            self.sent_count,
            self.resent_count,
            self.followed_count,
            self.in_flight_max,
            self.in_flight_end,
            self.wire_max,
            health.dropped_ours_count,
            health.dropped_target_count,
            health.connects_count,
            health.disturbed.attempts_count,
            health.disturbed.failures_count,
        ];
        let late = health.disturbed.late_counts.iter().copied();
        let databases = self.databases.iter().flat_map(Effects::counts);
        let carried = self.carried.iter().map(|carried| carried.due_count);
        counts
            .into_iter()
            .chain(carried)
            .chain(late)
            .chain(databases)
            .all(|count| count <= WINDOW_COUNT_MAX)
    }

    /// Gives the memory of empty counters back and returns the bytes that the others take; for windows
    /// that are kept.
    pub(crate) fn pack(&mut self) -> usize {
        let carried = self.carried.iter_mut().map(|carried| &mut carried.tally);
        let tallies = self.operations.iter_mut().chain(carried);
        tallies.map(Tally::pack).sum::<usize>() + self.health.lag.pack()
    }

    /// All operations merged.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in &self.operations {
            total.merge(tally);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_no_second_can_hold_is_implausible() {
        let window = Window {
            due_count: 5_000,
            ..Window::default()
        };
        assert!(window.is_plausible());
        let hostile = Window {
            sent_count: u64::MAX,
            ..window
        };
        assert!(!hostile.is_plausible());
    }
}

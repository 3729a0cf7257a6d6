//! Counts one worker's window: no allocation per attempt once the histograms have grown.

use plimsoll_core::window::{Carried, Disturbed, Effects, Health, Window};
use plimsoll_core::{Histogram, Nanos, Outcome, Tally};

/// One worker's counts of one window.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) level: u32,
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    pub(crate) due: u64,
    pub(crate) sent: u64,
    /// Written once more, beside those.
    pub(crate) resent: u64,
    /// Written where a redirect led, beside those.
    pub(crate) followed: u64,
    /// Of each operation of the plan; a URL and a script have one.
    tallies: Vec<Tally>,
    /// Of the databases of a workload, by their place in the plan.
    pub(crate) databases: Vec<(usize, Effects)>,
    carried: Vec<Carried>,
    pub(crate) lag: Histogram,
    pub(crate) dropped_ours: u64,
    pub(crate) dropped_target: u64,
    pub(crate) connects: u64,
    pub(crate) connections_open: u32,
    pub(crate) run: Nanos,
    pub(crate) wait: Nanos,
    /// How much later than asked the loop came round at worst.
    pub(crate) stall_max: Nanos,
    /// All of that together.
    pub(crate) stalled: Nanos,
    /// Attempts that it met.
    pub(crate) disturbed: Disturbed,
    /// Integral of attempts in flight over time, in attempt-nanoseconds.
    in_flight_ns: u128,
    last_change: Nanos,
    pub(crate) in_flight_max: u64,
    pub(crate) in_flight_end: u64,
    pub(crate) wire_max: u64,
    /// Virtual users at work, of a script that plays its own load.
    pub(crate) vus: Option<u32>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) level: u32,
    /// When it was due.
    pub(crate) intended: Nanos,
    pub(crate) outcome: Outcome,
    /// Of the answer; zero without one.
    pub(crate) status: u16,
    pub(crate) response: Nanos,
    pub(crate) service: Option<Nanos>,
    pub(crate) bytes: u64,
    /// Which of the plan's; the first where there is only one.
    pub(crate) operation: u8,
}

/// One attempt by itself.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// On the clock of the run.
    pub intended: Nanos,
    pub level: u32,
    pub outcome: Outcome,
    /// Zero without an answer.
    pub status: u16,
    pub response: Nanos,
    pub service: Option<Nanos>,
    pub bytes: u64,
}

impl Recorder {
    /// Starts a window; histograms keep their memory.
    pub(crate) fn begin(&mut self, level: u32, start: Nanos, in_flight: u64) {
        self.level = level;
        self.start = start;
        self.last_change = start;
        self.in_flight_max = in_flight;
    }

    pub(crate) fn clear(&mut self) {
        self.tallies.iter_mut().for_each(Tally::clear);
        self.lag.clear();
        let kept = Self {
            tallies: std::mem::take(&mut self.tallies),
            lag: std::mem::take(&mut self.lag),
            ..Self::default()
        };
        *self = kept;
    }

    /// The level changes inside a window: what was counted so far belongs to the earlier level.
    pub(crate) fn change_level(&mut self, level: u32, start: Nanos, in_flight: u64) {
        let own = self.as_carried();
        if !own.is_empty() {
            self.carried_entry(self.level).merge(&own);
        }
        self.tallies.clear();
        self.databases.clear();
        self.due = 0;
        self.sent = 0;
        self.in_flight_ns = 0;
        self.wire_max = 0;
        // What was in flight until now has been counted, if only in the earlier level.
        let counted_until = self.last_change;
        self.begin(level, start, in_flight);
        self.last_change = counted_until.max(start);
    }

    /// Its own counts as a later level sees them.
    fn as_carried(&self) -> Carried {
        Carried {
            level: self.level,
            due_count: self.due,
            in_flight_seconds: self.in_flight_ns as f64 / 1e9,
            tally: self.total(),
        }
    }

    fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.tallies.iter().for_each(|tally| total.merge(tally));
        total
    }

    /// The counters of an operation of this level.
    #[inline]
    fn tally_of(&mut self, operation: usize) -> &mut Tally {
        if operation >= self.tallies.len() {
            self.tallies.resize_with(operation + 1, Tally::default);
        }
        &mut self.tallies[operation]
    }

    /// An attempt of `level` fell due: of this one, or of an earlier one if it could not start before.
    pub(crate) fn add_due(&mut self, level: u32) {
        if level == self.level {
            self.due += 1;
        } else {
            self.carried_entry(level).due_count += 1;
        }
    }

    /// Must be called with the number in flight before it changes.
    #[inline]
    pub(crate) fn advance(&mut self, now: Nanos, in_flight: u64) {
        let elapsed = now.saturating_sub(self.last_change);
        self.in_flight_ns += u128::from(elapsed.0) * u128::from(in_flight);
        self.last_change = self.last_change.max(now);
    }

    /// One attempt more is counted from now on, and is in flight since then. Events of one turn come in any order: one that
    /// was read first may be told last, and what it starts is due before the time that was counted already.
    #[inline]
    pub(crate) fn add_since(&mut self, intended: Nanos) {
        self.add_late(self.last_change.saturating_sub(intended));
    }

    /// One attempt was in flight until then only, and has been counted for longer.
    #[inline]
    pub(crate) fn take_back(&mut self, ended: Nanos) {
        let over = self.last_change.saturating_sub(ended);
        self.in_flight_ns = self.in_flight_ns.saturating_sub(u128::from(over.0));
    }

    /// Time that one attempt was in flight before it was noticed.
    #[inline]
    pub(crate) fn add_late(&mut self, late: Nanos) {
        self.in_flight_ns += u128::from(late.0);
    }

    #[inline]
    pub(crate) fn record(&mut self, ending: &Ending, bounds: &[Nanos]) {
        let Ending {
            level,
            outcome,
            status,
            response,
            service,
            bytes,
            operation,
            ..
        } = *ending;
        let tally = if level == self.level {
            self.tally_of(operation.into())
        } else {
            &mut self.carried_entry(level).tally
        };
        tally.record(outcome, response, service, bytes, bounds);
        if status > 0 {
            tally.note_status(outcome, status);
        }
    }

    /// The earlier level `level`; there are one or two of them at a time.
    fn carried_entry(&mut self, level: u32) -> &mut Carried {
        let known = self
            .carried
            .iter()
            .position(|carried| carried.level == level);
        let index = known.unwrap_or_else(|| {
            self.carried.push(Carried {
                level,
                ..Carried::default()
            });
            self.carried.len() - 1
        });
        &mut self.carried[index]
    }

    /// Adds this worker's counts to the run's window.
    pub(crate) fn add_to(&self, window: &mut Window) {
        let first = window.operations.is_empty();
        window.level = self.level;
        if first {
            // Also where nothing ended: a window has the tally of an operation at least.
            window.operations.push(Tally::default());
        }
        window.start_ns = if first {
            self.start
        } else {
            window.start_ns.min(self.start)
        };
        let end = if first {
            self.end
        } else {
            self.end.max(window.end_ns())
        };
        // Workers end a window at slightly different times: what adds up is time in flight, so that the
        // mean times the length stays exactly what was counted.
        let in_flight_ns = window.in_flight_mean * window.length_ns.0 as f64;
        window.length_ns = end - window.start_ns;
        window.in_flight_mean =
            (in_flight_ns + self.in_flight_ns as f64) / window.length_ns.0.max(1) as f64;
        window.due_count += self.due;
        window.sent_count += self.sent;
        window.resent_count += self.resent;
        window.followed_count += self.followed;
        window.in_flight_max += self.in_flight_max;
        window.in_flight_end += self.in_flight_end;
        window.wire_max += self.wire_max;
        if let Some(vus) = self.vus {
            window.vus = Some(window.vus.unwrap_or(0) + vus);
        }
        let operations = &mut window.operations;
        operations.resize_with(operations.len().max(self.tallies.len()), Tally::default);
        for (total, tally) in operations.iter_mut().zip(&self.tallies) {
            total.merge(tally);
        }
        for (place, effects) in &self.databases {
            let databases = &mut window.databases;
            databases.resize_with(databases.len().max(place + 1), Effects::default);
            databases[*place].merge(effects);
        }
        for carried in &self.carried {
            add_carried(&mut window.carried, carried);
        }
        self.add_health(&mut window.health);
    }

    /// Adds this worker's counts to a window of a later level.
    pub(crate) fn add_as_carried_to(&self, window: &mut Window) {
        add_carried(&mut window.carried, &self.as_carried());
        for carried in &self.carried {
            add_carried(&mut window.carried, carried);
        }
    }

    fn add_health(&self, health: &mut Health) {
        health.lag.merge(&self.lag);
        health.dropped_ours_count += self.dropped_ours;
        health.dropped_target_count += self.dropped_target;
        health.worker_run_ns.push(self.run);
        health.worker_wait_ns.push(self.wait);
        health.stall_max_ns = health.stall_max_ns.max(self.stall_max);
        health.stalled_ns = Some(health.stalled_ns.unwrap_or_default() + self.stalled);
        health.disturbed.merge(&self.disturbed);
        health.connections_open += self.connections_open;
        health.connects_count += self.connects;
    }
}

fn add_carried(all: &mut Vec<Carried>, one: &Carried) {
    match all.iter_mut().find(|known| known.level == one.level) {
        Some(known) => known.merge(one),
        None => all.push(one.clone()),
    }
}

#[cfg(test)]
mod tests;

//! What the seconds of one level showed, before anybody judges them.

use plimsoll_core::judge::{self, Bad, Lateness};
use plimsoll_core::objective::Clause;
use plimsoll_core::tally::Quantile;
use plimsoll_core::verdict::Bounds;
use plimsoll_core::{Nanos, Objectives, Tally, Window};

use super::load::Load;
use super::stats;

/// Most clauses of [`Objectives`]: four bounds and an error budget.
const CLAUSES_MAX: usize = Objectives::BOUNDS_MAX + 1;
/// Without a bound nothing is late before the longest client timeout.
const BOUND_MOST: Nanos = Nanos::from_secs(10);

/// One second of a level. Attempts count where they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Second {
    pub(crate) length: f64,
    pub(crate) due: u64,
    pub(crate) attempts: u64,
    /// Done or taken in.
    pub(crate) served: u64,
    /// Served within every bound.
    pub(crate) in_time: u64,
    /// Done within every bound: goodput.
    pub(crate) good: u64,
    pub(crate) failures: u64,
    /// Bad attempts per clause, but for those set aside.
    pub(crate) bad: [u64; CLAUSES_MAX],
    /// Bad attempts that our own lateness could have turned, where it was beyond what the objective tolerates: they say
    /// nothing about the target, so neither they nor their share of `attempts` are counted.
    pub(crate) set_aside: u64,
    /// Attempts of this level that must already be late although they have not ended.
    pub(crate) overdue: u64,
    pub(crate) in_flight_mean: f64,
    pub(crate) in_flight_end: u64,
    pub(crate) p99: Option<Nanos>,
}

/// Attempts of an earlier level that failed in `window`, while another is played.
pub(crate) fn failed_after(
    window: &Window,
    ends: &Tally,
    objectives: &Objectives,
    lateness: Lateness,
) -> u64 {
    let (bad, _) = bad_of(window, ends, objectives, lateness);
    let clauses = objectives.clauses().iter().zip(bad);
    let of_errors = clauses.filter(|(clause, _)| matches!(clause, Clause::Errors { .. }));
    of_errors.map(|(_, bad)| bad).sum()
}

/// Bad attempts per clause without those that our lateness may have turned, and the most that were set aside for it.
fn bad_of(
    window: &Window,
    total: &Tally,
    objectives: &Objectives,
    lateness: Lateness,
) -> ([u64; CLAUSES_MAX], u64) {
    let mut bad = [0; CLAUSES_MAX];
    let each = judge::bad_of_each(objectives, total);
    for (slot, (_, of_clause)) in bad.iter_mut().zip(each) {
        *slot = of_clause.count;
    }
    let mut set_aside = 0;
    if lateness.disturbs(objectives) {
        let turned = lateness.turned(objectives, total, window.health.dropped_ours_count);
        for (slot, turned) in bad.iter_mut().zip(turned) {
            *slot -= turned;
            set_aside = set_aside.max(turned);
        }
    }
    (bad, set_aside)
}

impl Second {
    fn from_window(
        window: &Window,
        total: &Tally,
        objectives: &Objectives,
        lateness: Lateness,
    ) -> Self {
        let (bad, set_aside) = bad_of(window, total, objectives, lateness);
        Self {
            length: window.length_ns.as_secs_f64(),
            due: window.due_count,
            attempts: total.decided() - set_aside,
            set_aside,
            served: total.served(),
            in_time: judge::in_time(objectives, total),
            good: total.good(),
            failures: total.failures(),
            bad,
            overdue: 0,
            in_flight_mean: window.in_flight_mean,
            in_flight_end: window.in_flight_end,
            p99: total.response_quantile(0.99).and_then(Quantile::finite),
        }
    }

    /// Bad attempts of the clause that has most of them.
    pub(crate) fn worst_bad(&self) -> u64 {
        self.bad.iter().copied().max().unwrap_or(0)
    }
}

/// Every second of a level so far.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) load: Load,
    pub(crate) objectives: Objectives,
    /// With those at the start that are not judged.
    pub(crate) seconds: Vec<Second>,
    /// Attempts that failed when it was over: what hangs does, for a client waits up to its timeout. An error budget counts them;
    /// under a bound they were overdue.
    failed_after: u64,
    discard: u32,
    /// Most attempts failed for so long that the level was stopped.
    pub(crate) aborted: bool,
    due: u64,
    pub(crate) ended: u64,
}

impl Measured {
    pub(crate) fn new(load: Load, objectives: &Objectives, discard: u32) -> Self {
        Self {
            load,
            objectives: objectives.clone(),
            seconds: Vec::new(),
            failed_after: 0,
            discard,
            aborted: false,
            due: 0,
            ended: 0,
        }
    }

    pub(crate) fn add(&mut self, window: &Window, total: &Tally, lateness: Lateness) {
        self.due += window.due_count;
        self.ended += total.attempts();
        let second = Second::from_window(window, total, &self.objectives, lateness);
        self.seconds.push(second);
        let overdue = self.overdue();
        if let Some(last) = self.seconds.last_mut() {
            last.overdue = overdue;
        }
    }

    /// Attempts that failed when the level was over.
    pub(crate) fn fail_after(&mut self, count: u64) {
        self.failed_after += count;
    }

    /// Those that count against a clause, beside the judged seconds.
    pub(crate) fn failed_after(&self, clause: Clause) -> u64 {
        match clause {
            Clause::Errors { .. } => self.failed_after,
            Clause::ResponseTime { .. } => 0,
        }
    }

    fn overdue(&self) -> u64 {
        let bound = self.objectives.longest_bound().unwrap_or(BOUND_MOST);
        let newest_first = self.seconds.iter().rev();
        let windows = newest_first.map(|second| (second.length, second.due));
        judge::overdue(self.due.saturating_sub(self.ended), bound, windows)
    }

    pub(crate) fn clauses(&self) -> &[Clause] {
        self.objectives.clauses()
    }

    /// Seconds at the start that are not judged.
    pub(crate) fn discarded(&self) -> u32 {
        self.discard.min(self.seconds.len() as u32)
    }

    /// The seconds that count.
    pub(crate) fn judged(&self) -> &[Second] {
        &self.seconds[self.discarded() as usize..]
    }

    /// Whether more than a third of the judged seconds hold bad attempts that were set aside, so many that the level may
    /// be over its budget with them: then what is left is no picture of it.
    pub(crate) fn is_turned_by_us(&self) -> bool {
        let judged = self.judged();
        let disturbed = judged.iter().filter(|second| second.set_aside > 0).count();
        let set_aside: u64 = judged.iter().map(|second| second.set_aside).sum();
        let attempts = self.attempts() + set_aside;
        let over = self.clauses().iter().enumerate().any(|(index, clause)| {
            let bad: u64 = judged.iter().map(|second| second.bad[index]).sum();
            let count = bad + set_aside;
            Bad { count, attempts }.exceeds(*clause)
        });
        3 * disturbed > judged.len() && over
    }

    pub(crate) fn attempts(&self) -> u64 {
        self.judged().iter().map(|second| second.attempts).sum()
    }

    pub(crate) fn seconds_played(&self) -> f64 {
        self.seconds.iter().map(|second| second.length).sum()
    }

    pub(crate) fn seconds_judged(&self) -> f64 {
        self.judged().iter().map(|second| second.length).sum()
    }

    /// A count per second over the judged seconds, with an interval.
    pub(crate) fn per_second(&self, count: fn(&Second) -> u64) -> Option<Bounds> {
        per_second(self.judged().iter(), count)
    }

    /// Mean of a figure over the judged seconds.
    pub(crate) fn mean(&self, figure: impl Fn(&Second) -> f64) -> f64 {
        let judged = self.judged();
        if judged.is_empty() {
            return 0.0;
        }
        judged.iter().map(figure).sum::<f64>() / judged.len() as f64
    }
}

/// A count per second over seconds of one or several levels, with an interval.
pub(crate) fn per_second<'a>(
    seconds: impl Iterator<Item = &'a Second>,
    count: fn(&Second) -> u64,
) -> Option<Bounds> {
    let whole = seconds.filter(|second| second.length > 0.0);
    let rates: Vec<f64> = whole
        .map(|second| count(second) as f64 / second.length)
        .collect();
    stats::mean_interval(&rates)
}

/// Answers in time per second in the second half of a level: a collapse takes its time.
pub(crate) fn late_in_time(seconds: &[Second]) -> f64 {
    let half = &seconds[seconds.len() / 2..];
    let length: f64 = half.iter().map(|second| second.length).sum();
    let in_time: u64 = half.iter().map(|second| second.in_time).sum();
    if length > 0.0 {
        in_time as f64 / length
    } else {
        0.0
    }
}

/// The first of three seconds in a row with at least 95 % of the answers in time and a p99 of at most 1.25
/// times that before (capacity-science B.5). The p99 of one second is noisy: the middle of three counts.
pub(crate) fn recovered_at(seconds: &[Second], in_time_per_s: f64, p99: Nanos) -> Option<usize> {
    const RUN: usize = 3;
    let slowest = p99.0 as f64 * 1.25;
    (0..seconds.len().saturating_sub(RUN - 1)).find(|&from| {
        let run = &seconds[from..from + RUN];
        let length: f64 = run.iter().map(|second| second.length).sum();
        let in_time: u64 = run.iter().map(|second| second.in_time).sum();
        let mut times: Vec<_> = run
            .iter()
            .map(|s| s.p99.map_or(f64::INFINITY, |p99| p99.0 as f64))
            .collect();
        times.sort_by(f64::total_cmp);
        in_time as f64 >= 0.95 * in_time_per_s * length && times[RUN / 2] <= slowest
    })
}

//! One level as it is played: what its seconds showed, and when it has shown enough.

use plimsoll_core::health::{Assessment, Loop, Meter};
use plimsoll_core::objective::Clause;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::step::{Go, Phase, Step, StepLoad};
use plimsoll_core::verdict::Bounds;
use plimsoll_core::{Histogram, Nanos, Objectives, Tally, Window};

use super::config::Abort;
use super::judge::{self, Call, Judged};

/// Most clauses of [`Objectives`]: four bounds and an error budget.
pub(crate) const CLAUSES_MAX: usize = 5;

/// What the search wants played next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ask {
    pub(crate) phase: Phase,
    pub(crate) load: Load,
    pub(crate) windows_max: u32,
    /// Windows at the start that are not judged.
    pub(crate) discard: u32,
    pub(crate) rule: Rule,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Load {
    Closed(u32),
    /// Arrivals per second.
    Open(f64),
    /// Virtual users, each of whom goes on when its answers have come: a closed loop that is judged.
    Vus(u32),
}

impl Load {
    /// The number that the search varies.
    pub(crate) fn rate(self) -> Option<f64> {
        match self {
            Self::Open(rate) => Some(rate),
            Self::Vus(count) => Some(f64::from(count)),
            Self::Closed(_) => None,
        }
    }
}

/// When a level ends before its last window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    /// After so many attempts, and so many windows.
    Attempts { count: u64, windows_min: u32 },
    /// Only the abort rule.
    Fixed,
    /// As soon as every clause is decided, at the earliest after so many judged windows.
    Sequential { fail_min: u32, pass_min: u32 },
    /// When the budget of the whole soak of so many seconds is used up.
    Soak { seconds: f64 },
    /// When the target answers as it did before.
    Settled { in_flight_max: f64 },
    /// When goodput and p99 have been normal for three seconds. Never aborted.
    Recovered { goodput_per_s: f64, p99: Nanos },
    /// The pulse of the recovery probe, which overloads on purpose and is short.
    Pulse,
}

/// One second of a level. Attempts count where they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Second {
    pub(crate) length: f64,
    pub(crate) due: u64,
    pub(crate) attempts: u64,
    pub(crate) ok: u64,
    pub(crate) good: u64,
    pub(crate) failures: u64,
    /// Bad attempts per clause.
    pub(crate) bad: [u64; CLAUSES_MAX],
    /// Attempts of this level that must already be late although they have not ended.
    pub(crate) overdue: u64,
    pub(crate) in_flight_mean: f64,
    pub(crate) in_flight_end: u64,
    pub(crate) p99: Option<Nanos>,
}

#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) step: Step,
    pub(crate) ask: Ask,
    pub(crate) seconds: Vec<Second>,
    clauses: Vec<Clause>,
    abort: Abort,
    meter: Meter,
    /// Response times of ok answers in judged windows.
    pub(crate) answers: Histogram,
    due: u64,
    ended: u64,
    pub(crate) aborted: bool,
}

impl Level {
    pub(crate) fn new(step: Step, ask: Ask, objectives: &Objectives, abort: Abort) -> Self {
        Self {
            step,
            ask,
            seconds: Vec::new(),
            clauses: objectives.clauses().to_vec(),
            abort,
            meter: Meter::default(),
            answers: Histogram::new(),
            due: 0,
            ended: 0,
            aborted: false,
        }
    }

    pub(crate) fn observe(&mut self, window: &Window) -> Go {
        let total = window.total();
        self.due += window.due_count;
        self.ended += total.attempts();
        let mut second = second_of(window, &total, &self.clauses);
        second.overdue = self.overdue(window.due_count);
        self.seconds.push(second);
        self.meter.add(window);
        if self.seconds.len() > self.ask.discard as usize {
            self.answers.merge(total.answers_only());
        }
        self.go()
    }

    /// By counting: whatever is pending beyond what was due within the longest bound is late.
    /// Windows are as fine as the count gets, so the last due window is always given its time.
    fn overdue(&self, due_now: u64) -> u64 {
        let bound = judge::longest_bound(&self.clauses).as_secs_f64();
        let pending = self.due.saturating_sub(self.ended);
        let mut young = due_now;
        let mut covered = self.seconds.last().map_or(1.0, |second| second.length);
        for second in self.seconds.iter().rev() {
            if covered >= bound {
                break;
            }
            covered += second.length;
            young += second.due;
        }
        pending.saturating_sub(young)
    }

    pub(crate) fn judged(&self) -> &[Second] {
        let from = (self.ask.discard as usize).min(self.seconds.len());
        &self.seconds[from..]
    }

    pub(crate) fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.ask.load.rate()
    }

    pub(crate) fn health(&self) -> Assessment {
        let model = match self.step.load {
            StepLoad::Open { .. } => Loop::Open,
            StepLoad::Closed { .. } => Loop::Closed,
        };
        self.meter.assess(model)
    }

    fn go(&mut self) -> Go {
        if self.abort_rule() {
            self.aborted = true;
            return Go::Stop;
        }
        let stop = match self.ask.rule {
            Rule::Attempts { count, windows_min } => {
                self.ended >= count && self.seconds.len() >= windows_min as usize
            }
            Rule::Fixed | Rule::Pulse => false,
            Rule::Sequential { fail_min, pass_min } => {
                let judged = judge::sequential(self, fail_min);
                let passes = matches!(judged.call, Call::Pass | Call::PassProvisionally);
                judged.call != Call::Undecided
                    && (!passes || self.judged().len() >= pass_min as usize)
            }
            Rule::Soak { seconds } => judge::soak_is_lost(self, seconds),
            Rule::Settled { in_flight_max } => self.settled(in_flight_max),
            Rule::Recovered { goodput_per_s, p99 } => {
                recovered_at(&self.seconds, goodput_per_s, p99).is_some()
            }
        };
        if stop { Go::Stop } else { Go::On }
    }

    fn abort_rule(&self) -> bool {
        let count = self.abort.seconds as usize;
        if matches!(
            self.ask.rule,
            Rule::Pulse | Rule::Recovered { .. } | Rule::Settled { .. }
        ) || self.seconds.len() < count
        {
            return false;
        }
        self.seconds[self.seconds.len() - count..].iter().all(|s| {
            s.attempts > 0 && s.failures as f64 > self.abort.error_ratio * s.attempts as f64
        })
    }

    /// Two seconds in a row without a late attempt, without a backlog.
    fn settled(&self, in_flight_max: f64) -> bool {
        let calm = |second: &Second| {
            let bad = second.bad.iter().copied().max().unwrap_or(0);
            second.attempts > 0
                && (bad as f64) <= 0.05 * second.attempts as f64
                && second.overdue == 0
                && second.in_flight_end as f64 <= in_flight_max
        };
        self.seconds.len() >= 2 && self.seconds.iter().rev().take(2).all(calm)
    }

    /// The level's verdict by its rule; `None` where it was only observed.
    pub(crate) fn verdict(&self) -> Option<Judged> {
        match self.ask.rule {
            Rule::Sequential { fail_min, .. } => Some(judge::sequential(self, fail_min)),
            Rule::Soak { .. } => Some(judge::soak(self)),
            _ => None,
        }
    }

    pub(crate) fn seconds_played(&self) -> f64 {
        self.seconds.iter().map(|second| second.length).sum()
    }

    /// Per second over the judged windows.
    pub(crate) fn per_second(&self, of: impl Fn(&Second) -> f64) -> Vec<f64> {
        let judged = self.judged();
        judged
            .iter()
            .filter(|s| s.length > 0.0)
            .map(|s| of(s) / s.length)
            .collect()
    }

    pub(crate) fn goodput(&self) -> Option<Bounds> {
        super::stats::mean_interval(&self.per_second(|second| second.good as f64))
    }

    /// Mean of a figure over the judged windows.
    pub(crate) fn mean(&self, of: impl Fn(&Second) -> f64) -> f64 {
        let judged = self.judged();
        if judged.is_empty() {
            return 0.0;
        }
        judged.iter().map(of).sum::<f64>() / judged.len() as f64
    }
}

/// The first of three seconds in a row with at least 95 % of the goodput and a p99 of at most 1.25
/// times that before (capacity-science B.5). The p99 of one second is noisy: the middle of three counts.
pub(crate) fn recovered_at(seconds: &[Second], goodput: f64, p99: Nanos) -> Option<usize> {
    const RUN: usize = 3;
    let slowest = p99.0 as f64 * 1.25;
    (0..seconds.len().saturating_sub(RUN - 1)).find(|&from| {
        let run = &seconds[from..from + RUN];
        let length: f64 = run.iter().map(|second| second.length).sum();
        let good: u64 = run.iter().map(|second| second.good).sum();
        let mut times: Vec<_> = run
            .iter()
            .map(|s| s.p99.map_or(f64::INFINITY, |p99| p99.0 as f64))
            .collect();
        times.sort_by(f64::total_cmp);
        good as f64 >= 0.95 * goodput * length && times[RUN / 2] <= slowest
    })
}

fn second_of(window: &Window, total: &Tally, clauses: &[Clause]) -> Second {
    let attempts = total.decided();
    let mut bad = [0; CLAUSES_MAX];
    let mut bound_index = 0;
    for (slot, clause) in bad.iter_mut().zip(clauses) {
        *slot = match *clause {
            Clause::Errors { .. } => total.failures(),
            Clause::ResponseTime { bound_ns, .. } => {
                let accepted = &total.class(Outcome::Accepted).response;
                let fine = total.within(bound_index) + accepted.count_at_most(bound_ns);
                bound_index += 1;
                attempts.saturating_sub(fine)
            }
        };
    }
    Second {
        length: window.length_ns.as_secs_f64(),
        due: window.due_count,
        attempts,
        ok: total.ok(),
        good: total.good(),
        failures: total.failures(),
        bad,
        overdue: 0,
        in_flight_mean: window.in_flight_mean,
        in_flight_end: window.in_flight_end,
        p99: total
            .response_quantile(0.99)
            .and_then(plimsoll_core::tally::Quantile::finite),
    }
}

//! One level with everything that is shown of it.

use plimsoll_core::Nanos;
use plimsoll_core::histogram::{Histogram, rank_of};
use plimsoll_core::objective::Clause;
use plimsoll_core::record::{LevelStart, Record};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::tally::Tally;
use plimsoll_core::verdict::{Bounds, LevelState, Verdict};

use crate::format;

/// A level as played. Rates are over its judged windows (over all of them for the level that the
/// summary describes); outcomes and percentiles count every attempt that was due in those windows or
/// ended in them, late ends in the next level included.
#[derive(Debug, Clone)]
pub struct LevelView {
    pub level: u32,
    pub(crate) phase: Phase,
    pub(crate) load: StepLoad,
    /// Where it stands along what the search varied: `offered_per_s`, or how many virtual users.
    pub(crate) size: f64,
    /// A closed loop of virtual users, not of connections.
    has_vus: bool,
    /// A driver sends, and not we.
    is_of_driver: bool,
    pub(crate) state: LevelState,
    /// The one that failed.
    pub(crate) clause: Option<Clause>,
    pub(crate) reason: String,
    /// Bad attempts of the deciding clause as a share of attempts.
    pub(crate) bad_ratio: Option<Bounds>,
    pub(crate) start: Nanos,
    /// Length of the judged windows.
    pub(crate) judged: Nanos,
    /// The constant rate if there is one, else attempts due per second.
    pub(crate) offered_per_s: f64,
    pub(crate) achieved_per_s: f64,
    pub throughput_per_s: f64,
    pub goodput_per_s: f64,
    /// Goodput of each judged window, per second.
    pub(crate) goodput_windows: Vec<f64>,
    pub tally: Tally,
    pub(crate) in_flight_mean: f64,
    pub(crate) in_flight_max: u64,
    pub(crate) wire_max: u64,
    pub(crate) lag_p99: Option<Nanos>,
    pub(crate) dropped_ours: u64,
    pub(crate) dropped_target: u64,
    /// Requests that were written once more, and those that were written where a redirect led.
    pub(crate) resent: u64,
    pub(crate) followed: u64,
}

impl LevelView {
    /// Correct but later than a bound of the objective.
    pub(crate) fn late(&self) -> u64 {
        self.tally.ok().saturating_sub(self.tally.good())
    }

    /// Failures as a share of attempts; `None` without attempts.
    pub(crate) fn failed_ratio(&self) -> Option<f64> {
        self.tally.failed_ratio()
    }

    /// Attempts that were not good as a share of attempts; `None` without attempts.
    pub(crate) fn not_good_ratio(&self) -> Option<f64> {
        let attempts = self.tally.decided();
        (attempts > 0).then(|| 1.0 - self.tally.good() as f64 / attempts as f64)
    }

    pub(crate) fn is_void(&self) -> bool {
        self.state == LevelState::Void
    }

    /// A point of the load line: open, at one rate, with attempts, and played to be looked at. Or closed,
    /// in a phase that is so only in a search over virtual users: one over rates ends with its first closed loop repeated.
    pub(crate) fn is_point(&self) -> bool {
        let constant = match self.load {
            StepLoad::Open { profile, .. } => profile.constant_rate().is_some(),
            StepLoad::Closed { .. } => !matches!(self.phase, Phase::Run | Phase::Repeat),
        };
        let shown = matches!(
            self.phase,
            Phase::Run
                | Phase::Bracket
                | Phase::Bisect
                | Phase::Soak
                | Phase::Overshoot
                | Phase::Repeat
        );
        constant && shown && self.tally.attempts() > 0
    }

    /// `412/s`, `64 in flight`, `64 VUs`
    pub fn name(&self) -> String {
        match self.load {
            StepLoad::Open { .. } => format::rate(self.offered_per_s),
            StepLoad::Closed { in_flight } => closed_words(in_flight, self.has_vus),
        }
    }

    /// `open, 412/s, Poisson arrivals` · `closed, 64 in flight`
    pub(crate) fn load_words(&self) -> String {
        load_words(&self.load, self.has_vus)
    }

    /// The result in one word with its sign: `✓ holds`, `✕ p99`, `○ void`.
    pub(crate) fn result(&self) -> (&'static str, String) {
        match self.state {
            LevelState::Pass if self.phase == Phase::Soak => ("✓", "soak".to_owned()),
            LevelState::Pass => ("✓", "holds".to_owned()),
            LevelState::Fail => ("✕", self.clause_subject()),
            LevelState::Undecided => ("?", "undecided".to_owned()),
            LevelState::Void => ("○", "void".to_owned()),
            LevelState::Observed => ("·", phase_word(self.phase).to_owned()),
        }
    }

    fn clause_subject(&self) -> String {
        self.clause.map_or("fails".to_owned(), Clause::subject)
    }
}

/// Every level against the target that has windows, in the order played.
pub(super) fn all(record: &Record) -> Vec<LevelView> {
    record
        .levels
        .iter()
        .filter(|start| !matches!(start.step.phase, Phase::SelfCheck | Phase::Drain))
        .filter_map(|start| one(record, start, &[start.step.level]))
        .collect()
}

/// The level that stands for what the verdict quotes, with the windows of all that were pooled for it.
pub(super) fn deciding(record: &Record, verdict: &Verdict) -> Option<LevelView> {
    let start = record
        .levels
        .iter()
        .find(|start| start.step.level == verdict.level)?;
    one(record, start, &record.deciding_levels(verdict))
}

/// `start` with the windows of `levels`, all played at the same load.
fn one(record: &Record, start: &LevelStart, levels: &[u32]) -> Option<LevelView> {
    let level = start.step.level;
    let result = record.level_result(level);
    let sums = Sums::new(record, levels)?;
    let (state, clause, reason, bad_ratio) = match result {
        Some(result) => (
            result.state,
            result.clause.as_deref().and_then(Clause::parse),
            result.reason.clone(),
            result.bad_ratio,
        ),
        None => (LevelState::Observed, None, String::new(), None),
    };
    let seconds = sums.length.as_secs_f64();
    let offered = sums.due as f64 / seconds;
    let (offered_per_s, size) = match start.step.load {
        StepLoad::Open { profile, .. } => {
            let rate = profile.constant_rate().unwrap_or(offered);
            (rate, rate)
        }
        StepLoad::Closed { in_flight } => (offered, f64::from(in_flight)),
    };
    Some(LevelView {
        level,
        phase: start.step.phase,
        load: start.step.load,
        size,
        has_vus: record.header.test.is_script(),
        is_of_driver: record.header.test.workload().is_some(),
        state,
        clause,
        reason,
        bad_ratio,
        start: start.start_ns,
        judged: sums.length,
        offered_per_s,
        achieved_per_s: sums.sent as f64 / seconds,
        throughput_per_s: sums.ended.answers() as f64 / seconds,
        goodput_per_s: sums.ended.good() as f64 / seconds,
        goodput_windows: sums.goodputs,
        tally: sums.tally,
        in_flight_mean: sums.in_flight_ns / sums.length.0 as f64,
        in_flight_max: sums.in_flight_max,
        wire_max: sums.wire_max,
        lag_p99: sums.lag.quantile(0.99),
        dropped_ours: sums.dropped_ours,
        dropped_target: sums.dropped_target,
        resent: sums.resent,
        followed: sums.followed,
    })
}

impl LevelView {
    /// `200: 912, 404: 3`; nothing where no code was counted.
    pub(crate) fn status_words(&self) -> Option<String> {
        let status = self.tally.status();
        let shown = |(code, count)| format!("{code}:{}{}", format::NBSP, format::count(count));
        let shown: Vec<String> = status.iter().map(shown).collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }

    /// Requests on the wire beside the first of each attempt, each kind in a sentence.
    pub(crate) fn further_requests(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.resent > 0 {
            words.push(if self.is_of_driver {
                let count = format::plural(self.resent, "command was", "commands were");
                format!("{count} sent once more, for operations that had not come to their end")
            } else {
                let count = format::plural(self.resent, "request was", "requests were");
                format!(
                    "{count} written once more: the server had closed the kept connection, or said that it had not looked"
                )
            });
        }
        if self.followed > 0 {
            let count = format::plural(self.followed, "redirect was", "redirects were");
            words.push(format!("{count} followed"));
        }
        words
    }
}

/// What the judged windows of a level add up to.
#[derive(Default)]
struct Sums {
    length: Nanos,
    due: u64,
    sent: u64,
    ended: Tally,
    goodputs: Vec<f64>,
    tally: Tally,
    in_flight_ns: f64,
    in_flight_max: u64,
    wire_max: u64,
    lag: Histogram,
    dropped_ours: u64,
    dropped_target: u64,
    resent: u64,
    followed: u64,
}

impl Sums {
    fn new(record: &Record, levels: &[u32]) -> Option<Self> {
        let mut sums = Self::default();
        for level in levels {
            sums.tally.merge(&record.judged_tally(*level));
        }
        for window in levels
            .iter()
            .flat_map(|level| record.judged_windows(*level))
        {
            let total = window.total();
            sums.length += window.length_ns;
            sums.due += window.due_count;
            sums.sent += window.sent_count;
            sums.ended.merge(&total);
            if window.length_ns > Nanos::ZERO {
                sums.goodputs
                    .push(total.good() as f64 / window.length_ns.as_secs_f64());
            }
            sums.in_flight_ns += window.in_flight_mean * window.length_ns.0 as f64;
            sums.in_flight_max = sums.in_flight_max.max(window.in_flight_max);
            sums.wire_max = sums.wire_max.max(window.wire_max);
            sums.lag.merge(&window.health.lag);
            sums.dropped_ours += window.health.dropped_ours_count;
            sums.dropped_target += window.health.dropped_target_count;
            sums.resent += window.resent_count;
            sums.followed += window.followed_count;
        }
        (sums.length > Nanos::ZERO).then_some(sums)
    }
}

/// Attempts beyond the percentile that keep it from being one man's luck.
pub(super) fn tail_rank(q: f64, attempts: u64) -> u64 {
    attempts - rank_of(q, attempts)
}

pub(crate) const fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Run => "run",
        Phase::SelfCheck => "self-check",
        Phase::WarmUp => "warm-up",
        Phase::Anchor => "anchor",
        Phase::Bracket => "bracket",
        Phase::Bisect => "bisect",
        Phase::Soak => "soak",
        Phase::Overshoot => "overshoot",
        Phase::RecoveryBefore => "recovery: before",
        Phase::RecoveryPulse => "recovery: pulse",
        Phase::RecoveryAfter => "recovery: after",
        Phase::Repeat => "repeated",
        Phase::Settle => "settle",
        Phase::Drain => "drain",
    }
}

/// `64 in flight`; where each of them is a virtual user that also thinks, `64 VUs`.
fn closed_words(in_flight: u32, has_vus: bool) -> String {
    let what = match (has_vus, in_flight) {
        (true, 1) => "VU",
        (true, _) => "VUs",
        (false, _) => "in flight",
    };
    format!("{}{}{what}", format::count(in_flight.into()), format::NBSP)
}

/// `100/s to 2,000/s`, and of a course with parts of its own `500/s, 5,000/s, 500/s`.
fn course(profile: &RateProfile) -> String {
    let ends = |from: f64, to: f64| {
        if from.total_cmp(&to).is_eq() {
            format::rate(from)
        } else {
            format!("{} to {}", format::rate(from), format::rate(to))
        }
    };
    match profile.legs() {
        [] => ends(profile.rate_at(Nanos::ZERO), profile.rate_at(Nanos::MAX)),
        legs => {
            let each = legs.iter().map(|leg| ends(leg.from_per_s, leg.to_per_s));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

/// `open, 412/s, Poisson arrivals` · `closed, 64 in flight` · `closed, 64 VUs`
pub(crate) fn load_words(load: &StepLoad, has_vus: bool) -> String {
    match load {
        StepLoad::Closed { in_flight } => {
            format!("closed, {}", closed_words(*in_flight, has_vus))
        }
        StepLoad::Open { profile, arrivals } => {
            let kind = match arrivals {
                Arrivals::Poisson => "Poisson",
                Arrivals::Uniform => "uniform",
            };
            let rate = profile
                .constant_rate()
                .map_or_else(|| course(profile), format::rate);
            format!("open, {rate}, {kind} arrivals")
        }
    }
}

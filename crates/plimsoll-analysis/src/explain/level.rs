//! Levels of a record as the few figures that attribution needs.

use plimsoll_core::objective::Clause;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::Record;
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::tally::ClassTally;
use plimsoll_core::verdict::{Judgement, LevelState};
use plimsoll_core::{Histogram, Nanos, Objectives, Tally, Window};

use super::cause::{GIVEN_UP, NO_ANSWER};
use crate::gates;
use crate::summary::objectives;

/// What a service has done of what it was asked for: one that only takes work in has served, too.
const SERVED: [Outcome; 2] = [Outcome::Ok, Outcome::Accepted];

/// One level, or one part of a ramp, over its judged windows.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// In flight of a closed loop, or its virtual users; `None` where arrivals come at their own times.
    pub(super) closed: Option<u32>,
    pub(super) state: LevelState,
    /// Its own attempts break a response-time objective, whether anybody judged it or not.
    pub(super) late: bool,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// Attempts due, answers, and ok or accepted answers per second of its time.
    pub(super) offered: f64,
    pub(super) answered: f64,
    pub(super) served: f64,
    pub(super) in_flight: f64,
    /// Growth of in-flight from its first to its last window.
    pub(super) growth: f64,
    /// Everything that ended in its time, late ends of earlier levels included.
    pub(super) tally: Tally,
    /// Ok answers and time of each window, for bursts.
    pub(super) windows: Vec<WindowFacts>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct WindowFacts {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// Attempts that ended without an answer.
    pub(super) unanswered: u64,
    /// Attempts that the service gave up with an answer of its own.
    pub(super) given_up: u64,
    pub(super) attempts: u64,
    /// Failed, or later than the longest bound of the objectives.
    pub(super) bad: u64,
    pub(super) in_flight_mean: f64,
    pub(super) in_flight_max: f64,
    pub(super) longest: Nanos,
    pub(super) median: Nanos,
}

impl Level {
    pub(super) fn seconds(&self) -> f64 {
        (self.end - self.start).as_secs_f64()
    }

    /// Share of the attempts that ended in it.
    pub(super) fn share(&self, outcomes: &[Outcome]) -> f64 {
        let count: u64 = outcomes.iter().map(|o| self.tally.class(*o).count).sum();
        ratio(count as f64, self.tally.decided() as f64)
    }

    /// Failures other than attempts that we ourselves did not send.
    pub(super) fn failed_share(&self) -> f64 {
        let failures = self.tally.failures() - self.tally.class(Outcome::Dropped).count;
        ratio(failures as f64, self.tally.decided() as f64)
    }

    /// Mean response time of what was served.
    pub(super) fn served_response(&self) -> Option<Nanos> {
        served_response(&self.tally).mean()
    }

    /// Mean service time of what was served.
    pub(super) fn served_service(&self) -> Option<Nanos> {
        served(&self.tally, |class| &class.service).mean()
    }
}

/// Response times of what was served.
pub(super) fn served_response(tally: &Tally) -> Histogram {
    served(tally, |class| &class.response)
}

fn served(tally: &Tally, times: fn(&ClassTally) -> &Histogram) -> Histogram {
    let mut all = Histogram::new();
    for outcome in SERVED {
        all.merge(times(tally.class(outcome)));
    }
    all
}

pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Levels that the target was measured at, in the order played. The generator's own check, warm-up
/// and the recovery probe say nothing about a steady load.
pub(super) fn levels(record: &Record) -> Vec<Level> {
    let mut levels = Vec::new();
    for start in &record.levels {
        let skipped = matches!(
            start.step.phase,
            Phase::SelfCheck
                | Phase::WarmUp
                | Phase::Settle
                | Phase::Drain
                | Phase::RecoveryBefore
                | Phase::RecoveryPulse
                | Phase::RecoveryAfter
        );
        let result = record.level_result(start.step.level);
        let state = result.map_or(LevelState::Observed, |result| result.state);
        if skipped || state == LevelState::Void {
            continue;
        }
        let judged: Vec<&Window> = record.judged_windows(start.step.level).collect();
        for part in parts(start.step.load, &judged) {
            levels.extend(level(record, start.step.load, state, part));
        }
    }
    levels
}

/// A ramp passes through many rates, or numbers of users: it is cut into up to ten parts of at least
/// three windows.
fn parts<'a, 'w>(load: StepLoad, windows: &'a [&'w Window]) -> Vec<&'a [&'w Window]> {
    let is_ramp = match load {
        StepLoad::Open { profile, .. } => profile.constant_rate().is_none(),
        StepLoad::Closed { .. } => gates::users_vary(windows.iter().copied()),
    };
    if is_ramp {
        let length = windows.len().div_ceil(10).max(3);
        windows.chunks(length).collect()
    } else {
        vec![windows]
    }
}

fn level(record: &Record, load: StepLoad, state: LevelState, windows: &[&Window]) -> Option<Level> {
    let (first, last) = (windows.first()?, windows.last()?);
    let seconds: f64 = windows.iter().map(|w| w.length_ns.as_secs_f64()).sum();
    if seconds <= 0.0 {
        return None;
    }
    let mut tally = Tally::default();
    let (mut due, mut in_flight) = (0, 0.0);
    let users = windows.iter().filter_map(|window| window.vus);
    let users_mean = users.clone().map(u64::from).sum::<u64>() / users.count().max(1) as u64;
    for window in windows {
        tally.merge(&window.total());
        for carried in &window.carried {
            tally.merge(&carried.tally);
        }
        due += window.due_count;
        in_flight += window.in_flight_mean * window.length_ns.as_secs_f64();
    }
    let bound = record.header.plan.objectives.as_ref();
    let bound = bound.and_then(Objectives::longest_bound);
    Some(Level {
        closed: match load {
            StepLoad::Closed { .. } if users_mean > 0 => u32::try_from(users_mean).ok(),
            StepLoad::Closed { in_flight } => Some(in_flight),
            StepLoad::Open { .. } => None,
        },
        state,
        late: is_late(record, &tally),
        start: first.start_ns,
        end: last.end_ns(),
        offered: due as f64 / seconds,
        answered: tally.answers() as f64 / seconds,
        served: SERVED
            .map(|outcome| tally.class(outcome).count as f64)
            .iter()
            .sum::<f64>()
            / seconds,
        in_flight: in_flight / seconds,
        growth: last.in_flight_mean - first.in_flight_mean,
        tally,
        windows: windows.iter().map(|w| facts(w, bound)).collect(),
    })
}

fn is_late(record: &Record, tally: &Tally) -> bool {
    let asked = record.header.plan.objectives.iter();
    let clauses = asked.flat_map(Objectives::clauses);
    let judged = objectives(record, tally);
    let mut each = clauses.zip(&judged);
    each.any(|(clause, result)| {
        matches!(clause, Clause::ResponseTime { .. }) && result.judgement == Judgement::Fail
    })
}

fn facts(window: &Window, bound: Option<Nanos>) -> WindowFacts {
    let mut total = window.total();
    for carried in &window.carried {
        total.merge(&carried.tally);
    }
    let answers = served_response(&total);
    let median = answers.quantile(0.5).unwrap_or_default();
    // Without an objective an attempt is late at ten times the window's median.
    let late_at = bound.unwrap_or(Nanos(median.0.saturating_mul(10)));
    let late = answers
        .count()
        .saturating_sub(answers.count_at_most(late_at));
    let count = |kinds: &[Outcome]| kinds.iter().map(|kind| total.class(*kind).count).sum();
    WindowFacts {
        start: window.start_ns,
        end: window.end_ns(),
        unanswered: count(&NO_ANSWER),
        given_up: count(&GIVEN_UP),
        attempts: total.attempts(),
        bad: total.failures() + late,
        in_flight_mean: window.in_flight_mean,
        in_flight_max: window.in_flight_max as f64,
        longest: answers.max().unwrap_or_default(),
        median,
    }
}

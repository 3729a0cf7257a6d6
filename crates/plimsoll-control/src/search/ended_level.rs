//! A level that has ended: what it showed and what was decided about it.

use plimsoll_core::Histogram;
use plimsoll_core::health::Condition;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Bounds, LevelResult, LevelState};

use super::judge::{self, Decision, LevelVerdict};
use super::level::{Level, is_settled};
use super::level_plan::StopRule;
use super::load::Load;
use super::measured::Measured;

#[derive(Debug, Clone)]
pub(crate) struct EndedLevel {
    pub(crate) level: u32,
    pub(crate) phase: Phase,
    pub(crate) state: LevelState,
    verdict: Option<LevelVerdict>,
    reason: String,
    pub(crate) measured: Measured,
    /// Answers in time, and goodput, which leaves out what was only taken in.
    pub(crate) in_time_per_s: Option<Bounds>,
    pub(crate) goodput_per_s: Option<Bounds>,
    pub(crate) in_flight_mean: f64,
    /// Kept for the first level and its repeat, to see drift.
    pub(crate) answers: Histogram,
    /// Lost, or more arrived than was served: the rate is beyond the boundary, however few attempts had ended.
    pub(crate) is_over: bool,
    pub(crate) settled: bool,
    /// Seconds of the search at which it ended.
    pub(crate) end: f64,
    /// The clause nearest to (or furthest over) its budget: its index, bad attempts, attempts.
    worst: (usize, f64, f64),
}

impl EndedLevel {
    pub(crate) fn new(level: &Level, now: f64) -> Self {
        let verdict = level.verdict();
        let phase = level.plan.phase;
        let void = void_reason(level, verdict.as_ref());
        let state = match (&verdict, &void) {
            (_, Some(_)) => LevelState::Void,
            (None, None) => LevelState::Observed,
            (Some(verdict), None) => match verdict.decision {
                Decision::Pass | Decision::PassProvisionally => LevelState::Pass,
                Decision::Fail => LevelState::Fail,
                Decision::Undecided => LevelState::Undecided,
            },
        };
        let measured = level.measured.clone();
        let keeps_answers = matches!(phase, Phase::Bracket | Phase::Repeat);
        Self {
            level: level.step.level,
            phase,
            state,
            reason: void
                .or_else(|| Some(verdict.as_ref()?.reason.clone()))
                .unwrap_or_default(),
            in_time_per_s: measured.per_second(|second| second.in_time),
            goodput_per_s: measured.per_second(|second| second.good),
            in_flight_mean: measured.mean(|second| second.in_flight_mean),
            answers: if keeps_answers {
                level.answers.clone()
            } else {
                Histogram::new()
            },
            is_over: judge::is_over(&measured),
            end: now,
            worst: judge::worst_clause(&measured),
            settled: match level.plan.stop {
                StopRule::Settled { in_flight_max, .. } => {
                    is_settled(&measured.seconds, in_flight_max)
                }
                _ => false,
            },
            measured,
            verdict,
        }
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.measured.load.rate()
    }

    /// Attempts that failed in a later level. Where this one was plainly too much they are what it left behind, and tell nothing new.
    pub(crate) fn fail_after(&mut self, count: u64) {
        if self.is_over {
            return;
        }
        self.measured.fail_after(count);
        self.worst = judge::worst_clause(&self.measured);
    }

    /// The clause nearest to (or furthest over) its budget: its index, bad attempts, attempts.
    pub(crate) fn worst_clause(&self) -> (usize, f64, f64) {
        self.worst
    }

    /// The share of the worst clause, in budgets.
    pub(crate) fn budgets(&self) -> f64 {
        let (clause, bad, attempts) = self.worst_clause();
        bad / attempts.max(1.0) / self.measured.clauses()[clause].budget()
    }

    pub(crate) fn result(&self) -> LevelResult {
        let verdict = self.verdict.as_ref();
        let failed = verdict.filter(|_| self.state == LevelState::Fail);
        LevelResult {
            level: self.level,
            state: self.state,
            clause: failed.map(|verdict| self.measured.clauses()[verdict.clause].to_string()),
            bad_ratio: verdict.map(|verdict| verdict.share),
            reason: self.reason.clone(),
            discarded_windows: self.measured.discarded(),
        }
    }
}

/// Why the level says nothing about the target, if it does not.
fn void_reason(level: &Level, verdict: Option<&LevelVerdict>) -> Option<String> {
    let health = level.health();
    let judges = !matches!(level.plan.phase, Phase::WarmUp | Phase::Settle);
    // A closed loop that fills our own thread waits for us too: what it passes holds all the same,
    // what it fails may be our fault.
    let ours = matches!(level.plan.load, Load::Vus(_))
        && health.condition == Condition::GeneratorBound
        && verdict.is_some_and(|verdict| !verdict.holds());
    // What holds despite our lateness holds; what fails for certain fails. The rest may be ours.
    let turned = verdict.is_some_and(LevelVerdict::holds) && level.measured.is_turned_by_us();
    (judges && (health.breached() || ours || turned)).then(|| {
        let worst = health.worst().map(ToString::to_string).unwrap_or_default();
        format!("the generator could not sustain it: {worst}")
    })
}

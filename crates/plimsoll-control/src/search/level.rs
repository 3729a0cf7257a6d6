//! One level as it is played: what its seconds showed, and when it has shown enough.

use plimsoll_core::health::{Assessment, Loop, Meter};
use plimsoll_core::judge::Lateness;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::step::{Go, Step, StepLoad};
use plimsoll_core::{Histogram, Objectives, Window};

use super::judge::{self, LevelVerdict};
use super::level_plan::{LevelPlan, StopRule};
use super::measured::{Measured, Second, recovered_at};

/// A level is stopped to spare the target when more than this share of the attempts failed, in so many seconds in a row
/// (capacity-science B.4).
const ABORT_ERROR_RATIO: f64 = 0.5;
const ABORT_SECONDS: usize = 5;

#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) step: Step,
    pub(crate) plan: LevelPlan,
    pub(crate) measured: Measured,
    meter: Meter,
    /// How late we were, the end of the level before included.
    pub(crate) lateness: Lateness,
    /// Response times of what was served in judged windows.
    pub(crate) answers: Histogram,
}

impl Level {
    pub(crate) fn new(
        step: Step,
        plan: LevelPlan,
        objectives: &Objectives,
        lateness: Lateness,
    ) -> Self {
        Self {
            step,
            plan,
            measured: Measured::new(plan.load, objectives, plan.discard),
            meter: Meter::new(objectives.tightest_bound()),
            lateness,
            answers: Histogram::new(),
        }
    }

    pub(crate) fn observe(&mut self, window: &Window) -> Go {
        let total = window.total();
        self.lateness.next(window);
        self.measured.add(window, &total, self.lateness);
        self.meter.add(window);
        if self.measured.seconds.len() > self.plan.discard as usize {
            for outcome in [Outcome::Ok, Outcome::Accepted] {
                self.answers.merge(&total.class(outcome).response);
            }
        }
        self.go()
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.plan.load.rate()
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
            self.measured.aborted = true;
            return Go::Stop;
        }
        let measured = &self.measured;
        let stop = match self.plan.stop {
            StopRule::Attempts { count, windows_min } => {
                measured.ended >= count && measured.seconds.len() >= windows_min as usize
            }
            StopRule::Fixed | StopRule::Pulse => false,
            StopRule::Judged => judge::is_lost(measured),
            StopRule::Check { seconds } => judge::check_is_lost(measured, seconds),
            StopRule::Settled {
                in_flight_max,
                stuck_seconds,
            } => {
                is_settled(&measured.seconds, in_flight_max)
                    || stuck_seconds.is_some_and(|count| is_stuck(&measured.seconds, count))
            }
            StopRule::Recovered { in_time_per_s, p99 } => {
                recovered_at(&measured.seconds, in_time_per_s, p99).is_some()
            }
        };
        if stop { Go::Stop } else { Go::On }
    }

    fn abort_rule(&self) -> bool {
        let seconds = &self.measured.seconds;
        if matches!(
            self.plan.stop,
            StopRule::Pulse | StopRule::Recovered { .. } | StopRule::Settled { .. }
        ) || seconds.len() < ABORT_SECONDS
        {
            return false;
        }
        seconds[seconds.len() - ABORT_SECONDS..]
            .iter()
            .all(|second| {
                let failures = second.failures as f64;
                second.attempts > 0 && failures > ABORT_ERROR_RATIO * second.attempts as f64
            })
    }

    /// The level's verdict by its rule; `None` where it was only observed.
    pub(crate) fn verdict(&self) -> Option<LevelVerdict> {
        match self.plan.stop {
            StopRule::Judged => Some(judge::by_interval(&self.measured)),
            StopRule::Check { .. } => Some(judge::by_share(&self.measured)),
            _ => None,
        }
    }
}

/// Two seconds in a row without a backlog. Whether answers are late does not matter here: where no rate meets the objective
/// they always are.
pub(crate) fn is_settled(seconds: &[Second], in_flight_max: f64) -> bool {
    let calm = |second: &Second| second.in_flight_end as f64 <= in_flight_max;
    seconds.len() >= 2 && seconds.iter().rev().take(2).all(calm)
}

/// Nothing in time in so many seconds, although some ended.
pub(crate) fn is_stuck(seconds: &[Second], count: usize) -> bool {
    let Some(from) = seconds.len().checked_sub(count) else {
        return false;
    };
    let last = &seconds[from..];
    last.iter().all(|second| second.in_time == 0)
        && last.iter().map(|second| second.attempts).sum::<u64>() > 0
}

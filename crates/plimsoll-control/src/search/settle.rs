//! Low load until the backlog of an overload is gone, so that no level is judged by the wreck of another.
//!
//! Half of the load is not low enough for a target that can stay overloaded by itself (retries, work that grows with the
//! queue): at half alone such a target stays stuck (simulated: error 47 instead of 2 %). So the load falls in three steps.

use plimsoll_core::Nanos;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::ended_level::EndedLevel;
use super::level_plan::{LevelPlan, StopRule};
use super::progress::Progress;

/// Each step's share of the first one's load, and its longest seconds.
const STEPS: [(f64, f64); 3] = [(1.0, 6.0), (0.4, 6.0), (0.05, 30.0)];
/// The first step: at most this share of the rate that failed…
const OF_RATE: f64 = 0.5;
/// …and of the rate that the boundary is above with 95 %.
const OF_LOW: f64 = 0.6;
/// The closed loop leaves as many in flight as it had: this share of its throughput works them off.
const OF_ANCHOR: f64 = 0.15;
/// A level this many budgets over leaves a queue behind.
const BUDGETS: f64 = 3.0;

/// A backlog that is being worked off.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// What caused it, in what the search varies; absent after the closed loop.
    cause: Option<f64>,
    base: f64,
    step: usize,
    seconds: f64,
}

impl Backlog {
    /// What a level leaves behind, if it leaves anything.
    pub(crate) fn of_level(played: &EndedLevel, progress: &Progress) -> Option<Self> {
        let overload = matches!(played.phase, Phase::Overshoot);
        let judged = !matches!(
            played.phase,
            Phase::WarmUp | Phase::Anchor | Phase::RecoveryPulse | Phase::RecoveryAfter
        );
        let leaves = overload || judged && (played.is_over || played.budgets() > BUDGETS);
        let cause = played.rate().filter(|_| leaves)?;
        let low = progress
            .posterior()
            .map_or(cause, |posterior| posterior.quantile(0.05));
        Some(Self {
            cause: Some(cause),
            base: (OF_RATE * cause).min(OF_LOW * low),
            step: 0,
            seconds: 0.0,
        })
    }

    /// What the closed loop leaves behind: it is never judged with the first open level.
    pub(crate) fn of_anchor(progress: &Progress) -> Option<Self> {
        let anchor = progress.anchor.as_ref()?;
        Some(Self {
            cause: None,
            base: OF_ANCHOR * anchor.throughput_max_per_s,
            step: 0,
            seconds: 0.0,
        })
    }

    fn rate(&self, progress: &Progress) -> f64 {
        let (share, _) = STEPS[self.step.min(STEPS.len() - 1)];
        progress.config.over.nearest(self.base * share)
    }

    pub(crate) fn plan(&self, progress: &Progress) -> LevelPlan {
        let rate = self.rate(progress);
        // Virtual users leave one after the other, each when its iteration ends.
        let leave = progress.config.over.join().as_secs_f64();
        let (_, seconds) = STEPS[self.step];
        // A slow target has to be given the time of some answers.
        let answers = 4.0 * progress.response_at_rest().map_or(0.0, Nanos::as_secs_f64);
        LevelPlan {
            phase: Phase::Settle,
            load: progress.config.over.load(rate),
            windows_max: progress.clock.windows(seconds.max(answers) + leave, 0.0),
            discard: 0,
            stop: StopRule::Settled {
                in_flight_max: progress.calm_in_flight(rate),
            },
        }
    }

    /// After a step: gone (`Ok`), or the next step, or not gone at the last (`Err` with what to say).
    pub(crate) fn after(
        mut self,
        played: &EndedLevel,
        progress: &Progress,
    ) -> Result<Option<Self>, SearchRemark> {
        self.seconds += played.measured.seconds_played();
        if played.settled {
            return Ok(None);
        }
        if self.step + 1 < STEPS.len() {
            self.step += 1;
            return Ok(Some(self));
        }
        let over = progress.config.over;
        let at = over.size(self.rate(progress));
        Err(SearchRemark::DidNotComeBack {
            after: self.cause.map_or(at, |rate| over.size(rate)),
            seconds: self.seconds,
            at,
        })
    }
}

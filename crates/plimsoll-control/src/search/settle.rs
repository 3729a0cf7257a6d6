//! Low load until the backlog of an overload is gone, so that no level is judged by the wreck of another.
//!
//! Half of the load is not low enough for a target that can stay overloaded by itself (retries, work that grows with the
//! queue): at half alone such a target stays stuck (simulated: error 47 instead of 2 %). So the load falls in three steps.

use plimsoll_core::Nanos;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::ended_level::EndedLevel;
use super::level::is_stuck;
use super::level_plan::{LevelPlan, StopRule};
use super::progress::Progress;

/// Each step's share of the first one's load, and its longest seconds.
const STEPS: [(f64, f64); 3] = [(1.0, 6.0), (0.4, 6.0), (0.05, 30.0)];
/// So many seconds without an answer in time show that a step is still too much.
const STUCK_SECONDS: usize = 4;
/// That is so many beyond twice what the backlog explains.
const STUCK_BEYOND: f64 = 3.0;
/// The last step is played again while no more than this share of the search went into settling once, and more is left.
const PATIENCE: f64 = 0.3;
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
    /// What arrived in it beyond what the target serves.
    waiting: f64,
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
            waiting: progress
                .speed()
                .map_or(0.0, |speed| beyond(played, speed.per_s)),
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
            waiting: 0.0,
        })
    }

    /// Seconds of a backlog that is worked off at what the target serves beyond the load.
    fn expected_seconds(&self, progress: &Progress) -> f64 {
        let spare = |per_s: f64| (per_s - self.rate(progress)).max(f64::MIN_POSITIVE);
        progress
            .speed()
            .map_or(0.0, |speed| self.waiting / spare(speed.per_s))
    }

    fn stuck_seconds(&self, progress: &Progress) -> Option<usize> {
        let expected = (2.0 * self.expected_seconds(progress) + STUCK_BEYOND).ceil() as usize;
        let fits = progress.is_quick() && !self.is_last();
        fits.then(|| expected.max(STUCK_SECONDS))
    }

    fn is_stuck(&self, played: &EndedLevel, progress: &Progress) -> bool {
        let count = self.stuck_seconds(progress);
        count.is_some_and(|count| is_stuck(&played.measured.seconds, count))
    }

    /// What to say of a step in which nothing came in time, for much longer than the backlog explains.
    pub(crate) fn stays_overloaded(
        &self,
        played: &EndedLevel,
        progress: &Progress,
    ) -> Option<SearchRemark> {
        progress.speed()?;
        let over = progress.config.over;
        let after = over.size(self.cause?);
        self.is_stuck(played, progress)
            .then(|| SearchRemark::StaysOverloaded {
                after,
                at: over.size(self.rate(progress)),
                seconds: played.measured.seconds_played(),
                expected_seconds: self.expected_seconds(progress),
            })
    }

    fn is_last(&self) -> bool {
        self.step + 1 >= STEPS.len()
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
                stuck_seconds: self.stuck_seconds(progress),
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
        let cut_short = self.is_stuck(played, progress);
        if !self.is_last() {
            // Nothing came in time: a little less would be as much too much.
            self.step = if cut_short {
                STEPS.len() - 1
            } else {
                self.step + 1
            };
            return Ok(Some(self));
        }
        let patience = PATIENCE * progress.clock.total();
        if self.seconds < patience && progress.clock.left() > patience {
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

/// What came in a level beyond what is served.
fn beyond(played: &EndedLevel, per_s: f64) -> f64 {
    let seconds = played.measured.seconds.iter();
    let each = seconds.map(|second| second.due as f64 - per_s * second.length);
    each.sum::<f64>().max(0.0)
}

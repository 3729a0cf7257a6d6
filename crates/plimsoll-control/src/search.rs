//! Finds the load a service can carry: a pure state machine that says what to play next.
//!
//! ```text
//! warm-up ─▶ anchor ─▶ bracket ─▶ bisect ─▶ soak ─▶ overshoot ─▶ recovery ─▶ repeat ─▶ done
//!  closed    closed    open, ×2   open,     120 s   1.2 1.5 2×   0.7×, 2×,   first
//!                                 geometric ×0.95                0.7×        level
//! ```
//! A failed level is followed by low load until its backlog is gone. A level that the generator
//! could not sustain is repeated once and then ends the search with the reason. The whole is
//! DESIGN section 7; the reasons for its numbers are in capacity-science B.3 to B.6.
//!
//! A search over virtual users goes the same way along their number: every level is closed, so there is
//! no anchor, and no recovery probe, because users who wait pile up no backlog.

mod anchor;
mod boundary;
mod clock;
mod config;
mod drive;
mod ended_level;
mod found;
mod judge;
mod level;
mod level_plan;
mod load;
mod measured;
mod overload;
mod progress;
mod soak;
mod stage;
mod stalls;
mod stats;
mod vus;

use plimsoll_core::record::Anchor;
use plimsoll_core::schedule::RateProfile;
use plimsoll_core::step::{Go, Phase, Step, StepLoad};
use plimsoll_core::verdict::{LevelResult, LevelState, SearchRemark, SearchResult};
use plimsoll_core::{Nanos, Window};

pub use config::{Config, SearchError, client_timeout};
pub use drive::{Observer, drive};
pub use load::Over;

use ended_level::EndedLevel;
use level::Level;
use level_plan::{LevelPlan, StopRule};
use load::Load;
use progress::Progress;
use stage::Stage;

/// The least load that keeps a target measured while its backlog drains, as a share of the rate of
/// the level before.
const SETTLE_SHARE: f64 = 0.1;

/// A search under way. Ask for a step, hand in its windows, finish it, ask again.
#[derive(Debug)]
pub struct Search {
    progress: Progress,
    stage: Stage,
    running: Option<Level>,
    /// The target has a backlog of a failed level: the rate that caused it.
    backlog_of: Option<f64>,
    voided: u32,
    next_level: u32,
}

impl Search {
    pub fn new(config: Config) -> Result<Self, SearchError> {
        config.check()?;
        Ok(Self {
            next_level: 1,
            stage: Stage::first(),
            progress: Progress::new(config),
            running: None,
            backlog_of: None,
            voided: 0,
        })
    }

    /// The time that is never exceeded, self-check included.
    pub fn plan_seconds(&self) -> f64 {
        self.progress.clock.total()
    }

    /// Seconds until that time is over.
    pub fn time_left(&self) -> Nanos {
        Nanos::from_secs_f64(self.progress.clock.left())
    }

    /// What the closed loop found, for a later search of the same target.
    pub fn anchor(&self) -> Option<Anchor> {
        self.progress.anchor
    }

    /// The next level to play; `None` when the search is over.
    pub(crate) fn next_step(&mut self) -> Option<Step> {
        if let Some(running) = &self.running {
            return Some(running.step.clone());
        }
        let plan = self
            .settling()
            .or_else(|| self.stage.plan(&mut self.progress))?;
        let plan = self.within_limits(plan)?;
        let step = Step {
            level: self.next_level,
            phase: plan.phase,
            load: self.step_load(plan.load)?,
            windows_max: plan.windows_max,
        };
        self.next_level += 1;
        let config = &self.progress.config;
        let level = Level::new(step.clone(), plan, &config.objectives);
        self.running = Some(level);
        Some(step)
    }

    /// Whether the level has shown enough. Windows of another level are not counted.
    pub(crate) fn observe(&mut self, window: &Window) -> Go {
        self.progress.clock.observe(window);
        let Some(level) = &mut self.running else {
            return Go::Stop;
        };
        if window.level != level.step.level {
            return Go::On;
        }
        let go = level.observe(window);
        if self.progress.clock.left() < 1.0 {
            return Go::Stop;
        }
        go
    }

    /// Ends the level that was played; `None` when none was.
    pub(crate) fn finish_step(&mut self) -> Option<LevelResult> {
        let level = self.running.take()?;
        let played = EndedLevel::new(&level);
        let result = played.result();
        if level.plan.phase == Phase::Settle {
            let rate = self.backlog_of.take().unwrap_or_default();
            if !played.settled {
                // Whatever is played now would be judged by the wreck of an earlier level.
                let seconds = level.measured.seconds_played();
                let over = self.progress.config.over;
                self.progress.remark_once(SearchRemark::DidNotComeBack {
                    after: over.size(rate),
                    seconds,
                    at: over.size(over.nearest(rate * SETTLE_SHARE)),
                });
                self.stage = Stage::Done;
            }
            return Some(result);
        }
        if played.leaves_backlog {
            self.backlog_of = level.rate();
        }
        let void = played.state == LevelState::Void;
        self.progress.history.push(played);
        if void {
            self.void(&level);
        } else {
            self.voided = 0;
            self.stage.ended(&level, &mut self.progress);
        }
        Some(result)
    }

    /// Ends a level that was cut short by an error: it decides nothing.
    pub(crate) fn interrupt_step(&mut self) -> Option<LevelResult> {
        let level = self.running.take()?;
        let mut result = EndedLevel::new(&level).result();
        result.state = LevelState::Undecided;
        result.clause = None;
        result.reason = "interrupted".into();
        Some(result)
    }

    /// What was found so far; the end result when [`Self::next_step`] has returned `None`.
    pub fn found(&self) -> SearchResult {
        found::compose(&self.progress)
    }

    /// A void level is played once more; then whatever needed it is given up.
    fn void(&mut self, level: &Level) {
        self.voided += 1;
        if self.voided < 2 {
            return;
        }
        self.voided = 0;
        let health = level.health();
        let over = self.progress.config.over;
        self.progress.remark_once(SearchRemark::GeneratorTooWeak {
            at: level.rate().map(|rate| over.size(rate)),
            reading: health.worst().copied(),
        });
        self.stage.give_up();
    }

    fn settling(&self) -> Option<LevelPlan> {
        let rate = self.backlog_of?;
        let over = self.progress.config.over;
        let rate = over.nearest(rate * SETTLE_SHARE);
        let windows_max = self.progress.clock.windows(clock::SETTLE, 0.0);
        Some(LevelPlan {
            phase: Phase::Settle,
            load: over.load(rate),
            windows_max,
            discard: 0,
            stop: StopRule::Settled {
                in_flight_max: self.progress.calm_in_flight(rate),
            },
        })
    }

    /// No level without time for it, none above the ceiling.
    fn within_limits(&self, mut plan: LevelPlan) -> Option<LevelPlan> {
        plan.windows_max = plan
            .windows_max
            .min(self.progress.clock.windows(f64::MAX, 0.0));
        if let (Some(rate), Some(ceiling)) = (plan.load.rate(), self.progress.config.ceiling()) {
            plan.load = self.progress.config.over.load(rate.min(ceiling.rate()));
        }
        (plan.windows_max > 0).then_some(plan)
    }

    fn step_load(&self, load: Load) -> Option<StepLoad> {
        match load {
            Load::Closed(in_flight) | Load::Vus(in_flight) => Some(StepLoad::Closed { in_flight }),
            Load::Open(rate) => {
                let profile = RateProfile::constant(rate).ok()?;
                let arrivals = self.progress.config.arrivals;
                Some(StepLoad::Open { profile, arrivals })
            }
        }
    }
}

#[cfg(test)]
mod tests;

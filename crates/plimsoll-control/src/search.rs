//! Finds the load a service can carry: a pure state machine that says what to play next.
//!
//! ```text
//! warm-up ─▶ anchor ─▶ approach ─▶ explore ─▶ hold ─▶ overshoot ─▶ recovery ─▶ repeat ─▶ done
//!  closed    closed    ¼, ½ of it   median    blocks    1.2 1.5 2×   0.7×, 2×,   first
//!                      or ×2      of where it  probes                0.7×        level
//!                                  may be      above
//! ```
//! No level is final: where the boundary may be is worked out from all of them after each ([`posterior`]), and what may
//! be claimed from all seconds near one rate ([`claim`]). After an overload low load is played until the backlog is gone.
//! The closed loop is played again now and then ([`pace`]): a target whose speed changes is not passed.
//! A level that the generator could not sustain says nothing and is played again later; a search ends for this only when
//! a third of its time was lost so. Where levels contradict each other because the target scaled out, warmed up or ran out of
//! credits, only those since then count ([`change`]). The reasons for the numbers are simulations of services that tip over, pause, have
//! neighbours, drift and scale out (`plimsoll-sim`, `worlds`).
//!
//! A search over virtual users goes the same way along their number: every level is closed, so there is
//! no anchor, and no recovery probe, because users who wait pile up no backlog.

mod again;
mod anchor;
mod boundary;
mod change;
mod check;
mod claim;
mod clock;
mod config;
mod drive;
mod ended_level;
mod evidence;
mod found;
mod hold;
mod hopeless;
mod judge;
mod level;
mod level_plan;
mod load;
mod measured;
mod overload;
mod pace;
mod posterior;
mod progress;
mod remarks;
mod replay;
mod settle;
mod spells;
mod stage;
mod stalls;
mod stats;
mod vus;

use plimsoll_core::judge::Lateness;
use plimsoll_core::record::Anchor;
use plimsoll_core::schedule::RateProfile;
use plimsoll_core::step::{Go, Phase, Step, StepLoad};
use plimsoll_core::verdict::{LevelResult, LevelState, SearchRemark, SearchResult};
use plimsoll_core::{Nanos, Window};

pub use config::{Config, SearchError, client_timeout};
pub use drive::{Observer, drive};
pub use load::Over;
pub use replay::{Departure, REVISION, Replayed, replay};

use ended_level::EndedLevel;
use level::Level;
use level_plan::{LevelPlan, StopRule};
use load::Load;
use measured::failed_after;
use progress::Progress;
use settle::Backlog;
use stage::Stage;

/// Why a level that a signal cut off decides nothing.
const INTERRUPTED: &str = "interrupted";
/// A client that gives up by then is done with nearly all attempts of a level before that is over.
const GIVES_UP_SOON: Nanos = Nanos::from_secs(2);
/// A search ends when so much of its time was lost to levels that the generator could not sustain.
const LOST_SHARE: f64 = 1.0 / 3.0;
/// Nothing is played between a level that was void and the same again but this many seconds of low load: what held the
/// processor may be gone then.
const CALM_SECONDS: f64 = 4.0;
/// That load, as a share of the one that could not be sustained.
const CALM_SHARE: f64 = 0.2;

/// A search under way. Ask for a step, hand in its windows, finish it, ask again.
#[derive(Debug)]
pub struct Search {
    progress: Progress,
    stage: Stage,
    running: Option<Level>,
    /// The target has a backlog that must be worked off first.
    backlog: Option<Backlog>,
    /// The last level was void, and its rate.
    voided: Option<f64>,
    void_seconds: f64,
    /// How late we were when the last level ended.
    lateness: Lateness,
    /// The closed loop's own backlog was worked off.
    is_settled_once: bool,
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
            backlog: None,
            voided: None,
            void_seconds: 0.0,
            lateness: Lateness::default(),
            is_settled_once: false,
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
        let plan = match self.between() {
            Some(plan) => plan,
            None => self.stage_plan()?,
        };
        let plan = self.within_limits(plan)?;
        let step = Step {
            level: self.next_level,
            phase: plan.phase,
            load: self.step_load(plan.load)?,
            windows_max: plan.windows_max,
        };
        self.next_level += 1;
        let config = &self.progress.config;
        let level = Level::new(step.clone(), plan, &config.objectives, self.lateness);
        self.running = Some(level);
        Some(step)
    }

    /// Whether the level has shown enough. Windows of another level are not counted.
    pub(crate) fn observe(&mut self, window: &Window) -> Go {
        self.progress.clock.observe(window);
        self.observe_failures_after(window);
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

    /// What fails in this window of earlier levels counts there. Of clients that give up soon, hardly any do so after their level;
    /// those of a pause would break two levels instead of one.
    fn observe_failures_after(&mut self, window: &Window) {
        if client_timeout(&self.progress.config.objectives) <= GIVES_UP_SOON {
            return;
        }
        let running = self.running.as_ref();
        let mut lateness = running.map_or(self.lateness, |level| level.lateness);
        lateness.next(window);
        for carried in &window.carried {
            let objectives = &self.progress.config.objectives;
            let count = failed_after(window, &carried.tally, objectives, lateness);
            self.progress.fail_after(carried.level, count);
        }
    }

    /// Ends the level that was played; `None` when none was.
    pub(crate) fn finish_step(&mut self) -> Option<LevelResult> {
        let level = self.running.take()?;
        self.lateness = level.lateness;
        let played = EndedLevel::new(&level, self.progress.clock.elapsed());
        let result = played.result();
        if level.plan.phase == Phase::Settle {
            self.progress.weigh_late();
            self.settled(&played);
            return Some(result);
        }
        let void = played.state == LevelState::Void;
        let backlog = (!void)
            .then(|| Backlog::of_level(&played, &self.progress))
            .flatten();
        self.progress.add(played);
        self.backlog = backlog;
        if void {
            self.void(&level);
        } else {
            self.stage.ended(&level, &mut self.progress);
        }
        Some(result)
    }

    /// Ends a level that was cut short by an error: it decides nothing.
    pub(crate) fn interrupt_step(&mut self) -> Option<LevelResult> {
        let level = self.running.take()?;
        let mut result = EndedLevel::new(&level, self.progress.clock.elapsed()).result();
        result.state = LevelState::Undecided;
        result.clause = None;
        result.reason = INTERRUPTED.into();
        Some(result)
    }

    /// What was found so far; the end result when [`Self::next_step`] has returned `None`.
    pub fn found(&self) -> SearchResult {
        found::compose(&self.progress)
    }

    /// A void level says nothing. The time is lost; when that is too much of it, so is the search.
    fn void(&mut self, level: &Level) {
        self.void_seconds += level.measured.seconds_played();
        self.voided = Some(level.rate().unwrap_or(0.0));
        if self.void_seconds < LOST_SHARE * self.progress.clock.total() {
            return;
        }
        self.void_seconds = 0.0;
        let health = level.health();
        let over = self.progress.config.over;
        self.progress.remark_once(SearchRemark::GeneratorTooWeak {
            at: level.rate().map(|rate| over.size(rate)),
            reading: health.worst().copied(),
        });
        self.stage.give_up();
    }

    /// The next level of the stage, behind the closed loop's backlog if there is one.
    fn stage_plan(&mut self) -> Option<LevelPlan> {
        let plan = self.stage.plan(&mut self.progress)?;
        if self.stage.follows_anchor(&self.progress)
            && self.backlog.is_none()
            && !self.is_settled_once
            && let Some(backlog) = Backlog::of_anchor(&self.progress)
        {
            self.is_settled_once = true;
            let settle = backlog.plan(&self.progress);
            self.backlog = Some(backlog);
            return Some(settle);
        }
        Some(plan)
    }

    /// What must be played before the stage goes on.
    fn between(&mut self) -> Option<LevelPlan> {
        if let Some(backlog) = &self.backlog {
            return Some(backlog.plan(&self.progress));
        }
        let rate = self.voided.take()?;
        let over = self.progress.config.over;
        let low = over.nearest(rate * CALM_SHARE).max(over.nearest(0.0));
        (rate > 0.0).then(|| LevelPlan {
            phase: Phase::Settle,
            load: over.load(low),
            windows_max: self.progress.clock.windows(CALM_SECONDS, 0.0),
            discard: 0,
            stop: StopRule::Fixed,
        })
    }

    fn settled(&mut self, played: &EndedLevel) {
        let Some(backlog) = self.backlog.take() else {
            return;
        };
        let is_said =
            |remark: &SearchRemark| matches!(remark, SearchRemark::StaysOverloaded { .. });
        if !self.progress.remarks.iter().any(is_said)
            && let Some(remark) = backlog.stays_overloaded(played, &self.progress)
        {
            self.progress.remark_once(remark);
        }
        match backlog.after(played, &self.progress) {
            Ok(next) => self.backlog = next,
            Err(remark) => {
                // Whatever is played now would be judged by the wreck of an earlier level.
                self.progress.remark_once(remark);
                self.stage = Stage::Done;
            }
        }
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

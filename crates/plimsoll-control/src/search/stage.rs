//! The phases of a search as one enum, each with its own state, and how they follow each other.

use plimsoll_core::step::Phase;

use super::again::{self, Last};
use super::anchor::{self, AnchorStage};
use super::boundary::{self, Approach};
use super::check::Check;
use super::hold::Hold;
use super::hopeless;
use super::level::Level;
use super::level_plan::LevelPlan;
use super::overload::{Overshoot, Recovery, Repeat};
use super::progress::Progress;

#[derive(Debug)]
pub(crate) enum Stage {
    WarmUp,
    Anchor(AnchorStage),
    /// The closed loop that later ones are compared with.
    FirstPace,
    Approach(Approach),
    Explore,
    Hold(Hold),
    Check(Check),
    Overshoot(Overshoot),
    Recovery(Recovery),
    Repeat(Repeat),
    LastPace(Last),
    Done,
}

impl Stage {
    pub(crate) fn first() -> Self {
        Self::WarmUp
    }

    /// What to play next. A stage that has nothing (more) to play hands over to the next.
    pub(crate) fn plan(&mut self, progress: &mut Progress) -> Option<LevelPlan> {
        loop {
            let plan = match self {
                Self::WarmUp => anchor::plan_warm_up(progress),
                Self::Anchor(stage) => stage.plan(progress),
                Self::Approach(stage) => stage.plan(progress),
                Self::FirstPace => again::first(progress),
                Self::Explore => again::due(progress).or_else(|| boundary::explore(progress)),
                Self::Hold(stage) => again::due(progress)
                    .or_else(|| boundary::explore_again(progress))
                    .or_else(|| stage.plan(progress)),
                Self::Check(stage) => stage.plan(progress),
                Self::Overshoot(stage) => stage.plan(progress),
                Self::Recovery(stage) => stage.plan(progress),
                Self::Repeat(stage) => stage.plan(progress),
                Self::LastPace(stage) => stage.plan(progress),
                Self::Done => return None,
            };
            if plan.is_some() {
                return plan;
            }
            self.advance(progress);
        }
    }

    /// Takes in a level that was played and was not void.
    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        match self {
            Self::WarmUp => {
                *self = if anchor::warm_up_served(level, progress) {
                    Self::after_warm_up(progress)
                } else {
                    Self::Done
                };
            }
            Self::Anchor(stage) => stage.ended(level, progress),
            Self::Approach(stage) => stage.ended(level, progress),
            Self::Hold(stage) => stage.ended(level, progress),
            Self::Check(stage) => stage.ended(level, progress),
            Self::Overshoot(stage) => stage.ended(level),
            Self::Recovery(stage) => stage.ended(level, progress),
            Self::Repeat(stage) => stage.ended(level, progress),
            Self::LastPace(_) => Last::ended(progress),
            Self::FirstPace | Self::Explore | Self::Done => {}
        }
        if matches!(
            self,
            Self::FirstPace | Self::Approach(_) | Self::Explore | Self::Hold(_)
        ) && !progress.is_hopeless()
            && let Some(remark) = hopeless::seen(progress)
        {
            progress.remark_once(remark);
        }
        if progress.is_hopeless() {
            *self = Self::Done;
        }
    }

    /// Whether the level that comes next would be measured behind the closed loop's queue.
    pub(crate) fn follows_anchor(&self, progress: &Progress) -> bool {
        matches!(self, Self::Approach(_))
            && progress
                .history
                .last()
                .is_some_and(|played| played.phase == Phase::Anchor)
    }

    /// The next stage, because this one is finished or has no time.
    fn advance(&mut self, progress: &mut Progress) {
        *self = match self {
            Self::WarmUp => Self::after_warm_up(progress),
            Self::Anchor(stage) if stage.finish(progress) => {
                progress.weigh();
                Self::FirstPace
            }
            Self::FirstPace => Self::Approach(Approach::new(progress)),
            Self::Approach(_) => Self::Explore,
            Self::Explore => Self::Hold(Hold::default()),
            Self::Hold(_) => Self::Overshoot(Overshoot::new(progress)),
            Self::Overshoot(_) => Self::Recovery(Recovery::new(progress)),
            Self::Recovery(_) => Self::Repeat(Repeat::default()),
            Self::Repeat(_) => Self::LastPace(Last::default()),
            Self::Anchor(_) | Self::Check(_) | Self::LastPace(_) | Self::Done => Self::Done,
        };
    }

    fn after_warm_up(progress: &mut Progress) -> Self {
        if let Some(rate) = progress.config.only_check() {
            return Self::Check(Check::new(rate));
        }
        progress.weigh();
        let config = &progress.config;
        if config.over.is_vus() || progress.anchor.is_some() || config.max_rate_per_s.is_some() {
            return Self::Approach(Approach::new(progress));
        }
        Self::Anchor(AnchorStage::new())
    }

    /// The generator failed too often: what is past the claim goes on without this stage, the rest ends.
    pub(crate) fn give_up(&mut self) {
        *self = match self {
            Self::Overshoot(_) | Self::Recovery(_) => Self::Repeat(Repeat::default()),
            _ => Self::Done,
        };
    }
}

//! The phases of a search as one enum, each with its own state, and how they follow each other.

use super::anchor::{self, AnchorStage};
use super::boundary::{Bisect, Bracket};
use super::level::Level;
use super::level_plan::LevelPlan;
use super::overload::{Overshoot, Recovery, Repeat};
use super::progress::Progress;
use super::soak::Soak;

#[derive(Debug)]
pub(crate) enum Stage {
    WarmUp,
    Anchor(AnchorStage),
    Bracket(Bracket),
    Bisect(Bisect),
    Soak(Soak),
    Overshoot(Overshoot),
    Recovery(Recovery),
    Repeat(Repeat),
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
                Self::Bracket(stage) => stage.plan(progress),
                Self::Bisect(_) => Bisect::plan(progress),
                Self::Soak(stage) => stage.plan(progress),
                Self::Overshoot(stage) => stage.plan(progress),
                Self::Recovery(stage) => stage.plan(progress),
                Self::Repeat(stage) => stage.plan(progress),
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
            Self::Bracket(stage) => stage.ended(level, progress),
            Self::Bisect(stage) => stage.ended(level, progress),
            Self::Soak(stage) => stage.ended(level, progress),
            Self::Overshoot(stage) => stage.ended(level),
            Self::Recovery(stage) => stage.ended(level, progress),
            Self::Repeat(stage) => stage.ended(level, progress),
            Self::Done => {}
        }
    }

    /// The next stage, because this one is finished or has no time.
    fn advance(&mut self, progress: &mut Progress) {
        *self = match self {
            Self::WarmUp => Self::after_warm_up(progress),
            Self::Anchor(stage) if stage.finish(progress) => Self::Bracket(Bracket::new(progress)),
            Self::Bracket(_) => Self::after_bracket(progress),
            Self::Bisect(_) => Self::Soak(Soak::at_low(progress)),
            Self::Soak(_) => Self::after_soak(progress),
            Self::Overshoot(_) => Self::Recovery(Recovery::new(progress)),
            Self::Recovery(_) => Self::Repeat(Repeat::default()),
            Self::Anchor(_) | Self::Repeat(_) | Self::Done => Self::Done,
        };
    }

    fn after_warm_up(progress: &Progress) -> Self {
        if let Some(rate) = progress.config.only_check() {
            return Self::Soak(Soak::check(rate));
        }
        let config = &progress.config;
        if config.over.is_vus() || progress.anchor.is_some() || config.max_rate_per_s.is_some() {
            return Self::Bracket(Bracket::new(progress));
        }
        Self::Anchor(AnchorStage::new())
    }

    /// With both bounds they are brought together; with only a lower one it is held.
    fn after_bracket(progress: &Progress) -> Self {
        match (progress.low(), progress.high()) {
            (None, _) => Self::Done,
            (Some(_), None) => Self::Soak(Soak::at_low(progress)),
            (Some(_), Some(_)) => Self::Bisect(Bisect::default()),
        }
    }

    fn after_soak(progress: &Progress) -> Self {
        if progress.config.only_check().is_some() {
            return Self::Done;
        }
        Self::Overshoot(Overshoot::new(progress))
    }

    /// The generator failed twice: what is past the soak goes on without this stage, the rest ends.
    pub(crate) fn give_up(&mut self) {
        *self = match self {
            Self::Overshoot(_) | Self::Recovery(_) => Self::Repeat(Repeat::default()),
            _ => Self::Done,
        };
    }
}

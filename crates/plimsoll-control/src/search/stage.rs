//! The phases of a search as one enum, each with its own state, and how they follow each other.

use super::anchor::{self, AnchorStage};
use super::boundary::{self, Bisect, Bracket};
use super::level::{Ask, Level};
use super::overload::{Overshoot, Recovery, Repeat};
use super::shared::Shared;
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
    pub(crate) fn ask(&mut self, shared: &mut Shared) -> Option<Ask> {
        loop {
            let ask = match self {
                Self::WarmUp => anchor::warm_up_ask(shared),
                Self::Anchor(stage) => stage.ask(shared),
                Self::Bracket(stage) => stage.ask(shared),
                Self::Bisect(_) => Bisect::ask(shared),
                Self::Soak(stage) => stage.ask(shared),
                Self::Overshoot(stage) => stage.ask(shared),
                Self::Recovery(stage) => stage.ask(shared),
                Self::Repeat(stage) => stage.ask(shared),
                Self::Done => return None,
            };
            if ask.is_some() {
                return ask;
            }
            self.advance(shared);
        }
    }

    /// Takes in a level that was played and was not void.
    pub(crate) fn ended(&mut self, level: &Level, shared: &mut Shared) {
        match self {
            Self::WarmUp => *self = anchor::warm_up_ended(level, shared),
            Self::Anchor(stage) => stage.ended(level, shared),
            Self::Bracket(stage) => stage.ended(level, shared),
            Self::Bisect(stage) => stage.ended(level, shared),
            Self::Soak(stage) => stage.ended(level, shared),
            Self::Overshoot(stage) => stage.ended(level),
            Self::Recovery(stage) => stage.ended(level, shared),
            Self::Repeat(stage) => stage.ended(level, shared),
            Self::Done => {}
        }
    }

    /// The next stage, because this one is finished or has no time.
    fn advance(&mut self, shared: &mut Shared) {
        *self = match self {
            Self::WarmUp => Self::after_warm_up(shared),
            Self::Anchor(stage) => stage.finish(shared),
            Self::Bracket(_) => boundary::after_bracket(shared),
            Self::Bisect(_) => Self::Soak(Soak::at_low(shared)),
            Self::Soak(_) => Self::after_soak(shared),
            Self::Overshoot(_) => Self::Recovery(Recovery::new(shared)),
            Self::Recovery(_) => Self::Repeat(Repeat::default()),
            Self::Repeat(_) | Self::Done => Self::Done,
        };
    }

    pub(crate) fn after_warm_up(shared: &Shared) -> Self {
        if let Some(rate) = shared.config.only_check() {
            return Self::Soak(Soak::check(rate));
        }
        let config = &shared.config;
        if config.over.is_vus() || shared.anchor.is_some() || config.max_rate_per_s.is_some() {
            return Self::Bracket(Bracket::new(shared));
        }
        Self::Anchor(AnchorStage::new())
    }

    pub(crate) fn after_soak(shared: &Shared) -> Self {
        if shared.config.only_check().is_some() {
            return Self::Done;
        }
        Self::Overshoot(Overshoot::new(shared))
    }

    /// The generator failed twice: what is past the soak goes on without this stage, the rest ends.
    pub(crate) fn give_up(&mut self, shared: &mut Shared) {
        *self = match self {
            Self::Overshoot(_) | Self::Recovery(_) => Self::Repeat(Repeat::default()),
            _ => {
                shared.converged = false;
                Self::Done
            }
        };
    }
}

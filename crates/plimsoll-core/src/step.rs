//! The seam between a search and what it drives: play a load, judge every window.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::schedule::{Arrivals, RateProfile};
use crate::window::Window;

/// Why a level is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A plain run, without a search.
    Run,
    /// The generator against its own echo.
    SelfCheck,
    WarmUp,
    /// Closed loop with doubling in-flight.
    Anchor,
    Bracket,
    Bisect,
    Soak,
    Overshoot,
    /// Before, during and after the pulse of the recovery probe.
    RecoveryBefore,
    RecoveryPulse,
    RecoveryAfter,
    /// The first level again, to see drift.
    Repeat,
    /// Low load until the backlog of a failed level is gone; not judged.
    Settle,
    /// After the last level: nothing new starts, what is in flight ends.
    Drain,
}

/// The load of one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum StepLoad {
    Closed {
        in_flight: u32,
    },
    Open {
        profile: RateProfile,
        arrivals: Arrivals,
    },
}

/// One level to play. Levels follow each other without draining in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Unique within the run, rising.
    pub level: u32,
    pub phase: Phase,
    pub load: StepLoad,
    /// The level ends after this many windows even if the judge wants to go on.
    pub windows_max: u32,
}

/// The judge's answer after a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    On,
    Stop,
}

/// Why a level could not be played to its end.
#[derive(Debug, Error)]
pub enum StepError {
    #[error("interrupted")]
    Interrupted,
    #[error("target cannot be reached: {0}")]
    Unreachable(String),
    #[error("the generator failed: {0}")]
    Generator(String),
}

/// Anything that can put a load on a system: the engine, the simulator, the coordinator of agents.
///
/// `play` calls the judge after every window of about one second and returns after the judge says
/// stop or after `windows_max` windows. Attempts still in flight go on into the next level.
pub trait StepRunner {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError>;
}

//! What passes between the runner and a worker: levels in, full recorders out, cleared ones back.

use plimsoll_core::Nanos;
use plimsoll_core::step::StepLoad;

use crate::recorder::Recorder;

/// Runner to worker.
#[derive(Debug)]
pub(crate) enum Command {
    /// Switch to this level at `start`, on the run's clock; windows are counted from there.
    Level {
        level: u32,
        load: StepLoad,
        start: Nanos,
    },
    /// End the running window now, start nothing more, and report when nothing is in flight.
    Drain {
        level: u32,
        until: Nanos,
    },
    /// A cleared recorder for the window after next.
    Cleared(Box<Recorder>),
    /// End the window now: every worker has used up its attempts.
    Flush,
    Stop,
}

/// Worker to runner.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) worker: usize,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) enum Body {
    Window(Box<Recorder>),
    /// This worker's share of the attempts is used up and ended.
    Exhausted,
    /// Nothing is in flight any more, or the drain's time is over.
    Drained(Box<Recorder>),
    /// The event loop failed; nothing more will come.
    Failed(String),
}

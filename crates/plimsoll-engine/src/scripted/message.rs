//! What passes between the runner of a scripted test and its workers.

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store};
use plimsoll_script::host::Level;
use plimsoll_script::{End, ScriptError};

use crate::recorder::Recorder;

/// Runner to worker.
#[derive(Debug)]
pub(super) enum Command {
    /// Run one function by itself: `setup`, `teardown`, `handleSummary`.
    Alone(Alone),
    /// Play the scenarios; `setup` returned `data`.
    Begin { data: Option<Box<str>>, at: Nanos },
    /// Start nothing more and interrupt what runs.
    Halt,
    /// Make no more of anything.
    Quit,
}

/// A function of the script outside of any scenario.
#[derive(Debug, Clone)]
pub(super) struct Alone {
    pub(super) function: &'static str,
    pub(super) data: Option<Box<str>>,
    pub(super) wants_return: bool,
    /// Its requests belong to an implicit group of its name.
    pub(super) has_group: bool,
    pub(super) timeout: Nanos,
}

/// A line of the script's console, or about the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub level: Level,
    pub message: Box<str>,
    pub source: Option<&'static str>,
}

/// What one worker counted in one window.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) recorder: Recorder,
    pub(super) store: Store,
    /// Every sample, if outputs want them; metrics and tags are those of `store`.
    pub(super) samples: Vec<Sample>,
}

/// What virtual users do right now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Busy {
    pub(super) vus_active: u32,
    pub(super) vus_existing: u32,
    pub(super) completed: u64,
    pub(super) interrupted: u64,
    pub(super) dropped: u64,
}

/// Worker to runner.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) worker: usize,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    /// The virtual users that the scenarios start with exist.
    Ready,
    /// The init code failed on this worker.
    NotReady(ScriptError),
    /// The function ran to its end, or out of time.
    AloneDone {
        end: End,
        timed_out: bool,
        counted: Box<Counted>,
    },
    Window(Box<Counted>, Busy, Vec<(String, f64)>),
    /// All scenarios are over; the last counters.
    Finished(Box<Counted>, Busy),
    Log(LogLine),
    MarkedFailed(String),
    /// `exec.test.abort`.
    Aborted(String),
    /// The event loop failed; nothing more will come.
    Broken(String),
}

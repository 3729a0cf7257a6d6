//! What passes between the runner of a scripted test and its workers.

use std::net::SocketAddr;

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store};
use plimsoll_core::step::StepLoad;
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
    /// Play levels from now on instead of the scenarios, with at most so many virtual users on all workers;
    /// `setup` returned `data`.
    Search {
        data: Option<Box<str>>,
        vus_max: u32,
    },
    /// From `start` on, this load; its rate is one of iterations.
    Level {
        level: u32,
        load: StepLoad,
        start: Nanos,
        /// Over which the virtual users of a closed loop join.
        join: Nanos,
    },
    /// Start nothing more; all that runs by then may end until `until`.
    Drain { level: u32, until: Nanos },
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
    /// Requests of the completed iterations.
    pub(super) calls_of_completed: u64,
    /// Time of the completed iterations.
    pub(super) time_of_completed: Nanos,
    pub(super) reached: Reached,
}

impl Busy {
    pub(super) fn add(&mut self, other: &Self) {
        self.vus_active += other.vus_active;
        self.vus_existing += other.vus_existing;
        self.completed += other.completed;
        self.interrupted += other.interrupted;
        self.dropped += other.dropped;
        self.calls_of_completed += other.calls_of_completed;
        self.time_of_completed += other.time_of_completed;
        self.reached.add(&other.reached);
    }
}

/// Whom the requests went to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// The first address, and whether there were others.
    pub address: Option<SocketAddr>,
    pub has_others: bool,
    /// One of them is not of this host.
    pub is_remote: bool,
}

impl Reached {
    pub(super) fn note(&mut self, address: SocketAddr) {
        self.has_others |= *self.address.get_or_insert(address) != address;
        self.is_remote |= !address.ip().is_loopback();
    }

    pub(super) fn add(&mut self, other: &Self) {
        if let Some(address) = other.address {
            self.note(address);
        }
        self.has_others |= other.has_others;
        self.is_remote |= other.is_remote;
    }
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
    /// All scenarios are over, or the last level is drained; the last counters.
    Finished(Box<Counted>, Busy),
    Log(LogLine),
    MarkedFailed(String),
    /// `exec.test.abort`.
    Aborted(String),
    /// The event loop failed; nothing more will come.
    Broken(String),
}

//! What passes between the runner and a worker: commands in, what was counted out, memory for the next window back.

use std::net::SocketAddr;

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, Store, TagSetId};
use plimsoll_script::host::LogLevel;
use plimsoll_script::{End, ScriptError};

use crate::recorder::{Ending, Recorder};
use crate::source::Level;

/// Runner to worker.
#[derive(Debug)]
pub(crate) enum Command {
    /// Switch to this level at its start, on the run's clock; windows are counted from there.
    Level(Level),
    /// End the running window now, start nothing more, and report when nothing is in flight.
    Drain {
        level: u32,
        until: Nanos,
    },
    /// Cleared memory for the window after next.
    Cleared(Counted),
    /// End the window now: every worker has used up its attempts.
    Flush,
    /// Of a script.
    Script(ScriptCommand),
    Stop,
}

/// What only the virtual users of a script are told.
#[derive(Debug)]
pub(crate) enum ScriptCommand {
    /// Run one function by itself: `setup`, `teardown`, `handleSummary`.
    Lifecycle(Lifecycle),
    /// End the function that runs by itself, if one does.
    EndLifecycle,
    /// Play the scenarios; `setup` returned `data`.
    Begin { data: Option<Box<str>>, at: Nanos },
    /// Play levels from now on instead of the scenarios, with at most so many virtual users on all workers;
    /// `setup` returned `data`.
    Search {
        data: Option<Box<str>>,
        vus_max: u32,
    },
    /// Start nothing more and interrupt what runs.
    Halt,
}

/// A function of the script outside of any scenario.
#[derive(Debug, Clone)]
pub(crate) struct Lifecycle {
    pub(crate) function: &'static str,
    pub(crate) data: Option<Box<str>>,
    pub(crate) wants_return: bool,
    /// Its requests belong to an implicit group of its name.
    pub(crate) has_group: bool,
    pub(crate) timeout: Nanos,
}

/// Worker to runner.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) worker: usize,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) enum Body {
    /// The worker is ready to begin.
    Ready,
    Window(Counted),
    /// All scenarios are over, or the last level is drained as far as its time allowed; the last counters.
    Finished(Counted),
    /// This worker's share of the attempts is used up and ended.
    Exhausted,
    /// The event loop failed; nothing more will come.
    Failed(String),
    /// The init code of the script failed on this worker.
    NotReady(ScriptError),
    /// The function ran to its end, or out of time.
    LifecycleDone {
        end: End,
        timed_out: bool,
        counted: Box<ScriptCounted>,
    },
    Log(LogLine),
    MarkedFailed(String),
    /// `exec.test.abort`.
    Aborted(String),
    /// The script uses what is not there yet.
    Missing(String),
}

/// What one worker counted in one window. The boxes go back to it, so that nothing grows anew.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) recorder: Box<Recorder>,
    pub(crate) script: Option<Box<ScriptCounted>>,
}

impl Counted {
    /// Forgets what was counted and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.recorder.clear();
        if let Some(script) = &mut self.script {
            script.clear();
        }
    }
}

/// What only the virtual users of a script count.
#[derive(Debug, Default)]
pub(crate) struct ScriptCounted {
    pub(crate) metrics: Metrics,
    pub(crate) vus: VuCounts,
    pub(crate) requests: NamedRequests,
    /// The share of each scenario that is over.
    pub(crate) progress: Vec<(String, f64)>,
}

/// What requests came to, by the number that the worker gave their name.
#[derive(Debug, Default)]
pub(crate) struct NamedRequests {
    /// Names that are new, in the order of their numbers.
    pub(crate) fresh: Vec<Box<str>>,
    /// Of iterations that have ended.
    pub(crate) ended: Vec<NamedEnding>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedEnding {
    pub(crate) name: u32,
    pub(crate) ending: Ending,
}

impl ScriptCounted {
    pub(crate) fn new(empty: &Store) -> Self {
        Self {
            metrics: Metrics::new(empty),
            ..Self::default()
        }
    }

    fn clear(&mut self) {
        self.metrics.store.clear();
        self.metrics.samples.clear();
        self.requests.fresh.clear();
        self.requests.ended.clear();
        self.progress.clear();
    }
}

/// A metric store with what belongs to it.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) store: Store,
    /// The store's number of each tag set of the script's, as they are first used.
    pub(crate) tag_sets: Vec<Option<TagSetId>>,
    /// Every sample, if outputs want them; metrics and tags are those of `store`.
    pub(crate) samples: Vec<Sample>,
}

impl Metrics {
    /// Nothing counted yet in a copy of `empty`, which has the metrics that the script declares.
    pub(crate) fn new(empty: &Store) -> Self {
        Self {
            store: empty.clone(),
            ..Self::default()
        }
    }
}

/// What virtual users do right now, and have done since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct VuCounts {
    pub(crate) active: u32,
    pub(crate) existing: u32,
    pub(crate) completed: u64,
    pub(crate) interrupted: u64,
    /// Requests of the completed iterations.
    pub(crate) calls_of_completed: u64,
    /// Time of the completed iterations.
    pub(crate) time_of_completed: Nanos,
    pub(crate) reached: Reached,
}

impl VuCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.active += other.active;
        self.existing += other.existing;
        self.completed += other.completed;
        self.interrupted += other.interrupted;
        self.calls_of_completed += other.calls_of_completed;
        self.time_of_completed += other.time_of_completed;
        self.reached.add(&other.reached);
    }

    pub(crate) fn sum(all: &[Self]) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.add(one);
        }
        sum
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
    pub(crate) fn note(&mut self, address: SocketAddr) {
        self.has_others |= *self.address.get_or_insert(address) != address;
        self.is_remote |= !address.ip().is_loopback();
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if let Some(address) = other.address {
            self.note(address);
        }
        self.has_others |= other.has_others;
        self.is_remote |= other.is_remote;
    }
}

/// A line of the script's console, or about the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub level: LogLevel,
    pub message: Box<str>,
    pub source: Option<&'static str>,
}

//! Starts the workers of a scripted test, merges what they count, and leads them from setup to teardown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use plimsoll_core::metrics::{BuiltIn, MetricId, Sample, Store};
use plimsoll_core::{Nanos, Window};
use plimsoll_net::clock::Clock;
use plimsoll_script::End;
use thiserror::Error;

use super::Script;
use super::message::{Alone, Body, Busy, Command, Counted, LogLine, Report};
use super::worker::{Seat, work};
use crate::crew::{Crew, CrewError};

/// How often an interruption is looked for.
const INTERRUPT_PERIOD: Duration = Duration::from_millis(50);
/// A worker that has not ended so long after it should have runs code that never waits.
const STUCK: Nanos = Nanos::from_secs(1);
/// Every worker must have heard of the start.
pub(super) const LEAD: Nanos = Nanos::from_millis(5);

/// Why a scripted test could not be played.
#[derive(Debug, Error)]
pub enum ScriptError {
    #[error(transparent)]
    Crew(#[from] CrewError),
    #[error(transparent)]
    Script(#[from] plimsoll_script::ScriptError),
    #[error("the generator broke: {0}")]
    Broken(String),
}

/// Once a second: everything merged from all workers.
#[derive(Debug)]
pub struct Tick<'a> {
    pub window: &'a Window,
    /// Since the scenarios began.
    pub store: &'a Store,
    /// Only what the window added.
    pub added: &'a Store,
    pub elapsed: Nanos,
    pub vus_active: u32,
    pub vus_existing: u32,
    pub iterations_completed: u64,
    pub iterations_interrupted: u64,
    pub iterations_dropped: u64,
    /// The share of each scenario that is over.
    pub progress: &'a [(String, f64)],
}

/// Follows a test as it runs.
pub trait Watcher {
    /// A line for the console.
    fn log(&mut self, line: &LogLine);
    /// Every sample of one worker's window, if the script was told to keep them; metrics and tags are
    /// those of `store`.
    fn samples(&mut self, store: &Store, samples: &[Sample]);
    /// A window is over; false ends the test (a threshold with `abortOnFail`).
    fn tick(&mut self, tick: &Tick<'_>) -> bool;
}

/// How the scenarios ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptEnd {
    /// `exec.test.abort` and its words.
    pub aborted: Option<String>,
    /// `exec.test.fail` and its words; the test went on.
    pub failed: Option<String>,
    pub interrupted: bool,
    /// The watcher ended it.
    pub stopped: bool,
}

impl ScriptEnd {
    /// Something ended the scenarios before their time.
    fn is_early(&self) -> bool {
        self.aborted.is_some() || self.interrupted || self.stopped
    }
}

/// The workers of one scripted test.
#[derive(Debug)]
pub struct ScriptRunner {
    script: Arc<Script>,
    pub(super) clock: Clock,
    pub(super) crew: Crew<Command>,
    reports: Receiver<Report>,
    /// Ends script code that never waits.
    stop: Arc<AtomicBool>,
    pub(super) interrupt: Arc<AtomicBool>,
    pub(super) store: Store,
    end: ScriptEnd,
}

impl ScriptRunner {
    /// Starts the workers and waits until the virtual users that scenarios start with exist.
    pub fn start(
        script: Arc<Script>,
        clock: Clock,
        interrupt: Arc<AtomicBool>,
        watcher: &mut dyn Watcher,
    ) -> Result<Self, ScriptError> {
        let (sender, reports) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let crew = Crew::start(script.workers, "vus", |post| {
            let seat = Seat {
                post,
                script: Arc::clone(&script),
                clock,
                stop: Arc::clone(&stop),
                reports: sender.clone(),
            };
            move || work(seat)
        })?;
        let store = script.store.clone();
        let mut runner = Self {
            script,
            clock,
            crew,
            reports,
            stop,
            interrupt,
            store,
            end: ScriptEnd::default(),
        };
        let mut ready = 0;
        while ready < runner.crew.len() {
            match runner.receive(watcher)? {
                Some(Body::Ready) => ready += 1,
                Some(_) => {}
                None => {
                    runner.end.interrupted = true;
                    break;
                }
            }
        }
        Ok(runner)
    }

    /// Runs one function by itself. The second value: it ran out of time.
    pub fn alone(
        &mut self,
        function: &'static str,
        data: Option<&str>,
        wants_return: bool,
        timeout: Nanos,
        watcher: &mut dyn Watcher,
    ) -> Result<(End, bool), ScriptError> {
        let alone = Alone {
            function,
            data: data.map(Box::from),
            wants_return,
            has_group: matches!(function, "setup" | "teardown"),
            timeout,
        };
        self.crew.tell(0, Command::Alone(alone));
        // Code that never waits does not see the deadline of its worker.
        let deadline = self.clock.now() + timeout + Nanos::from_millis(200);
        loop {
            match self.receive(watcher)? {
                Some(Body::AloneDone {
                    end,
                    timed_out,
                    counted,
                }) => {
                    self.store.merge(&counted.store);
                    watcher.samples(&counted.store, &counted.samples);
                    let stopped = self.stop.swap(false, Ordering::Relaxed);
                    return Ok((end, timed_out || stopped));
                }
                Some(_) => {}
                None => self.stop.store(true, Ordering::Relaxed),
            }
            if self.clock.now() >= deadline {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Plays the scenarios to their end.
    pub fn play(
        &mut self,
        data: Option<&str>,
        watcher: &mut dyn Watcher,
    ) -> Result<ScriptEnd, ScriptError> {
        if self.end.interrupted {
            return Ok(self.end.clone());
        }
        let origin = self.clock.now() + LEAD;
        self.crew.tell_all(|| Command::Begin {
            data: data.map(Box::from),
            at: origin,
        });
        let mut merge = Merge::new(self.crew.len(), origin);
        // Code that never waits sees no end of its scenario and no halt: it is stopped from here.
        let mut patience = origin + self.script.scenarios.longest_ns() + STUCK;
        while merge.running > 0 {
            match self.receive_from(watcher, false)? {
                Some(Report { worker, body }) => self.take_in(&mut merge, worker, body, watcher),
                None if self.interrupted() && !self.end.interrupted => {
                    self.end.interrupted = true;
                    self.halt();
                }
                None => {}
            }
            if self.end.is_early() {
                patience = patience.min(self.clock.now() + STUCK);
            }
            if self.clock.now() > patience {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        self.stop.store(false, Ordering::Relaxed);
        self.tick(&mut merge, watcher);
        Ok(self.end.clone())
    }

    fn take_in(&mut self, merge: &mut Merge, worker: usize, body: Body, watcher: &mut dyn Watcher) {
        match body {
            Body::Window(counted, busy, progress) => {
                watcher.samples(&counted.store, &counted.samples);
                merge.add(worker, &counted, busy);
                merge.progress = progress;
                if merge.is_whole() {
                    self.tick(merge, watcher);
                }
            }
            Body::Finished(counted, busy) => {
                watcher.samples(&counted.store, &counted.samples);
                merge.add(worker, &counted, busy);
                merge.running -= 1;
                merge.done[worker] = true;
            }
            Body::Aborted(message) => {
                self.end.aborted.get_or_insert(message);
                self.halt();
            }
            _ => {}
        }
    }

    /// Shows what has been merged, and counts the virtual users.
    fn tick(&mut self, merge: &mut Merge, watcher: &mut dyn Watcher) {
        let Some((mut window, mut added)) = merge.take(&self.script.store) else {
            return;
        };
        let busy = merge.sum();
        window.vus = Some(busy.vus_active);
        let elapsed = self.clock.now().saturating_sub(merge.origin);
        let tags = added.tag_set(&[]);
        let samples = [
            (BuiltIn::Vus, busy.vus_active),
            (BuiltIn::VusMax, busy.vus_existing),
        ]
        .map(|(metric, count)| Sample {
            metric: MetricId::from(metric),
            tags,
            at: elapsed,
            value: f64::from(count),
        });
        for sample in &samples {
            added.record(sample.metric, tags, elapsed, sample.value);
        }
        if self.script.keeps_samples {
            watcher.samples(&added, &samples);
        }
        self.store.merge(&added);
        let tick = Tick {
            window: &window,
            store: &self.store,
            added: &added,
            elapsed,
            vus_active: busy.vus_active,
            vus_existing: busy.vus_existing,
            iterations_completed: busy.completed,
            iterations_interrupted: busy.interrupted,
            iterations_dropped: busy.dropped,
            progress: &merge.progress,
        };
        if !watcher.tick(&tick) && !self.end.stopped {
            self.end.stopped = true;
            self.halt();
        }
    }

    /// Everything that was counted.
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    fn halt(&self) {
        self.crew.tell_all(|| Command::Halt);
    }

    /// The next report that the caller must handle; none when the test was interrupted.
    fn receive(&mut self, watcher: &mut dyn Watcher) -> Result<Option<Body>, ScriptError> {
        let report = self.receive_from(watcher, true)?;
        Ok(report.map(|report| report.body))
    }

    pub(super) fn receive_from(
        &mut self,
        watcher: &mut dyn Watcher,
        waits: bool,
    ) -> Result<Option<Report>, ScriptError> {
        loop {
            let report = match self.reports.recv_timeout(INTERRUPT_PERIOD) {
                Ok(report) => report,
                Err(RecvTimeoutError::Timeout) if waits && !self.interrupted() => continue,
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ScriptError::Broken("all workers ended".to_owned()));
                }
            };
            match report.body {
                Body::Log(line) => watcher.log(&line),
                Body::MarkedFailed(message) => {
                    self.end.failed.get_or_insert(message);
                }
                Body::NotReady(error) => return Err(error.into()),
                Body::Broken(reason) => return Err(ScriptError::Broken(reason)),
                _ => return Ok(Some(report)),
            }
        }
    }
}

impl Drop for ScriptRunner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.crew.tell_all(|| Command::Quit);
    }
}

/// Counters of one window from all workers.
#[derive(Debug)]
struct Merge {
    origin: Nanos,
    running: usize,
    done: Vec<bool>,
    /// Windows of each worker that have come and not been shown.
    seen: Vec<u32>,
    busy: Vec<Busy>,
    window: Window,
    added: Option<Store>,
    progress: Vec<(String, f64)>,
}

impl Merge {
    fn new(workers: usize, origin: Nanos) -> Self {
        Self {
            origin,
            running: workers,
            done: vec![false; workers],
            seen: vec![0; workers],
            busy: vec![Busy::default(); workers],
            window: Window::default(),
            added: None,
            progress: Vec::new(),
        }
    }

    fn add(&mut self, worker: usize, counted: &Counted, busy: Busy) {
        self.seen[worker] += 1;
        self.busy[worker] = busy;
        counted.recorder.add_to(&mut self.window);
        match &mut self.added {
            Some(added) => added.merge(&counted.store),
            None => self.added = Some(counted.store.clone()),
        }
    }

    /// Every worker that still runs has sent a window.
    fn is_whole(&self) -> bool {
        self.seen
            .iter()
            .zip(&self.done)
            .all(|(seen, done)| *done || *seen > 0)
    }

    fn take(&mut self, empty: &Store) -> Option<(Window, Store)> {
        self.seen.iter_mut().for_each(|seen| *seen = 0);
        let window = std::mem::take(&mut self.window);
        let added = self.added.take();
        if window.length_ns == Nanos::ZERO && added.is_none() {
            return None;
        }
        Some((window, added.unwrap_or_else(|| empty.clone())))
    }

    fn sum(&self) -> Busy {
        let mut sum = Busy::default();
        for busy in &self.busy {
            sum.add(busy);
        }
        sum
    }
}

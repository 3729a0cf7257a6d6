//! Starts the workers of a scripted test, merges what they count, and leads them from setup to teardown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_base::clock::Clock;
use plimsoll_core::metrics::{Names, Sample, Store};
use plimsoll_core::step::StepError;
use plimsoll_core::{Nanos, Window};
use plimsoll_script::End;
use thiserror::Error;

use super::counts::{self, LevelCounts, Levels, Tallier};
use super::script::Script;
use super::shared::Shared;
use super::users::work;
use crate::crew::{Crew, CrewError};
use crate::message::{
    Body, Command, Counted, Lifecycle, LogLine, Metrics, Report, ScriptCommand, VuCounts,
};
use crate::runner::{LEAD, Listener, Workers};

/// A worker that has not ended so long after it should have runs code that never waits.
const STUCK: Nanos = Nanos::from_secs(1);

/// Why a scripted test could not be played.
#[derive(Debug, Error)]
pub enum ScriptError {
    #[error(transparent)]
    Crew(#[from] CrewError),
    #[error(transparent)]
    Script(#[from] plimsoll_script::ScriptError),
    #[error("the load generator failed: {0}")]
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
    /// Requests by name since the scenarios began.
    pub names: &'a Names,
    /// Iterations that were cut off.
    pub interrupted: u64,
    pub elapsed: Nanos,
    pub vus_active: u32,
    pub vus_existing: u32,
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
    /// What was counted in a level of a search, to which nothing more will come.
    fn level(&mut self, _counts: LevelCounts) {}
}

/// How the scenarios ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptEnd {
    /// `exec.test.abort` and its words.
    pub aborted: Option<String>,
    /// `exec.test.fail` and its words; the test went on.
    pub failed: Option<String>,
    /// The script uses what is not there yet; it says what.
    pub missing: Option<String>,
    pub interrupted: bool,
    /// The watcher ended it.
    pub stopped: bool,
}

impl ScriptEnd {
    /// Something ended the scenarios before their time.
    fn is_early(&self) -> bool {
        self.aborted.is_some() || self.missing.is_some() || self.interrupted || self.stopped
    }
}

/// The workers of one scripted test, and who follows it.
#[derive(Debug)]
pub struct ScriptRunner<W> {
    script: Arc<Script>,
    /// Dropped before the workers, whose threads it lets end.
    stop: Stop,
    pub(super) workers: Workers,
    pub(super) collected: Collected<W>,
    /// Of a search: fixed with the first level that is judged by its rate.
    pub(super) requests_per_iteration: Option<f64>,
    /// Of a search: time over which the virtual users of a closed level join.
    pub(super) join: Nanos,
}

/// What has come from the workers, apart from windows.
#[derive(Debug)]
pub(super) struct Collected<W> {
    watcher: W,
    store: Store,
    end: ScriptEnd,
    pub(super) vus: Vec<VuCounts>,
    /// Requests by name of a run with its own load.
    names: Names,
    tallier: Tallier,
    /// Of a search.
    levels: Levels,
    /// A store in which nothing was counted.
    empty: Store,
    script: Arc<Script>,
}

impl<W: Watcher> Collected<W> {
    /// From now on a search plays this level.
    pub(super) fn begin_level(&mut self, level: u32) {
        let past = self.levels.begin(level, &self.empty, self.vus.len());
        if let Some(counts) = past {
            self.watcher.level(counts);
        }
    }

    /// Nothing more will come to any level.
    pub(super) fn end_levels(&mut self) {
        for counts in self.levels.end() {
            self.watcher.level(counts);
        }
    }

    /// Takes note of what needs no answer, and hands back the rest.
    fn take_note(&mut self, body: Body) -> Result<Option<Body>, ScriptError> {
        match body {
            Body::Log(line) => self.watcher.log(&line),
            Body::MarkedFailed(message) => {
                self.end.failed.get_or_insert(message);
            }
            Body::NotReady(error) => return Err(error.into()),
            Body::Failed(reason) => return Err(ScriptError::Broken(reason)),
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    fn add_metrics(&mut self, metrics: &Metrics) {
        self.store.merge(&metrics.store);
        self.watcher.samples(&metrics.store, &metrics.samples);
    }
}

impl<W: Watcher> Listener for Collected<W> {
    const SILENCE: &'static str = "workers fell silent: does the script compute without a pause?";

    fn script(&mut self, worker: usize, counted: &mut Counted) {
        if let Some(script) = &counted.script {
            self.add_metrics(&script.metrics);
            let before = VuCounts::sum(&self.vus).interrupted;
            self.vus[worker] = script.vus;
            let vus = VuCounts::sum(&self.vus);
            self.levels.count_interrupted(vus.interrupted - before);
            let at = counted.recorder.end;
            self.levels.count_vus(at, &vus, &self.script.settings.tags);
        }
        let Self {
            levels,
            empty,
            tallier,
            ..
        } = self;
        levels.add((worker, counted), empty, tallier);
    }

    fn other(&mut self, body: Body, _crew: &Crew) -> Result<(), StepError> {
        let failed = |error: ScriptError| StepError::Generator(error.to_string());
        match self.take_note(body).map_err(failed)? {
            Some(Body::Aborted(message)) => Err(StepError::Generator(format!(
                "the script aborted the test: {message}"
            ))),
            Some(Body::Missing(message)) => Err(StepError::Generator(message)),
            _ => Ok(()),
        }
    }
}

/// Once set, script code that runs is ended; also when the runner goes.
#[derive(Debug)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if it was set.
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.set();
    }
}

impl<W: Watcher> ScriptRunner<W> {
    /// Starts the workers and waits until the virtual users that scenarios start with exist.
    pub fn start(
        script: Arc<Script>,
        clock: Clock,
        interrupt: Arc<AtomicBool>,
        watcher: W,
    ) -> Result<Self, ScriptError> {
        let stop = Arc::new(AtomicBool::new(false));
        let shared = Shared::new(clock, Arc::clone(&stop));
        let started = Crew::start(script.workers, "vus", |endpoint| {
            let (script, shared) = (Arc::clone(&script), shared.clone());
            move || work(endpoint, script, &shared)
        })?;
        let mut runner = Self {
            collected: Collected {
                watcher,
                store: script.store.clone(),
                end: ScriptEnd::default(),
                vus: vec![VuCounts::default(); script.workers as usize],
                names: Names::default(),
                tallier: Tallier::new(script.workers as usize, script.bounds.clone()),
                levels: Levels::default(),
                empty: script.store.clone(),
                script: Arc::clone(&script),
            },
            script,
            stop: Stop(stop),
            workers: Workers::new(started, clock, interrupt),
            requests_per_iteration: None,
            join: Nanos::ZERO,
        };
        let mut ready = 0;
        while ready < runner.workers.crew.len() {
            match runner.receive()? {
                Some(report) => ready += usize::from(matches!(report.body, Body::Ready)),
                None if runner.workers.is_interrupted() => {
                    runner.collected.end.interrupted = true;
                    break;
                }
                None => {}
            }
        }
        Ok(runner)
    }

    /// Whether a signal has come.
    pub fn is_interrupted(&self) -> bool {
        self.workers.is_interrupted()
    }

    /// Runs one function by itself. The second value: it ran out of time, or a signal came while it ran. One that came
    /// before has ended the scenarios; what tears down and sums up after them runs to its end.
    pub fn run_function(
        &mut self,
        function: &'static str,
        data: Option<&str>,
        wants_return: bool,
        timeout: Nanos,
    ) -> Result<(End, bool), ScriptError> {
        // A setup is of no use any more, whenever the signal came.
        let mut is_told = function != "setup" && self.is_interrupted();
        let lifecycle = Lifecycle {
            function,
            data: data.map(Box::from),
            wants_return,
            has_group: matches!(function, "setup" | "teardown"),
            timeout,
        };
        let command = Command::Script(ScriptCommand::Lifecycle(lifecycle));
        self.workers.crew.send(0, command);
        // Code that never waits does not see the deadline of its worker.
        let deadline = self.workers.clock.now() + timeout + Nanos::from_millis(200);
        loop {
            let report = self.receive()?;
            if let Some(Body::LifecycleDone {
                end,
                timed_out,
                counted,
            }) = report.map(|report| report.body)
            {
                self.collected.add_metrics(&counted.metrics);
                let stopped = self.stop.take();
                return Ok((end, timed_out || stopped));
            }
            if !is_told && self.is_interrupted() {
                is_told = true;
                // Code that runs sees the flag; one that waits is ended by its worker.
                self.stop.set();
                let command = Command::Script(ScriptCommand::EndLifecycle);
                self.workers.crew.send(0, command);
            }
            if self.workers.clock.now() >= deadline {
                self.stop.set();
            }
        }
    }

    /// Plays the scenarios to their end.
    pub fn play_scenarios(&mut self, data: Option<&str>) -> Result<ScriptEnd, ScriptError> {
        if self.collected.end.interrupted {
            return Ok(self.collected.end.clone());
        }
        let origin = self.workers.clock.now() + LEAD;
        self.workers.crew.send_all(|| {
            Command::Script(ScriptCommand::Begin {
                data: data.map(Box::from),
                at: origin,
            })
        });
        let mut played = Played {
            origin,
            added: self.script.store.clone(),
            progress: Vec::new(),
        };
        // Code that never waits sees no end of its scenario and no halt: it is stopped from here.
        let mut patience = origin + self.script.scenarios.longest_ns() + STUCK;
        while !self.workers.gather.is_finished() {
            match self.receive()? {
                Some(report) => self.take_in(&mut played, report),
                None if self.workers.is_interrupted() && !self.collected.end.interrupted => {
                    self.collected.end.interrupted = true;
                    self.halt();
                }
                None => {}
            }
            if self.collected.end.is_early() {
                patience = patience.min(self.workers.clock.now() + STUCK);
            }
            if self.workers.clock.now() > patience {
                self.stop.set();
            }
        }
        self.stop.take();
        self.tick_all(&mut played);
        Ok(self.collected.end.clone())
    }

    fn take_in(&mut self, played: &mut Played, report: Report) {
        let worker = report.worker;
        let mut counted = match report.body {
            Body::Window(counted) => counted,
            Body::Finished(counted) => {
                self.workers.gather.finish(worker);
                counted
            }
            Body::Aborted(message) => {
                self.collected.end.aborted.get_or_insert(message);
                return self.halt();
            }
            Body::Missing(message) => {
                self.collected.end.missing.get_or_insert(message);
                return self.halt();
            }
            _ => return,
        };
        if let Some(script) = &mut counted.script {
            let Collected { names, tallier, .. } = &mut self.collected;
            counts::add_names(names, (worker, script), tallier);
            let metrics = &script.metrics;
            let watcher = &mut self.collected.watcher;
            watcher.samples(&metrics.store, &metrics.samples);
            played.added.merge(&metrics.store);
            self.collected.vus[worker] = script.vus;
            played.progress.clone_from(&script.progress);
        }
        self.workers.gather.add(worker, counted, 0);
        self.tick_all(played);
    }

    /// Shows the windows of which every worker's part is there.
    fn tick_all(&mut self, played: &mut Played) {
        loop {
            let Workers { gather, crew, .. } = &mut self.workers;
            let Some(window) = gather.take(|worker, counted| crew.give_back(worker, counted))
            else {
                return;
            };
            self.tick(played, &window);
        }
    }

    /// Shows what has been merged, and counts the virtual users.
    fn tick(&mut self, played: &mut Played, window: &Window) {
        let vus = VuCounts {
            // That of the workers is of now, and they may be further on than this window.
            active: window.vus.unwrap_or(0),
            ..VuCounts::sum(&self.collected.vus)
        };
        let now = self.workers.clock.now();
        let elapsed = now.saturating_sub(played.origin);
        let added = &mut played.added;
        let samples = counts::count_vus(added, &self.script.settings.tags, now, &vus);
        let Collected {
            watcher,
            store,
            end,
            names,
            ..
        } = &mut self.collected;
        if self.script.keeps_samples {
            watcher.samples(added, &samples);
        }
        store.merge(added);
        let tick = Tick {
            window,
            store,
            added,
            names,
            interrupted: vus.interrupted,
            elapsed,
            vus_active: vus.active,
            vus_existing: vus.existing,
            progress: &played.progress,
        };
        let stops = !watcher.tick(&tick) && !end.stopped;
        end.stopped |= stops;
        played.added.clear();
        if stops {
            self.halt();
        }
    }

    /// Everything that was counted.
    pub fn store(&self) -> &Store {
        &self.collected.store
    }

    /// Requests by name of a run with its own load, and the iterations that were cut off.
    pub fn names(&self) -> (&Names, u64) {
        let vus = VuCounts::sum(&self.collected.vus);
        (&self.collected.names, vus.interrupted)
    }

    /// The words of `exec.test.fail`, wherever it was called.
    pub fn marked_failed(&self) -> Option<&str> {
        self.collected.end.failed.as_deref()
    }

    pub fn watcher(&mut self) -> &mut W {
        &mut self.collected.watcher
    }

    fn halt(&self) {
        let halt = || Command::Script(ScriptCommand::Halt);
        self.workers.crew.send_all(halt);
    }

    /// The next report that the caller must handle; none if there is none for a while, and none after a line of the log:
    /// callers look for a signal in between, and a script may log all the time.
    fn receive(&mut self) -> Result<Option<Report>, ScriptError> {
        let broken = |error| match error {
            StepError::Generator(reason) => ScriptError::Broken(reason),
            other => ScriptError::Broken(other.to_string()),
        };
        let Some(Report { worker, body }) = self.workers.next().map_err(broken)? else {
            return Ok(None);
        };
        let body = self.collected.take_note(body)?;
        Ok(body.map(|body| Report { worker, body }))
    }
}

/// What has come of scenarios that are played.
#[derive(Debug)]
struct Played {
    origin: Nanos,
    /// Of the window at hand.
    added: Store,
    progress: Vec<(String, f64)>,
}

#[cfg(test)]
mod tests;

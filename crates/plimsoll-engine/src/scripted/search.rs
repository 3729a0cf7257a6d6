//! A script as a [`StepRunner`]: a search decides the load, the script what a user does.
//!
//! A search thinks in requests per second; virtual users begin iterations. One rate becomes the other through the
//! requests of an iteration, as counted until the search leaves its closed loop, and stays so: under overload a
//! script may give up early, and then the offered load must not rise for it.

use std::sync::atomic::Ordering;

use plimsoll_core::schedule::ProfileError;
use plimsoll_core::step::{Go, Phase, Step, StepError, StepLoad, StepRunner};
use plimsoll_core::{Nanos, Window};

use super::message::{Body, Busy, Command, Counted, Reached};
use super::run::{LEAD, ScriptError, ScriptRunner, Watcher};
use crate::gather::Gather;

/// A worker that has not reported for so long runs code that never waits.
const SILENCE: Nanos = Nanos::from_secs(30);

/// How much of a script is tried out before a search.
const TRIAL_ITERATIONS: u64 = 10;
const TRIAL_WINDOWS: u32 = 5;

/// The workers of a script, playing levels.
pub struct ScriptLevels<'w> {
    runner: ScriptRunner,
    watcher: &'w mut dyn Watcher,
    gather: Gather,
    busy: Vec<Busy>,
    /// Fixed with the first level that is judged by its rate.
    requests_per_iteration: Option<f64>,
    /// Time over which the virtual users of a closed level join.
    join: Nanos,
}

/// What a virtual user does at rest, by the iterations that have ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanIteration {
    pub requests: f64,
    /// With its pauses.
    pub duration: Nanos,
}

impl std::fmt::Debug for ScriptLevels<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ScriptLevels").finish_non_exhaustive()
    }
}

/// What was left after the last level, and the workers for what follows.
#[derive(Debug)]
pub struct Drained {
    pub window: Window,
    pub runner: ScriptRunner,
}

impl<'w> ScriptLevels<'w> {
    /// Workers that have started, and what `setup` returned. At most `vus_max` virtual users will exist.
    pub fn new(
        runner: ScriptRunner,
        data: Option<&str>,
        vus_max: u32,
        watcher: &'w mut dyn Watcher,
    ) -> Self {
        let workers = runner.crew.len();
        runner.crew.tell_all(|| Command::Search {
            data: data.map(Box::from),
            vus_max,
        });
        Self {
            runner,
            watcher,
            gather: Gather::new(workers),
            busy: vec![Busy::default(); workers],
            requests_per_iteration: None,
            join: Nanos::ZERO,
        }
    }

    fn sum(&self) -> Busy {
        let mut sum = Busy::default();
        for busy in &self.busy {
            sum.add(busy);
        }
        sum
    }

    /// Iterations that have come to their end so far.
    pub fn iterations(&self) -> u64 {
        self.sum().completed
    }

    /// Whom the requests went to so far.
    pub fn reached(&self) -> Reached {
        self.sum().reached
    }

    /// The mean of the iterations that have ended; its requests are those that were fixed. None before the first.
    pub fn iteration(&self) -> Option<MeanIteration> {
        let sum = self.sum();
        let mean = sum.calls_of_completed as f64 / sum.completed as f64;
        let counted = (sum.completed > 0 && mean > 0.0).then_some(mean);
        Some(MeanIteration {
            requests: self.requests_per_iteration.or(counted)?,
            duration: Nanos(sum.time_of_completed.0 / sum.completed.max(1)),
        })
    }

    /// Virtual users of closed levels join evenly over so long from now on.
    pub fn join_over(&mut self, time: Nanos) {
        self.join = time;
    }

    /// The load in iterations.
    fn in_iterations(&mut self, step: &Step) -> Result<StepLoad, StepError> {
        let StepLoad::Open { profile, arrivals } = step.load else {
            return Ok(step.load);
        };
        let none = || StepError::Generator("no iteration has sent a request and ended".to_owned());
        let requests = self.iteration().ok_or_else(none)?.requests;
        if !matches!(step.phase, Phase::WarmUp | Phase::Anchor) {
            self.requests_per_iteration = Some(requests);
        }
        let of_profile = |error: ProfileError| StepError::Generator(error.to_string());
        let profile = profile.scaled(1.0 / requests).map_err(of_profile)?;
        Ok(StepLoad::Open { profile, arrivals })
    }

    fn next_window(&mut self, level: u32) -> Result<Window, StepError> {
        let silent_from = self.runner.clock.now() + SILENCE;
        loop {
            if let Some(window) = self.gather.take(|_, _| ()) {
                return Ok(window);
            }
            if let Some((worker, counted)) = self.receive(silent_from, true)? {
                self.gather.add(worker, Box::new(counted.recorder), level);
            }
        }
    }

    /// Counters of one worker; none when there is nothing yet.
    fn receive(
        &mut self,
        silent_from: Nanos,
        interruptible: bool,
    ) -> Result<Option<(usize, Counted)>, StepError> {
        if interruptible && self.runner.interrupt.load(Ordering::Relaxed) {
            return Err(StepError::Interrupted);
        }
        let of_script = |error: ScriptError| StepError::Generator(error.to_string());
        let report = self
            .runner
            .receive_from(self.watcher, false)
            .map_err(of_script)?;
        let Some(report) = report else {
            if self.runner.clock.now() > silent_from {
                return Err(StepError::Generator(
                    "workers fell silent: does the script compute without a pause?".to_owned(),
                ));
            }
            return Ok(None);
        };
        match report.body {
            Body::Window(counted, busy, _) | Body::Finished(counted, busy) => {
                self.runner.store.merge(&counted.store);
                self.watcher.samples(&counted.store, &counted.samples);
                self.busy[report.worker] = busy;
                Ok(Some((report.worker, *counted)))
            }
            // While draining it is known, or nothing more is started anyway.
            Body::Aborted(message) if interruptible => Err(StepError::Generator(format!(
                "the script aborted the test: {message}"
            ))),
            _ => Ok(None),
        }
    }

    /// One virtual user by itself: what an iteration is. Ends after ten iterations, or as many as five seconds hold,
    /// but not before the first has ended.
    pub fn try_out(
        &mut self,
        step: &Step,
        each: &mut dyn FnMut(&Window) -> std::io::Result<()>,
    ) -> Result<(), StepError> {
        self.enter(step.level, step.load);
        for count in 1..=step.windows_max {
            each(&self.next_window(step.level)?)?;
            let iterations = self.sum().completed;
            if iterations >= TRIAL_ITERATIONS || (iterations > 0 && count >= TRIAL_WINDOWS) {
                break;
            }
        }
        Ok(())
    }

    fn enter(&mut self, level: u32, load: StepLoad) {
        self.gather.begin_level();
        let (start, join) = (self.runner.clock.now() + LEAD, self.join);
        self.runner.crew.tell_all(|| Command::Level {
            level,
            load,
            start,
            join,
        });
    }

    /// Starts nothing more and waits, at most `limit`, for what is under way.
    pub fn drain(mut self, level: u32, limit: Nanos) -> Result<Drained, StepError> {
        let until = self.runner.clock.now() + limit;
        self.runner
            .crew
            .tell_all(|| Command::Drain { level, until });
        let mut window = Window {
            level,
            ..Window::default()
        };
        let mut parts = 0;
        while parts < self.busy.len() {
            let Some((_, counted)) = self.receive(until + SILENCE, false)? else {
                continue;
            };
            if counted.recorder.level == level {
                counted.recorder.add_to(&mut window);
                parts += 1;
            } else {
                // A window that ended just before the drain: its counts must not be lost.
                counted.recorder.add_as_carried_to(&mut window);
            }
        }
        self.gather.begin_level();
        self.gather.carry_into(&mut window);
        Ok(Drained {
            window,
            runner: self.runner,
        })
    }
}

impl StepRunner for ScriptLevels<'_> {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError> {
        let load = self.in_iterations(step)?;
        self.enter(step.level, load);
        for _ in 0..step.windows_max {
            let window = self.next_window(step.level)?;
            if judge(&window) == Go::Stop {
                break;
            }
        }
        Ok(())
    }
}

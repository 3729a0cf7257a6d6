//! A script as a [`StepRunner`]: a search decides the load, the script what a user does.
//!
//! A search thinks in requests per second; virtual users begin iterations. One rate becomes the other through the
//! requests of an iteration, as counted until the search leaves its closed loop, and stays so: under overload a
//! script may give up early, and then the offered load must not rise for it.

use plimsoll_core::schedule::ProfileError;
use plimsoll_core::step::{Go, Phase, Step, StepError, StepLoad, StepRunner};
use plimsoll_core::{Nanos, Window};

use super::run::{ScriptRunner, Watcher};
use crate::message::{Command, Reached, ScriptCommand, VuCounts};

/// How much of a script is tried out before a search.
const TRIAL_ITERATIONS: u64 = 10;
const TRIAL_WINDOWS: u32 = 5;

/// What a virtual user does at rest, by the iterations that have ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanIteration {
    pub requests: f64,
    /// With its pauses.
    pub duration: Nanos,
}

/// In a search.
impl<W: Watcher> ScriptRunner<W> {
    /// Plays levels from now on; `setup` returned `data`. At most `vus_max` virtual users will exist.
    pub fn begin_search(&mut self, data: Option<&str>, vus_max: u32) {
        self.workers.crew.send_all(|| {
            Command::Script(ScriptCommand::Search {
                data: data.map(Box::from),
                vus_max,
            })
        });
    }

    fn sum(&self) -> VuCounts {
        VuCounts::sum(&self.collected.vus)
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

    /// One virtual user by itself: what an iteration is. Ends after ten iterations, or as many as five seconds hold,
    /// but not before the first has ended.
    pub fn try_out(&mut self, step: &Step, each: &mut dyn FnMut(&Window)) -> Result<(), StepError> {
        let join = self.join;
        self.collected.begin_level(step.level);
        self.workers.enter(step.level, step.load, join, None);
        for count in 1..=step.windows_max {
            each(&self.workers.next_window(step.level, &mut self.collected)?);
            let iterations = self.sum().completed;
            if iterations >= TRIAL_ITERATIONS || (iterations > 0 && count >= TRIAL_WINDOWS) {
                break;
            }
        }
        Ok(())
    }

    /// Starts nothing more and waits, at most `limit`, for what is under way.
    pub fn drain(&mut self, level: u32, limit: Nanos) -> Result<Window, StepError> {
        self.collected.begin_level(level);
        let window = self.workers.drain(level, limit, &mut self.collected);
        self.collected.end_levels();
        window
    }
}

impl<W: Watcher> StepRunner for ScriptRunner<W> {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError> {
        let load = (self.in_iterations(step)?, self.join, None);
        self.collected.begin_level(step.level);
        self.workers.play(step, load, &mut self.collected, judge)
    }
}

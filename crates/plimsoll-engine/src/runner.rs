//! Drives the workers level by level, merges their windows and lets the judge decide.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;

use plimsoll_base::clock::Clock;
use plimsoll_base::mailbox::Receiver;
use plimsoll_core::step::{Go, Step, StepError, StepLoad, StepRunner};
use plimsoll_core::{Nanos, Window};

use crate::crew::{Crew, CrewError};
use crate::gather::Gather;
use crate::message::{Body, Command, Counted, Report};
use crate::options::Options;
use crate::requests::{self, Attempt, Crafted};
use crate::sessions::{self, Desk, Host, SessionPlan};
use crate::source::Level;

/// Time between the decision on a level and its start: every worker must have heard of it.
pub(crate) const LEAD: Nanos = Nanos::from_millis(5);
/// How often an interruption is looked for.
const INTERRUPT_PERIOD: Nanos = Nanos::from_millis(50);
/// A worker that has not reported for so many windows is taken for dead, or runs code that never waits.
const SILENCE: Nanos = Nanos::from_secs(30);

/// What is done with reports besides merging windows.
pub(crate) trait Listener {
    /// What is said of workers that report nothing any more.
    const SILENCE: &'static str;
    fn script(&mut self, _worker: usize, _counted: &mut Counted) {}
    fn other(&mut self, body: Body, crew: &Crew) -> Result<(), StepError>;
    /// Nothing more will come of this level.
    fn is_over(&self) -> bool {
        false
    }
}

/// The workers of a run and what has come of them.
#[derive(Debug)]
pub(crate) struct Workers {
    pub(crate) clock: Clock,
    pub(crate) crew: Crew,
    reports: Receiver<Report>,
    pub(crate) gather: Gather,
    interrupt: Arc<AtomicBool>,
}

impl Workers {
    pub(crate) fn new(
        (crew, reports): (Crew, Receiver<Report>),
        clock: Clock,
        interrupt: Arc<AtomicBool>,
    ) -> Self {
        Self {
            clock,
            gather: Gather::new(crew.len()),
            crew,
            reports,
            interrupt,
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// The next report; none for a while.
    pub(crate) fn next(&self) -> Result<Option<Report>, StepError> {
        match self.reports.recv_timeout(INTERRUPT_PERIOD) {
            Ok(report) => Ok(Some(report)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(StepError::Generator("all workers ended".to_owned()))
            }
        }
    }

    /// The next report, while there is patience.
    fn receive<L: Listener>(
        &self,
        patience: &mut Patience,
        is_interruptible: bool,
    ) -> Result<Report, StepError> {
        loop {
            if is_interruptible && self.is_interrupted() {
                return Err(StepError::Interrupted);
            }
            let report = self.next()?;
            let is_over = patience.is_over(self.clock.now());
            if let Some(report) = report {
                return Ok(report);
            }
            if is_over {
                return Err(StepError::Generator(L::SILENCE.to_owned()));
            }
        }
    }

    /// Has every worker play this level from now on; those of a closed loop join within `join`.
    pub(crate) fn enter(
        &mut self,
        number: u32,
        load: StepLoad,
        join: Nanos,
        length: Option<Nanos>,
    ) {
        self.gather.begin_level();
        let start = self.clock.now() + LEAD;
        let level = Level {
            number,
            load,
            start,
            join,
            end: length.map(|length| start + length),
        };
        self.crew.send_all(|| Command::Level(level));
    }

    /// Plays a level window by window, until the judge has seen enough.
    pub(crate) fn play<L: Listener>(
        &mut self,
        step: &Step,
        (load, join, length): (StepLoad, Nanos, Option<Nanos>),
        listener: &mut L,
        judge: &mut dyn FnMut(&Window) -> Go,
    ) -> Result<(), StepError> {
        self.enter(step.level, load, join, length);
        for _ in 0..step.windows_max {
            let window = self.next_window(step.level, listener)?;
            if judge(&window) == Go::Stop || listener.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// The next window of the level, merged from all workers.
    pub(crate) fn next_window<L: Listener>(
        &mut self,
        level: u32,
        listener: &mut L,
    ) -> Result<Window, StepError> {
        let mut patience = Patience::new(self.clock.now(), SILENCE);
        loop {
            let crew = &self.crew;
            let merged = self
                .gather
                .take_full(|worker, counted| crew.give_back(worker, counted));
            if let Some(window) = merged {
                return Ok(window);
            }
            let report = self.receive::<L>(&mut patience, true)?;
            match report.body {
                Body::Window(mut counted) => {
                    listener.script(report.worker, &mut counted);
                    self.gather.add(report.worker, counted, level);
                }
                body => listener.other(body, &self.crew)?,
            }
        }
    }

    /// Starts nothing more and waits, at most `limit`, for what is in flight. The window holds the late ends; its
    /// `in_flight_end` are attempts that never ended.
    pub(crate) fn drain<L: Listener>(
        &mut self,
        level: u32,
        limit: Nanos,
        listener: &mut L,
    ) -> Result<Window, StepError> {
        let now = self.clock.now();
        let until = now + limit;
        let mut patience = Patience::new(now, limit + SILENCE);
        self.crew.send_all(|| Command::Drain { level, until });
        let mut window = Window {
            level,
            ..Window::default()
        };
        self.gather.begin_level();
        self.gather.carry_into(&mut window);
        let mut parts = 0;
        while parts < self.crew.len() {
            let report = self.receive::<L>(&mut patience, false)?;
            let (mut counted, is_last) = match report.body {
                Body::Finished(counted) => (counted, true),
                Body::Window(counted) => (counted, false),
                // While draining nothing more is started anyway.
                Body::Aborted(_) | Body::Missing(_) => continue,
                body => {
                    listener.other(body, &self.crew)?;
                    continue;
                }
            };
            listener.script(report.worker, &mut counted);
            if is_last {
                counted.recorder.add_to(&mut window);
                parts += 1;
            } else {
                // A window that ended just before the drain: its counts must not be lost.
                counted.recorder.add_as_carried_to(&mut window);
            }
        }
        Ok(window)
    }
}

/// How long workers may be silent. Time in which this process itself stood still counts against nobody.
#[derive(Debug)]
struct Patience {
    until: Nanos,
    looked: Nanos,
}

impl Patience {
    fn new(now: Nanos, length: Nanos) -> Self {
        Self {
            until: now + length,
            looked: now,
        }
    }

    /// Asked after each wait of [`INTERRUPT_PERIOD`] at most: one that took longer is no silence of the workers, which were
    /// stopped too.
    fn is_over(&mut self, now: Nanos) -> bool {
        let waited = now.saturating_sub(std::mem::replace(&mut self.looked, now));
        self.until += waited.saturating_sub(INTERRUPT_PERIOD);
        now > self.until
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.crew.send_all(|| Command::Stop);
    }
}

/// A load of requests or of a driver's sessions on a target, as a [`StepRunner`].
#[derive(Debug)]
pub struct EngineRunner {
    workers: Workers,
    attempts: Attempts,
}

impl EngineRunner {
    /// Starts the workers, idle. `clock` is the zero of the run; `interrupt` ends any level.
    pub fn start(
        options: &Options,
        clock: Clock,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self, CrewError> {
        let options = options.for_run();
        let started = Crew::start(options.workers, "load", |endpoint| {
            let options = options.clone();
            move || {
                if options.varies() {
                    requests::worker::<Crafted>(endpoint, clock, options).run();
                } else {
                    requests::worker::<Attempt>(endpoint, clock, options).run();
                }
            }
        })?;
        Ok(Self {
            workers: Workers::new(started, clock, interrupt),
            attempts: Attempts {
                exhausted: 0,
                workers: options.workers as usize,
            },
        })
    }

    /// Starts workers whose users are sessions, and waits until every worker has opened its own. `open` makes what a
    /// worker's thread calls, with the desk of its sessions and the descriptor that ends a wait.
    pub fn start_sessions<H, F>(
        plan: &SessionPlan,
        clock: Clock,
        interrupt: Arc<AtomicBool>,
        open: impl Fn(usize) -> F,
    ) -> Result<Self, StepError>
    where
        H: Host,
        F: FnOnce(Desk, OwnedFd) -> Result<H, String> + Send + 'static,
    {
        let started = Crew::start(plan.workers, "load", |endpoint| {
            let (plan, open) = (plan.clone(), open(endpoint.index));
            move || sessions::work(endpoint, clock, &plan, open)
        });
        let started = started.map_err(|error| StepError::Generator(error.to_string()))?;
        let mut runner = Self {
            workers: Workers::new(started, clock, interrupt),
            attempts: Attempts {
                exhausted: 0,
                workers: plan.workers as usize,
            },
        };
        runner.await_ready()?;
        Ok(runner)
    }

    /// Opening connections takes as long as it takes; a driver gives up by its own timeouts.
    fn await_ready(&mut self) -> Result<(), StepError> {
        let mut opening = self.workers.crew.len();
        while opening > 0 {
            if self.workers.is_interrupted() {
                return Err(StepError::Interrupted);
            }
            match self.workers.next()?.map(|report| report.body) {
                Some(Body::Ready) => opening -= 1,
                Some(Body::Failed(reason)) => return Err(StepError::Unreachable(reason)),
                // A worker without a share of the attempts says so once, and may do so while others still open theirs.
                Some(Body::Exhausted) => self.attempts.exhausted += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// Plays a level whose last window ends with it, if its length is given.
    pub fn play_for(
        &mut self,
        step: &Step,
        length: Option<Nanos>,
        judge: &mut dyn FnMut(&Window) -> Go,
    ) -> Result<(), StepError> {
        let Self { workers, attempts } = self;
        workers.play(step, (step.load, Nanos::ZERO, length), attempts, judge)
    }

    /// Starts nothing more and waits, at most `limit`, for what is in flight. The window holds the
    /// late ends; its `in_flight_end` are attempts that never ended.
    pub fn drain(&mut self, level: u32, limit: Nanos) -> Result<Window, StepError> {
        self.workers.drain(level, limit, &mut self.attempts)
    }
}

impl StepRunner for EngineRunner {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError> {
        self.play_for(step, None, judge)
    }
}

/// Which workers have used up their attempts.
#[derive(Debug)]
struct Attempts {
    exhausted: usize,
    workers: usize,
}

impl Listener for Attempts {
    const SILENCE: &'static str = "workers fell silent";

    fn other(&mut self, body: Body, crew: &Crew) -> Result<(), StepError> {
        match body {
            Body::Exhausted => {
                self.exhausted += 1;
                if self.is_over() {
                    crew.send_all(|| Command::Flush);
                }
                Ok(())
            }
            Body::Failed(reason) => Err(StepError::Generator(reason)),
            _ => Ok(()),
        }
    }

    fn is_over(&self) -> bool {
        self.exhausted >= self.workers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Nanos {
        Nanos::from_secs(count)
    }

    #[test]
    fn a_process_that_was_stopped_for_a_minute_has_lost_no_patience() {
        let mut patience = Patience::new(seconds(100), SILENCE);
        let period = INTERRUPT_PERIOD;
        assert!(!patience.is_over(seconds(100) + period));
        // A report that was sent before the stop comes first; what is missing comes after the next waits.
        assert!(!patience.is_over(seconds(160)));
        assert!(!patience.is_over(seconds(160) + period));
    }

    #[test]
    fn silence_ends_patience() {
        let mut patience = Patience::new(Nanos::ZERO, SILENCE);
        let period = INTERRUPT_PERIOD.0;
        let looks = (1..1_000).find(|look| patience.is_over(Nanos(look * period)));
        assert_eq!(looks, Some(SILENCE.0 / period + 1));
    }
}

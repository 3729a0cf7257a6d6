//! Drives the workers level by level, merges their windows and lets the judge decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use plimsoll_core::step::{Go, Step, StepError, StepRunner};
use plimsoll_core::{Nanos, Window};
use plimsoll_net::clock::Clock;

use crate::crew::{Crew, CrewError};
use crate::gather::Gather;
use crate::message::{Body, Command, Report};
use crate::options::Options;
use crate::worker::{WINDOW, Worker};

/// Time between the decision on a level and its start: every worker must have heard of it.
const LEAD: Nanos = Nanos::from_millis(5);
/// How often an interruption is looked for.
const INTERRUPT_PERIOD: Duration = Duration::from_millis(50);
/// Seconds without a window after which the workers are taken for dead.
const SILENCE_WINDOWS: u64 = 30;

/// The load engine as a [`StepRunner`].
#[derive(Debug)]
pub struct EngineRunner {
    clock: Clock,
    crew: Crew<Command>,
    reports: Receiver<Report>,
    gather: Gather,
    exhausted: usize,
    interrupt: Arc<AtomicBool>,
}

impl EngineRunner {
    /// Starts the workers, idle. `clock` is the zero of the run; `interrupt` ends any level.
    pub fn start(
        options: &Options,
        clock: Clock,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self, CrewError> {
        let (report_sender, reports) = channel();
        let crew = Crew::start(options.workers, "load", |post| {
            let (options, reports) = (options.clone(), report_sender.clone());
            move || Worker::new(post, clock, options, reports).run()
        })?;
        Ok(Self {
            clock,
            gather: Gather::new(crew.len()),
            crew,
            reports,
            exhausted: 0,
            interrupt,
        })
    }

    /// Every worker has used up its share of a limited number of attempts.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted >= self.crew.len()
    }

    /// Starts nothing more and waits, at most `limit`, for what is in flight. The window holds the
    /// late ends; its `in_flight_end` are attempts that never ended.
    pub fn drain(&mut self, level: u32, limit: Nanos) -> Result<Window, StepError> {
        let until = self.clock.now() + limit;
        self.crew.tell_all(|| Command::Drain { level, until });
        let mut window = Window {
            level,
            ..Window::default()
        };
        self.gather.begin_level();
        self.gather.carry_into(&mut window);
        let mut drained = 0;
        while drained < self.crew.len() {
            let report = self.receive(false)?;
            match report.body {
                Body::Drained(recorder) => {
                    recorder.add_to(&mut window);
                    drained += 1;
                }
                // A window that ended just before the drain: its counts must not be lost.
                Body::Window(recorder) => recorder.add_as_carried_to(&mut window),
                Body::Exhausted => self.exhausted += 1,
                Body::Failed(reason) => return Err(StepError::Generator(reason)),
            }
        }
        Ok(window)
    }

    fn receive(&self, interruptible: bool) -> Result<Report, StepError> {
        let started = self.clock.now();
        loop {
            if interruptible && self.interrupt.load(Ordering::Relaxed) {
                return Err(StepError::Interrupted);
            }
            match self.reports.recv_timeout(INTERRUPT_PERIOD) {
                Ok(report) => return Ok(report),
                Err(RecvTimeoutError::Timeout) => {
                    if self.clock.now() - started > WINDOW.saturating_mul(SILENCE_WINDOWS) {
                        return Err(StepError::Generator("workers fell silent".to_owned()));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(StepError::Generator("all workers ended".to_owned()));
                }
            }
        }
    }

    /// The next window of `level`, merged from all workers.
    fn next_window(&mut self, level: u32) -> Result<Window, StepError> {
        loop {
            let crew = &self.crew;
            let merged = self.gather.take(|worker, mut recorder| {
                recorder.clear();
                crew.tell_quietly(worker, Command::Cleared(recorder));
            });
            if let Some(window) = merged {
                return Ok(window);
            }
            let report = self.receive(true)?;
            self.sort_in(report, level)?;
        }
    }

    fn sort_in(&mut self, report: Report, level: u32) -> Result<(), StepError> {
        match report.body {
            Body::Window(recorder) => self.gather.add(report.worker, recorder, level),
            Body::Exhausted => {
                self.exhausted += 1;
                if self.is_exhausted() {
                    self.crew.tell_all(|| Command::Flush);
                }
            }
            Body::Drained(_) => {}
            Body::Failed(reason) => return Err(StepError::Generator(reason)),
        }
        Ok(())
    }
}

impl StepRunner for EngineRunner {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError> {
        self.gather.begin_level();
        let start = self.clock.now() + LEAD;
        let (level, load) = (step.level, step.load);
        self.crew.tell_all(|| Command::Level { level, load, start });
        for _ in 0..step.windows_max {
            let window = self.next_window(step.level)?;
            let go = judge(&window);
            if go == Go::Stop || self.is_exhausted() {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for EngineRunner {
    fn drop(&mut self) {
        self.crew.tell_all(|| Command::Stop);
    }
}

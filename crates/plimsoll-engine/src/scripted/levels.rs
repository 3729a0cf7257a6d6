//! Levels of a search on one worker: iterations that arrive at a rate, or so many virtual users at once, one level
//! after the other and without a pause in between.
//!
//! Virtual users are made when they are needed and kept. An arrival that finds none waits for one; its response time
//! counts from when it was due, and after the longest time that a request may take it is dropped.

use std::collections::VecDeque;
use std::rc::Rc;

use plimsoll_control::executor;
use plimsoll_core::step::StepLoad;
use plimsoll_core::{Nanos, Outcome};

use super::message::Body;
use super::play::BURST;
use super::worker::Worker;
use crate::arrival::Stream;
use crate::recorder::Recorder;
use crate::worker::{WINDOW, share_of};

/// Where new iterations come from.
#[derive(Debug)]
enum Source {
    None,
    /// So many virtual users of this worker, as fast as they can.
    Closed(u32),
    Open(Stream),
}

/// An iteration that is due.
#[derive(Debug, Clone, Copy)]
struct Due {
    intended: Nanos,
    level: u32,
}

/// What one worker plays of a level.
#[derive(Debug)]
pub(super) struct Levels {
    source: Source,
    pending: Option<(u32, StepLoad, Nanos)>,
    drain_until: Option<Nanos>,
    /// Places of virtual users that do nothing.
    idle: Vec<usize>,
    made: u32,
    /// This worker's share.
    vus_max: u32,
    waiting: VecDeque<Due>,
    begun: u64,
}

impl Levels {
    fn new(vus_max: u32) -> Self {
        Self {
            source: Source::None,
            pending: None,
            drain_until: None,
            idle: Vec::new(),
            made: 0,
            vus_max,
            waiting: VecDeque::new(),
            begun: 0,
        }
    }

    /// A virtual user has ended its iteration.
    pub(super) fn freed(&mut self, place: usize) {
        self.idle.push(place);
    }

    pub(super) fn made(&self) -> u32 {
        self.made
    }

    pub(super) fn running(&self) -> u32 {
        self.made - self.idle.len() as u32
    }

    pub(super) fn next_event(&self) -> Nanos {
        let mut next = self.drain_until.unwrap_or(Nanos::MAX);
        if let Source::Open(stream) = &self.source {
            next = next.min(stream.next());
        }
        if let Some((_, _, start)) = &self.pending {
            next = next.min(*start);
        }
        next
    }

    /// The next iteration to begin, if one is due and a virtual user may take it.
    fn next_due(&mut self, now: Nanos, level: u32) -> Option<Next> {
        let has_vu = !self.idle.is_empty() || self.made < self.vus_max;
        // First come, first served.
        if has_vu && let Some(due) = self.waiting.pop_front() {
            return Some(Next::Waited(due));
        }
        let running = self.running();
        match &mut self.source {
            Source::Open(stream) => stream
                .take_due(now)
                .map(|intended| Next::Arrived(Due { intended, level })),
            Source::Closed(target) if has_vu && running < *target => Some(Next::Looped),
            _ => None,
        }
    }
}

/// Why an iteration begins.
enum Next {
    Arrived(Due),
    Waited(Due),
    Looped,
}

impl Worker {
    pub(super) fn begin_search(&mut self, data: Option<Box<str>>, vus_max: u32) {
        let now = self.clock.now();
        self.data = data.map(Rc::from);
        self.host.origin.set(now);
        let workers = u64::from(self.script.workers);
        let share = share_of(u64::from(vus_max), self.index as u64, workers);
        self.levels = Some(Levels::new((share as u32).max(1)));
        self.recorder = Recorder::default();
        self.recorder.begin(0, now, 0);
        self.cpu.read();
    }

    pub(super) fn expect_level(&mut self, level: u32, load: StepLoad, start: Nanos) {
        if let Some(levels) = &mut self.levels {
            levels.pending = Some((level, load, start));
        }
    }

    pub(super) fn begin_drain(&mut self, level: u32, until: Nanos) {
        let now = self.clock.now();
        let Some(levels) = &mut self.levels else {
            return;
        };
        levels.source = Source::None;
        levels.pending = None;
        levels.drain_until = Some(until);
        let never_begun = std::mem::take(&mut levels.waiting);
        self.change_level(level, now, now);
        self.window_end = Nanos::MAX;
        for due in never_begun {
            // Its turn might still have come.
            self.end_unsent(due.intended, due.level, Outcome::Interrupted, now);
        }
    }

    fn change_level(&mut self, level: u32, start: Nanos, now: Nanos) {
        self.recorder.advance(now, self.in_flight);
        self.recorder.change_level(level, start, self.in_flight);
    }

    /// Level changes, arrivals that waited too long, and the end of the drain.
    pub(super) fn on_time_of_level(&mut self, now: Nanos) {
        let Some(levels) = &mut self.levels else {
            return;
        };
        if let Some((level, load, start)) = levels.pending.take_if(|(_, _, start)| now >= *start) {
            self.enter_level(level, load, start, now);
        }
        let longest = self.script.settings.timeout;
        while let Some(levels) = &mut self.levels
            && let Some(due) = levels.waiting.front().copied()
            && now.saturating_sub(due.intended) > longest
        {
            levels.waiting.pop_front();
            self.drop_arrival(due.intended, due.level, now);
        }
        if let Some(levels) = &mut self.levels
            && let Some(until) = levels.drain_until
            && (now >= until || levels.running() == 0)
        {
            levels.drain_until = None;
            let counted = self.counted(now);
            let busy = self.now_busy();
            self.report(Body::Finished(counted, busy));
        }
    }

    fn enter_level(&mut self, level: u32, load: StepLoad, start: Nanos, now: Nanos) {
        self.change_level(level, start, now);
        self.window_end = start + WINDOW;
        self.cpu.read();
        let (index, workers) = (self.index as u64, u64::from(self.script.workers));
        let source = match load {
            StepLoad::Closed { in_flight } => {
                Source::Closed(share_of(u64::from(in_flight), index, workers) as u32)
            }
            StepLoad::Open { profile, arrivals } => {
                let (seed, part) = (self.script.settings.seed, (index, workers));
                Source::Open(Stream::new(profile, arrivals, seed, level, part, start))
            }
        };
        if let Some(levels) = &mut self.levels {
            levels.source = source;
        }
    }

    /// Begins what is due; true when there is more to do at once.
    pub(super) fn start_due_of_level(&mut self, began: Nanos) -> bool {
        let mut now = began;
        let level = self.recorder.level;
        while let Some(next) = self
            .levels
            .as_mut()
            .and_then(|levels| levels.next_due(now, level))
        {
            let due = match next {
                Next::Arrived(due) => {
                    self.recorder.lag.record(now.saturating_sub(due.intended));
                    Some(due)
                }
                Next::Waited(due) => Some(due),
                Next::Looped => None,
            };
            self.begin_due(due);
            self.settle();
            now = self.clock.now();
            if now - began > BURST {
                return true;
            }
        }
        false
    }

    fn begin_due(&mut self, due: Option<Due>) {
        let Some(levels) = &mut self.levels else {
            return;
        };
        let workers = self.script.workers;
        let place = match levels.idle.pop() {
            Some(place) => place,
            None if levels.made < levels.vus_max => {
                let number = levels.made * workers + self.index as u32 + 1;
                levels.made += 1;
                match self.make_vu(number) {
                    Ok(place) => place,
                    Err(error) => return self.report(Body::NotReady(error)),
                }
            }
            None => return levels.waiting.extend(due),
        };
        let Some(levels) = &mut self.levels else {
            return;
        };
        let in_scenario = levels.begun * u64::from(workers) + self.index as u64;
        levels.begun += 1;
        let slot = &self.vus.slots[place];
        let next = executor::Iteration {
            vu: slot.number,
            intended_at: Nanos::ZERO,
            of_vu: slot.iterations,
            in_scenario,
        };
        let level = due.map_or(self.recorder.level, |due| due.level);
        self.begin_iteration(place, 0, due.map(|due| due.intended), level, next);
    }
}

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
    /// So many virtual users of this worker, each as fast as its script lets it.
    Closed(Joining),
    Open(Stream),
}

/// The golden ratio's fraction: its multiples fall evenly into a circle, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Virtual users of a closed loop, who come one by one.
#[derive(Debug)]
struct Joining {
    target: u32,
    start: Nanos,
    /// How many there were when it began, and when each of the others comes, in order.
    from: u32,
    coming: Vec<Nanos>,
}

impl Joining {
    /// Spread over `over` by the number that each has in the whole crew. At equal distances they would meet
    /// those of the level before, who came so too, and whoever meets at a busy service and then thinks
    /// equally long meets for ever.
    fn new(from: u32, target: u32, start: Nanos, over: Nanos, number: impl Fn(u32) -> u64) -> Self {
        let at = |index| {
            let turn = number(index) as f64 * GOLDEN;
            start + Nanos::from_secs_f64(over.as_secs_f64() * (turn - turn.floor()))
        };
        let mut coming: Vec<Nanos> = (from..target).map(at).collect();
        coming.sort_unstable();
        Self {
            target,
            start,
            from,
            coming,
        }
    }

    /// When the next may join beside `running` others.
    fn next(&self, running: u32) -> Nanos {
        if running >= self.target {
            return Nanos::MAX;
        }
        let index = running.checked_sub(self.from);
        let coming = index.and_then(|index| self.coming.get(index as usize));
        coming.copied().unwrap_or(self.start)
    }
}

/// A level that begins at a moment to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coming {
    pub(super) level: u32,
    pub(super) load: StepLoad,
    pub(super) start: Nanos,
    pub(super) join: Nanos,
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
    pending: Option<Coming>,
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
        match &self.source {
            Source::Open(stream) => next = next.min(stream.next()),
            Source::Closed(joining) if self.has_vu() => {
                next = next.min(joining.next(self.running()));
            }
            Source::Closed(_) | Source::None => {}
        }
        if let Some(coming) = &self.pending {
            next = next.min(coming.start);
        }
        next
    }

    fn has_vu(&self) -> bool {
        !self.idle.is_empty() || self.made < self.vus_max
    }

    /// The next iteration to begin, if one is due and a virtual user may take it.
    fn next_due(&mut self, now: Nanos, level: u32) -> Option<Next> {
        let has_vu = self.has_vu();
        // First come, first served.
        if has_vu && let Some(due) = self.waiting.pop_front() {
            return Some(Next::Waited(due));
        }
        let running = self.running();
        match &mut self.source {
            Source::Open(stream) => stream
                .take_due(now)
                .map(|intended| Next::Arrived(Due { intended, level })),
            Source::Closed(joining) if has_vu && joining.next(running) <= now => Some(Next::Looped),
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

    pub(super) fn expect_level(&mut self, coming: Coming) {
        if let Some(levels) = &mut self.levels {
            levels.pending = Some(coming);
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
        if let Some(coming) = levels.pending.take_if(|coming| now >= coming.start) {
            self.enter_level(coming, now);
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

    fn enter_level(&mut self, coming: Coming, now: Nanos) {
        let Coming {
            level,
            load,
            start,
            join,
        } = coming;
        self.change_level(level, start, now);
        self.window_end = start + WINDOW;
        self.cpu.read();
        let (index, workers) = (self.index as u64, u64::from(self.script.workers));
        let source = match load {
            StepLoad::Closed { in_flight } => {
                let target = share_of(u64::from(in_flight), index, workers) as u32;
                let from = self.levels.as_ref().map_or(0, Levels::running);
                let number = |of_worker: u32| u64::from(of_worker) * workers + index;
                Source::Closed(Joining::new(from, target, start, join, number))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_users_join_evenly_and_at_once_where_nobody_thinks() {
        let second = Nanos::from_secs(1);
        let joining = Joining::new(4, 100, second, second, u64::from);
        assert_eq!(
            joining.next(3),
            second,
            "one of those that were there goes on"
        );
        let times: Vec<Nanos> = (4..100).map(|running| joining.next(running)).collect();
        assert!(times.is_sorted());
        let gap = |pair: &[Nanos]| pair[1] - pair[0];
        let widest = times.windows(2).map(gap).max();
        assert!(widest < Some(Nanos::from_millis(30)), "{widest:?}");
        assert!(times.last() < Some(&Nanos::from_secs(2)));
        assert_eq!(joining.next(100), Nanos::MAX);
        let at_once = Joining::new(0, 3, second, Nanos::ZERO, u64::from);
        assert_eq!(at_once.next(2), second);
    }
}

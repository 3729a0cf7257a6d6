//! The source of arrivals of one worker: nothing, a closed loop, or the schedule of an open load.

use std::collections::VecDeque;

use plimsoll_core::Nanos;
use plimsoll_core::schedule::{Arrivals, RateProfile, Schedule};
use plimsoll_core::step::StepLoad;

/// The golden ratio's fraction: its multiples fall evenly into a circle, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Where new attempts come from.
#[derive(Debug, Default)]
pub(crate) enum Source {
    #[default]
    None,
    Closed(ClosedLoop),
    Open(OpenLoop),
}

/// An attempt, or an iteration of a script, that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) intended: Nanos,
    /// In which it was due.
    pub(crate) level: u32,
    /// Of a closed loop, which owes another when this one ends.
    pub(crate) closed: bool,
}

/// Which attempt of the run it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turn {
    /// Among all of the run, from 0; no other has it.
    pub(crate) number: u64,
    /// By which several targets take turns.
    pub(crate) place: u64,
    /// From the start of its level.
    pub(crate) since: Nanos,
}

/// Which share of the load a worker has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) index: u64,
    pub(crate) workers: u64,
}

impl Part {
    /// The number among all workers of what is the `count`-th here, from 0.
    #[inline]
    pub(crate) fn number_of(self, count: u64) -> u64 {
        count * self.workers + self.index
    }

    /// By which several targets take turns at what is the `count`-th here. The arrivals of an open loop go round the
    /// workers, so their numbers do. A worker of a closed loop is as fast as its answers are and goes round by itself, from
    /// a place of its own: by its numbers, which are as far apart as there are workers, one of two workers would send every
    /// request to the first of two targets, and the faster target would get more of them.
    #[inline]
    pub(crate) fn place_of(self, count: u64, is_closed: bool) -> u64 {
        if is_closed {
            count + self.index
        } else {
            self.number_of(count)
        }
    }

    /// This worker's share of a total; shares differ by one at most and add up.
    pub(crate) fn share_of(self, total: u64) -> u64 {
        total / self.workers + u64::from(self.index < total % self.workers)
    }

    /// This worker's share of a total that goes over so many connections, of which each has its share and which carry
    /// `streams` at once: as even as may be without a worker that has more than its connections carry. Two workers on three
    /// connections of two streams have 4 and 2; of 3 and 3 one would wait all the time, beside a stream that is free.
    pub(crate) fn share_on(self, total: u64, connections: u64, streams: u64) -> u64 {
        let few = connections / self.workers * streams;
        let larger = connections % self.workers;
        // With fewer connections than workers each worker opens one all the same.
        if few == 0 || larger == 0 || total <= few * self.workers {
            return self.share_of(total);
        }
        if self.index >= larger {
            return few;
        }
        let those = Self {
            workers: larger,
            ..self
        };
        those.share_of(total - few * (self.workers - larger))
    }
}

/// A level as a source needs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub(crate) number: u32,
    pub(crate) load: StepLoad,
    pub(crate) start: Nanos,
    /// Over which those of a closed loop join.
    pub(crate) join: Nanos,
    /// A window ends then, so that a load of 500 ms has a window of 500 ms.
    pub(crate) end: Option<Nanos>,
}

impl Source {
    /// `running` attempts are under way already and count for a closed loop.
    pub(crate) fn from_level(level: &Level, part: Part, seed: u64, running: u32) -> Self {
        match level.load {
            StepLoad::Closed { in_flight } => {
                let target = part.share_of(u64::from(in_flight)) as u32;
                Self::closed(target, level, part, running)
            }
            StepLoad::Open { profile, arrivals } => {
                Self::Open(OpenLoop::new(profile, arrivals, seed, level, part))
            }
        }
    }

    /// A closed loop of which this worker has so many.
    pub(crate) fn closed(target: u32, level: &Level, part: Part, running: u32) -> Self {
        Self::Closed(ClosedLoop::new(running, target, level, part))
    }

    /// When something is due next, beside `running` others.
    #[inline]
    pub(crate) fn next(&self, running: u32) -> Nanos {
        match self {
            Self::None => Nanos::MAX,
            Self::Closed(closed) => closed.next(running),
            Self::Open(open) => open.next,
        }
    }

    /// The next that is due by now, in this level.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Nanos, running: u32, level: u32) -> Option<Arrival> {
        let (intended, closed) = match self {
            Self::None => return None,
            Self::Closed(closed) => {
                if closed.next(running) > now {
                    return None;
                }
                closed.coming.pop_front();
                (now, true)
            }
            Self::Open(open) => (open.take_due(now)?, false),
        };
        Some(Arrival {
            intended,
            level,
            closed,
        })
    }

    /// One has ended beside `running` others; a closed loop starts another at that time.
    #[inline]
    pub(crate) fn free(&mut self, running: u32, at: Nanos) {
        if let Self::Closed(closed) = self
            && (running as usize) + closed.coming.len() < closed.target as usize
        {
            match closed.coming.back() {
                Some(&last) if last > at => {
                    let place = closed.coming.partition_point(|coming| *coming <= at);
                    closed.coming.insert(place, at);
                }
                // Nearly always: nobody waits for a later time.
                _ => closed.coming.push_back(at),
            }
        }
    }
}

/// So many at once, each as fast as the answers let it.
#[derive(Debug)]
pub(crate) struct ClosedLoop {
    target: u32,
    /// When each of those that do not run begins, in order.
    coming: VecDeque<Nanos>,
}

impl ClosedLoop {
    /// Those that do not run yet come one by one, spread over the level's joining time by the number that each has among
    /// all workers. Number n comes at the fraction of n·φ of that time (φ the golden ratio), which fills the circle evenly
    /// for any count:
    ///
    /// ```text
    /// 0 |   1.........0....... 2 ...| join        0·φ = 0.00   1·φ = 0.62   2·φ = 0.24
    /// ```
    ///
    /// At equal distances they would meet those of the level before, who came so too, and whoever meets at a busy service
    /// and then thinks equally long meets for ever.
    fn new(running: u32, target: u32, level: &Level, part: Part) -> Self {
        let at = |index: u32| {
            let number = u64::from(index) * part.workers + part.index;
            let turn = number as f64 * GOLDEN;
            let fraction = turn - turn.floor();
            level.start + Nanos::from_secs_f64(level.join.as_secs_f64() * fraction)
        };
        let mut coming: Vec<Nanos> = (running..target).map(at).collect();
        coming.sort_unstable();
        Self {
            target,
            coming: coming.into(),
        }
    }

    #[inline]
    fn next(&self, running: u32) -> Nanos {
        match self.coming.front() {
            Some(&next) if running < self.target => next,
            _ => Nanos::MAX,
        }
    }
}

/// The arrivals of one open level on one worker, the next one already drawn.
#[derive(Debug)]
pub(crate) struct OpenLoop {
    next: Nanos,
    start: Nanos,
    schedule: Box<Schedule>,
}

impl OpenLoop {
    /// Every level has a stream of its own, all from the one seed of the record: the level's number is spread over all
    /// bits by the odd constant of Fibonacci hashing (2^64 / φ), so that neighbours have nothing in common.
    fn new(profile: RateProfile, arrivals: Arrivals, seed: u64, level: &Level, part: Part) -> Self {
        let seed = seed ^ u64::from(level.number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut schedule = Schedule::new(profile, arrivals, seed, part.index, part.workers);
        let first = schedule.next().expect("schedules never end");
        Self {
            next: level.start + first,
            start: level.start,
            schedule: Box::new(schedule),
        }
    }

    /// The next arrival, if it is due by now.
    #[inline]
    fn take_due(&mut self, now: Nanos) -> Option<Nanos> {
        let due = self.next;
        if due > now {
            return None;
        }
        self.next = self.start + self.schedule.next().expect("schedules never end");
        Some(due)
    }
}

#[cfg(test)]
mod tests;

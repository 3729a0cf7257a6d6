//! Levels of a search on one worker: iterations that arrive at a rate, or so many virtual users at once, one level
//! after the other and without a pause in between.
//!
//! Virtual users are made when they are needed and kept. An arrival that finds none waits for one; its response time
//! counts from when it was due, and after the longest time that a request may take it is dropped.

use std::collections::VecDeque;

use plimsoll_core::Nanos;

use crate::source::{Arrival, Level, Part, Source};

/// What one worker plays of a level.
#[derive(Debug)]
pub(super) struct Levels {
    source: Source,
    /// Places of virtual users that do nothing.
    idle: Vec<usize>,
    made: u32,
    /// This worker's share.
    vus_max: u32,
    waiting: VecDeque<Arrival>,
    begun: u64,
}

impl Levels {
    pub(super) fn new(vus_max: u32) -> Self {
        Self {
            source: Source::None,
            idle: Vec::new(),
            made: 0,
            vus_max,
            waiting: VecDeque::new(),
            begun: 0,
        }
    }

    /// From now on this level is played.
    pub(super) fn enter(&mut self, level: &Level, part: Part, seed: u64) {
        self.source = Source::from_level(level, part, seed, self.running());
    }

    /// Nothing more begins; those that wait will not be served.
    pub(super) fn stop(&mut self) -> VecDeque<Arrival> {
        self.source = Source::None;
        std::mem::take(&mut self.waiting)
    }

    /// The arrival that has waited longest, if for longer than that.
    pub(super) fn take_late(&mut self, longest: Nanos, now: Nanos) -> Option<Arrival> {
        let first = self.waiting.front()?;
        if now - first.intended <= longest {
            return None;
        }
        self.waiting.pop_front()
    }

    /// A virtual user for this iteration, which waits if there is none.
    pub(super) fn take_vu(&mut self, arrival: Arrival) -> Option<FreeVu> {
        if let Some(place) = self.idle.pop() {
            return Some(FreeVu::Known(place));
        }
        if self.made < self.vus_max {
            self.made += 1;
            return Some(FreeVu::New(self.made - 1));
        }
        self.waiting.push_back(arrival);
        None
    }

    /// How many iterations this worker began before.
    pub(super) fn count_begun(&mut self) -> u64 {
        self.begun += 1;
        self.begun - 1
    }

    /// A virtual user has ended its iteration.
    pub(super) fn freed(&mut self, place: usize, now: Nanos) {
        self.idle.push(place);
        self.source.free(self.running(), now);
    }

    pub(super) fn running(&self) -> u32 {
        self.made - self.idle.len() as u32
    }

    pub(super) fn next_event(&self) -> Nanos {
        match &self.source {
            // It waits for one that is free.
            Source::Closed(_) if !self.has_vu() => Nanos::MAX,
            source => source.next(self.running()),
        }
    }

    fn has_vu(&self) -> bool {
        !self.idle.is_empty() || self.made < self.vus_max
    }

    /// The next iteration to begin, if one is due and a virtual user may take it; and whether it waited for one.
    pub(super) fn next_due(&mut self, now: Nanos, level: u32) -> Option<(Arrival, bool)> {
        let has_vu = self.has_vu();
        // First come, first served.
        if has_vu && let Some(arrival) = self.waiting.pop_front() {
            return Some((arrival, true));
        }
        if !has_vu && matches!(self.source, Source::Closed(_)) {
            return None;
        }
        let arrival = self.source.take_due(now, self.running(), level)?;
        Some((arrival, false))
    }
}

/// A virtual user that does nothing.
pub(super) enum FreeVu {
    /// At this place.
    Known(usize),
    /// So many were made on this worker before it.
    New(u32),
}

//! The event list: earliest first, ties in the order in which they were planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::jobs::Slot;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A pass of this job ends.
    Finish(Slot),
    /// An answer that never reached a server: refused or shed.
    Reject(Slot),
    /// A closed-loop user stops thinking.
    Think,
    /// The service pauses.
    Stall,
}

/// When, in which order, what.
pub(crate) type Entry = (u64, u64, Event);

#[derive(Debug, Default)]
pub(crate) struct Calendar {
    heap: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
}

impl Calendar {
    pub(crate) fn plan(&mut self, at: u64, event: Event) {
        let sequence = self.next_sequence();
        self.heap.push(Reverse((at, sequence, event)));
    }

    /// A place in the order for an event that is kept elsewhere (arrivals, timeouts).
    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.heap
            .peek()
            .map(|Reverse((at, sequence, _))| (*at, *sequence))
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }

    /// Moves every running pass by `length`: a pause of the whole service.
    pub(crate) fn delay_finishes(&mut self, length: u64) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        for Reverse((at, _, event)) in &mut entries {
            if matches!(event, Event::Finish(_)) {
                *at += length;
            }
        }
        self.heap = entries.into();
    }
}

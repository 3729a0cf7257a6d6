//! The event list: earliest first, ties in the order in which they were planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::arena::Slot;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A pass of this try ends at the first station.
    Finish(Slot),
    /// The work on this try ends at the station behind it.
    FinishBehind(Slot),
    /// An answer that never came from a server: refused or shed.
    Reject(Slot),
    /// This attempt is sent again.
    Retry(Slot),
    /// A closed-loop user stops thinking.
    Think,
    /// The condition with this index changes something.
    Turn(u32),
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

    /// A place in the order for an event that is kept elsewhere (arrivals, timers).
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

    /// Moves the end of every pass that runs at the first station: it stands still, or its speed changes.
    pub(crate) fn move_finishes(&mut self, moved: impl Fn(u64) -> u64) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        for Reverse((at, _, event)) in &mut entries {
            if matches!(event, Event::Finish(_)) {
                *at = moved(*at);
            }
        }
        self.heap = entries.into();
    }
}

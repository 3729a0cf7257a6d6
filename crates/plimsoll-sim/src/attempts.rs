//! What the clients have under way: attempts, and who waits until when for them.

use std::collections::VecDeque;

use crate::arena::{Arena, Slot};

/// A request as its client sees it; with retries the service may see several tries of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) intended: u64,
    pub(crate) level: u32,
    /// Belongs to a closed-loop user.
    pub(crate) closed: bool,
    /// The client still waits; the service works on without it all the same.
    pub(crate) awaited: bool,
    /// Unique, so that a timer of an earlier user of the slot is recognised.
    pub(crate) number: u64,
    /// The number of the try that is waited for; zero between two tries and after the last.
    pub(crate) current: u64,
    pub(crate) tries_left: u32,
}

pub(crate) type Attempts = Arena<Attempt>;

/// Ends of a patience that is always the same, so they are in order.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queue: VecDeque<Timer>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    at: u64,
    sequence: u64,
    pub(crate) attempt: Slot,
    /// Of the attempt, or of the try.
    pub(crate) number: u64,
}

impl Timers {
    pub(crate) fn add(&mut self, at: u64, sequence: u64, attempt: Slot, number: u64) {
        self.queue.push_back(Timer {
            at,
            sequence,
            attempt,
            number,
        });
    }

    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.queue.front().map(|timer| (timer.at, timer.sequence))
    }

    pub(crate) fn pop(&mut self) -> Option<Timer> {
        self.queue.pop_front()
    }
}

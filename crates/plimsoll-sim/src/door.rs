//! What stands before the station: a rate rule, then slots and the wait for one.

use std::collections::VecDeque;

use crate::arena::Slot;
use crate::model::{Model, RateRule, Slots};

/// What becomes of a request at the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrance {
    Admitted,
    /// No slot is free yet.
    Waits,
    /// No slot and no place to wait for one.
    Refused,
    /// The rate rule answers.
    Shed,
}

#[derive(Debug)]
pub(crate) struct Door {
    slots: Option<Slots>,
    taken: u64,
    waiting: VecDeque<Slot>,
    bucket: Option<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    per_ns: f64,
    burst: f64,
    tokens: f64,
    at: u64,
}

impl Door {
    pub(crate) fn new(model: &Model) -> Self {
        Self {
            slots: model.slots,
            taken: 0,
            waiting: VecDeque::new(),
            bucket: model.rate_rule.map(Bucket::full),
        }
    }

    pub(crate) fn enter(&mut self, slot: Slot, now: u64) -> Entrance {
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.take(now)) {
            return Entrance::Shed;
        }
        let Some(slots) = self.slots else {
            return Entrance::Admitted;
        };
        if self.taken < slots.max {
            self.taken += 1;
            Entrance::Admitted
        } else if (self.waiting.len() as u64) < slots.waiting_max {
            self.waiting.push_back(slot);
            Entrance::Waits
        } else {
            Entrance::Refused
        }
    }

    /// A slot is given back; the first that waits for one takes it.
    pub(crate) fn leave(&mut self) -> Option<Slot> {
        self.slots?;
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.taken -= 1;
        }
        next
    }
}

impl Bucket {
    fn full(rule: RateRule) -> Self {
        Self {
            per_ns: rule.per_s / 1e9,
            burst: rule.burst,
            tokens: rule.burst,
            at: 0,
        }
    }

    fn take(&mut self, now: u64) -> bool {
        let gained = (now - self.at) as f64 * self.per_ns;
        self.tokens = (self.tokens + gained).min(self.burst);
        self.at = now;
        let granted = self.tokens >= 1.0;
        if granted {
            self.tokens -= 1.0;
        }
        granted
    }
}

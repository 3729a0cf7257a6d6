//! The servers, their queue, the slots and the rate rule in front of them.

use std::collections::VecDeque;

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;

use crate::calendar::{Calendar, Event};
use crate::jobs::{Jobs, Slot};
use crate::model::{Model, Sampler, Slots};

/// What becomes of a request at the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrance {
    Admitted,
    /// No slot or no place in the queue.
    Refused,
    /// The rate rule answers.
    Shed,
}

#[derive(Debug)]
pub(crate) struct Station {
    servers: u32,
    busy: u32,
    queue: VecDeque<Slot>,
    queue_max: u64,
    sampler: Sampler,
    service_mean: f64,
    contention: f64,
    rng: Rng,
    /// Service times of this level are multiplied by this: run-to-run noise.
    slowness: f64,
    stalled_until: u64,
    slots: Option<Slots>,
    slots_taken: u64,
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

impl Station {
    pub(crate) fn new(model: &Model, rng: Rng) -> Self {
        Self {
            servers: model.servers,
            busy: 0,
            queue: VecDeque::new(),
            queue_max: model.queue_max.unwrap_or(u64::MAX),
            sampler: Sampler::new(&model.service),
            service_mean: model.service.mean().0 as f64,
            contention: model.contention,
            rng,
            slowness: 1.0,
            stalled_until: 0,
            slots: model.slots,
            slots_taken: 0,
            waiting: VecDeque::new(),
            bucket: model.rate_rule.map(|rule| Bucket {
                per_ns: rule.per_s / 1e9,
                burst: rule.burst,
                tokens: rule.burst,
                at: 0,
            }),
        }
    }

    pub(crate) fn change_slowness(&mut self, slowness: f64) {
        self.slowness = slowness;
    }

    /// Pauses: what runs ends later, what begins meanwhile waits for the end.
    pub(crate) fn stall(&mut self, now: u64, length: Nanos, calendar: &mut Calendar) {
        let until = now + length.0;
        let from = self.stalled_until.max(now);
        if until > from {
            calendar.delay_finishes(until - from);
            self.stalled_until = until;
        }
    }

    pub(crate) fn enter(&mut self, slot: Slot, now: u64, calendar: &mut Calendar) -> Entrance {
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.take(now)) {
            return Entrance::Shed;
        }
        if let Some(slots) = self.slots {
            if self.slots_taken >= slots.max {
                if self.waiting.len() as u64 >= slots.waiting_max {
                    return Entrance::Refused;
                }
                self.waiting.push_back(slot);
                return Entrance::Admitted;
            }
            self.slots_taken += 1;
        }
        let entrance = self.join(slot, now, calendar);
        if entrance == Entrance::Refused && self.slots.is_some() {
            self.slots_taken -= 1;
        }
        entrance
    }

    /// To a free server, else to the queue, else away.
    fn join(&mut self, slot: Slot, now: u64, calendar: &mut Calendar) -> Entrance {
        if self.busy < self.servers {
            self.begin(slot, now, calendar);
        } else if (self.queue.len() as u64) < self.queue_max {
            self.queue.push_back(slot);
        } else {
            return Entrance::Refused;
        }
        Entrance::Admitted
    }

    fn begin(&mut self, slot: Slot, now: u64, calendar: &mut Calendar) {
        self.busy += 1;
        let others = self.queue.len() as f64 + f64::from(self.busy - 1);
        let grown = 1.0 + self.contention * others;
        let demand = self.sampler.draw(&mut self.rng) * self.service_mean * grown * self.slowness;
        let start = now.max(self.stalled_until);
        calendar.plan(start + demand.round() as u64, Event::Finish(slot));
    }

    /// A pass of `slot` has ended. True when it was the job's last.
    pub(crate) fn finish(
        &mut self,
        slot: Slot,
        now: u64,
        jobs: &mut Jobs,
        calendar: &mut Calendar,
    ) -> bool {
        self.busy -= 1;
        let job = jobs.at_mut(slot);
        job.passes_left -= 1;
        let done = job.passes_left == 0;
        if !done {
            self.queue.push_back(slot);
        } else if self.slots.is_some() {
            self.leave(now, calendar);
        }
        self.begin_next(now, calendar);
        done
    }

    /// A slot is given back; the first that waits for one takes it.
    fn leave(&mut self, now: u64, calendar: &mut Calendar) {
        while let Some(next) = self.waiting.pop_front() {
            let entrance = self.join(next, now, calendar);
            if entrance == Entrance::Refused {
                calendar.plan(now, Event::Reject(next));
                continue;
            }
            return;
        }
        self.slots_taken -= 1;
    }

    fn begin_next(&mut self, now: u64, calendar: &mut Calendar) {
        while self.busy < self.servers {
            let Some(next) = self.queue.pop_front() else {
                return;
            };
            self.begin(next, now, calendar);
        }
    }
}

impl Bucket {
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

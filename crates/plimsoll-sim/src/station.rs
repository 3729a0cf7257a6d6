//! Servers and their queue, at a speed that can change while they work.

use std::collections::VecDeque;

use plimsoll_base::random::Rng;
use plimsoll_core::{Nanos, Outcome};

use crate::arena::{Arena, Slot};
use crate::calendar::{Calendar, Event};
use crate::model::{Behind, Model, Sampler, ServiceTime};

/// A request as the service sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// The attempt that it is a try of, and its number, by which a try that was given up is recognised.
    pub(crate) attempt: Slot,
    pub(crate) number: u64,
    pub(crate) passes_left: u32,
    /// It is being told no.
    pub(crate) turned_away: Option<Outcome>,
}

pub(crate) type Jobs = Arena<Job>;

#[derive(Debug)]
pub(crate) struct Station {
    finish: fn(Slot) -> Event,
    servers: u32,
    busy: u32,
    queue: VecDeque<Slot>,
    queue_max: u64,
    passes: u32,
    sampler: Sampler,
    service_mean: f64,
    contention: f64,
    rng: Rng,
    speed: f64,
    stalled_until: u64,
    /// Servers × nanoseconds that were busy until `integrated`.
    busy_ns: f64,
    integrated: u64,
    served: u64,
}

/// What a station says about itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// Seconds that its servers were busy since the start, added up.
    pub(crate) busy_seconds: f64,
    /// Requests that it is done with.
    pub(crate) served: u64,
    pub(crate) servers: u32,
}

impl Station {
    pub(crate) fn front(model: &Model, rng: Rng) -> Self {
        Self {
            passes: model.passes,
            contention: model.contention,
            queue_max: model.queue_max.unwrap_or(u64::MAX),
            ..Self::new(model.servers, &model.service, rng, Event::Finish)
        }
    }

    pub(crate) fn behind(behind: &Behind, rng: Rng) -> Self {
        Self {
            queue_max: behind.queue_max.unwrap_or(u64::MAX),
            ..Self::new(behind.servers, &behind.service, rng, Event::FinishBehind)
        }
    }

    fn new(servers: u32, service: &ServiceTime, rng: Rng, finish: fn(Slot) -> Event) -> Self {
        Self {
            finish,
            servers,
            busy: 0,
            queue: VecDeque::new(),
            queue_max: u64::MAX,
            passes: 1,
            sampler: Sampler::new(service),
            service_mean: service.mean().0 as f64,
            contention: 0.0,
            rng,
            speed: 1.0,
            stalled_until: 0,
            busy_ns: 0.0,
            integrated: 0,
            served: 0,
        }
    }

    pub(crate) fn reading(&mut self, now: u64) -> Reading {
        self.integrate(now);
        Reading {
            busy_seconds: self.busy_ns / 1e9,
            served: self.served,
            servers: self.servers,
        }
    }

    /// Stands still: what runs ends later, what begins meanwhile waits for the end.
    pub(crate) fn stall(&mut self, now: u64, length: Nanos, calendar: &mut Calendar) {
        let until = now.saturating_add(length.0);
        let from = self.stalled_until.max(now);
        if until > from {
            calendar.move_finishes(|at| at.saturating_add(until - from));
            self.stalled_until = until;
        }
    }

    /// What is left of every pass that runs is done at the new speed.
    pub(crate) fn change_speed(&mut self, now: u64, speed: f64, calendar: &mut Calendar) {
        if speed.to_bits() == self.speed.to_bits() {
            return;
        }
        let from = self.stalled_until.max(now);
        let stretch = self.speed / speed;
        calendar.move_finishes(|at| {
            let left = at.saturating_sub(from) as f64 * stretch;
            from.saturating_add(left.round() as u64)
        });
        self.speed = speed;
    }

    /// More servers take up work at once; fewer are gone when what they do is done.
    pub(crate) fn change_servers(&mut self, servers: u32, now: u64, calendar: &mut Calendar) {
        self.servers = servers;
        self.begin_next(now, calendar);
    }

    /// To a free server, else to the queue, else away.
    pub(crate) fn join(
        &mut self,
        slot: Slot,
        jobs: &mut Jobs,
        now: u64,
        calendar: &mut Calendar,
    ) -> bool {
        jobs.at_mut(slot).passes_left = self.passes;
        if self.busy < self.servers {
            self.begin(slot, now, calendar);
        } else if (self.queue.len() as u64) < self.queue_max {
            self.queue.push_back(slot);
        } else {
            return false;
        }
        true
    }

    fn begin(&mut self, slot: Slot, now: u64, calendar: &mut Calendar) {
        self.integrate(now);
        self.busy += 1;
        let others = self.queue.len() as f64 + f64::from(self.busy - 1);
        let grown = 1.0 + self.contention * others;
        let demand = self.sampler.draw(&mut self.rng) * self.service_mean * grown / self.speed;
        let start = now.max(self.stalled_until);
        let end = start.saturating_add(demand.round() as u64);
        calendar.plan(end, (self.finish)(slot));
    }

    /// A pass of `slot` has ended. True when it was the last here.
    pub(crate) fn finish(
        &mut self,
        slot: Slot,
        jobs: &mut Jobs,
        now: u64,
        calendar: &mut Calendar,
    ) -> bool {
        self.integrate(now);
        self.busy -= 1;
        let job = jobs.at_mut(slot);
        job.passes_left -= 1;
        let done = job.passes_left == 0;
        if done {
            self.served += 1;
        } else {
            self.queue.push_back(slot);
        }
        self.begin_next(now, calendar);
        done
    }

    fn begin_next(&mut self, now: u64, calendar: &mut Calendar) {
        while self.busy < self.servers {
            let Some(next) = self.queue.pop_front() else {
                return;
            };
            self.begin(next, now, calendar);
        }
    }

    #[inline]
    fn integrate(&mut self, now: u64) {
        self.busy_ns += f64::from(self.busy) * (now - self.integrated) as f64;
        self.integrated = now;
    }
}

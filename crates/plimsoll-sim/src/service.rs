//! The whole service: the door, one or two stations, and the conditions that change the first.

use plimsoll_base::random::Rng;
use plimsoll_core::Outcome;

use crate::arena::Slot;
use crate::calendar::{Calendar, Event};
use crate::conditions::{Change, Conditions};
use crate::door::{Door, Entrance};
use crate::model::Model;
use crate::station::{Job, Jobs, Station};

/// How long a refusal or a 429 takes: it never reaches a server.
const REJECTION_NS: u64 = 500_000;

/// Random streams, one per entity, so that changing one entity moves no other's draws.
mod stream {
    pub(super) const FRONT: u64 = 1;
    pub(super) const BEHIND: u64 = 4;
    pub(super) const FAILURES: u64 = 5;
    /// Plus the level: the noise of a level does not depend on earlier levels.
    pub(super) const LEVEL: u64 = 1 << 32;
    /// Plus the condition's place in the list.
    pub(super) const CONDITIONS: u64 = 3 << 32;
}

#[derive(Debug)]
pub(crate) struct Service {
    seed: u64,
    jobs: Jobs,
    number: u64,
    door: Door,
    front: Station,
    behind: Option<Station>,
    conditions: Conditions,
    failure_ratio: f64,
    failures: Rng,
}

/// A try that the service is done with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) attempt: Slot,
    pub(crate) number: u64,
    pub(crate) outcome: Outcome,
}

impl Service {
    pub(crate) fn new(model: &Model, seed: u64, calendar: &mut Calendar) -> Self {
        let behind = model.behind.as_ref();
        let rng = |index| Rng::new(seed, stream::CONDITIONS + index as u64);
        let mut conditions = Conditions::new(&model.conditions, model.servers, rng);
        for (index, at) in conditions.first_turns() {
            calendar.plan(at, Event::Turn(index));
        }
        Self {
            seed,
            jobs: Jobs::default(),
            number: 0,
            door: Door::new(model),
            front: Station::front(model, Rng::new(seed, stream::FRONT)),
            behind: behind.map(|behind| Station::behind(behind, Rng::new(seed, stream::BEHIND))),
            conditions,
            failure_ratio: model.failure_ratio,
            failures: Rng::new(seed, stream::FAILURES),
        }
    }

    pub(crate) fn begin_level(&mut self, level: u32, now: u64, calendar: &mut Calendar) {
        let rng = Rng::new(self.seed, stream::LEVEL + u64::from(level));
        let speed = self.conditions.begin_level(rng);
        self.front.change_speed(now, speed, calendar);
    }

    /// The turn of a condition.
    pub(crate) fn turn(&mut self, index: u32, now: u64, calendar: &mut Calendar) {
        let reading = self.front.reading(now);
        let (change, next) = self.conditions.turn(index, now, &reading);
        match change {
            Change::Speed(speed) => self.front.change_speed(now, speed, calendar),
            Change::Stall(length) => self.front.stall(now, length, calendar),
            Change::Servers(servers) => self.front.change_servers(servers, now, calendar),
            Change::Nothing => {}
        }
        if let Some(at) = next {
            calendar.plan(at, Event::Turn(index));
        }
    }

    /// A try of `attempt` arrives; returns its number. Its end is an event, also when it is turned away.
    pub(crate) fn send(&mut self, attempt: Slot, now: u64, calendar: &mut Calendar) -> u64 {
        self.number += 1;
        let slot = self.jobs.add(Job {
            attempt,
            number: self.number,
            passes_left: 0,
            turned_away: None,
        });
        let turned_away = match self.door.enter(slot, now) {
            Entrance::Waits => return self.number,
            Entrance::Admitted if self.front.join(slot, &mut self.jobs, now, calendar) => {
                return self.number;
            }
            Entrance::Admitted => {
                self.let_next_in(now, calendar);
                Outcome::Refused
            }
            Entrance::Refused => Outcome::Refused,
            Entrance::Shed => Outcome::Shed,
        };
        self.turn_away(slot, turned_away, now, calendar);
        self.number
    }

    /// A pass ends at the first station; an answer if the request leaves the service with it.
    pub(crate) fn finish(
        &mut self,
        slot: Slot,
        now: u64,
        calendar: &mut Calendar,
    ) -> Option<Answer> {
        if !self.front.finish(slot, &mut self.jobs, now, calendar) {
            return None;
        }
        let mut outcome = None;
        if let Some(behind) = &mut self.behind {
            if behind.join(slot, &mut self.jobs, now, calendar) {
                return None;
            }
            outcome = Some(Outcome::Refused);
        }
        Some(self.leave(slot, outcome, now, calendar))
    }

    pub(crate) fn finish_behind(
        &mut self,
        slot: Slot,
        now: u64,
        calendar: &mut Calendar,
    ) -> Option<Answer> {
        let behind = self.behind.as_mut()?;
        behind
            .finish(slot, &mut self.jobs, now, calendar)
            .then(|| self.leave(slot, None, now, calendar))
    }

    /// The answer that says no has arrived.
    pub(crate) fn rejected(&mut self, slot: Slot) -> Answer {
        let job = self.jobs.free(slot);
        Answer {
            attempt: job.attempt,
            number: job.number,
            outcome: job.turned_away.unwrap_or(Outcome::Refused),
        }
    }

    /// A request that was served leaves: with an answer, good or bad, unless `refused` behind.
    fn leave(
        &mut self,
        slot: Slot,
        refused: Option<Outcome>,
        now: u64,
        calendar: &mut Calendar,
    ) -> Answer {
        self.let_next_in(now, calendar);
        let fails = self.failure_ratio > 0.0 && self.failures.unit() <= self.failure_ratio;
        let answer = if fails { Outcome::Http5xx } else { Outcome::Ok };
        let job = self.jobs.free(slot);
        Answer {
            attempt: job.attempt,
            number: job.number,
            outcome: refused.unwrap_or(answer),
        }
    }

    /// A slot is given back.
    fn let_next_in(&mut self, now: u64, calendar: &mut Calendar) {
        while let Some(next) = self.door.leave() {
            if self.front.join(next, &mut self.jobs, now, calendar) {
                return;
            }
            self.turn_away(next, Outcome::Refused, now, calendar);
        }
    }

    fn turn_away(&mut self, slot: Slot, outcome: Outcome, now: u64, calendar: &mut Calendar) {
        self.jobs.at_mut(slot).turned_away = Some(outcome);
        calendar.plan(now + REJECTION_NS, Event::Reject(slot));
    }
}

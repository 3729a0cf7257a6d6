//! The clock and the clients: plays levels one after the other on the same simulated system.

use std::collections::VecDeque;

use plimsoll_base::random::Rng;
use plimsoll_core::schedule::Schedule;
use plimsoll_core::step::{Go, Step, StepError, StepLoad, StepRunner};
use plimsoll_core::{Nanos, Outcome, Window};

use crate::calendar::{Calendar, Event};
use crate::jobs::{Jobs, Slot};
use crate::meter::Meter;
use crate::model::{Model, ModelError};
use crate::station::{Entrance, Station};

const WINDOW: Nanos = Nanos::from_secs(1);
/// How long a refusal or a 429 takes: it never reaches a server.
const REJECTION: Nanos = Nanos::from_micros(500);

/// Random streams, one per entity, so that changing one entity moves no other's draws.
mod stream {
    pub(super) const SERVICE: u64 = 1;
    pub(super) const STALLS: u64 = 2;
    pub(super) const THINK: u64 = 3;
    /// Plus the level: speed noise and arrivals of a level do not depend on earlier levels.
    pub(super) const SLOWNESS: u64 = 1 << 32;
    pub(super) const ARRIVALS: u64 = 2 << 32;
}

/// One simulated system under one simulated generator. Levels follow each other without draining.
#[derive(Debug)]
pub struct Simulator {
    model: Model,
    seed: u64,
    now: u64,
    calendar: Calendar,
    jobs: Jobs,
    station: Station,
    meter: Meter,
    arrivals: Option<Arrivals>,
    /// Ends of the clients' patience; in order, because all are equally patient.
    timeouts: VecDeque<Timeout>,
    users: Users,
    stall_rng: Rng,
    events: u64,
}

#[derive(Debug)]
struct Arrivals {
    schedule: Schedule,
    start: u64,
    at: u64,
    sequence: u64,
}

#[derive(Debug, Clone, Copy)]
struct Timeout {
    at: u64,
    sequence: u64,
    slot: Slot,
    number: u64,
}

/// Closed-loop users: how many there should be, and how many are thinking or waiting.
#[derive(Debug)]
struct Users {
    wanted: u32,
    present: u32,
    rng: Rng,
}

/// What happens next, and where it is kept.
enum NextEvent {
    Arrival,
    Timeout,
    Calendar,
}

impl Simulator {
    /// A system at rest. `bounds` are the objectives' response-time bounds, for exact counts.
    pub fn new(model: Model, bounds: Vec<Nanos>, seed: u64) -> Result<Self, ModelError> {
        model.check()?;
        let mut simulator = Self {
            station: Station::new(&model, Rng::new(seed, stream::SERVICE)),
            seed,
            now: 0,
            calendar: Calendar::default(),
            jobs: Jobs::default(),
            meter: Meter::new(bounds),
            arrivals: None,
            timeouts: VecDeque::new(),
            users: Users {
                wanted: 0,
                present: 0,
                rng: Rng::new(seed, stream::THINK),
            },
            stall_rng: Rng::new(seed, stream::STALLS),
            events: 0,
            model,
        };
        simulator.plan_first_stall();
        Ok(simulator)
    }

    /// Events handled since the start: arrivals, ends of passes, timeouts, stalls.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Virtual time since the start.
    pub fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    fn plan_first_stall(&mut self) {
        if let Some(stalls) = self.model.stalls {
            // Anywhere in the first interval, or after an exponential gap.
            let share = if stalls.random {
                self.stall_rng.exponential()
            } else {
                self.stall_rng.unit()
            };
            let at = (share * stalls.interval.0 as f64) as u64;
            self.calendar.plan(at, Event::Stall);
        }
    }

    fn begin_level(&mut self, step: &Step) {
        let level = u64::from(step.level);
        if self.model.speed_noise > 0.0 {
            let noise = Rng::new(self.seed, stream::SLOWNESS + level).normal();
            let slowness = libm::exp(self.model.speed_noise * noise);
            self.station.change_slowness(slowness);
        }
        match step.load {
            StepLoad::Open { profile, arrivals } => {
                self.users.wanted = 0;
                let seed = Rng::new(self.seed, stream::ARRIVALS + level).next_u64();
                let schedule = Schedule::new(profile, arrivals, seed, 0, 1);
                self.arrivals = Some(Arrivals {
                    schedule,
                    start: self.now,
                    at: self.now,
                    sequence: 0,
                });
                self.plan_arrival();
            }
            StepLoad::Closed { in_flight } => {
                self.arrivals = None;
                self.users.wanted = in_flight;
                while self.users.present < in_flight {
                    self.users.present += 1;
                    self.user_acts();
                }
            }
        }
    }

    fn plan_arrival(&mut self) {
        if let Some(arrivals) = &mut self.arrivals {
            let after = arrivals.schedule.next().unwrap_or(Nanos::MAX);
            arrivals.at = arrivals.start.saturating_add(after.0);
            arrivals.sequence = self.calendar.next_sequence();
        }
    }

    /// The earliest of the three event lists, if before `end`.
    fn next_before(&self, end: u64) -> Option<(u64, NextEvent)> {
        let mut best = (end, 0, None);
        let mut offer = |place: Option<(u64, u64)>, next| {
            if let Some((at, sequence)) = place.filter(|&place| place < (best.0, best.1)) {
                best = (at, sequence, Some(next));
            }
        };
        offer(self.calendar.first(), NextEvent::Calendar);
        offer(
            self.arrivals.as_ref().map(|a| (a.at, a.sequence)),
            NextEvent::Arrival,
        );
        offer(
            self.timeouts.front().map(|t| (t.at, t.sequence)),
            NextEvent::Timeout,
        );
        best.2.map(|next| (best.0, next))
    }

    fn run_until(&mut self, end: u64) {
        while let Some((at, next)) = self.next_before(end) {
            self.now = at;
            self.events += 1;
            match next {
                NextEvent::Arrival => {
                    self.plan_arrival();
                    self.start(false);
                }
                NextEvent::Timeout => self.time_out(),
                NextEvent::Calendar => {
                    if let Some((_, event)) = self.calendar.pop() {
                        self.handle(event);
                    }
                }
            }
        }
        self.now = end;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Finish(slot) => {
                if self
                    .station
                    .finish(slot, self.now, &mut self.jobs, &mut self.calendar)
                {
                    self.end(slot, Outcome::Ok);
                }
            }
            Event::Reject(slot) => {
                let outcome = self.jobs.at(slot).outcome;
                self.end(slot, outcome);
            }
            Event::Think if self.users.present > self.users.wanted => self.users.present -= 1,
            Event::Think => self.start(true),
            Event::Stall => {
                if let Some(stalls) = self.model.stalls {
                    self.station
                        .stall(self.now, stalls.length, &mut self.calendar);
                    let share = if stalls.random {
                        self.stall_rng.exponential()
                    } else {
                        1.0
                    };
                    let gap = (share * stalls.interval.0 as f64) as u64;
                    self.calendar.plan(self.now + gap.max(1), Event::Stall);
                }
            }
        }
    }

    /// A client sends a request now.
    fn start(&mut self, closed: bool) {
        let level = self.meter.level();
        let slot = self.jobs.add(self.now, level, self.model.passes, closed);
        self.meter.started(self.now);
        if let Some(patience) = self.model.client_timeout {
            let number = self.jobs.at(slot).number;
            self.timeouts.push_back(Timeout {
                at: self.now + patience.0,
                sequence: self.calendar.next_sequence(),
                slot,
                number,
            });
        }
        let outcome = match self.station.enter(slot, self.now, &mut self.calendar) {
            Entrance::Admitted => return,
            Entrance::Refused => Outcome::Refused,
            Entrance::Shed => Outcome::Shed,
        };
        self.jobs.at_mut(slot).outcome = outcome;
        self.calendar
            .plan(self.now + REJECTION.0, Event::Reject(slot));
    }

    /// The service is done with a job; its client may have left long ago.
    fn end(&mut self, slot: Slot, outcome: Outcome) {
        let job = *self.jobs.at(slot);
        // Its timer may still come up before the slot is used again.
        self.jobs.at_mut(slot).awaited = false;
        self.jobs.free(slot);
        if job.awaited {
            self.meter.ended(self.now, job.level, outcome, job.intended);
            self.user_done(job.closed);
        }
    }

    fn time_out(&mut self) {
        let Some(timeout) = self.timeouts.pop_front() else {
            return;
        };
        let job = self.jobs.at_mut(timeout.slot);
        if job.number != timeout.number || !job.awaited {
            return;
        }
        job.awaited = false;
        let (level, intended, closed) = (job.level, job.intended, job.closed);
        self.meter
            .ended(self.now, level, Outcome::Timeout, intended);
        self.user_done(closed);
    }

    fn user_done(&mut self, closed: bool) {
        if !closed {
            return;
        }
        if self.users.present > self.users.wanted {
            self.users.present -= 1;
        } else {
            self.user_acts();
        }
    }

    /// A user thinks, or sends at once without a think time.
    fn user_acts(&mut self) {
        let mean = self.model.think_mean.0 as f64;
        if mean > 0.0 {
            let think = (mean * self.users.rng.exponential()) as u64;
            self.calendar.plan(self.now + think, Event::Think);
        } else {
            self.start(true);
        }
    }
}

impl StepRunner for Simulator {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError> {
        self.meter.begin_level(step.level);
        for index in 0..step.windows_max {
            self.meter.begin_window(self.now, WINDOW);
            if index == 0 {
                // Within the window, so that the first requests of closed-loop users are due in it.
                self.begin_level(step);
            }
            self.run_until(self.now + WINDOW.0);
            if judge(self.meter.end_window(self.now)) == Go::Stop {
                break;
            }
        }
        Ok(())
    }
}

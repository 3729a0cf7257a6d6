//! The clock and the clients: plays levels one after the other on the same simulated system.

use plimsoll_base::random::Rng;
use plimsoll_core::schedule::Schedule;
use plimsoll_core::step::{Go, Step, StepError, StepLoad, StepRunner};
use plimsoll_core::{Nanos, Outcome, Window};

use crate::arena::Slot;
use crate::attempts::{Attempt, Attempts, Timers};
use crate::calendar::{Calendar, Event};
use crate::meter::Meter;
use crate::model::{Model, ModelError};
use crate::service::{Answer, Service};

const WINDOW: Nanos = Nanos::from_secs(1);

/// Random streams of the clients; those of the service are its own.
mod stream {
    pub(super) const THINK: u64 = 3;
    /// Plus the level: the arrivals of a level do not depend on earlier levels.
    pub(super) const ARRIVALS: u64 = 2 << 32;
}

/// One simulated system under one simulated generator. Levels follow each other without draining.
#[derive(Debug)]
pub struct Simulator {
    model: Model,
    seed: u64,
    now: u64,
    calendar: Calendar,
    service: Service,
    meter: Meter,
    arrivals: Option<Arrivals>,
    attempts: Attempts,
    attempt_number: u64,
    /// Ends of the clients' patience with attempts, and of the retrying proxy's with tries.
    timeouts: Timers,
    give_ups: Timers,
    users: Users,
    events: u64,
}

#[derive(Debug)]
struct Arrivals {
    schedule: Schedule,
    start: u64,
    at: u64,
    sequence: u64,
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
    GiveUp,
    Calendar,
}

impl Simulator {
    /// A system at rest. `bounds` are the objectives' response-time bounds, for exact counts.
    pub fn new(model: Model, bounds: Vec<Nanos>, seed: u64) -> Result<Self, ModelError> {
        model.check()?;
        let mut calendar = Calendar::default();
        Ok(Self {
            service: Service::new(&model, seed, &mut calendar),
            seed,
            now: 0,
            calendar,
            meter: Meter::new(bounds),
            arrivals: None,
            attempts: Attempts::default(),
            attempt_number: 0,
            timeouts: Timers::default(),
            give_ups: Timers::default(),
            users: Users {
                wanted: 0,
                present: 0,
                rng: Rng::new(seed, stream::THINK),
            },
            events: 0,
            model,
        })
    }

    /// Events handled since the start: arrivals, ends of passes, timers, turns of conditions.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Virtual time since the start.
    pub fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    fn begin_level(&mut self, step: &Step) {
        self.service
            .begin_level(step.level, self.now, &mut self.calendar);
        match step.load {
            StepLoad::Open { profile, arrivals } => {
                self.users.wanted = 0;
                let stream = stream::ARRIVALS + u64::from(step.level);
                let seed = Rng::new(self.seed, stream).next_u64();
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

    /// The earliest of the four event lists, if before `end`.
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
        offer(self.timeouts.first(), NextEvent::Timeout);
        offer(self.give_ups.first(), NextEvent::GiveUp);
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
                NextEvent::GiveUp => self.give_up(),
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
        let (now, calendar) = (self.now, &mut self.calendar);
        let answer = match event {
            Event::Finish(slot) => self.service.finish(slot, now, calendar),
            Event::FinishBehind(slot) => self.service.finish_behind(slot, now, calendar),
            Event::Reject(slot) => Some(self.service.rejected(slot)),
            Event::Turn(index) => {
                self.service.turn(index, now, calendar);
                None
            }
            Event::Retry(attempt) => {
                self.send(attempt);
                None
            }
            Event::Think if self.users.present > self.users.wanted => {
                self.users.present -= 1;
                None
            }
            Event::Think => {
                self.start(true);
                None
            }
        };
        if let Some(answer) = answer {
            self.answered(answer);
        }
    }

    /// A client sends a request now.
    fn start(&mut self, closed: bool) {
        self.attempt_number += 1;
        let attempt = self.attempts.add(Attempt {
            intended: self.now,
            level: self.meter.level(),
            closed,
            awaited: true,
            number: self.attempt_number,
            current: 0,
            tries_left: self.model.retries.map_or(0, |retries| retries.max),
        });
        self.meter.started(self.now);
        if let Some(patience) = self.model.client_timeout {
            let at = self.now.saturating_add(patience.0);
            let sequence = self.calendar.next_sequence();
            self.timeouts
                .add(at, sequence, attempt, self.attempt_number);
        }
        self.send(attempt);
    }

    /// The first try of an attempt, or another one.
    fn send(&mut self, attempt: Slot) {
        let number = self.service.send(attempt, self.now, &mut self.calendar);
        self.attempts.at_mut(attempt).current = number;
        if let Some(retries) = self.model.retries {
            let at = self.now.saturating_add(retries.patience.0);
            let sequence = self.calendar.next_sequence();
            self.give_ups.add(at, sequence, attempt, number);
        }
    }

    fn answered(&mut self, answer: Answer) {
        if self.attempts.at(answer.attempt).current == answer.number {
            self.try_ended(answer.attempt, answer.outcome);
        }
    }

    /// Nobody waits for this try any longer.
    fn give_up(&mut self) {
        let Some(timer) = self.give_ups.pop() else {
            return;
        };
        if self.attempts.at(timer.attempt).current == timer.number {
            self.try_ended(timer.attempt, Outcome::Timeout);
        }
    }

    /// Sends an attempt again, or ends it; its client may have left long ago.
    fn try_ended(&mut self, slot: Slot, outcome: Outcome) {
        let attempt = self.attempts.at_mut(slot);
        attempt.current = 0;
        if let Some(retries) = self.model.retries
            && outcome.is_failure()
            && attempt.tries_left > 0
        {
            attempt.tries_left -= 1;
            let at = self.now.saturating_add(retries.delay.0);
            self.calendar.plan(at, Event::Retry(slot));
            return;
        }
        let was_awaited = std::mem::take(&mut attempt.awaited);
        let attempt = self.attempts.free(slot);
        if was_awaited {
            self.end(&attempt, outcome);
        }
    }

    /// The client of an attempt leaves.
    fn time_out(&mut self) {
        let Some(timer) = self.timeouts.pop() else {
            return;
        };
        let attempt = self.attempts.at_mut(timer.attempt);
        if attempt.number == timer.number && std::mem::take(&mut attempt.awaited) {
            let attempt = *attempt;
            self.end(&attempt, Outcome::Timeout);
        }
    }

    /// What a client waited for is over.
    fn end(&mut self, attempt: &Attempt, outcome: Outcome) {
        self.meter
            .ended(self.now, attempt.level, outcome, attempt.intended);
        if !attempt.closed {
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

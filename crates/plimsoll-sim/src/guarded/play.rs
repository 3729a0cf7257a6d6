//! Clients, guards and a service on one virtual clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use plimsoll_base::random::Rng;
use plimsoll_control::admission::{Admission, Class, Config, Decision, Ended, Explained, Request};
use plimsoll_core::Nanos;

use super::service::Service;
use super::upstream::Upstream;

/// How often a guard is given the time while nothing happens.
const TICK: Nanos = Nanos::from_millis(5);
/// The delay before a retry.
const RETRY_DELAY: Nanos = Nanos::from_millis(50);

/// One kind of client: open-loop arrivals without memory.
#[derive(Debug, Clone)]
pub struct Clients {
    /// Rates per second, each from a moment on; the first from zero.
    pub rates: Vec<(Nanos, f64)>,
    /// Squared coefficient of variation of the gaps; 1 for arrivals without memory.
    pub burstiness: f64,
    pub class: Class,
    pub tenant: u64,
    /// What it asks for, and which kind of the service's requests that is; any of them, drawn by their shares, unless said.
    pub route: u64,
    pub kind: Option<usize>,
    /// How long it waits for an answer, and how often it tries again after a failure.
    pub timeout: Nanos,
    pub retries: u32,
}

impl Clients {
    pub fn steady(per_s: f64) -> Self {
        Self {
            rates: vec![(Nanos::ZERO, per_s)],
            burstiness: 1.0,
            class: Class::Default,
            tenant: 0,
            route: 0,
            kind: None,
            timeout: Nanos::from_secs(1),
            retries: 0,
        }
    }

    fn rate(&self, now: Nanos) -> f64 {
        let passed = self.rates.iter().rev().find(|(from, _)| *from <= now);
        passed.map_or(0.0, |(_, rate)| *rate)
    }

    /// Until the next arrival; two exponentials with balanced means where arrivals are bursty.
    fn gap(&self, now: Nanos, rng: &mut Rng) -> Nanos {
        let rate = self.rate(now);
        if rate <= 0.0 {
            return Nanos::from_millis(100);
        }
        let cv2 = self.burstiness.max(1.0);
        let p = f64::midpoint(1.0, libm::sqrt((cv2 - 1.0) / (cv2 + 1.0)));
        let share = if rng.unit() <= p {
            2.0 * p
        } else {
            2.0 * (1.0 - p)
        };
        Nanos::from_secs_f64(rng.exponential() / (share * rate))
    }
}

/// What is played.
#[derive(Debug, Clone)]
pub struct Plan {
    pub clients: Vec<Clients>,
    /// One entry per guard: what it is, and how far its wall clock is ahead.
    pub guards: Vec<(Config, Nanos)>,
    pub length: Nanos,
    /// Nothing before this is counted.
    pub counted_from: Nanos,
    /// Guards do not run between two moments: whatever happens then reaches them at its end, all at once.
    pub standstill: Option<(Nanos, Nanos)>,
    pub seed: u64,
}

impl Plan {
    /// When what happens then is noticed.
    fn noticed(&self, at: Nanos) -> Nanos {
        match self.standstill {
            Some((from, until)) if (from..until).contains(&at) => until,
            _ => at,
        }
    }
}

/// What came of one kind of client.
#[derive(Debug, Clone, Default)]
pub struct Fared {
    pub attempts: u64,
    pub good: u64,
    pub refused: u64,
    /// Gave up, or were answered with a failure.
    pub failed: u64,
    /// Seconds, of good answers and of refusals.
    pub response_seconds: Vec<f64>,
    pub refusal_seconds: Vec<f64>,
}

#[derive(Debug, Clone, Default)]
pub struct Played {
    pub clients: Vec<Fared>,
    pub goodput_per_s: f64,
    /// Good answers in each second from the start.
    pub good_by_second: Vec<u64>,
    /// Limit of the first guard, second by second.
    pub levels: Vec<Explained>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival(usize),
    Timeout(u64),
    Tick,
}

#[derive(Debug, Clone, Copy)]
struct Attempt {
    kind: usize,
    guard: usize,
    began: Nanos,
    ticket: u64,
    tries_left: u32,
}

struct Play<'a> {
    plan: &'a Plan,
    now: Nanos,
    service: Service,
    guards: Vec<Admission>,
    /// By guard and ticket.
    waiting: BTreeMap<(usize, u64), u64>,
    attempts: BTreeMap<u64, Attempt>,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    /// Attempts that fail at once in the service: they must not be handled while it is asked.
    failed_at_once: VecDeque<u64>,
    number: u64,
    sequence: u64,
    rng: Rng,
    played: Played,
}

/// Plays a plan on a service.
pub fn play(upstream: &Upstream, plan: &Plan) -> Played {
    let guards = plan
        .guards
        .iter()
        .enumerate()
        .map(|(index, (config, ahead))| {
            let seed = Rng::new(plan.seed, 90 + index as u64).next_u64();
            let mut guard = Admission::new(Config { seed, ..*config }, Nanos::ZERO);
            guard.set_wall(Nanos::ZERO, *ahead);
            guard
        });
    let mut play = Play {
        plan,
        now: Nanos::ZERO,
        service: Service::new(upstream, plan.seed),
        guards: guards.collect(),
        waiting: BTreeMap::new(),
        attempts: BTreeMap::new(),
        events: BinaryHeap::new(),
        failed_at_once: VecDeque::new(),
        number: 0,
        sequence: 0,
        rng: Rng::new(plan.seed, 5),
        played: Played {
            clients: vec![Fared::default(); plan.clients.len()],
            ..Played::default()
        },
    };
    play.plan_event(Nanos::ZERO, Event::Tick);
    for kind in 0..plan.clients.len() {
        play.plan_event(Nanos::ZERO, Event::Arrival(kind));
    }
    play.run();
    let counted = (plan.length - plan.counted_from).as_secs_f64();
    let good: u64 = play.played.clients.iter().map(|fared| fared.good).sum();
    play.played.goodput_per_s = good as f64 / counted;
    play.played
}

impl Play<'_> {
    fn plan_event(&mut self, at: Nanos, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    fn run(&mut self) {
        loop {
            let of_service = self.service.next();
            let planned = self.events.peek().map(|Reverse((at, ..))| *at);
            let planned = planned.unwrap_or(Nanos::MAX);
            self.now = self.now.max(self.plan.noticed(of_service.min(planned)));
            if self.now >= self.plan.length {
                return;
            }
            if of_service <= planned {
                if let Some((job, is_good)) = self.service.turn(self.now) {
                    self.answered(job, is_good);
                }
            } else if let Some(Reverse((at, _, event))) = self.events.pop() {
                self.handle(at, event);
            }
            while let Some(job) = self.failed_at_once.pop_front() {
                self.answered(job, false);
            }
        }
    }

    fn handle(&mut self, at: Nanos, event: Event) {
        match event {
            Event::Arrival(kind) => {
                let clients = &self.plan.clients[kind];
                let gap = clients.gap(at, &mut self.rng);
                self.plan_event(at + gap, Event::Arrival(kind));
                if clients.rate(at) > 0.0 {
                    let retries = clients.retries;
                    self.start(at, kind, retries, false);
                }
            }
            Event::Timeout(number) => self.timed_out(number),
            Event::Tick => {
                self.plan_event(self.now + TICK, Event::Tick);
                for index in 0..self.guards.len() {
                    self.guards[index].turn(self.now);
                    self.decided(index);
                }
                let second = self.now.0 / 1_000_000_000;
                if self.played.levels.len() as u64 <= second {
                    let first = self.guards.first();
                    self.played
                        .levels
                        .push(first.map(Admission::explain).unwrap_or_default());
                }
            }
        }
    }

    fn start(&mut self, began: Nanos, kind: usize, tries_left: u32, is_retry: bool) {
        let clients = &self.plan.clients[kind];
        self.number += 1;
        let guard = self.rng.below(self.guards.len() as u64) as usize;
        let request = Request {
            class: clients.class,
            tenant: clients.tenant,
            route: clients.route,
            session: self.number,
            deadline: None,
            is_retry,
        };
        let timeout = clients.timeout;
        let ticket = self.guards[guard].arrives(self.now, &request);
        let attempt = Attempt {
            kind,
            guard,
            began,
            ticket,
            tries_left,
        };
        self.attempts.insert(self.number, attempt);
        self.waiting.insert((guard, ticket), self.number);
        self.plan_event(began + timeout, Event::Timeout(self.number));
        if self.is_counted() && !is_retry {
            self.played.clients[kind].attempts += 1;
        }
        self.decided(guard);
    }

    fn is_counted(&self) -> bool {
        self.now >= self.plan.counted_from
    }

    fn decided(&mut self, guard: usize) {
        while let Some(decision) = self.guards[guard].next_decision() {
            match decision {
                Decision::Admitted(ticket) => {
                    let Some(number) = self.waiting.remove(&(guard, ticket)) else {
                        continue;
                    };
                    let attempt = self.attempts.get(&number);
                    let kind = attempt.and_then(|attempt| self.plan.clients[attempt.kind].kind);
                    if !self.service.begin(self.now, number, kind) {
                        self.failed_at_once.push_back(number);
                    }
                }
                Decision::Refused(ticket, _) => {
                    let Some(number) = self.waiting.remove(&(guard, ticket)) else {
                        continue;
                    };
                    let Some(attempt) = self.attempts.remove(&number) else {
                        continue;
                    };
                    if self.is_counted() {
                        let fared = &mut self.played.clients[attempt.kind];
                        fared.refused += 1;
                        let took = (self.now - attempt.began).as_secs_f64();
                        fared.refusal_seconds.push(took);
                    }
                    self.again(&attempt);
                }
            }
        }
    }

    fn again(&mut self, attempt: &Attempt) {
        if attempt.tries_left > 0 {
            // Sent after a moment; the wait is a part of the plan of the retrying client, not of the guard.
            let at = self.now + RETRY_DELAY;
            self.retry_at(at, attempt);
        }
    }

    fn retry_at(&mut self, at: Nanos, attempt: &Attempt) {
        self.number += 1;
        let number = self.number;
        self.attempts.insert(
            number,
            Attempt {
                ticket: u64::MAX,
                tries_left: attempt.tries_left - 1,
                ..*attempt
            },
        );
        self.plan_event(at, Event::Timeout(number));
    }

    fn timed_out(&mut self, number: u64) {
        let Some(attempt) = self.attempts.get(&number) else {
            return;
        };
        if attempt.ticket == u64::MAX {
            // A retry whose time has come.
            let attempt = *attempt;
            self.attempts.remove(&number);
            self.start(self.now, attempt.kind, attempt.tries_left, true);
            return;
        }
        let attempt = *attempt;
        self.attempts.remove(&number);
        if self.is_counted() {
            self.played.clients[attempt.kind].failed += 1;
        }
        if self.guards[attempt.guard].left(self.now, attempt.ticket) {
            self.waiting.remove(&(attempt.guard, attempt.ticket));
        } else {
            // The guard hangs up at once. The service does not notice, and does the work all the same.
            self.guards[attempt.guard].ended(self.now, attempt.ticket, Ended::Left);
        }
        self.again(&attempt);
        self.decided(attempt.guard);
    }

    fn answered(&mut self, number: u64, is_good: bool) {
        let Some(attempt) = self.attempts.remove(&number) else {
            return;
        };
        let ended = if is_good {
            Ended::Served
        } else {
            Ended::Failed
        };
        self.guards[attempt.guard].ended(self.now, attempt.ticket, ended);
        let took = (self.now - attempt.began).as_secs_f64();
        if ended == Ended::Served {
            let second = (self.now.0 / 1_000_000_000) as usize;
            if self.played.good_by_second.len() <= second {
                self.played.good_by_second.resize(second + 1, 0);
            }
            self.played.good_by_second[second] += 1;
        }
        if self.is_counted() {
            let fared = &mut self.played.clients[attempt.kind];
            match ended {
                Ended::Served => {
                    fared.good += 1;
                    fared.response_seconds.push(took);
                }
                Ended::Failed => fared.failed += 1,
                Ended::Left | Ended::Busy | Ended::Aside => {}
            }
        }
        if ended == Ended::Failed {
            self.again(&attempt);
        }
        self.decided(attempt.guard);
    }
}

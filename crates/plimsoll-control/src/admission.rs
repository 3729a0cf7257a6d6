//! Decides which requests a service gets, and when: limit, queue, priorities, fairness between tenants
//! and routes, deadlines.
//!
//! One [`Admission`] per upstream. A request [`Admission::arrives`] and is given a ticket; what becomes of it is told by
//! [`Admission::next_decision`], at once or later. When the answer is complete, or will never come, the ticket is given
//! back with [`Admission::ended`]; a client that leaves before is reported with [`Admission::left`] if it still waits.
//! Time is passed in; [`Admission::turn`] is called now and then (every few milliseconds while anybody waits).
//!
//! | a ticket is | until | then |
//! |---|---|---|
//! | waiting | a permit is free | admitted |
//! | waiting | too many wait, or it for too long | refused |
//! | admitted | [`Admission::ended`] | gone; its permit is free, after a failure a little later |

mod baseline;
mod class;
mod counts;
mod fairness;
mod floors;
mod half_load;
mod holds;
mod limit;
mod looks;
mod mean;
mod patience;
mod queue;
mod rejector;
mod retries;
mod room;
mod rule;
mod saturation;
mod shares;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use plimsoll_base::slab::Slab;
use plimsoll_core::Nanos;

pub use class::Class;
pub use counts::Counts;
use fairness::{Fairness, Owner};
use floors::Floors;
use holds::Holds;
use limit::{Answer, Demand, Limit};
pub use limit::{Ended, Explained};
use mean::Mean;
use patience::Patience;
use queue::size::Size;
use queue::{Queue, Waiting};
use rejector::{Greedy, Level, Rejector};
pub use retries::RetryBudget;
pub use rule::Rule;
use saturation::Saturation;
use shares::mixed;

/// The longest wait for a permit.
const PATIENCE: Nanos = Nanos::from_millis(250);
/// Clients that leave sooner are nobody's timeout.
const AGE_LEAST: Nanos = Nanos::from_millis(10);
/// A client that says that it waits for less than this part of what such requests take is refused at once. What an overload
/// adds to their time is less than that.
const HOPELESS: f64 = 4.0;
/// Share of the permits that retries of clients may have before they count as background.
const RETRIES_RATIO: f64 = 0.2;
/// Who is sticky changes so often, or the same users would be turned away all day.
const SALT_EVERY: Nanos = Nanos::from_secs(3600);

/// What is chosen once.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    pub rule: Rule,
    /// Where the limit begins, if somebody has measured it; rules with a number of their own ignore it.
    pub start: Option<f64>,
    /// Without one, whoever finds no permit is refused at once.
    pub queue: bool,
    /// Refuse at the door while the queue does not empty.
    pub rejector: bool,
    /// For random choices and salts.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rule: Rule::HalfLoad,
            start: None,
            queue: true,
            rejector: true,
            seed: 0,
        }
    }
}

/// What matters of a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request {
    pub class: Class,
    /// Hash of whoever should be treated like others of their kind: an address, a principal.
    pub tenant: u64,
    /// Hash of what is asked for: requests of one route are about equally much work.
    pub route: u64,
    /// Hash of what should be in or out as a whole: a session.
    pub session: u64,
    /// When its client gives up, if it said so.
    pub deadline: Option<Nanos>,
    pub is_retry: bool,
}

pub type Ticket = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Admitted(Ticket),
    Refused(Ticket, Refusal),
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Less important than what can be done now.
    Door,
    /// Too many wait.
    Full,
    /// It has waited as long as is worth waiting.
    TooLong,
    /// Its client would have left before the answer.
    Deadline,
    /// Its tenant has more than its share already.
    Share,
}

impl Refusal {
    pub const ALL: [Self; 5] = [
        Self::Door,
        Self::Full,
        Self::TooLong,
        Self::Deadline,
        Self::Share,
    ];
}

#[derive(Debug, Clone, Copy)]
struct Guest {
    waiting: Waiting,
    admitted: Option<Admitted>,
}

#[derive(Debug, Clone, Copy)]
struct Admitted {
    at: Nanos,
    /// Seconds that its tenant was charged in advance.
    charged: f64,
    /// Beyond the limit, beside others that are stuck.
    is_lent: bool,
}

#[derive(Debug)]
pub struct Admission {
    config: Config,
    limit: Box<dyn Limit>,
    in_flight: u32,
    /// Permits of failed answers, kept until then.
    kept: BinaryHeap<Reverse<Nanos>>,
    guests: Slab<Guest>,
    queue: Queue,
    size: Size,
    floors: Floors,
    fairness: Fairness,
    holds: Holds,
    rejector: Rejector,
    retries: RetryBudget,
    clients: Patience,
    upstream: Patience,
    decisions: VecDeque<Decision>,
    counts: Counts,
    /// Seconds that an answer takes.
    mean: Mean,
    /// Somebody found the queue full since it was empty last.
    was_full: bool,
    saturation: Saturation,
}

impl Admission {
    pub fn new(config: Config, now: Nanos) -> Self {
        Self {
            config,
            limit: config.rule.begin(now, config.seed, config.start),
            in_flight: 0,
            kept: BinaryHeap::new(),
            guests: Slab::new(),
            queue: Queue::default(),
            size: Size::new(now, PATIENCE),
            floors: Floors::default(),
            fairness: Fairness::new(now, config.seed),
            holds: Holds::default(),
            rejector: Rejector::new(now),
            retries: RetryBudget::new(RETRIES_RATIO),
            clients: Patience::default(),
            upstream: Patience::default(),
            decisions: VecDeque::new(),
            counts: Counts::default(),
            mean: Mean::new(now),
            was_full: false,
            saturation: Saturation::default(),
        }
    }

    /// A request is here. What becomes of it is among the next decisions, now or later.
    pub fn arrives(&mut self, now: Nanos, request: &Request) -> Ticket {
        self.counts.arrived += 1;
        let mut class = request.class;
        if request.is_retry && !self.retries.spend() {
            class = Class::Background;
            self.counts.retries_demoted += 1;
        }
        let owner = self.fairness.owner(request.tenant, request.route);
        self.holds.came(now, owner);
        let waiting = Waiting {
            ticket: self.guests.next_token(),
            class,
            owner,
            arrived: now,
            latest: self.latest(now, owner, request.deadline),
        };
        let ticket = self.guests.insert(Guest {
            waiting,
            admitted: None,
        });
        if self.config.rejector && self.config.queue {
            let level = self.level(now, class, owner, request.session);
            if !self.rejector.passes(level) {
                self.refuse(&waiting, level.refusal());
                return ticket;
            }
        }
        self.size.arrived();
        if self.is_full(now) {
            // Time may have made room.
            self.turn(now);
        }
        let is_full = self.is_full(now) && !self.could_borrow(owner);
        self.queue.push(waiting);
        if is_full {
            self.was_full = true;
            self.push_out(now, self.queue.len());
        }
        self.turn(now);
        ticket
    }

    /// A request is here that is refused at the door ([`Refusal::Door`] or [`Refusal::Share`]), and has no ticket. If not, nothing
    /// has happened: it [`Self::arrives`]. Cheaper than that for those who refuse much.
    pub fn turns_away(&mut self, now: Nanos, request: &Request) -> Option<Refusal> {
        // What a retry counts as is decided when it arrives.
        if request.is_retry || !self.config.rejector || !self.config.queue {
            return None;
        }
        let owner = self.fairness.owner(request.tenant, request.route);
        self.holds.came(now, owner);
        let level = self.level(now, request.class, owner, request.session);
        let is_refused = self.rejector.turns_away(level);
        self.counts.arrived += u64::from(is_refused);
        self.counts.refused += u64::from(is_refused);
        is_refused.then(|| level.refusal())
    }

    fn level(&self, now: Nanos, class: Class, owner: Owner, session: u64) -> Level {
        let greedy = Greedy {
            tenant: self.fairness.is_greedy_tenant(owner),
            route: self.fairness.is_greedy_route(owner),
        };
        let salt = self.config.seed ^ (now.0 / SALT_EVERY.0);
        Level::of(class, greedy, mixed(session, salt))
    }

    /// The last moment at which it is worth beginning.
    fn latest(&self, now: Nanos, owner: Owner, deadline: Option<Nanos>) -> Nanos {
        let learned = self.clients.learned(now).map(|patience| now + patience);
        let Some(end) = deadline.or(learned) else {
            return Nanos::MAX;
        };
        let expected = self.expected(owner);
        if deadline.is_some() && HOPELESS * (end - now).as_secs_f64() < expected {
            return now;
        }
        // Half of the patience at most is taken for the work: a latency that the overload made must not refuse everybody.
        let left = (end - now).as_secs_f64();
        end - Nanos::from_secs_f64(expected.min(left / 2.0))
    }

    /// Seconds that such a request takes: like the others of its route, or like all.
    fn expected(&self, owner: Owner) -> f64 {
        self.fairness.expected(owner).unwrap_or(self.mean.seconds())
    }

    /// What became of requests, in order.
    pub fn next_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    /// A client that was not answered yet has left. False if its request had been let through: then [`Self::ended`]
    /// reports the end of that.
    pub fn left(&mut self, now: Nanos, ticket: Ticket) -> bool {
        let Some(guest) = self.guests.get_mut(ticket) else {
            return true;
        };
        let waiting = guest.waiting;
        let is_admitted = guest.admitted.is_some();
        let age = now - waiting.arrived;
        // Clients that go at once close a connection; they were not waiting for anything. And who goes before an answer could be
        // expected may have any reason: it is not as long as everybody waits.
        if age >= AGE_LEAST && age.as_secs_f64() >= self.mean.seconds() {
            self.clients.gave_up(now, age);
        }
        if is_admitted {
            return false;
        }
        self.queue.remove(&waiting);
        self.look_at_queue(now);
        self.guests.remove(ticket);
        self.counts.left_waiting += 1;
        true
    }

    /// A request that still waited goes on without a permit, as one of a trial that lets everybody through: nobody has
    /// given up. False if it waits no longer.
    pub fn withdrawn(&mut self, now: Nanos, ticket: Ticket) -> bool {
        let Some(guest) = self.guests.get_mut(ticket) else {
            return false;
        };
        let waiting = guest.waiting;
        if guest.admitted.is_some() {
            return false;
        }
        self.queue.remove(&waiting);
        self.look_at_queue(now);
        self.guests.remove(ticket);
        self.counts.withdrawn += 1;
        true
    }

    /// The upstream itself gave up after so long (504).
    pub fn upstream_gave_up(&mut self, now: Nanos, age: Nanos) {
        self.upstream.gave_up(now, age);
    }

    /// A request that was let through is over.
    pub fn ended(&mut self, now: Nanos, ticket: Ticket, ended: Ended) {
        let Some(guest) = self.guests.remove(ticket) else {
            return;
        };
        let Some(admitted) = guest.admitted else {
            return;
        };
        let (began, owner) = (admitted.at, guest.waiting.owner);
        self.pass_time(now);
        let took = now - began;
        if ended != Ended::Aside {
            self.limit.answered(&Answer {
                now,
                took,
                ended,
                in_flight: self.in_flight,
            });
        }
        self.rejector.completed();
        let seconds = took.as_secs_f64();
        self.fairness.charge(now, owner, seconds - admitted.charged);
        self.holds.ended(began, owner, admitted.is_lent);
        match ended {
            Ended::Served => {
                self.counts.served += 1;
                self.fairness.took(owner, seconds);
                self.holds.served(owner);
                self.mean.add(now, seconds);
                self.clients.stayed(now - guest.waiting.arrived);
            }
            Ended::Left => self.counts.left += 1,
            Ended::Aside => self.counts.aside += 1,
            Ended::Failed | Ended::Busy => self.counts.failed += 1,
        }
        let kept_until = match ended {
            Ended::Served | Ended::Aside => now,
            // An upstream may still work on it; one that fails fast would be sent the next at once.
            Ended::Left | Ended::Failed | Ended::Busy => began + self.limit.kept_after_failure(),
        };
        if kept_until > now {
            self.kept.push(Reverse(kept_until));
        } else {
            self.in_flight -= 1;
        }
        self.serve(now);
    }

    /// Time has passed: permits come back, waits end, the limit moves.
    pub fn turn(&mut self, now: Nanos) {
        self.pass_time(now);
        self.serve(now);
    }

    fn pass_time(&mut self, now: Nanos) {
        let demand = Demand {
            arrived: self.counts.arrived,
            turned_away: self.counts.refused() + self.counts.failed,
        };
        self.holds.pass(now, &self.fairness);
        let within = self.in_flight - self.holds.lent();
        self.limit.turn(now, within, demand);
        while self.kept.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.kept.pop();
            self.in_flight -= 1;
        }
        self.size.pass(now);
        let free = self.limit.limit().saturating_sub(self.in_flight);
        self.rejector
            .pass_time(now, free.max(self.loans_asked_for(now)));
        self.fairness.pass(now);
        let used = f64::from(self.in_flight) / f64::from(self.limit.limit());
        self.saturation.follow(now, used, self.counts.refused());
    }

    /// Gives free permits to those that wait, and sends away who waits in vain.
    fn serve(&mut self, now: Nanos) {
        while let Some(waiting) = self.queue.expired(now, PATIENCE) {
            let refusal = if now >= waiting.latest {
                Refusal::Deadline
            } else {
                Refusal::TooLong
            };
            self.refuse(&waiting, refusal);
        }
        let newest = self.is_newest_first(now);
        while self.in_flight < self.limit.limit() {
            let queue = &self.queue;
            let Some(class) = self.floors.next(now, |class| queue.has(class)) else {
                break;
            };
            let Some(waiting) = self.queue.next(class, &self.fairness, newest, |_| true) else {
                break;
            };
            self.admit(now, &waiting, false);
        }
        while self.lend(now, newest) {}
        let slots = self.slots();
        while self.queue.len() > slots && self.push_out(now, slots) {}
        self.look_at_queue(now);
    }

    fn look_at_queue(&mut self, now: Nanos) {
        let is_empty = self.queue.len() == 0;
        self.was_full &= !is_empty;
        self.rejector.queue_is(now, is_empty);
        self.size.queue_is(now, is_empty);
    }

    fn admit(&mut self, now: Nanos, waiting: &Waiting, is_lent: bool) {
        let expected = self.expected(waiting.owner);
        let Some(guest) = self.guests.get_mut(waiting.ticket) else {
            return;
        };
        guest.admitted = Some(Admitted {
            at: now,
            charged: expected,
            is_lent,
        });
        self.holds.began(now, waiting.owner, is_lent);
        self.in_flight += 1;
        self.counts.admitted += 1;
        self.size.admitted();
        self.floors.gave(waiting.class);
        self.retries.earn();
        self.fairness.charge(now, waiting.owner, expected);
        self.decisions.push_back(Decision::Admitted(waiting.ticket));
    }

    fn refuse(&mut self, waiting: &Waiting, refusal: Refusal) {
        self.counts.refused += 1;
        self.guests.remove(waiting.ticket);
        self.decisions
            .push_back(Decision::Refused(waiting.ticket, refusal));
    }
}

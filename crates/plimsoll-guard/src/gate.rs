//! Permits: a request enters when admission says so, and its permit comes back however it ends.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_base::clock::{Clock, wall_millis};
use plimsoll_control::admission::{
    Admission, Config, Decision, Ended, Refusal, Request, Rule, Ticket,
};
use plimsoll_core::Nanos;
use tokio::sync::oneshot;

/// While somebody waits or is in flight, time is passed on so often; else less often.
const TICK: Duration = Duration::from_millis(5);
const IDLE_TICK: Duration = Duration::from_millis(100);
/// How often the wall clock is compared, which guards of one upstream share.
const WALL_EVERY: Nanos = Nanos::from_secs(1);

type Outcome = Result<(), Refusal>;

#[derive(Debug)]
pub(crate) struct Gate {
    clock: Clock,
    inner: RefCell<Inner>,
}

#[derive(Debug)]
struct Inner {
    admission: Admission,
    waiters: BTreeMap<Ticket, oneshot::Sender<Outcome>>,
    holders: BTreeMap<Ticket, Holder>,
    wall_at: Option<Nanos>,
}

/// Who holds a permit, for `explain`.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) route: String,
    pub(crate) client: IpAddr,
    pub(crate) since: Nanos,
}

impl Gate {
    pub(crate) fn new(rule: Rule) -> Rc<Self> {
        let clock = Clock::start();
        let config = Config {
            rule,
            seed: wall_millis().cast_unsigned(),
            ..Config::default()
        };
        let mut admission = Admission::new(config, clock.now());
        admission.set_wall(clock.now(), wall());
        Rc::new(Self {
            clock,
            inner: RefCell::new(Inner {
                admission,
                waiters: BTreeMap::new(),
                holders: BTreeMap::new(),
                wall_at: None,
            }),
        })
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Waits for a permit. Dropping the future gives the place back.
    pub(crate) async fn enter(
        self: &Rc<Self>,
        request: &Request,
        holder: Holder,
    ) -> Result<Permit, Refusal> {
        let mut waiting = {
            let mut inner = self.inner.borrow_mut();
            let ticket = inner.admission.arrives(self.now(), request);
            let (sender, receiver) = oneshot::channel();
            inner.waiters.insert(ticket, sender);
            inner.tell();
            Waiting {
                gate: Rc::clone(self),
                ticket,
                receiver,
                is_decided: false,
            }
        };
        let outcome = (&mut waiting.receiver).await;
        waiting.is_decided = true;
        // A sender is dropped unused only with the gate itself.
        outcome.unwrap_or(Err(Refusal::Full))?;
        let mut inner = self.inner.borrow_mut();
        inner.holders.insert(waiting.ticket, holder);
        Ok(Permit {
            gate: Rc::clone(self),
            ticket: waiting.ticket,
            is_held: Cell::new(true),
        })
    }

    fn ended(&self, ticket: Ticket, ended: Ended) {
        let mut inner = self.inner.borrow_mut();
        inner.holders.remove(&ticket);
        inner.admission.ended(self.now(), ticket, ended);
        inner.tell();
    }

    fn left(&self, ticket: Ticket) {
        let mut inner = self.inner.borrow_mut();
        inner.waiters.remove(&ticket);
        inner.holders.remove(&ticket);
        let now = self.now();
        if !inner.admission.left(now, ticket) {
            // It was let in at the same moment.
            inner.admission.ended(now, ticket, Ended::Left);
        }
        inner.tell();
    }

    pub(crate) fn upstream_gave_up(&self, age: Nanos) {
        self.inner.borrow_mut().admission.upstream_gave_up(age);
    }

    pub(crate) fn look<T>(&self, at: impl FnOnce(&Admission, &BTreeMap<Ticket, Holder>) -> T) -> T {
        let inner = self.inner.borrow();
        at(&inner.admission, &inner.holders)
    }

    /// Passes the time on, for ever.
    pub(crate) async fn tick(&self) {
        loop {
            let is_busy = {
                let mut inner = self.inner.borrow_mut();
                let now = self.now();
                if inner.wall_at.is_none_or(|at| now - at >= WALL_EVERY) {
                    inner.wall_at = Some(now);
                    inner.admission.set_wall(now, wall());
                }
                inner.admission.turn(now);
                inner.tell();
                inner.admission.in_flight() > 0 || inner.admission.waiting() > 0
            };
            tokio::time::sleep(if is_busy { TICK } else { IDLE_TICK }).await;
        }
    }
}

impl Inner {
    fn tell(&mut self) {
        while let Some(decision) = self.admission.next_decision() {
            let (ticket, outcome) = match decision {
                Decision::Admitted(ticket) => (ticket, Ok(())),
                Decision::Refused(ticket, refusal) => (ticket, Err(refusal)),
            };
            if let Some(waiter) = self.waiters.remove(&ticket) {
                // Who has left meanwhile gives the place back when dropped.
                let _left = waiter.send(outcome);
            }
        }
    }
}

fn wall() -> Nanos {
    Nanos::from_millis(wall_millis().cast_unsigned())
}

struct Waiting {
    gate: Rc<Gate>,
    ticket: Ticket,
    receiver: oneshot::Receiver<Outcome>,
    is_decided: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_decided {
            self.gate.left(self.ticket);
        }
    }
}

/// The right to be in flight; dropped unended, its client has left.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Rc<Gate>,
    ticket: Ticket,
    is_held: Cell<bool>,
}

impl Permit {
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.get()
    }

    /// Gives it back, once.
    pub(crate) fn end(&self, ended: Ended) {
        if self.is_held.replace(false) {
            self.gate.ended(self.ticket, ended);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.is_held.get() {
            self.gate.left(self.ticket);
        }
    }
}

//! Permits: a request enters when admission says so, and its permit comes back however it ends.

mod entry;
mod holder;
mod waiter;

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_base::clock::{Clock, wall_millis};
use plimsoll_control::admission::{
    Admission, Config, Decision, Ended, Refusal, Request, Rule, Ticket,
};
use plimsoll_control::balance::{Candidate, Health, Reply};
use plimsoll_core::Nanos;
use tokio::sync::oneshot;

use crate::refusal;
pub(crate) use entry::Entry;
pub(crate) use holder::{Holder, Holders};
use waiter::{Outcome, Standing, Waiter};

/// As many as there are reasons to refuse: those of admission, and last that too many go on beside the limit.
pub(crate) const REASONS: usize = Refusal::ALL.len() + 1;
const STREAMS: usize = REASONS - 1;
/// While somebody waits or is in flight, time is passed on so often; else less often.
const TICK: Duration = Duration::from_millis(5);
const IDLE_TICK: Duration = Duration::from_millis(100);
/// How often the wall clock is compared, which guards of one upstream share.
const WALL_EVERY: Nanos = Nanos::from_secs(1);

/// What an upstream says of its load is true for so long.
const REPORTED: Nanos = Nanos::from_secs(2);

/// The permits of one upstream, and whether it is well.
#[derive(Debug)]
pub(crate) struct Gate {
    clock: Clock,
    is_shadow: Cell<bool>,
    inner: RefCell<Inner>,
    health: RefCell<Health>,
    /// Requests that need no permit, or need it no more, and are there.
    beside: Cell<usize>,
    /// How full the upstream says that it is, 0 to 1, and when it said so.
    reported: Cell<Option<(Nanos, f64)>>,
}

#[derive(Debug)]
struct Inner {
    admission: Admission,
    waiters: BTreeMap<Ticket, Waiter>,
    holders: Holders,
    wall_at: Option<Nanos>,
    /// Answered although they would not have been let through, in a trial.
    passed: u64,
    /// By reason: refused, and let through by a trial that would have been. A trial may begin and end while it runs.
    refused: [u64; REASONS],
    spared: [u64; REASONS],
}

impl Gate {
    /// `clock` is that of all gates: moments of one are compared with those of another.
    pub(crate) fn new(clock: Clock, rule: Rule, start: Option<f64>, slow_start: Nanos) -> Rc<Self> {
        let config = Config {
            rule,
            start,
            seed: wall_millis().cast_unsigned(),
            ..Config::default()
        };
        let mut admission = Admission::new(config, clock.now());
        admission.set_wall(clock.now(), wall());
        Rc::new(Self {
            clock,
            is_shadow: Cell::new(false),
            inner: RefCell::new(Inner {
                admission,
                waiters: BTreeMap::new(),
                holders: BTreeMap::new(),
                wall_at: None,
                passed: 0,
                refused: [0; REASONS],
                spared: [0; REASONS],
            }),
            health: RefCell::new(Health::new(slow_start)),
            beside: Cell::new(0),
            reported: Cell::new(None),
        })
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// From now on nobody is refused, or no longer nobody.
    pub(crate) fn set_shadow(&self, is_shadow: bool) {
        self.is_shadow.set(is_shadow);
    }

    pub(crate) fn with_health<T>(&self, then: impl FnOnce(&mut Health, Nanos) -> T) -> T {
        then(&mut self.health.borrow_mut(), self.now())
    }

    pub(crate) fn health(&self) -> RefMut<'_, Health> {
        self.health.borrow_mut()
    }

    /// The upstream said with an answer how full it is, whoever fills it.
    pub(crate) fn report(&self, load: f64) {
        self.reported.set(Some((self.now(), load)));
    }

    /// What it said last, unless that is long ago.
    pub(crate) fn reported(&self) -> Option<f64> {
        let (at, load) = self.reported.get()?;
        (self.now() - at < REPORTED).then_some(load)
    }

    /// As the choice between upstreams sees it, with one more request. Those without a permit count only for their like, which
    /// `stays`, too, so that these are spread: they are no work, and where they are many would keep all of the others away.
    pub(crate) fn candidate(&self, stays: bool) -> Candidate {
        let inner = self.inner.borrow();
        let admission = &inner.admission;
        let ghosts = inner.waiters.len().saturating_sub(admission.waiting());
        let busy = admission.in_flight() as usize + admission.waiting() + ghosts + 1;
        let limit = f64::from(admission.limit());
        // Others may use it, too: it is as full as it says at least.
        let busy = (busy as f64).max(self.reported().unwrap_or(0.0) * limit + 1.0);
        let beside = if stays { self.beside.get() } else { 0 };
        self.with_health(|health, now| Candidate {
            busy: busy + beside as f64,
            room: limit * health.weight(now),
            out: health.out(now),
        })
    }

    /// Why a request is refused at the door; if it is not, nothing has happened.
    pub(crate) fn turns_away(&self, now: Nanos, request: &Request) -> Option<Refusal> {
        if self.is_shadow.get() {
            return None;
        }
        let mut inner = self.inner.borrow_mut();
        let refusal = inner.admission.turns_away(now, request)?;
        inner.refused[refusal as usize] += 1;
        Some(refusal)
    }

    /// Asks for a permit; `holder` says who it is, once there is one.
    pub(crate) fn enter(
        self: &Rc<Self>,
        now: Nanos,
        request: &Request,
        holder: impl FnOnce() -> Holder,
    ) -> Entry<Result<Permit, Refusal>, Waiting> {
        if self.is_shadow.get() {
            return Entry::Decided(Ok(self.pass(now, request, holder())));
        }
        let mut inner = self.inner.borrow_mut();
        let ticket = inner.admission.arrives(now, request);
        // Most are decided at once: nobody has to be woken for it.
        if let Some(outcome) = inner.tell_but(Some(ticket)) {
            return Entry::Decided(outcome.map(|()| {
                inner.holders.insert(ticket, holder());
                self.permit(now, ticket, None)
            }));
        }
        let (sender, receiver) = oneshot::channel();
        inner.waiters.insert(ticket, Waiter::Asks(sender));
        Entry::Waits(Waiting {
            gate: Rc::clone(self),
            ticket,
            receiver,
            is_decided: false,
        })
    }

    /// Lets a request through at once, and notes what would have become of it.
    fn pass(self: &Rc<Self>, now: Nanos, request: &Request, holder: Holder) -> Permit {
        let mut inner = self.inner.borrow_mut();
        let ticket = inner.admission.arrives(now, request);
        let standing = Rc::new(Cell::new(Standing::Waiting));
        let waiter = Waiter::Passed(Rc::clone(&standing));
        inner.waiters.insert(ticket, waiter);
        inner.holders.insert(ticket, holder);
        inner.tell();
        self.permit(now, ticket, Some(standing))
    }

    /// For a request that needs none: what it comes to says how the upstream is, and nothing about the limit. `is_spared` where
    /// only a trial lets it through.
    pub(crate) fn beside(self: &Rc<Self>, is_spared: bool) -> Permit {
        if is_spared {
            self.inner.borrow_mut().spared[STREAMS] += 1;
        }
        self.beside.set(self.beside.get() + 1);
        Permit {
            gate: Rc::clone(self),
            began: self.now(),
            ticket: None,
            is_held: Cell::new(true),
            trial: None,
            is_spared,
            is_beside: Cell::new(true),
        }
    }

    /// There is no room beside the limit.
    pub(crate) fn refuses_beside(&self) {
        self.inner.borrow_mut().refused[STREAMS] += 1;
    }

    fn permit(
        self: &Rc<Self>,
        began: Nanos,
        ticket: Ticket,
        trial: Option<Rc<Cell<Standing>>>,
    ) -> Permit {
        Permit {
            gate: Rc::clone(self),
            began,
            ticket: Some(ticket),
            is_held: Cell::new(true),
            trial,
            is_spared: false,
            is_beside: Cell::new(false),
        }
    }

    fn ended(&self, now: Nanos, ticket: Ticket, ended: Ended) {
        let mut inner = self.inner.borrow_mut();
        inner.holders.remove(&ticket);
        inner.admission.ended(now, ticket, ended);
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
        let mut inner = self.inner.borrow_mut();
        inner.admission.upstream_gave_up(self.now(), age);
    }

    pub(crate) fn look<T>(&self, at: impl FnOnce(&Admission, &Holders) -> T) -> T {
        let inner = self.inner.borrow();
        at(&inner.admission, &inner.holders)
    }

    /// By the place of their reason: those that were refused, and those that a trial let through instead.
    pub(crate) fn refusals(&self) -> ([u64; REASONS], [u64; REASONS]) {
        let inner = self.inner.borrow();
        (inner.refused, inner.spared)
    }

    /// Of those that a trial let through: how many were answered that would have waited, or been refused.
    pub(crate) fn passed(&self) -> u64 {
        self.inner.borrow().passed
    }

    /// Passes the time on, and says after how long that should be done again.
    pub(crate) fn turn(&self) -> Duration {
        let mut inner = self.inner.borrow_mut();
        let now = self.now();
        if inner.wall_at.is_none_or(|at| now - at >= WALL_EVERY) {
            inner.wall_at = Some(now);
            inner.admission.set_wall(now, wall());
        }
        inner.admission.turn(now);
        inner.tell();
        let is_busy = inner.admission.in_flight() > 0 || inner.admission.waiting() > 0;
        if is_busy { TICK } else { IDLE_TICK }
    }
}

impl Inner {
    fn tell(&mut self) {
        self.tell_but(None);
    }

    /// Tells everybody what was decided, but for one ticket, whose outcome is handed back.
    fn tell_but(&mut self, own: Option<Ticket>) -> Option<Outcome> {
        let mut of_own = None;
        while let Some(decision) = self.admission.next_decision() {
            let (ticket, outcome) = match decision {
                Decision::Admitted(ticket) => (ticket, Ok(())),
                Decision::Refused(ticket, refusal) => (ticket, Err(refusal)),
            };
            if own == Some(ticket) {
                if let Err(refusal) = outcome {
                    self.refused[refusal as usize] += 1;
                }
                of_own = Some(outcome);
                continue;
            }
            match self.waiters.remove(&ticket) {
                Some(Waiter::Asks(waiter)) => {
                    if let Err(refusal) = outcome {
                        self.refused[refusal as usize] += 1;
                    }
                    // Who has left meanwhile gives the place back when dropped.
                    let _left = waiter.send(outcome);
                }
                Some(Waiter::Passed(standing)) => {
                    let decided = match outcome {
                        Ok(()) => Standing::Admitted,
                        Err(refusal) => {
                            self.spared[refusal as usize] += 1;
                            Standing::Refused(refusal)
                        }
                    };
                    standing.set(decided);
                }
                None => {}
            }
        }
        of_own
    }
}

fn wall() -> Nanos {
    Nanos::from_millis(wall_millis().cast_unsigned())
}

/// A place in the queue, until it is dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    gate: Rc<Gate>,
    ticket: Ticket,
    receiver: oneshot::Receiver<Outcome>,
    is_decided: bool,
}

impl Waiting {
    /// Waits for the permit; `holder` says who it is then. Dropping the future gives the place back.
    pub(crate) async fn decided(
        mut self,
        holder: impl FnOnce() -> Holder,
    ) -> Result<Permit, Refusal> {
        let outcome = (&mut self.receiver).await;
        self.is_decided = true;
        // A sender is dropped unused only with the gate itself.
        outcome.unwrap_or(Err(Refusal::Full))?;
        let gate = &self.gate;
        let mut inner = gate.inner.borrow_mut();
        inner.holders.insert(self.ticket, holder());
        Ok(gate.permit(gate.now(), self.ticket, None))
    }
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
    began: Nanos,
    /// None: it counts beside the limit.
    ticket: Option<Ticket>,
    is_held: Cell<bool>,
    /// Of a trial: it was let through at once, whatever would have become of it.
    trial: Option<Rc<Cell<Standing>>>,
    /// The same, beside the limit: it is to be counted once it is over.
    is_spared: bool,
    /// Counted among those without a permit.
    is_beside: Cell<bool>,
}

impl Permit {
    /// When it was given.
    pub(crate) fn began(&self) -> Nanos {
        self.began
    }

    /// Whether it keeps somebody else waiting.
    pub(crate) fn is_held(&self) -> bool {
        self.ticket.is_some() && self.is_held.get()
    }

    /// Gives it back, once.
    pub(crate) fn end(&self, ended: Ended) {
        let reply = match ended {
            Ended::Served => Some(Reply::Good),
            Ended::Failed | Ended::Busy => Some(Reply::Poor),
            Ended::Left | Ended::Aside => None,
        };
        self.give_back(ended, reply);
    }

    /// Gives it back, while what it was for goes on.
    pub(crate) fn end_early(&self, ended: Ended) {
        self.end(ended);
        if !self.is_beside.replace(true) {
            self.gate.beside.set(self.gate.beside.get() + 1);
        }
    }

    /// Gives it back: there was no whole answer.
    pub(crate) fn fail(&self, reply: Reply) {
        self.give_back(Ended::Failed, Some(reply));
    }

    fn give_back(&self, ended: Ended, reply: Option<Reply>) {
        if !self.is_held.replace(false) {
            return;
        }
        let now = self.gate.now();
        if let Some(reply) = reply {
            self.gate.health().replied(now, reply);
        }
        let Some(ticket) = self.ticket else {
            return self.passes_beside();
        };
        if !self.leaves_trial(ticket) {
            self.gate.ended(now, ticket, ended);
        }
    }

    /// Whether it was let through by a trial, and had no permit by now.
    fn leaves_trial(&self, ticket: Ticket) -> bool {
        let Some(standing) = self.trial.as_ref().map(|standing| standing.get()) else {
            return false;
        };
        if standing == Standing::Admitted {
            return false;
        }
        let mut inner = self.gate.inner.borrow_mut();
        inner.waiters.remove(&ticket);
        inner.holders.remove(&ticket);
        inner.passed += 1;
        inner.admission.withdrawn(self.gate.now(), ticket);
        inner.tell();
        true
    }

    fn passes_beside(&self) {
        if self.is_spared {
            self.gate.inner.borrow_mut().passed += 1;
        }
    }

    /// Why it would have been refused, if it was let through only for a trial.
    pub(crate) fn would_refuse(&self) -> Option<&'static str> {
        match self.trial.as_ref()?.get() {
            Standing::Refused(refusal) => Some(refusal::word(refusal)),
            Standing::Waiting | Standing::Admitted => None,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let beside = &self.gate.beside;
        if self.is_beside.get() {
            beside.set(beside.get().saturating_sub(1));
        }
        if !self.is_held.replace(false) {
            return;
        }
        match self.ticket {
            None => self.passes_beside(),
            Some(ticket) if self.leaves_trial(ticket) => {}
            Some(ticket) => self.gate.left(ticket),
        }
    }
}

#[cfg(test)]
mod tests;

//! Lets a request in: to an upstream of its group, when that has a permit; and once more to another, if the first failed
//! in a way that cannot have done anything.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_control::admission::{Refusal, Request};
use plimsoll_control::balance::Reply;
use plimsoll_core::Nanos;

use crate::config::Timeouts;
use crate::gate::{Holder, Permit};
use crate::outside::Outside;
use crate::policy::Asked;
use crate::refusal::{self, Answer};
use crate::shared::Server;
use crate::upstreams::Member;

/// The right to send a request to an upstream, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) member: Rc<Member>,
    pub(crate) permit: Permit,
    pub(crate) timeouts: Timeouts,
    pub(crate) began: Nanos,
    /// The answer must be whole by then, also one of another upstream; none if there is no such bound.
    whole_by: Option<Nanos>,
    /// How often it may be sent again.
    attempts_left: u32,
    /// A kept connection may not be what it seems: it was tried.
    is_fresh: bool,
    /// In which way its upstream was reached.
    pub(crate) way: Cell<u64>,
    /// Counted beside the limit from the beginning.
    outside: Option<Outside>,
}

impl Server {
    /// The refusal of a request that needs nothing to be done for it; if there is none, nothing has happened.
    pub(crate) fn turns_away(&self, asked: &Asked) -> Option<Answer> {
        if asked.waits {
            return None;
        }
        let member = asked.group.as_ref()?.only()?;
        let refusal = member.gate.turns_away(&asked.wanted)?;
        Some(self.refused(&member, refusal))
    }

    /// Waits for a permit, at most `until` its client gives up. Dropping the future gives the place back. The error is what the
    /// client is told.
    pub(crate) async fn enter(
        self: &Rc<Self>,
        asked: &Asked,
        until: Option<Nanos>,
    ) -> Result<Seat, Answer> {
        self.enter_but(asked, until, None, None, asked.attempts)
            .await
    }

    /// After a failure that cannot have changed anything: a place at another upstream, or the same if there is no other;
    /// none where that was tried often enough, or where too much is sent again already. What counts beside the limit goes on doing
    /// so: it needs no second place there.
    pub(crate) async fn again(
        self: &Rc<Self>,
        asked: &Asked,
        until: Option<Nanos>,
        failed: &mut Seat,
    ) -> Option<Seat> {
        if failed.attempts_left == 0 || !self.retries.borrow_mut().spend() {
            return None;
        }
        let left = failed.attempts_left - 1;
        let held = failed.outside.take();
        let again = self.enter_but(asked, until, Some(&failed.member), held, left);
        let mut seat = again.await.ok()?;
        seat.whole_by = failed.whole_by;
        seat.member.sent_again.add();
        Some(seat)
    }

    /// A kept connection had been closed, which says nothing about the upstream: the same again over a fresh one. False
    /// where that is not to be.
    pub(crate) fn afresh(&self, seat: &mut Seat) -> bool {
        let granted = seat.attempts_left > 0 && self.retries.borrow_mut().spend();
        if granted {
            seat.attempts_left -= 1;
            seat.is_fresh = true;
            seat.member.sent_again.add();
        }
        granted
    }

    async fn enter_but(
        self: &Rc<Self>,
        asked: &Asked,
        until: Option<Nanos>,
        not: Option<&Rc<Member>>,
        held: Option<Outside>,
        attempts_left: u32,
    ) -> Result<Seat, Answer> {
        let Some(group) = &asked.group else {
            self.counts.no_route.add();
            return Err(refusal::NO_ROUTE);
        };
        let Some(member) = group.choose(asked.waits, not) else {
            return Err(refusal::UNREACHABLE);
        };
        let (permit, outside) = if asked.waits {
            let Some(outside) = held.or_else(|| Outside::enter_or_pass(self)) else {
                member.gate.refuses_beside();
                return Err(refusal::STREAMS);
            };
            let permit = member.gate.beside(outside.is_spared());
            (permit, Some(outside))
        } else {
            (self.permit(asked, until, &member).await?, None)
        };
        Ok(Seat {
            permit,
            timeouts: asked.timeouts,
            began: self.now(),
            whole_by: asked.timeouts.whole.map(|whole| self.now() + of(whole)),
            attempts_left,
            is_fresh: not.is_some(),
            way: Cell::new(0),
            outside,
            member,
        })
    }

    async fn permit(
        &self,
        asked: &Asked,
        until: Option<Nanos>,
        member: &Member,
    ) -> Result<Permit, Answer> {
        let came = self.now();
        let holder = || Holder {
            route: asked.route.clone(),
            client: asked.client,
            tenant: asked.tenant.clone(),
            since: came,
        };
        let wanted = Request {
            deadline: until,
            ..asked.wanted
        };
        let entered = member.gate.enter(&wanted, holder).await;
        entered.map_err(|refused| self.refused(member, refused))
    }

    fn refused(&self, member: &Member, refused: Refusal) -> Answer {
        let backlog = member.gate.look(|admission, _| admission.backlog());
        refusal::refused(refused, backlog, &mut self.rng.borrow_mut())
    }
}

fn of(time: Duration) -> Nanos {
    Nanos::from_secs_f64(time.as_secs_f64())
}

impl Seat {
    /// Whether only a fresh connection will do.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// What is left of the time that the whole may take; none if there is no such bound.
    pub(crate) fn whole_left(&self, now: Nanos) -> Option<Duration> {
        let left = self.whole_by?.0.saturating_sub(now.0);
        Some(Duration::from_nanos(left))
    }

    /// Whether no answer can be whole in time any more.
    pub(crate) fn is_late(&self, now: Nanos) -> bool {
        self.whole_left(now).is_some_and(|left| left.is_zero())
    }

    /// How long connecting may take.
    pub(crate) fn connect_within(&self, now: Nanos) -> Duration {
        let connect = self.timeouts.connect;
        self.whole_left(now)
            .map_or(connect, |left| left.min(connect))
    }

    /// Nobody could connect to it.
    pub(crate) fn unreachable(&self) {
        self.permit.fail(Reply::Unreachable);
    }

    /// There was no whole answer.
    pub(crate) fn broken(&self) {
        self.permit.fail(Reply::Bad);
    }
}

//! Lets a request in: to an upstream of its group, when that has a permit; and once more to another, if the first failed
//! in a way that cannot have done anything.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_control::admission::{Refusal, Request};
use plimsoll_control::balance::Reply;
use plimsoll_core::Nanos;

use crate::config::Timeouts;
use crate::gate::{Entry, Holder, Permit, Waiting};
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

/// Where a request is to go, and what may become of it there.
#[derive(Debug)]
struct Place<'a> {
    asked: &'a Asked,
    came: Nanos,
    member: Rc<Member>,
    attempts_left: u32,
    is_fresh: bool,
}

impl Place<'_> {
    fn holder(&self) -> Holder {
        Holder {
            route: self.asked.route.clone(),
            client: self.asked.client,
            tenant: self.asked.tenant.clone(),
            since: self.came,
        }
    }

    fn seat(self, permit: Permit, outside: Option<Outside>) -> Seat {
        let timeouts = self.asked.timeouts;
        Seat {
            member: self.member,
            timeouts,
            whole_by: timeouts.whole.map(|whole| permit.began() + of(whole)),
            permit,
            attempts_left: self.attempts_left,
            is_fresh: self.is_fresh,
            way: Cell::new(0),
            outside,
        }
    }
}

/// A place in the queue of an upstream, until it is dropped.
#[derive(Debug)]
pub(crate) struct Queued<'a> {
    place: Place<'a>,
    waiting: Waiting,
}

impl Queued<'_> {
    /// Waits for a permit. The error is what the client is told.
    pub(crate) async fn decided(self, server: &Server) -> Result<Seat, Answer> {
        let Self { place, waiting } = self;
        match waiting.decided(|| place.holder()).await {
            Ok(permit) => Ok(place.seat(permit, None)),
            Err(refused) => Err(server.refused(&place.member, refused)),
        }
    }
}

/// A seat or a refusal at once, or a place in a queue.
pub(crate) type Entered<'a> = Entry<Result<Seat, Answer>, Queued<'a>>;

impl Server {
    /// The refusal of a request that needs nothing to be done for it; if there is none, nothing has happened.
    pub(crate) fn turns_away(&self, now: Nanos, asked: &Asked) -> Option<Answer> {
        if asked.waits {
            return None;
        }
        let member = asked.group.as_ref()?.only()?;
        let refusal = member.gate.turns_away(now, &asked.wanted)?;
        Some(self.refused(&member, refusal))
    }

    /// Asks for a permit, which is waited for at most `until` its client gives up. The error is what the client is told.
    pub(crate) fn enter<'a>(
        self: &Rc<Self>,
        now: Nanos,
        asked: &'a Asked,
        until: Option<Nanos>,
    ) -> Entered<'a> {
        let Some(group) = &asked.group else {
            self.counts.no_route.add();
            return Entry::Decided(Err(refusal::NO_ROUTE));
        };
        let Some(member) = group.choose(asked.stays, None) else {
            return Entry::Decided(Err(refusal::UNREACHABLE));
        };
        let place = Place {
            asked,
            came: now,
            member,
            attempts_left: asked.attempts,
            is_fresh: false,
        };
        self.enter_at(place, until, None)
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
        let place = Place {
            asked,
            came: self.now(),
            member: asked
                .group
                .as_ref()?
                .choose(asked.stays, Some(&failed.member))?,
            attempts_left: left,
            is_fresh: true,
        };
        let entered = match self.enter_at(place, until, failed.outside.take()) {
            Entry::Decided(entered) => entered,
            Entry::Waits(queued) => queued.decided(self).await,
        };
        let mut seat = entered.ok()?;
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

    /// `held`: what counts beside the limit already.
    fn enter_at<'a>(
        self: &Rc<Self>,
        place: Place<'a>,
        until: Option<Nanos>,
        held: Option<Outside>,
    ) -> Entered<'a> {
        let gate = &place.member.gate;
        if place.asked.waits {
            let is_counted = held.is_some();
            let Some(outside) = held.or_else(|| Outside::enter_or_pass(self)) else {
                gate.refuses_beside();
                return Entry::Decided(Err(refusal::STREAMS));
            };
            let permit = gate.beside(outside.is_spared() && !is_counted);
            return Entry::Decided(Ok(place.seat(permit, Some(outside))));
        }
        let wanted = Request {
            deadline: until,
            ..place.asked.wanted
        };
        match gate.enter(place.came, &wanted, || place.holder()) {
            Entry::Decided(Ok(permit)) => Entry::Decided(Ok(place.seat(permit, None))),
            Entry::Decided(Err(refused)) => {
                Entry::Decided(Err(self.refused(&place.member, refused)))
            }
            Entry::Waits(waiting) => Entry::Waits(Queued { place, waiting }),
        }
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
    pub(crate) fn whole_left(&self, server: &Server) -> Option<Duration> {
        let left = self.whole_by?.0.saturating_sub(server.now().0);
        Some(Duration::from_nanos(left))
    }

    /// Whether no answer can be whole in time any more.
    pub(crate) fn is_late(&self, server: &Server) -> bool {
        self.whole_left(server).is_some_and(|left| left.is_zero())
    }

    /// How long connecting may take.
    pub(crate) fn connect_within(&self, server: &Server) -> Duration {
        let connect = self.timeouts.connect;
        self.whole_left(server)
            .map_or(connect, |left| left.min(connect))
    }

    /// Why it would have been refused, if it was let through only for a trial.
    pub(crate) fn would_refuse(&self) -> Option<&'static str> {
        let outside = self.outside.as_ref();
        let spared = outside.filter(|outside| outside.is_spared());
        let beside = spared.map(|_| refusal::STREAMS.reason);
        beside.or_else(|| self.permit.would_refuse())
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

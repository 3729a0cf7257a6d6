//! The connections of one worker, of HTTP/1.1 and HTTP/2: opened, given calls, swept, closed.
//!
//! Each has an owner and an origin, and carries calls of both only. Whatever becomes of a call or a connection is
//! [`PoolEvent`], which the worker's users take out after every event. A load on one URL has one owner and one origin; the
//! virtual users of a script are owners, and the hosts that they call are origins.

mod again;
mod call;
mod http1;
mod http2;
mod link;
mod streams;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::os::fd::AsFd;

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::{Poll, Ready};
use plimsoll_base::slab::Slab;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::h2::{self, Event};
use plimsoll_net::{Connection, Opening};
use plimsoll_net::{Failure, SCRATCH_BYTES, Setup};

pub(crate) use call::{Call, CallEnd, Ended, Phase, PoolEvent, TRIES_MAX, is_stale, may_go_on};
use link::{Carrier, Link};
use streams::Streams;

/// Which protocol a new connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    /// The server chooses.
    Negotiated,
}

/// Where a new connection leads.
#[derive(Debug)]
pub(crate) struct Route<'a, P> {
    pub(crate) setup: &'a Setup,
    /// An address of this host to connect from.
    pub(crate) local: Option<IpAddr>,
    pub(crate) protocol: Protocol,
    pub(crate) owner: u32,
    pub(crate) origin: u32,
    pub(crate) peer: P,
}

/// Connections to one origin.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OriginCount {
    /// That carry calls or could.
    pub(crate) open: u32,
    /// Places for calls on connections that were opened without one and are not open yet.
    pub(crate) opening: u32,
}

/// What is done with connections between and after calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    /// They take another call after their first.
    pub(crate) reuses: bool,
    /// Most streams at once on one of HTTP/2.
    pub(crate) streams_max: u32,
    /// How long one of HTTP/1.1 that is done with waits for the server to close first, so that the port's `TIME_WAIT`
    /// is the server's, as with real clients; zero closes at once.
    pub(crate) park: Nanos,
    /// How long one that was opened without a call may take to open.
    pub(crate) opening_max: Nanos,
}

#[derive(Debug)]
pub(crate) struct Pool<C: Call> {
    pub(crate) poll: Poll,
    clock: Clock,
    pub(crate) common: C::Common,
    pub(crate) policy: Policy,
    links: Slab<Link<C>>,
    /// By owner, connections that may take a call, the one used last at the end. Some are closed by now.
    idle: Vec<Vec<u64>>,
    /// Origins that were offered HTTP/2 and chose HTTP/1.1: calls to them do not wait for each other's connections.
    of_http1: BTreeSet<u32>,
    /// Connections of HTTP/2 with something to write.
    unflushed: Vec<u64>,
    /// Memory for what happened on one, and for a sweep.
    h2_events: Vec<Event>,
    over: Vec<u64>,
    scratch: Vec<u8>,
    /// By origin.
    origins: Vec<OriginCount>,
    parked: u32,
    /// Requests written and not answered, now and at most since the worker last looked.
    on_wire: u64,
    pub(crate) wire_max: u64,
    pub(crate) events: Vec<PoolEvent<C>>,
}

impl<C: Call> Pool<C> {
    pub(crate) fn new(poll: Poll, clock: Clock, common: C::Common, policy: Policy) -> Self {
        Self {
            poll,
            clock,
            common,
            policy,
            links: Slab::new(),
            idle: Vec::new(),
            of_http1: BTreeSet::new(),
            unflushed: Vec::new(),
            h2_events: Vec::new(),
            over: Vec::new(),
            scratch: vec![0; SCRATCH_BYTES],
            origins: Vec::new(),
            parked: 0,
            on_wire: 0,
            wire_max: 0,
            events: Vec::new(),
        }
    }

    /// Connections that carry calls or could.
    pub(crate) fn open_count(&self) -> u32 {
        self.links.len() as u32 - self.parked
    }

    /// A socket has found its host, though nothing was agreed on over it yet.
    pub(crate) fn has_reached(&self) -> bool {
        self.links.iter().any(|(_, link)| match &link.carrier {
            Carrier::Http1(connection, _) => connection.is_connected(),
            Carrier::Negotiating(Some(opening), _) => opening.is_connected(),
            Carrier::Negotiating(None, _) => true,
            Carrier::Http2(streams) => streams.connection.has_reached(),
        })
    }

    /// Those to one origin, and places for calls on such as are being opened.
    pub(crate) fn count_of(&self, origin: u32) -> OriginCount {
        self.origins
            .get(origin as usize)
            .copied()
            .unwrap_or_default()
    }

    fn count_mut(&mut self, origin: u32) -> &mut OriginCount {
        let place = origin as usize;
        if self.origins.len() <= place {
            self.origins.resize(place + 1, OriginCount::default());
        }
        &mut self.origins[place]
    }

    /// A connection must be closed in time though it carries no call.
    pub(crate) fn needs_sweep(&self) -> bool {
        self.parked > 0 || self.origins.iter().any(|count| count.opening > 0)
    }

    /// The connection of that owner to that origin that was used last, of those that take a call; for [`Self::give`].
    pub(crate) fn take_idle(&mut self, owner: u32, origin: u32) -> Option<u64> {
        let own = self.idle.get_mut(owner as usize)?;
        let mut at = own.len();
        while let Some(before) = at.checked_sub(1) {
            at = before;
            let token = own[at];
            let Some(link) = self.links.get_mut(token) else {
                own.remove(at);
                continue;
            };
            if link.origin != origin {
                continue;
            }
            let has_room = link.has_room(self.policy.streams_max);
            if !has_room || !link.is_multiplexed() {
                // It is listed again when it has room again.
                link.is_listed = false;
                own.remove(at);
            }
            if has_room {
                return Some(token);
            }
        }
        None
    }

    /// The connection may take a call of its owner.
    fn list(&mut self, token: u64) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        if link.is_listed || !link.has_room(self.policy.streams_max) {
            return;
        }
        link.is_listed = true;
        let owner = link.owner as usize;
        if self.idle.len() <= owner {
            self.idle.resize_with(owner + 1, Vec::new);
        }
        self.idle[owner].push(token);
    }

    /// It has carried calls one after the other, and may be closed by its server any time.
    pub(crate) fn is_kept(&mut self, token: u64) -> bool {
        let link = self.links.get_mut(token);
        link.is_some_and(|link| link.is_used && !link.is_multiplexed())
    }

    /// Ends a connection of [`Self::take_idle`].
    pub(crate) fn close(&mut self, token: u64) {
        self.remove(token);
    }

    /// A connection of [`Self::take_idle`] that gets no call after all.
    pub(crate) fn put_back(&mut self, token: u64) {
        self.list(token);
    }

    /// Puts a call on a connection of [`Self::take_idle`]. Calls over HTTP/2 go out with [`Self::flush`].
    #[inline]
    pub(crate) fn give(&mut self, token: u64, call: C, now: Nanos) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        match &mut link.carrier {
            Carrier::Http1(connection, place) => {
                let sent = place.insert(call).send(&self.common, connection, now);
                self.sent(token, sent.is_ok());
            }
            Carrier::Negotiating(_, waiting) => waiting.push(call),
            Carrier::Http2(_) => self.start_stream(token, call, now),
        }
    }

    /// Opens a connection, for this call or for whatever comes. If that fails, the call is given back.
    pub(crate) fn open(
        &mut self,
        route: Route<'_, C::Peer>,
        mut call: Option<C>,
        now: Nanos,
    ) -> Result<(), (Failure, Option<C>)> {
        let carrier = match self.begin(&route) {
            Ok(carrier) => carrier,
            Err(failure) => return Err((failure, call)),
        };
        if let Some(call) = &mut call {
            call.note(Phase::Opened, now);
        }
        let places = match (&call, route.protocol) {
            (Some(_), _) => 0,
            (None, Protocol::Http2) => self.policy.streams_max,
            (None, _) => 1,
        };
        let count = self.count_mut(route.origin);
        count.opening += places;
        count.open += 1;
        let is_for_others = route.protocol == Protocol::Negotiated
            && self.policy.reuses
            && !self.of_http1.contains(&route.origin);
        let mut link = Link::new(carrier, route.owner, route.origin, route.peer);
        link.places = places;
        link.closes = (places > 0).then(|| now + self.policy.opening_max);
        match (&mut link.carrier, call) {
            (Carrier::Http1(_, place), call) => *place = call,
            (Carrier::Negotiating(_, waiting), Some(call)) => waiting.push(call),
            _ => {}
        }
        let token = self.links.insert(link);
        if is_for_others {
            self.list(token);
        }
        Ok(())
    }

    fn begin(&self, route: &Route<'_, C::Peer>) -> Result<Carrier<C>, Failure> {
        let (local, setup) = (route.local, route.setup);
        Ok(match route.protocol {
            Protocol::Http1 => {
                let connection = Connection::open(local, setup)?;
                self.register(&connection)?;
                Carrier::Http1(connection, None)
            }
            Protocol::Http2 => {
                let connection = h2::Connection::open(local, setup)?;
                self.register(&connection)?;
                Carrier::Http2(Box::new(Streams::new(connection, self.clock.now())))
            }
            Protocol::Negotiated => {
                let opening = Opening::open(local, setup)?;
                self.register(&opening)?;
                Carrier::Negotiating(Some(Box::new(opening)), Vec::new())
            }
        })
    }

    /// Watches the socket of the connection that will be inserted next.
    fn register(&self, socket: &impl AsFd) -> Result<(), Failure> {
        let added = self.poll.add(socket, self.links.next_token());
        added.map_err(|error| {
            let reason = format!("cannot watch the socket: {error}");
            Failure::new(Outcome::Dropped, reason)
        })
    }

    /// A socket is ready.
    #[inline]
    pub(crate) fn on_ready(&mut self, ready: Ready) {
        let (token, hung_up) = (ready.token, ready.hung_up);
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        if link.is_parked {
            if hung_up {
                self.remove(token);
            }
            return;
        }
        match link.carrier {
            Carrier::Http1(..) => self.http1_ready(token, hung_up),
            Carrier::Http2(_) => self.http2_ready(token, hung_up),
            Carrier::Negotiating(..) => self.negotiation_ready(token, hung_up),
        }
    }

    /// One more request is on the wire.
    #[inline]
    fn note_sent(&mut self) {
        self.on_wire += 1;
        self.wire_max = self.wire_max.max(self.on_wire);
    }

    #[inline]
    fn end(&mut self, ended: Ended<C>) {
        self.on_wire -= u64::from(ended.call.is_sent());
        self.events.push(PoolEvent::Ended(ended));
    }

    /// The connection that was opened without a call is open, or will never be.
    fn settle_opening(&mut self, token: u64) -> u32 {
        let Some(link) = self.links.get_mut(token).filter(|link| link.places > 0) else {
            return 0;
        };
        link.closes = None;
        let places = std::mem::take(&mut link.places);
        let origin = link.origin;
        self.count_mut(origin).opening -= places;
        places
    }

    /// A connection that was opened without a call takes some.
    fn tell_idle(&mut self, token: u64, at: Nanos) {
        if let Some(link) = self.links.get_mut(token) {
            let origin = link.origin;
            self.events.push(PoolEvent::Idle { origin, at });
        }
    }

    /// The connection failed, and with it the calls on it.
    fn fail(&mut self, token: u64, failure: &Failure, now: Nanos) {
        let places = self.settle_opening(token);
        let Some(mut link) = self.take(token) else {
            return;
        };
        if places > 0 {
            self.events.push(PoolEvent::Lost {
                origin: link.origin,
                places,
                failure: failure.clone(),
                at: now,
            });
        } else if link.was_in_vain() {
            let (origin, at) = (link.origin, now);
            self.events.push(PoolEvent::Left { origin, at });
        }
        for call in link.take_calls() {
            let ended = link.ended(call, CallEnd::Failed(failure.clone()), now);
            self.end(ended);
        }
    }

    /// Ends calls and connections whose time is over; [`Self::flush`] follows.
    pub(crate) fn sweep(&mut self, now: Nanos) {
        let mut over = std::mem::take(&mut self.over);
        let common = &self.common;
        let late = |(token, link): (u64, &Link<C>)| {
            let is_late = |call: &C| call.deadline(common) <= now;
            (link.is_spent(now) || link.has_call(is_late)).then_some(token)
        };
        over.extend(self.links.iter().filter_map(late));
        for token in over.drain(..) {
            self.end_calls(
                token,
                now,
                |call, common| call.deadline(common) <= now,
                false,
            );
        }
        self.over = over;
    }

    /// Ends the calls of an owner that nobody waits for any more; [`Self::flush`] follows.
    pub(crate) fn cancel(&mut self, owner: u32, now: Nanos) {
        let own = |(token, link): (u64, &Link<C>)| (link.owner == owner).then_some(token);
        let own: Vec<u64> = self.links.iter().filter_map(own).collect();
        for token in own {
            self.end_calls(token, now, |_, _| true, true);
        }
    }

    /// Ends calls of a connection before their answers; without other calls the connection ends too, unless it is one
    /// of HTTP/2.
    fn end_calls(
        &mut self,
        token: u64,
        now: Nanos,
        fits: impl Fn(&C, &C::Common) -> bool,
        is_cancelled: bool,
    ) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        if link.is_spent(now) {
            return self.remove(token);
        }
        let common = &self.common;
        let calls = link.cancel_calls(|call| fits(call, common));
        let was_connected = link.is_connected();
        let is_over = link.is_over();
        let ended: Vec<_> = calls
            .into_iter()
            .map(|call| {
                let end = if is_cancelled {
                    CallEnd::Cancelled
                } else {
                    CallEnd::TimedOut { was_connected }
                };
                link.ended(call, end, now)
            })
            .collect();
        if ended.is_empty() {
            return;
        }
        if is_over {
            self.remove(token);
        } else {
            self.mark(token);
            self.list(token);
        }
        for ended in ended {
            self.end(ended);
        }
    }

    /// Closes the connections of an owner; one that is in use ends with its last call.
    pub(crate) fn close_idle(&mut self, owner: u32) {
        let Some(idle) = self.idle.get_mut(owner as usize) else {
            return;
        };
        for token in std::mem::take(idle) {
            let Some(link) = self.links.get_mut(token) else {
                continue;
            };
            link.is_listed = false;
            if link.retire() {
                self.remove(token);
            }
        }
    }

    /// Waits for the server to close a connection that takes no further call, or closes it at once.
    fn park(&mut self, token: u64, hung_up: bool, now: Nanos) {
        if hung_up || self.policy.park == Nanos::ZERO {
            return self.remove(token);
        }
        if let Some(link) = self.links.get_mut(token) {
            link.is_parked = true;
            link.closes = Some(now + self.policy.park);
            let origin = link.origin;
            self.parked += 1;
            self.count_mut(origin).open -= 1;
        }
    }

    fn remove(&mut self, token: u64) {
        self.settle_opening(token);
        drop(self.take(token));
    }

    fn take(&mut self, token: u64) -> Option<Link<C>> {
        let link = self.links.remove(token)?;
        if link.is_parked {
            self.parked -= 1;
        } else {
            self.count_mut(link.origin).open -= 1;
        }
        Some(link)
    }
}

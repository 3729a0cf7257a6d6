//! A connection of the pool, by the protocol that it speaks, and the calls on it.

use std::os::fd::{AsFd as _, BorrowedFd};

use plimsoll_core::Nanos;
use plimsoll_net::{Connection, Opening};

use super::call::{Call, CallEnd, Ended};
use super::streams::Streams;

/// A connection and what it carries.
#[derive(Debug)]
pub(super) struct Link<C: Call> {
    pub(super) carrier: Carrier<C>,
    pub(super) owner: u32,
    pub(super) origin: u32,
    pub(super) peer: C::Peer,
    /// Of one that was opened without a call, until it is open: calls that it will take.
    pub(super) places: u32,
    /// When it is closed if it is not open by then, or was parked until then.
    pub(super) closes: Option<Nanos>,
    pub(super) is_parked: bool,
    /// It has carried a call before those at hand.
    pub(super) is_used: bool,
    pub(super) is_listed: bool,
}

#[derive(Debug)]
pub(super) enum Carrier<C: Call> {
    /// One call at a time.
    Http1(Connection, Option<C>),
    /// The server has not chosen a protocol yet: calls wait, the first of them since the connection was begun.
    Negotiating(Option<Box<Opening>>, Vec<C>),
    /// Many calls at once.
    Http2(Box<Streams<C>>),
}

impl<C: Call> Link<C> {
    pub(super) fn new(carrier: Carrier<C>, owner: u32, origin: u32, peer: C::Peer) -> Self {
        Self {
            carrier,
            owner,
            origin,
            peer,
            places: 0,
            closes: None,
            is_parked: false,
            is_used: false,
            is_listed: false,
        }
    }

    /// Whether it takes one more call.
    #[inline]
    pub(super) fn has_room(&self, streams_max: u32) -> bool {
        match &self.carrier {
            Carrier::Http1(_, call) => call.is_none() && self.places == 0 && !self.is_parked,
            Carrier::Negotiating(..) => true,
            Carrier::Http2(streams) => self.places == 0 && streams.has_room(streams_max),
        }
    }

    pub(super) fn socket(&self) -> Option<BorrowedFd<'_>> {
        match &self.carrier {
            Carrier::Http1(connection, _) => Some(connection.as_fd()),
            Carrier::Negotiating(opening, _) => opening.as_ref().map(|opening| opening.as_fd()),
            Carrier::Http2(streams) => Some(streams.connection.as_fd()),
        }
    }

    /// Whether it takes calls while it has some.
    pub(super) fn is_multiplexed(&self) -> bool {
        !matches!(self.carrier, Carrier::Http1(..))
    }

    /// Requests can be exchanged.
    pub(super) fn is_connected(&self) -> bool {
        match &self.carrier {
            Carrier::Http1(connection, _) => connection.is_open(),
            Carrier::Negotiating(..) => false,
            Carrier::Http2(_) => true,
        }
    }

    /// It carries no call, and its time is over.
    pub(super) fn is_spent(&self, now: Nanos) -> bool {
        self.closes.is_some_and(|closes| closes <= now)
    }

    pub(super) fn has_call(&self, fits: impl Fn(&C) -> bool) -> bool {
        match &self.carrier {
            Carrier::Http1(_, call) => call.as_ref().is_some_and(fits),
            Carrier::Negotiating(_, waiting) => waiting.iter().any(fits),
            Carrier::Http2(streams) => streams.has_call(fits),
        }
    }

    /// After calls were given up: nothing more can come of it.
    pub(super) fn is_over(&self) -> bool {
        match &self.carrier {
            // An answer may still come, and nobody would know whose it is.
            Carrier::Http1(..) => true,
            Carrier::Negotiating(_, waiting) => waiting.is_empty(),
            Carrier::Http2(streams) => streams.is_over(),
        }
    }

    /// It came so far that it took calls, and never got one.
    pub(super) fn was_in_vain(&self) -> bool {
        matches!(&self.carrier, Carrier::Http2(streams) if streams.is_unused())
    }

    /// It takes no further call; true if it has none.
    pub(super) fn retire(&mut self) -> bool {
        match &mut self.carrier {
            Carrier::Http1(_, call) => call.is_none(),
            Carrier::Negotiating(_, waiting) => waiting.is_empty(),
            Carrier::Http2(streams) => {
                streams.is_retired = true;
                streams.is_over()
            }
        }
    }

    /// Takes out all calls of a connection that is over.
    pub(super) fn take_calls(&mut self) -> Vec<C> {
        match &mut self.carrier {
            Carrier::Http1(_, call) => call.take().into_iter().collect(),
            Carrier::Negotiating(_, waiting) => std::mem::take(waiting),
            Carrier::Http2(streams) => streams.take_calls(),
        }
    }

    /// Takes out the calls that fit, of a connection that may go on.
    pub(super) fn cancel_calls(&mut self, fits: impl Fn(&C) -> bool) -> Vec<C> {
        match &mut self.carrier {
            Carrier::Http1(_, call) => call.take_if(|one| fits(one)).into_iter().collect(),
            Carrier::Negotiating(_, waiting) => waiting.extract_if(.., |one| fits(one)).collect(),
            Carrier::Http2(streams) => streams.cancel(fits),
        }
    }

    #[inline]
    pub(super) fn ended(&self, call: C, end: CallEnd, at: Nanos) -> Ended<C> {
        Ended {
            call,
            end,
            peer: self.peer.clone(),
            was_used: self.is_used,
            over_http2: matches!(self.carrier, Carrier::Http2(_)),
            at,
        }
    }
}

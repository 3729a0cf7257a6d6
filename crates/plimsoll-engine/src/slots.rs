//! What carries attempts on one worker: a slab with generations, a stack of idle ones, counts by state.

use plimsoll_core::Nanos;
use plimsoll_net::Connection;
use plimsoll_net::slab::Slab;

use crate::arrival::Attempt;

#[derive(Debug)]
pub(crate) enum State {
    /// Connecting or in the TLS handshake since.
    Opening(Nanos),
    Idle,
    Busy(Attempt),
    /// Answered with `Connection: close`: waits for the peer to close first, so that the port's
    /// `TIME_WAIT` is the server's, as with real clients; until this instant.
    Parked(Nanos),
}

/// What takes the requests of a slot.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// HTTP/1.1: a connection of its own.
    Own(Connection),
    /// HTTP/2: one place among the streams of a connection, with the stream that runs in it.
    Shared { connection: u64, stream: u32 },
}

#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) carrier: Carrier,
    pub(crate) state: State,
}

/// Identifies a slot across reuse of its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u64);

#[derive(Debug, Default)]
pub(crate) struct Slots {
    slab: Slab<Slot>,
    idle: Vec<Token>,
    opening: u32,
    busy: u32,
    parked: u32,
}

impl Slots {
    /// The token the next [`Self::insert`] will use: needed to register the socket first.
    pub(crate) fn next_token(&self) -> Token {
        Token(self.slab.next_token())
    }

    pub(crate) fn insert(&mut self, carrier: Carrier, now: Nanos) -> Token {
        self.opening += 1;
        let state = State::Opening(now);
        Token(self.slab.insert(Slot { carrier, state }))
    }

    #[inline]
    pub(crate) fn get(&mut self, token: Token) -> Option<&mut Slot> {
        self.slab.get_mut(token.0)
    }

    /// Changes the state and keeps the counts.
    #[inline]
    pub(crate) fn set(&mut self, token: Token, state: State) {
        let Some(slot) = self.slab.get_mut(token.0) else {
            return;
        };
        match &state {
            State::Opening(_) => self.opening += 1,
            State::Busy(_) => self.busy += 1,
            State::Parked(_) => self.parked += 1,
            State::Idle => self.idle.push(token),
        }
        let old = std::mem::replace(&mut slot.state, state);
        self.discount(&old);
    }

    fn discount(&mut self, state: &State) {
        let count = match state {
            State::Opening(_) => &mut self.opening,
            State::Busy(_) => &mut self.busy,
            State::Parked(_) => &mut self.parked,
            State::Idle => return,
        };
        *count = count.saturating_sub(1);
    }

    /// The most recently used idle slot; stale entries of the stack are skipped.
    pub(crate) fn pop_idle(&mut self) -> Option<Token> {
        while let Some(token) = self.idle.pop() {
            if self
                .get(token)
                .is_some_and(|slot| matches!(slot.state, State::Idle))
            {
                return Some(token);
            }
        }
        None
    }

    /// Closes a connection of its own, and frees the place.
    pub(crate) fn remove(&mut self, token: Token) -> Option<Slot> {
        let slot = self.slab.remove(token.0)?;
        self.discount(&slot.state);
        Some(slot)
    }

    pub(crate) fn opening(&self) -> u32 {
        self.opening
    }

    pub(crate) fn busy(&self) -> u32 {
        self.busy
    }

    /// Slots that serve or could serve requests.
    pub(crate) fn open(&self) -> u32 {
        self.slab.len() as u32 - self.parked
    }

    /// Everything that is there, for the sweep of timeouts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Token, &Slot)> {
        self.slab.iter().map(|(token, slot)| (Token(token), slot))
    }
}

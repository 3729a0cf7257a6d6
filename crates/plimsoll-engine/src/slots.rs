//! The connections of one worker: a slab with generations, a stack of idle ones, counts by state.

use plimsoll_core::Nanos;
use plimsoll_net::Connection;

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

#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) connection: Connection,
    pub(crate) state: State,
}

/// Identifies a connection across reuse of its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u64);

impl Token {
    fn new(index: usize, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | index as u64)
    }

    fn index(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[derive(Debug, Default)]
pub(crate) struct Slots {
    places: Vec<(u32, Option<Slot>)>,
    vacant: Vec<usize>,
    idle: Vec<Token>,
    opening: u32,
    busy: u32,
    parked: u32,
}

impl Slots {
    /// The token the next [`Self::insert`] will use: needed to register the socket first.
    pub(crate) fn next_token(&self) -> Token {
        let index = self.vacant.last().copied().unwrap_or(self.places.len());
        let generation = self.places.get(index).map_or(0, |place| place.0);
        Token::new(index, generation)
    }

    pub(crate) fn insert(&mut self, connection: Connection, now: Nanos) -> Token {
        let token = self.next_token();
        let slot = Slot {
            connection,
            state: State::Opening(now),
        };
        match self.vacant.pop() {
            Some(index) => self.places[index].1 = Some(slot),
            None => self.places.push((0, Some(slot))),
        }
        self.opening += 1;
        token
    }

    #[inline]
    pub(crate) fn get(&mut self, token: Token) -> Option<&mut Slot> {
        let place = self.places.get_mut(token.index())?;
        if place.0 == token.generation() {
            place.1.as_mut()
        } else {
            None
        }
    }

    /// Changes the state and keeps the counts.
    #[inline]
    pub(crate) fn set(&mut self, token: Token, state: State) {
        let Some(slot) = self.get(token) else { return };
        let idle = matches!(state, State::Idle);
        let old = std::mem::replace(&mut slot.state, state);
        self.count(&old, -1);
        let Some(slot) = self.places[token.index()].1.as_ref() else {
            return;
        };
        match &slot.state {
            State::Opening(_) => self.opening += 1,
            State::Busy(_) => self.busy += 1,
            State::Parked(_) => self.parked += 1,
            State::Idle => {}
        }
        if idle {
            self.idle.push(token);
        }
    }

    fn count(&mut self, state: &State, by: i32) {
        let count = match state {
            State::Opening(_) => &mut self.opening,
            State::Busy(_) => &mut self.busy,
            State::Parked(_) => &mut self.parked,
            State::Idle => return,
        };
        *count = count.saturating_add_signed(by);
    }

    /// The most recently used idle connection; stale entries of the stack are skipped.
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

    /// Closes the connection and frees its place.
    pub(crate) fn remove(&mut self, token: Token) -> Option<Slot> {
        self.get(token)?;
        let place = &mut self.places[token.index()];
        let slot = place.1.take()?;
        place.0 = place.0.wrapping_add(1);
        self.vacant.push(token.index());
        self.count(&slot.state, -1);
        Some(slot)
    }

    pub(crate) fn opening(&self) -> u32 {
        self.opening
    }

    pub(crate) fn busy(&self) -> u32 {
        self.busy
    }

    /// Connections that serve or could serve requests.
    pub(crate) fn open(&self) -> u32 {
        (self.places.len() - self.vacant.len()) as u32 - self.parked
    }

    /// Everything that is there, for the sweep of timeouts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Token, &Slot)> {
        self.places
            .iter()
            .enumerate()
            .filter_map(|(index, (generation, slot))| {
                slot.as_ref()
                    .map(|slot| (Token::new(index, *generation), slot))
            })
    }
}

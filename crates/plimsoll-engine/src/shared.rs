//! Attempts over HTTP/2: many at once on one connection, whose places for streams are slots like any other.

use std::sync::Arc;

use plimsoll_core::Nanos;
use plimsoll_net::Failure;
use plimsoll_net::h2::{Connection, EncodedRequest, Event};
use plimsoll_net::poll::Ready;
use plimsoll_net::slab::Slab;

use crate::arrival::Arrival;
use crate::slots::{Carrier, State, Token};
use crate::worker::Worker;

/// How requests go over HTTP/2.
#[derive(Debug, Clone)]
pub struct Streams {
    pub request: Arc<EncodedRequest>,
    /// On one connection at once, if the server allows so many.
    pub per_connection: u32,
}

/// The connections that slots share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    connections: Slab<One>,
    /// Connections with something to write at the end of this turn.
    unflushed: Vec<u64>,
    /// Memory for what happened on one.
    events: Vec<Event>,
}

#[derive(Debug)]
struct One {
    connection: Connection,
    slots: Vec<Token>,
    /// When it last had something to read.
    heard: Nanos,
    is_unflushed: bool,
}

impl Shared {
    pub(crate) fn open(&self) -> u32 {
        self.connections.len() as u32
    }

    fn mark(&mut self, connection: u64) {
        if let Some(one) = self.connections.get_mut(connection)
            && !one.is_unflushed
        {
            one.is_unflushed = true;
            self.unflushed.push(connection);
        }
    }
}

impl Worker {
    /// Opens a connection with places for as many streams as it may have.
    pub(crate) fn open_shared(&mut self, streams: u32, now: Nanos) -> Result<(), Failure> {
        let connection = Connection::open(&self.options.setup)?;
        let token = self.shared.connections.next_token();
        self.register(&connection, token)?;
        let carrier = || Carrier::Shared {
            connection: token,
            stream: 0,
        };
        let slots = (0..streams).map(|_| self.slots.insert(carrier(), now));
        let one = One {
            connection,
            slots: slots.collect(),
            heard: now,
            is_unflushed: false,
        };
        self.shared.connections.insert(one);
        Ok(())
    }

    /// Puts an attempt on a stream; false if the server takes no further one, and the attempt must go elsewhere.
    pub(crate) fn start_stream(&mut self, token: Token, connection: u64) -> bool {
        let Some(streams) = &self.options.streams else {
            return false;
        };
        let Some(one) = self.shared.connections.get_mut(connection) else {
            return false;
        };
        if one.connection.vacant() == 0 {
            return false;
        }
        let started = one.connection.start(&streams.request, token.0);
        if let Some(slot) = self.slots.get(token)
            && let Carrier::Shared { stream, .. } = &mut slot.carrier
        {
            *stream = started;
        }
        self.shared.mark(connection);
        true
    }

    /// The socket of a shared connection is ready.
    pub(crate) fn on_shared_ready(&mut self, ready: Ready) {
        let Some(one) = self.shared.connections.get_mut(ready.token) else {
            return;
        };
        let mut events = std::mem::take(&mut self.shared.events);
        let result = one
            .connection
            .ready(ready.hung_up, &mut self.scratch, &mut events);
        let now = self.clock.now();
        one.heard = now;
        self.on_events(ready.token, events, now);
        match result {
            Ok(()) => self.close_unused(ready.token),
            Err(failure) => self.close_shared(ready.token, &failure, now),
        }
    }

    /// What happened on a shared connection.
    #[inline]
    fn on_events(&mut self, connection: u64, mut events: Vec<Event>, now: Nanos) {
        for event in events.drain(..) {
            match event {
                Event::Connected => self.opened_shared(connection, now),
                Event::Answered { owner, answer } => {
                    self.on_answer(Token(owner), answer, false, now);
                }
                Event::Failed { owner, failure } => self.fail(Token(owner), &failure, now),
                Event::Unprocessed { owner, .. } => self.put_back(Token(owner), now),
            }
        }
        self.shared.events = events;
    }

    /// The server said how many streams it takes: places beyond that number are given up.
    fn opened_shared(&mut self, token: u64, now: Nanos) {
        let Some(one) = self.shared.connections.get_mut(token) else {
            return;
        };
        let vacant = one.connection.vacant();
        let surplus = one.slots.split_off(vacant.min(one.slots.len()));
        let slots = one.slots.clone();
        for slot in surplus {
            self.slots.remove(slot);
        }
        for slot in slots {
            self.make_idle(slot, now);
        }
        self.open_for_waiting(now);
    }

    /// The server closes and did not look at this request: the attempt goes to another connection, its clock running on.
    fn put_back(&mut self, token: Token, now: Nanos) {
        if let Some(slot) = self.drop_slot(token)
            && let State::Busy(attempt) = slot.state
        {
            self.waiting.push_front(attempt.arrival);
            self.open_for_waiting(now);
        }
    }

    /// Gives a slot up, and takes it off its connection if that is shared.
    pub(crate) fn drop_slot(&mut self, token: Token) -> Option<crate::slots::Slot> {
        let slot = self.slots.remove(token)?;
        if let Carrier::Shared { connection, .. } = slot.carrier {
            if let Some(one) = self.shared.connections.get_mut(connection) {
                one.slots.retain(|kept| *kept != token);
            }
            self.shared.mark(connection);
        }
        Some(slot)
    }

    /// Nobody waits for the stream any more. True if its place can carry another: a connection that said nothing since
    /// the request went out is dead, or as good as that.
    pub(crate) fn cancel_stream(&mut self, (connection, stream): (u64, u32), sent: Nanos) -> bool {
        let Some(one) = self.shared.connections.get_mut(connection) else {
            return false;
        };
        one.connection.cancel(stream);
        let is_alive = one.heard > sent;
        self.shared.mark(connection);
        is_alive
    }

    /// Sends what this turn has to say; closes connections that carry nothing any more.
    pub(crate) fn flush_shared(&mut self) {
        while let Some(token) = self.shared.unflushed.pop() {
            let Some(one) = self.shared.connections.get_mut(token) else {
                continue;
            };
            one.is_unflushed = false;
            if let Err(failure) = one.connection.flush() {
                let mut events = std::mem::take(&mut self.shared.events);
                let scratch = &mut self.scratch;
                let failure = one.connection.read_last(failure, scratch, &mut events);
                let now = self.clock.now();
                self.on_events(token, events, now);
                self.close_shared(token, &failure, now);
                continue;
            }
            self.close_unused(token);
        }
    }

    /// A connection without slots, or one that takes no new stream and has none, is closed.
    fn close_unused(&mut self, token: u64) {
        let Some(one) = self.shared.connections.get_mut(token) else {
            return;
        };
        let is_over = one.connection.is_leaving() && one.connection.running() == 0;
        if (is_over || one.slots.is_empty())
            && let Some(one) = self.shared.connections.remove(token)
        {
            for slot in one.slots {
                self.slots.remove(slot);
            }
        }
    }

    /// The connection failed, and with it every attempt on it, or as many as waited for it.
    fn close_shared(&mut self, token: u64, failure: &Failure, now: Nanos) {
        if let Some(one) = self.shared.connections.remove(token) {
            for slot in one.slots {
                self.fail_one(slot, failure, now);
            }
        }
        self.open_for_waiting(now);
    }

    /// The server takes no further stream on this connection after all: the attempt waits for another.
    pub(crate) fn send_elsewhere(&mut self, token: Token, arrival: Arrival, now: Nanos) {
        self.recorder.sent -= 1;
        self.drop_slot(token);
        self.waiting.push_front(arrival);
        self.open_for_waiting(now);
    }
}

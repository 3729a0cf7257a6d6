//! Calls over HTTP/2: many share a connection, each on a stream of its own.

use plimsoll_core::Nanos;
use plimsoll_net::Opened;
use plimsoll_net::h2::{self, Event};

use super::Pool;
use super::call::{Call, CallEnd, Phase, PoolEvent};
use super::link::Carrier;
use super::streams::{Arriving, Streams};

impl<C: Call> Pool<C> {
    /// Puts a call on a stream of this connection.
    #[inline]
    pub(super) fn start_stream(&mut self, token: u64, call: C, now: Nanos) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        if call.is_only_for_http1() {
            let ended = link.ended(call, CallEnd::Unfit, now);
            self.end(ended);
            return self.close_unused(token);
        }
        if let Carrier::Http2(streams) = &mut link.carrier {
            streams.start(call, &self.common, now);
            streams.is_retired |= !self.policy.reuses;
            self.note_sent();
        }
        self.mark(token);
    }

    /// The connection has something to write, if it is one of HTTP/2.
    #[inline]
    pub(super) fn mark(&mut self, token: u64) {
        if let Some(streams) = self.streams(token)
            && !streams.is_unflushed
        {
            streams.is_unflushed = true;
            self.unflushed.push(token);
        }
    }

    #[inline]
    fn streams(&mut self, token: u64) -> Option<&mut Streams<C>> {
        match &mut self.links.get_mut(token)?.carrier {
            Carrier::Http2(streams) => Some(streams),
            _ => None,
        }
    }

    /// Sends what connections of HTTP/2 have to say; false if there was nothing. What comes of it may have to be sent too.
    pub(crate) fn flush(&mut self) -> bool {
        let clock = self.clock;
        let had_some = !self.unflushed.is_empty();
        while let Some(token) = self.unflushed.pop() {
            let Some(streams) = self.streams(token) else {
                continue;
            };
            streams.is_unflushed = false;
            let flushed = streams.connection.flush();
            let now = clock.now();
            match flushed {
                Ok(()) => {
                    streams.note_written(now);
                    self.close_unused(token);
                }
                Err(failure) => {
                    // What the server said before it went: most of all which calls it did not look at.
                    let failed = self.read_http2(token, |connection, scratch, sink| {
                        connection.read_last(failure, scratch, sink)
                    });
                    if let Some(failure) = failed {
                        self.fail(token, &failure, now);
                    }
                }
            }
        }
        had_some
    }

    /// A connection whose server has not chosen a protocol has news.
    pub(super) fn negotiation_ready(&mut self, token: u64, hung_up: bool) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        let Carrier::Negotiating(opening, waiting) = &mut link.carrier else {
            return;
        };
        let Some(opening) = opening else {
            return;
        };
        let ready = opening.ready(hung_up, &mut self.scratch);
        let has_more = opening.has_more();
        let now = self.clock.now();
        for call in waiting {
            if opening.is_connected() {
                call.note(Phase::Connected, now);
            }
            if ready == Ok(true) {
                call.note(Phase::Secured, now);
            }
        }
        match ready {
            Ok(false) => {}
            Ok(true) => {
                self.negotiated(token, now);
                if hung_up {
                    // The close came with the end of the handshake, and no event of its own will tell.
                    self.http2_ready(token, hung_up);
                }
            }
            Err(failure) => self.fail(token, &failure, now),
        }
        if has_more {
            self.go_on_later(token);
        }
    }

    /// The server has chosen: what waited goes out, as far as it may.
    fn negotiated(&mut self, token: u64, now: Nanos) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        let Carrier::Negotiating(opening, waiting) = &mut link.carrier else {
            return;
        };
        let Some(opening) = opening.take() else {
            return;
        };
        let mut waiting = std::mem::take(waiting).into_iter();
        C::shake_hands(&mut link.peer, opening.agreed());
        match opening.finish(&mut Vec::new()) {
            Opened::Http1(connection) => {
                self.of_http1.insert(link.origin);
                link.carrier = Carrier::Http1(connection, waiting.next());
            }
            Opened::Http2(connection) => {
                self.of_http1.remove(&link.origin);
                // One goes in any case: a server that allows none would otherwise be connected to for ever.
                let first = connection.vacant().max(1);
                link.carrier = Carrier::Http2(Box::new(Streams::new(*connection, now)));
                if self.policy.reuses {
                    self.list(token);
                }
                self.mark(token);
                for call in waiting.by_ref().take(first) {
                    self.start_stream(token, call, now);
                }
            }
        }
        for call in waiting {
            self.turn_away(token, call, now);
        }
        // The first, of HTTP/1.1. Before the others are told, a failure would take their connection from under them.
        self.send(token, now);
    }

    /// The connection takes fewer calls than wait for it.
    fn turn_away(&mut self, token: u64, call: C, now: Nanos) {
        if let Some(link) = self.links.get_mut(token) {
            let ended = link.ended(call, CallEnd::NotTaken, now);
            self.end(ended);
        }
    }

    /// A connection of HTTP/2 has news.
    pub(super) fn http2_ready(&mut self, token: u64, hung_up: bool) {
        let read = self.read_http2(token, |connection, scratch, sink| {
            let read = connection.ready(hung_up, scratch, sink);
            read.map(|()| connection.has_more())
        });
        match read {
            None => {}
            Some(Ok(has_more)) => {
                if has_more {
                    self.go_on_later(token);
                }
                if self.policy.reuses {
                    // The server may allow streams again after it allowed none.
                    self.list(token);
                }
                self.close_unused(token);
            }
            Some(Err(failure)) => {
                let now = self.clock.now();
                self.fail(token, &failure, now);
            }
        }
    }

    /// Lets `read` take what a connection of HTTP/2 has to say, and does what follows from it.
    fn read_http2<R>(
        &mut self,
        token: u64,
        read: impl FnOnce(&mut h2::Connection<C::Body>, &mut [u8], &mut Arriving<'_, C>) -> R,
    ) -> Option<R> {
        let Carrier::Http2(streams) = &mut self.links.get_mut(token)?.carrier else {
            return None;
        };
        let (mut events, scratch) = (std::mem::take(&mut self.h2_events), &mut self.scratch);
        let (result, now) = streams.read(self.clock, &mut events, |connection, sink| {
            read(connection, scratch, sink)
        });
        for event in events.drain(..) {
            match event {
                Event::Connected => self.http2_connected(token, now),
                Event::Answered { owner, answer } => {
                    self.stream_ended(token, owner, CallEnd::Answered(answer), now);
                }
                Event::Failed { owner, failure } => {
                    self.stream_ended(token, owner, CallEnd::Failed(failure), now);
                }
                Event::Unprocessed { owner, failure } => {
                    self.stream_ended(token, owner, CallEnd::Unprocessed(failure), now);
                }
            }
        }
        self.h2_events = events;
        Some(result)
    }

    /// The server has said how many streams it takes.
    fn http2_connected(&mut self, token: u64, now: Nanos) {
        if self.settle_opening(token) > 0 {
            self.list(token);
            self.tell_idle(token, now);
        }
    }

    #[inline]
    fn stream_ended(&mut self, token: u64, owner: u64, end: CallEnd, now: Nanos) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        let Carrier::Http2(streams) = &mut link.carrier else {
            return;
        };
        let Some(call) = streams.take(owner) else {
            return;
        };
        let was_answered = matches!(end, CallEnd::Answered(_));
        let ended = link.ended(call, end, now);
        link.is_used |= was_answered;
        if self.policy.reuses {
            self.list(token);
        }
        self.end(ended);
    }

    /// A connection that takes no further call and has none is closed.
    fn close_unused(&mut self, token: u64) {
        let Some(streams) = self.streams(token).filter(|streams| streams.is_over()) else {
            return;
        };
        let was_left = streams.is_unused() && streams.connection.is_leaving();
        if let Some(link) = self.links.get_mut(token).filter(|_| was_left) {
            let (origin, at) = (link.origin, self.clock.now());
            self.events.push(PoolEvent::Left { origin, at });
        }
        self.remove(token);
    }
}

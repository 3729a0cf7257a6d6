//! HTTP/2 for virtual users: the calls of one share a connection per origin, each on a stream of its own.

use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Opened;
use plimsoll_net::connection::Failure;
use plimsoll_net::h1::Answer;
use plimsoll_net::h2::{self, Ask, Event, Said};

use super::super::exchange::{Exchange, error_of};
use super::link::{Calls, Carrier, Link, tls_info};
use super::{Client, TRIES_MAX};

/// The server did not look at a request.
const REFUSED: Option<Said> = Some(Said::Reset(h2::REFUSED_STREAM));

/// A connection with many calls on it.
#[derive(Debug)]
pub(super) struct Shared {
    connection: h2::Connection<Rc<[u8]>>,
    /// In order of their owners, which count up.
    streams: Vec<Streaming>,
    next_owner: u64,
    /// When it last had something to read.
    heard: Nanos,
    /// It was asked whether it is there, after having been heard last at this time.
    asked: Option<Nanos>,
    is_unflushed: bool,
    /// It takes no further call, and ends with its last.
    is_retired: bool,
}

#[derive(Debug)]
struct Streaming {
    owner: u64,
    stream: u32,
    exchange: Box<Exchange>,
}

impl Shared {
    fn new(connection: h2::Connection<Rc<[u8]>>, is_retired: bool, now: Nanos) -> Self {
        Self {
            connection,
            streams: Vec::new(),
            next_owner: 0,
            heard: now,
            asked: None,
            is_unflushed: false,
            is_retired,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        !self.is_retired && self.connection.vacant() > 0
    }

    /// Nothing runs on it and nothing will.
    pub(super) fn is_over(&self) -> bool {
        self.streams.is_empty() && (self.is_retired || self.connection.is_leaving())
    }

    /// It takes no further call.
    pub(super) fn retire(&mut self) {
        self.is_retired = true;
    }

    fn start(&mut self, mut exchange: Box<Exchange>, user_agent: &str, now: Nanos) {
        exchange.moments.sent = Some(now);
        let body = exchange.encode_http2(user_agent);
        self.is_retired |= exchange.asks_for_close();
        let owner = self.next_owner;
        self.next_owner += 1;
        let ask = Ask {
            body,
            is_head: exchange.is_head,
            owner,
        };
        let stream = self.connection.start_plain(&exchange.request, ask);
        self.streams.push(Streaming {
            owner,
            stream,
            exchange,
        });
    }

    fn get(&self, owner: u64) -> Option<&Exchange> {
        Some(&*self.streams.get(place(&self.streams, owner)?)?.exchange)
    }

    fn take(&mut self, owner: u64) -> Option<Box<Exchange>> {
        let place = place(&self.streams, owner)?;
        Some(self.streams.remove(place).exchange)
    }

    /// Takes out all calls of a connection that is over.
    pub(super) fn take_calls(&mut self) -> Calls {
        let all = self.streams.drain(..);
        all.map(|one| one.exchange).collect()
    }

    /// Takes out the calls that fit and resets their streams. The connection stays, but one that was silent since a call
    /// went out is asked whether it is there, and takes no further call once it was asked in vain.
    pub(super) fn cancel(&mut self, fits: impl Fn(&Exchange) -> bool) -> Calls {
        let Self {
            connection,
            streams,
            ..
        } = self;
        let mut calls = Vec::new();
        let mut is_silent = false;
        for one in streams.extract_if(.., |one| fits(&one.exchange)) {
            connection.cancel(one.stream);
            is_silent |= one
                .exchange
                .moments
                .sent
                .is_some_and(|sent| self.heard <= sent);
            calls.push(one.exchange);
        }
        if is_silent {
            match self.asked {
                Some(asked) if asked >= self.heard => self.is_retired = true,
                _ => {
                    self.asked = Some(self.heard);
                    connection.ping();
                }
            }
        }
        calls
    }

    /// Which requests are out by now.
    fn note_written(&mut self, now: Nanos) {
        let Self {
            connection,
            streams,
            ..
        } = self;
        for one in streams {
            let moments = &mut one.exchange.moments;
            if moments.written.is_none() && connection.has_written(one.stream) {
                moments.written = Some(now);
            }
        }
    }
}

impl AsFd for Shared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

fn place(streams: &[Streaming], owner: u64) -> Option<usize> {
    streams.binary_search_by_key(&owner, |one| one.owner).ok()
}

/// Where answers go as they come.
struct Arriving<'a> {
    streams: &'a mut [Streaming],
    events: &'a mut Vec<Event>,
    now: Nanos,
}

impl Arriving<'_> {
    fn exchange(&mut self, owner: u64) -> Option<&mut Exchange> {
        let place = place(self.streams, owner)?;
        let exchange = &mut *self.streams.get_mut(place)?.exchange;
        exchange.moments.first_byte.get_or_insert(self.now);
        Some(exchange)
    }
}

impl h2::Sink for Arriving<'_> {
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn field(&mut self, owner: u64, name: &[u8], value: &[u8]) {
        if let Some(exchange) = self.exchange(owner) {
            exchange.kept.field(name, value);
        }
    }

    fn body(&mut self, owner: u64, bytes: &[u8]) {
        use plimsoll_net::h1::Sink as _;
        if let Some(exchange) = self.exchange(owner) {
            exchange.kept.body(bytes);
        }
    }
}

impl Client {
    /// Puts a call on a stream of this connection.
    pub(super) fn start_stream(&mut self, index: usize, exchange: Box<Exchange>, now: Nanos) {
        if let Some(error) = exchange.refused_by_http2() {
            if let Some(link) = &self.links[index] {
                self.refuse(link.vu, exchange, Outcome::Dropped, error, now);
            }
            return self.close_unused(index);
        }
        if let Some(shared) = shared(&mut self.links, index) {
            shared.start(exchange, &self.user_agent, now);
            self.note_sent();
        }
        self.mark(index);
    }

    /// The connection has something to write, if it is one of HTTP/2.
    pub(super) fn mark(&mut self, index: usize) {
        if let Some(shared) = shared(&mut self.links, index)
            && !shared.is_unflushed
        {
            shared.is_unflushed = true;
            self.unflushed.push(index);
        }
    }

    /// Sends what connections of HTTP/2 have to say.
    pub(in super::super) fn flush(&mut self) {
        while let Some(index) = self.unflushed.pop() {
            let Some(shared) = shared(&mut self.links, index) else {
                continue;
            };
            if !std::mem::take(&mut shared.is_unflushed) {
                continue;
            }
            let flushed = shared.connection.flush();
            let now = self.clock.now();
            match flushed {
                Ok(()) => shared.note_written(now),
                Err(failure) => {
                    // What the server said before it went: most of all which calls it did not look at.
                    let told = self.shared_news(index, |connection, scratch, sink| {
                        connection.read_last(failure, scratch, sink)
                    });
                    if let Some(failure) = told {
                        self.fail(index, &failure, now);
                    }
                }
            }
        }
    }

    /// A connection whose server has not chosen a protocol has news.
    pub(super) fn opening_ready(&mut self, index: usize, hung_up: bool) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let Carrier::Opening(opening, waiting) = &mut link.carrier else {
            return;
        };
        let ready = opening.ready(hung_up, &mut self.scratch);
        let now = self.clock.now();
        let moments = waiting.iter_mut().map(|one| &mut one.moments);
        for moments in moments.filter(|moments| moments.opened.is_some()) {
            if opening.is_connected() {
                moments.connected.get_or_insert(now);
            }
            if ready == Ok(true) {
                moments.secured = Some(now);
            }
        }
        match ready {
            Ok(false) => {}
            Ok(true) => {
                self.opened(index, now);
                if hung_up {
                    // The close came with the end of the handshake, and no event of its own will tell.
                    self.shared_ready(index, hung_up);
                }
            }
            Err(failure) => self.fail(index, &failure, now),
        }
    }

    /// The server has chosen: what waited goes out, as far as it may.
    fn opened(&mut self, index: usize, now: Nanos) {
        let Some(mut link) = self.links[index].take() else {
            return;
        };
        let Carrier::Opening(opening, waiting) = link.carrier else {
            return;
        };
        let (vu, origin, url) = (link.vu, link.origin, Rc::clone(&link.url));
        link.tls = opening.agreed().map(tls_info);
        self.unlist(vu, index);
        let mut waiting = waiting.into_iter();
        match opening.finish(&mut Vec::new()) {
            Opened::Http1(connection) => {
                self.of_http1.insert(origin);
                link.carrier = Carrier::Own(connection, waiting.next());
                self.links[index] = Some(link);
                self.send(index, now);
            }
            Opened::Http2(connection) => {
                self.of_http1.remove(&origin);
                let shared = Shared::new(*connection, !self.reuses, now);
                let vacant = shared.connection.vacant();
                link.carrier = Carrier::Shared(Box::new(shared));
                self.links[index] = Some(link);
                self.mark(index);
                if self.reuses {
                    self.list(vu, index);
                }
                // One goes in any case: a server that allows none would otherwise be connected to for ever.
                for exchange in waiting.by_ref().take(vacant.max(1)) {
                    self.start_stream(index, exchange, now);
                }
            }
        }
        for exchange in waiting {
            self.carry(vu, exchange, &url, now);
        }
    }

    /// A connection of HTTP/2 has news.
    pub(super) fn shared_ready(&mut self, index: usize, hung_up: bool) {
        let news = self.shared_news(index, |connection, scratch, sink| {
            connection.ready(hung_up, scratch, sink)
        });
        match news {
            None => {}
            Some(Ok(())) => self.close_unused(index),
            Some(Err(failure)) => {
                let now = self.clock.now();
                self.fail(index, &failure, now);
            }
        }
    }

    /// Lets `read` take what a connection of HTTP/2 has to say, and does what follows from it.
    fn shared_news<R>(
        &mut self,
        index: usize,
        read: impl FnOnce(&mut h2::Connection<Rc<[u8]>>, &mut [u8], &mut Arriving<'_>) -> R,
    ) -> Option<R> {
        let begun = self.clock.now();
        let shared = shared(&mut self.links, index)?;
        let mut events = std::mem::take(&mut self.events);
        let mut sink = Arriving {
            streams: &mut shared.streams,
            events: &mut events,
            now: begun,
        };
        let result = read(&mut shared.connection, &mut self.scratch, &mut sink);
        let now = self.clock.now();
        shared.heard = now;
        shared.note_written(now);
        for event in events.drain(..) {
            match event {
                Event::Connected => {}
                Event::Answered { owner, answer } => {
                    self.stream_answered(index, owner, answer, now);
                }
                Event::Failed { owner, failure } if failure.said != REFUSED => {
                    self.stream_failed(index, owner, &failure, now);
                }
                Event::Failed { owner, failure } | Event::Unprocessed { owner, failure } => {
                    self.stream_refused(index, owner, &failure, now);
                }
            }
        }
        self.events = events;
        Some(result)
    }

    fn stream_answered(&mut self, index: usize, owner: u64, answer: Answer, now: Nanos) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let Carrier::Shared(shared) = &mut link.carrier else {
            return;
        };
        let Some(mut exchange) = shared.take(owner) else {
            return;
        };
        let mut result = exchange.answered_http2(answer, now);
        result.remote = Some(link.address);
        result.tls = link.tls;
        link.is_used = true;
        let vu = link.vu;
        let outcome = Outcome::of_status(answer.status);
        self.finish(vu, exchange, outcome, result, now);
    }

    fn stream_failed(&mut self, index: usize, owner: u64, failure: &Failure, now: Nanos) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let Carrier::Shared(shared) = &mut link.carrier else {
            return;
        };
        if let Some(mut exchange) = shared.take(owner) {
            let mut result = exchange.failed(error_of(failure), true, now);
            result.remote = Some(link.address);
            let vu = link.vu;
            self.finish(vu, exchange, failure.outcome, result, now);
        }
    }

    /// The server did not look at this call.
    fn stream_refused(&mut self, index: usize, owner: u64, failure: &Failure, now: Nanos) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let (vu, url) = (link.vu, Rc::clone(&link.url));
        let Carrier::Shared(shared) = &mut link.carrier else {
            return;
        };
        let tries = shared.get(owner).map(|exchange| exchange.tries);
        if tries.is_some_and(|tries| tries < TRIES_MAX)
            && let Some(exchange) = shared.take(owner)
        {
            return self.carry_again(vu, exchange, &url, now);
        }
        self.stream_failed(index, owner, failure, now);
    }

    /// A connection that takes no further call and has none is closed.
    fn close_unused(&mut self, index: usize) {
        let shared = shared(&mut self.links, index);
        if shared.is_some_and(|shared| shared.is_over()) {
            self.remove(index);
        }
    }
}

fn shared(links: &mut [Option<Link>], index: usize) -> Option<&mut Shared> {
    match &mut links.get_mut(index)?.as_mut()?.carrier {
        Carrier::Shared(shared) => Some(shared),
        _ => None,
    }
}

//! HTTP for virtual users: each has connections of its own; every call is one request on the wire.

mod link;
mod own;
mod streams;
mod unnamed;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::clock::Clock;
use plimsoll_net::connection::{Failure, SCRATCH_BYTES};
use plimsoll_net::h2::Event;
use plimsoll_net::poll::{Poll, Ready};
use plimsoll_net::{Connection, Opening};
use plimsoll_script::http::{HttpCall, HttpError, HttpResult, RequestUrl};

use super::exchange::{Exchange, Moments, error_of};
use super::names::Names;
use link::{Carrier, Link};
use unnamed::Unnamed;

/// Calls are put on the wire again if the server said that it did not look at them, but not for ever. Go's client, and so
/// k6, gives up after as many.
const TRIES_MAX: u8 = 6;

/// Who asked, and from when its response time counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker {
    /// The virtual user's place on this worker.
    pub(super) vu: usize,
    /// The call's place in its batch.
    pub(super) place: usize,
    pub(super) intended: Nanos,
    /// In which the call was due.
    pub(super) level: u32,
}

/// A call that is over.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) asker: Asker,
    pub(super) outcome: Outcome,
    /// When the request was written; none if it never was.
    pub(super) sent: Option<Nanos>,
    pub(super) ended: Nanos,
    pub(super) result: HttpResult,
}

/// The connections of one worker's virtual users.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) poll: Poll,
    clock: Clock,
    names: Names,
    /// The URL that was last connected to, with the number of its origin, which stays.
    last: Option<(Rc<RequestUrl>, usize)>,
    user_agent: Arc<str>,
    /// Connections end with their request.
    pub(super) reuses: bool,
    /// Calls that wait until the name of their host has been looked up.
    unnamed: Vec<Unnamed>,
    links: Vec<Option<Link>>,
    free: Vec<usize>,
    generation: u32,
    /// Connections of each virtual user that may take a call.
    idle: Vec<Vec<usize>>,
    /// Origins that were offered HTTP/2 and chose HTTP/1.1: calls to them do not wait for each other's connections.
    of_http1: BTreeSet<usize>,
    /// Connections of HTTP/2 with something to write.
    unflushed: Vec<usize>,
    /// Memory for what happened on one.
    events: Vec<Event>,
    #[expect(
        clippy::vec_box,
        reason = "they move between links and this list without a copy"
    )]
    spare: Vec<Box<Exchange>>,
    scratch: Vec<u8>,
    /// Requests written and not answered, now and at most since the worker last looked.
    on_wire: u64,
    pub(super) wire_max: u64,
    /// Calls that ended since the worker last looked.
    pub(super) finished: Vec<Finished>,
}

impl Client {
    pub(super) fn new(poll: Poll, clock: Clock, names: Names, user_agent: Arc<str>) -> Self {
        Self {
            poll,
            clock,
            names,
            last: None,
            user_agent,
            reuses: true,
            unnamed: Vec::new(),
            links: Vec::new(),
            free: Vec::new(),
            generation: 0,
            idle: Vec::new(),
            of_http1: BTreeSet::new(),
            unflushed: Vec::new(),
            events: Vec::new(),
            spare: Vec::new(),
            scratch: vec![0; SCRATCH_BYTES],
            on_wire: 0,
            wire_max: 0,
            finished: Vec::new(),
        }
    }

    /// Open connections.
    pub(super) fn open_count(&self) -> usize {
        self.links.len() - self.free.len()
    }

    /// Puts a call on the wire, over a connection that the virtual user has or a new one. However it ends, it ends in
    /// `finished`. Calls over HTTP/2 go out with [`Self::flush`].
    pub(super) fn start(&mut self, asker: Asker, call: HttpCall, now: Nanos) {
        let mut exchange = self.spare.pop().unwrap_or_default();
        let prepared = exchange.prepare(&call, &self.user_agent);
        exchange.place = asker.place;
        exchange.intended = asker.intended;
        exchange.level = asker.level;
        exchange.deadline = now + call.timeout;
        exchange.moments = Moments {
            asked: now,
            ..Moments::default()
        };
        if let Err(message) = prepared {
            let error = HttpError {
                code: 1000,
                message: message.into(),
            };
            return self.refuse(asker.vu, exchange, Outcome::Dropped, error, now);
        }
        if !call.url.is_tls {
            return self.carry(asker.vu, exchange, &call.url, now);
        }
        // Its bytes depend on the protocol, which may not be chosen yet.
        let url = Rc::clone(&call.url);
        exchange.call = Some(call);
        self.carry(asker.vu, exchange, &url, now);
    }

    /// Gives an exchange to a connection.
    fn carry(&mut self, vu: usize, exchange: Box<Exchange>, url: &Rc<RequestUrl>, now: Nanos) {
        let last = self.last.as_ref().filter(|(of, _)| Rc::ptr_eq(of, url));
        if let Some((_, origin)) = last
            && let Some(index) = take_idle(&mut self.idle, &self.links, vu, *origin)
        {
            return self.send_over(index, exchange, now);
        }
        let local = self.names.local(vu);
        let (origin, setup) = match self.names.find(url, now) {
            Ok(Some(found)) => found,
            Ok(None) => {
                let url = Rc::clone(url);
                return self.unnamed.push(Unnamed { vu, url, exchange });
            }
            Err(error) => return self.refuse_name(vu, exchange, error, now),
        };
        if let Some(index) = take_idle(&mut self.idle, &self.links, vu, origin) {
            return self.send_over(index, exchange, now);
        }
        let address = setup.address;
        self.last = Some((Rc::clone(url), origin));
        let begun = if setup.offers_http2() {
            let opening = Opening::open_from(local, setup);
            opening.map(|opening| Carrier::Opening(Box::new(opening), Vec::new()))
        } else {
            Connection::open_from(local, setup).map(|connection| Carrier::Own(connection, None))
        };
        match begun {
            Ok(carrier) => {
                let link = Link {
                    carrier,
                    vu,
                    origin,
                    url: Rc::clone(url),
                    address,
                    tls: None,
                    is_used: false,
                    generation: 0,
                };
                self.insert(link, exchange, now);
            }
            Err(failure) => {
                let error = error_of(&failure);
                self.refuse(vu, exchange, failure.outcome, error, now);
            }
        }
    }

    /// A connection that was found takes the call.
    fn send_over(&mut self, index: usize, exchange: Box<Exchange>, now: Nanos) {
        let link = self.links[index].as_mut().expect("listed links exist");
        match &mut link.carrier {
            Carrier::Own(_, place) => {
                *place = Some(exchange);
                self.send(index, now);
            }
            Carrier::Opening(_, waiting) => waiting.push(exchange),
            Carrier::Shared(_) => self.start_stream(index, exchange, now),
        }
    }

    fn insert(&mut self, mut link: Link, mut exchange: Box<Exchange>, now: Nanos) {
        self.generation = self.generation.wrapping_add(1);
        let index = self.free.pop().unwrap_or_else(|| {
            self.links.push(None);
            self.links.len() - 1
        });
        let token = (u64::from(self.generation) << 32) | index as u64;
        if let Err(error) = self.poll.add(&link.carrier, token) {
            self.free.push(index);
            let error = HttpError {
                code: 1000,
                message: format!("cannot watch the socket: {error}").into(),
            };
            return self.refuse(link.vu, exchange, Outcome::Dropped, error, now);
        }
        exchange.moments.opened = Some(now);
        link.generation = self.generation;
        let is_shared = matches!(link.carrier, Carrier::Opening(..))
            && self.reuses
            && !self.of_http1.contains(&link.origin);
        let vu = link.vu;
        match &mut link.carrier {
            Carrier::Own(_, place) => *place = Some(exchange),
            Carrier::Opening(_, waiting) => waiting.push(exchange),
            Carrier::Shared(_) => {}
        }
        self.links[index] = Some(link);
        if is_shared {
            self.list(vu, index);
        }
    }

    /// The connection may take a call of its virtual user.
    fn list(&mut self, vu: usize, index: usize) {
        if self.idle.len() <= vu {
            self.idle.resize(vu + 1, Vec::new());
        }
        self.idle[vu].push(index);
    }

    fn unlist(&mut self, vu: usize, index: usize) {
        if let Some(idle) = self.idle.get_mut(vu) {
            idle.retain(|&known| known != index);
        }
    }

    /// A call that never got a connection.
    fn refuse(
        &mut self,
        vu: usize,
        mut exchange: Box<Exchange>,
        outcome: Outcome,
        error: HttpError,
        now: Nanos,
    ) {
        let result = exchange.failed(error, false, now);
        self.finish(vu, exchange, outcome, result, now);
    }

    fn finish(
        &mut self,
        vu: usize,
        mut exchange: Box<Exchange>,
        outcome: Outcome,
        result: HttpResult,
        now: Nanos,
    ) {
        self.on_wire -= u64::from(exchange.moments.sent.is_some());
        self.finished.push(Finished {
            asker: Asker {
                vu,
                place: exchange.place,
                intended: exchange.intended,
                level: exchange.level,
            },
            outcome,
            sent: exchange.moments.sent,
            ended: now,
            result,
        });
        exchange.call = None;
        self.spare.push(exchange);
    }

    /// One more request is on the wire.
    fn note_sent(&mut self) {
        self.on_wire += 1;
        self.wire_max = self.wire_max.max(self.on_wire);
    }

    /// A socket is ready.
    pub(super) fn on_ready(&mut self, ready: Ready) {
        let (index, generation) = (ready.token as u32 as usize, (ready.token >> 32) as u32);
        let Some(link) = self.links.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        if link.generation != generation {
            return;
        }
        match link.carrier {
            Carrier::Own(..) => self.own_ready(index, ready.hung_up),
            Carrier::Opening(..) => self.opening_ready(index, ready.hung_up),
            Carrier::Shared(_) => self.shared_ready(index, ready.hung_up),
        }
        self.flush();
    }

    /// The connection failed, and with it the calls on it.
    fn fail(&mut self, index: usize, failure: &Failure, now: Nanos) {
        let Some(mut link) = self.take(index) else {
            return;
        };
        for exchange in link.take_calls() {
            self.fail_call(&link, exchange, failure, now);
        }
    }

    /// A call failed with its connection, unless that had only been kept too long: then it goes to another.
    fn fail_call(
        &mut self,
        link: &Link,
        mut exchange: Box<Exchange>,
        failure: &Failure,
        now: Nanos,
    ) {
        let was_stale = link.is_used
            && exchange.tries == 0
            && exchange.moments.first_byte.is_none()
            && failure.said.is_none()
            && matches!(failure.outcome, Outcome::Eof | Outcome::Reset);
        if was_stale {
            // The server closed it while it was idle: no request was lost, and users would not see it.
            return self.carry_again(link.vu, exchange, &link.url, now);
        }
        let mut result = exchange.failed(error_of(failure), link.url.is_tls, now);
        result.remote = Some(link.address);
        self.finish(link.vu, exchange, failure.outcome, result, now);
    }

    /// The server did not look at this call: it goes to a connection as if it had never been sent.
    fn carry_again(
        &mut self,
        vu: usize,
        mut exchange: Box<Exchange>,
        url: &Rc<RequestUrl>,
        now: Nanos,
    ) {
        exchange.tries += 1;
        self.on_wire -= u64::from(exchange.moments.sent.is_some());
        exchange.moments = Moments {
            asked: exchange.moments.asked,
            ..Moments::default()
        };
        exchange.kept.clear();
        self.carry(vu, exchange, url, now);
    }

    /// Ends the calls whose time is over.
    pub(super) fn sweep(&mut self, now: Nanos) {
        self.sweep_unnamed(now);
        for index in 0..self.links.len() {
            self.end_calls(index, now, |exchange| exchange.deadline <= now, None);
        }
        self.flush();
    }

    /// Ends the calls of a virtual user that nobody waits for any more; they are counted as they stand.
    pub(super) fn cancel(&mut self, vu: usize, now: Nanos) {
        self.cancel_unnamed(vu, now);
        for index in 0..self.links.len() {
            if self.links[index].as_ref().is_some_and(|link| link.vu == vu) {
                self.end_calls(index, now, |_| true, Some(interruption()));
            }
        }
        self.flush();
    }

    /// Ends calls of a connection before their answers, with this error or as out of time; without other calls the
    /// connection ends too, unless it is one of HTTP/2.
    fn end_calls(
        &mut self,
        index: usize,
        now: Nanos,
        fits: impl Fn(&Exchange) -> bool,
        error: Option<HttpError>,
    ) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let calls = link.cancel_calls(fits);
        if calls.is_empty() {
            return;
        }
        let timeout = if link.is_open() {
            Failure::new(Outcome::Timeout, "request timeout")
        } else {
            Failure::new(Outcome::ConnectTimeout, "connect timeout")
        };
        let (vu, address, is_tls) = (link.vu, link.address, link.url.is_tls);
        let is_over = link.is_over();
        if is_over {
            self.remove(index);
        } else {
            self.mark(index);
        }
        let (outcome, error) = match error {
            Some(error) => (Outcome::Interrupted, error),
            None => (timeout.outcome, error_of(&timeout)),
        };
        for mut exchange in calls {
            let mut result = exchange.failed(error.clone(), is_tls, now);
            result.remote = Some(address);
            self.finish(vu, exchange, outcome, result, now);
        }
    }

    /// Closes the connections of a virtual user (option `noVUConnectionReuse`); one that is in use ends with its last call.
    pub(super) fn close_idle(&mut self, vu: usize) {
        let Some(idle) = self.idle.get_mut(vu) else {
            return;
        };
        for index in std::mem::take(idle) {
            let link = self.links[index].as_mut();
            if link.is_some_and(Link::retire) {
                self.remove(index);
            }
        }
    }

    fn remove(&mut self, index: usize) {
        let _closed = self.take(index);
    }

    fn take(&mut self, index: usize) -> Option<Link> {
        let link = self.links[index].take()?;
        self.free.push(index);
        self.unlist(link.vu, index);
        Some(link)
    }
}

fn interruption() -> HttpError {
    HttpError {
        code: 1000,
        message: "the iteration was interrupted".into(),
    }
}

/// The connection of that virtual user to that origin that was used last, of those that take a call. One of HTTP/1.1 takes
/// no other until this one is over.
fn take_idle(
    idle: &mut [Vec<usize>],
    links: &[Option<Link>],
    vu: usize,
    origin: usize,
) -> Option<usize> {
    let own = idle.get_mut(vu)?;
    let fits = |index: &usize| {
        let link = links[*index].as_ref();
        link.is_some_and(|link| link.origin == origin && link.has_room())
    };
    let at = own.iter().rposition(fits)?;
    let index = own[at];
    let is_shared = links[index].as_ref().is_some_and(Link::is_shared);
    if !is_shared {
        own.remove(at);
    }
    Some(index)
}

//! HTTP for virtual users: each has connections of its own; every call is one request on the wire.

mod unnamed;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Connection;
use plimsoll_net::clock::Clock;
use plimsoll_net::connection::{Failure, Progress, SCRATCH_BYTES};
use plimsoll_net::h1::Answer;
use plimsoll_net::poll::{Poll, Ready};
use plimsoll_script::http::{HttpCall, HttpError, HttpResult, RequestUrl};

use super::exchange::{Exchange, Moments, error_of};
use super::names::Names;
use unnamed::Unnamed;

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

/// A connection and what it carries.
#[derive(Debug)]
struct Link {
    connection: Connection,
    vu: usize,
    origin: usize,
    url: Rc<RequestUrl>,
    address: SocketAddr,
    is_tls: bool,
    /// It has carried a request before the one at hand.
    is_used: bool,
    exchange: Option<Box<Exchange>>,
    generation: u32,
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
    /// Idle connections of each virtual user.
    idle: Vec<Vec<usize>>,
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

    /// Puts a call on the wire, over an idle connection of the virtual user or a new one. However it
    /// ends, it ends in `finished`.
    pub(super) fn start(&mut self, asker: Asker, call: &HttpCall, now: Nanos) {
        let mut exchange = self.spare.pop().unwrap_or_default();
        let prepared = exchange.prepare(call, &self.user_agent);
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
        self.carry(asker.vu, exchange, &call.url, now);
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
        match Connection::open_from(local, setup) {
            Ok(connection) => {
                let link = Link {
                    connection,
                    vu,
                    origin,
                    url: Rc::clone(url),
                    address,
                    is_tls: url.is_tls,
                    is_used: false,
                    exchange: None,
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

    /// An idle connection takes the exchange.
    fn send_over(&mut self, index: usize, exchange: Box<Exchange>, now: Nanos) {
        let link = self.links[index].as_mut().expect("idle links exist");
        link.exchange = Some(exchange);
        self.send(index, now);
    }

    fn insert(&mut self, mut link: Link, mut exchange: Box<Exchange>, now: Nanos) {
        self.generation = self.generation.wrapping_add(1);
        let index = self.free.pop().unwrap_or_else(|| {
            self.links.push(None);
            self.links.len() - 1
        });
        let token = (u64::from(self.generation) << 32) | index as u64;
        if let Err(error) = self.poll.add(&link.connection, token) {
            self.free.push(index);
            let error = HttpError {
                code: 1000,
                message: format!("cannot watch the socket: {error}").into(),
            };
            return self.refuse(link.vu, exchange, Outcome::Dropped, error, now);
        }
        exchange.moments.opened = Some(now);
        link.generation = self.generation;
        link.exchange = Some(exchange);
        self.links[index] = Some(link);
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
        exchange: Box<Exchange>,
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
        self.spare.push(exchange);
    }

    fn send(&mut self, index: usize, now: Nanos) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let Some(exchange) = &mut link.exchange else {
            return;
        };
        exchange.moments.sent = Some(now);
        self.on_wire += 1;
        self.wire_max = self.wire_max.max(self.on_wire);
        link.connection.expect(exchange.is_head);
        match link.connection.send(&exchange.request) {
            Ok(()) => note_written(link, self.clock.now()),
            Err(failure) => self.fail(index, &failure, now),
        }
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
        let progress = match &mut link.exchange {
            Some(exchange) => link.connection.ready_into(
                &exchange.request,
                ready.hung_up,
                &mut self.scratch,
                &mut exchange.kept,
            ),
            None => link.connection.ready(&[], ready.hung_up, &mut self.scratch),
        };
        let now = self.clock.now();
        note_progress(link, &progress, now);
        match progress {
            Progress::Pending => {}
            Progress::Connected => self.send(index, now),
            Progress::Answered(answer) => self.answered(index, answer, ready.hung_up, now),
            Progress::ClosedIdle => self.remove(index),
            Progress::Failed(failure) => self.fail(index, &failure, now),
        }
    }

    fn answered(&mut self, index: usize, answer: Answer, hung_up: bool, now: Nanos) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let Some(mut exchange) = link.exchange.take() else {
            return self.remove(index);
        };
        let (vu, is_tls) = (link.vu, link.is_tls);
        let mut result = exchange.answered(answer.bytes, is_tls, now);
        result.remote = Some(link.address);
        link.is_used = true;
        if answer.keepalive && self.reuses && !hung_up {
            if self.idle.len() <= vu {
                self.idle.resize(vu + 1, Vec::new());
            }
            self.idle[vu].push(index);
        } else {
            self.remove(index);
        }
        let outcome = Outcome::of_status(answer.status);
        self.finish(vu, exchange, outcome, result, now);
    }

    /// The connection failed, and with it the call on it, unless it had only been kept too long.
    fn fail(&mut self, index: usize, failure: &Failure, now: Nanos) {
        let Some(mut link) = self.take(index) else {
            return;
        };
        let Some(mut exchange) = link.exchange.take() else {
            return;
        };
        let was_stale = link.is_used
            && !exchange.retried
            && exchange.moments.first_byte.is_none()
            && matches!(failure.outcome, Outcome::Eof | Outcome::Reset);
        if was_stale {
            // The server closed it while it was idle: no request was lost, and users would not see it.
            exchange.retried = true;
            self.on_wire -= u64::from(exchange.moments.sent.is_some());
            exchange.moments.sent = None;
            exchange.moments.written = None;
            return self.carry(link.vu, exchange, &link.url, now);
        }
        let mut result = exchange.failed(error_of(failure), link.is_tls, now);
        result.remote = Some(link.address);
        self.finish(link.vu, exchange, failure.outcome, result, now);
    }

    /// Ends the calls whose time is over.
    pub(super) fn sweep(&mut self, now: Nanos) {
        self.sweep_unnamed(now);
        for index in 0..self.links.len() {
            let over = self.links[index].as_ref().and_then(|link| {
                let exchange = link.exchange.as_ref()?;
                (exchange.deadline <= now).then(|| link.connection.is_connected())
            });
            let Some(is_connected) = over else {
                continue;
            };
            let Some(mut link) = self.take(index) else {
                continue;
            };
            let Some(mut exchange) = link.exchange.take() else {
                continue;
            };
            let failure = if is_connected {
                Failure::new(Outcome::Timeout, "request timeout")
            } else {
                Failure::new(Outcome::ConnectTimeout, "connect timeout")
            };
            let result = exchange.failed(error_of(&failure), link.is_tls, now);
            self.finish(link.vu, exchange, failure.outcome, result, now);
        }
    }

    /// Ends the calls of a virtual user that nobody waits for any more; they are counted as they stand.
    pub(super) fn cancel(&mut self, vu: usize, now: Nanos) {
        self.cancel_unnamed(vu, now);
        for index in 0..self.links.len() {
            let is_its = self.links[index]
                .as_ref()
                .is_some_and(|link| link.vu == vu && link.exchange.is_some());
            if !is_its {
                continue;
            }
            let Some(mut link) = self.take(index) else {
                continue;
            };
            if let Some(mut exchange) = link.exchange.take() {
                let result = exchange.failed(interruption(), link.is_tls, now);
                self.finish(vu, exchange, Outcome::Interrupted, result, now);
            }
        }
    }

    /// Closes the idle connections of a virtual user (option `noVUConnectionReuse`).
    pub(super) fn close_idle(&mut self, vu: usize) {
        let Some(idle) = self.idle.get_mut(vu) else {
            return;
        };
        for index in std::mem::take(idle) {
            self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) {
        let _closed = self.take(index);
    }

    fn take(&mut self, index: usize) -> Option<Link> {
        let link = self.links[index].take()?;
        self.free.push(index);
        if let Some(idle) = self.idle.get_mut(link.vu) {
            idle.retain(|&known| known != index);
        }
        Some(link)
    }
}

fn interruption() -> HttpError {
    HttpError {
        code: 1000,
        message: "the iteration was interrupted".into(),
    }
}

/// The connection of that virtual user to that origin that was used last.
fn take_idle(
    idle: &mut [Vec<usize>],
    links: &[Option<Link>],
    vu: usize,
    origin: usize,
) -> Option<usize> {
    let own = idle.get_mut(vu)?;
    let fits = |index: &usize| {
        let link = links[*index].as_ref();
        link.is_some_and(|link| link.origin == origin)
    };
    let at = own.iter().rposition(fits)?;
    Some(own.remove(at))
}

fn note_written(link: &mut Link, now: Nanos) {
    if let Some(exchange) = &mut link.exchange
        && exchange.moments.written.is_none()
        && exchange.moments.sent.is_some()
        && link.connection.has_written(&exchange.request)
    {
        exchange.moments.written = Some(now);
    }
}

/// Which phases have begun with this event.
fn note_progress(link: &mut Link, progress: &Progress, now: Nanos) {
    note_written(link, now);
    let is_open = link.connection.is_open();
    let has_begun = matches!(progress, Progress::Answered(_)) || link.connection.answer_started();
    let Some(exchange) = &mut link.exchange else {
        return;
    };
    let moments = &mut exchange.moments;
    if moments.opened.is_some() && is_open && moments.connected.is_none() {
        moments.connected = Some(now);
    }
    if *progress == Progress::Connected {
        moments.secured = Some(now);
    }
    if has_begun && moments.sent.is_some() && moments.first_byte.is_none() {
        moments.first_byte = Some(now);
    }
}

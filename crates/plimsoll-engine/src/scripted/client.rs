//! HTTP for virtual users: each call is one request on the wire, over connections that its virtual user has.

use std::rc::Rc;
use std::sync::Arc;

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::{Poll, Ready};
use plimsoll_core::status::StatusSet;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Failure;
use plimsoll_script::http::{HttpCall, HttpError, HttpResult, RequestUrl};

use super::exchange::{Caller, Exchange, Peer, http_error};
use super::names::Names;
use super::script::Script;
use crate::options::outcome;
use crate::pool::{
    CallEnd, Ended, Policy, Pool, PoolEvent, Protocol, Route, TRIES_MAX, is_stale, may_go_on,
};

/// A call that is over.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) caller: Caller,
    pub(super) outcome: Outcome,
    /// When the request was written; none if it never was.
    pub(super) sent: Option<Nanos>,
    /// How often it was written again.
    pub(super) resent: u8,
    pub(super) ended: Nanos,
    pub(super) result: HttpResult,
}

/// In boxes, because they move between connections and lists without a copy.
type Calls = Vec<Box<Exchange>>;

/// The calls of one worker's virtual users.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) pool: Pool<Box<Exchange>>,
    names: Names,
    /// The status codes of right answers, where the objective names them.
    right: Option<StatusSet>,
    /// The URL that was last connected to, with the number of its origin, which stays.
    last: Option<(Rc<RequestUrl>, u32)>,
    /// Calls that wait until the name of their host has been looked up.
    unnamed: Calls,
    spare: Calls,
    /// Calls that ended since the worker last looked.
    pub(super) finished: Vec<Finished>,
}

impl Client {
    pub(super) fn new(poll: Poll, clock: Clock, names: Names, script: &Script) -> Self {
        let user_agent = Arc::clone(&script.user_agent);
        let policy = Policy {
            reuses: script.reuses_connections,
            // As many as the server allows.
            streams_max: u32::MAX,
            park: Nanos::ZERO,
            // None is opened without a call.
            opening_max: Nanos::MAX,
        };
        Self {
            pool: Pool::new(poll, clock, user_agent, policy),
            names,
            right: script.right.clone(),
            last: None,
            unnamed: Vec::new(),
            spare: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Puts a call on the wire, over a connection that the virtual user has or a new one. However it ends, it ends in
    /// `finished`. Calls over HTTP/2 go out with [`Self::flush`].
    pub(super) fn start(&mut self, caller: Caller, call: HttpCall, now: Nanos) {
        let mut exchange = self.spare.pop().unwrap_or_default();
        let proxy = self.names.plain_proxy(&call.url);
        match exchange.prepare(caller, call, (&self.pool.common, proxy), now) {
            Ok(()) => self.carry(exchange, now),
            Err(message) => {
                let error = HttpError {
                    code: 1000,
                    message: message.into(),
                };
                self.refuse(exchange, Outcome::Dropped, error, now);
            }
        }
        self.settle();
    }

    /// Gives an exchange to a connection.
    fn carry(&mut self, exchange: Box<Exchange>, now: Nanos) {
        let Some(url) = exchange.url.clone() else {
            return;
        };
        let vu = exchange.caller.vu;
        let owner = vu as u32;
        let last = self.last.as_ref();
        if let Some((_, origin)) = last.filter(|(known, _)| Rc::ptr_eq(known, &url))
            && let Some(token) = self.pool.take_idle(owner, *origin)
        {
            return self.pool.give(token, exchange, now);
        }
        let local = self.names.local(vu);
        let number = match self.names.find(&url, now) {
            Ok(Some(number)) => number,
            Ok(None) => return self.unnamed.push(exchange),
            Err(error) => return self.refuse_name(exchange, error, now),
        };
        let origin = number as u32;
        if let Some(token) = self.pool.take_idle(owner, origin) {
            return self.pool.give(token, exchange, now);
        }
        let setup = match self.names.way(number) {
            Ok(setup) => setup,
            Err(error) => return self.refuse_name(exchange, error, now),
        };
        self.last = Some((url, origin));
        let route = Route {
            setup,
            local,
            protocol: if setup.offers_http2() {
                Protocol::Negotiated
            } else {
                Protocol::Http1
            },
            owner,
            origin,
            peer: Peer {
                address: setup.address.tcp(),
                tls: None,
            },
        };
        if let Err((failure, Some(exchange))) = self.pool.open(route, Some(exchange), now) {
            let error = http_error(&failure);
            self.refuse(exchange, failure.outcome, error, now);
        }
    }

    /// A call that never got a connection.
    fn refuse(
        &mut self,
        mut exchange: Box<Exchange>,
        outcome: Outcome,
        error: HttpError,
        now: Nanos,
    ) {
        let result = exchange.failed(error, None, now);
        self.finish(exchange, outcome, result, now);
    }

    fn finish(
        &mut self,
        mut exchange: Box<Exchange>,
        outcome: Outcome,
        result: HttpResult,
        now: Nanos,
    ) {
        self.finished.push(Finished {
            caller: exchange.caller,
            outcome,
            sent: exchange.moments.sent,
            resent: exchange.tries,
            ended: now,
            result,
        });
        (exchange.call, exchange.url) = (None, None);
        self.spare.push(exchange);
    }

    /// A socket is ready.
    pub(super) fn on_ready(&mut self, ready: Ready) {
        self.pool.on_ready(ready);
        self.flush();
    }

    /// Sends what connections of HTTP/2 have to say, and takes in what has become of calls.
    pub(super) fn flush(&mut self) {
        self.settle();
        while self.pool.flush() {
            self.settle();
        }
    }

    fn settle(&mut self) {
        while let Some(event) = self.pool.events.pop() {
            if let PoolEvent::Ended(ended) = event {
                self.ended(ended);
            }
        }
    }

    fn ended(&mut self, ended: Ended<Box<Exchange>>) {
        let (now, peer) = (ended.at, ended.peer);
        let (mut exchange, over_http2) = (ended.call, ended.over_http2);
        let is_unprocessed = matches!(ended.end, CallEnd::Unprocessed(_));
        let (outcome, error) = match ended.end {
            CallEnd::Answered(answer) => {
                let outcome = self.outcome(&exchange, answer.status);
                let result = exchange.answered(answer, over_http2, peer, now);
                return self.finish(exchange, outcome, result, now);
            }
            CallEnd::NotTaken => return self.carry(exchange, now),
            CallEnd::Unfit => {
                let error = exchange.refused_by_http2().unwrap_or_else(interruption);
                return self.refuse(exchange, Outcome::Dropped, error, now);
            }
            CallEnd::Failed(failure) | CallEnd::Unprocessed(failure)
                if exchange.tries < TRIES_MAX
                    && (is_unprocessed
                        || may_go_on(&failure, ended.was_used, &exchange.method)) =>
            {
                exchange.begin_anew();
                return self.carry(exchange, now);
            }
            CallEnd::Failed(failure) if is_stale(&failure, ended.was_used) => {
                (Outcome::Stale, http_error(&failure))
            }
            CallEnd::Failed(failure) | CallEnd::Unprocessed(failure) => {
                (failure.outcome, http_error(&failure))
            }
            CallEnd::TimedOut { was_connected } => {
                let failure = if was_connected {
                    Failure::new(Outcome::Timeout, "request timeout")
                } else {
                    Failure::new(Outcome::ConnectTimeout, "connect timeout")
                };
                (failure.outcome, http_error(&failure))
            }
            CallEnd::Cancelled => (Outcome::Interrupted, interruption()),
        };
        let result = exchange.failed(error, peer.address, now);
        self.finish(exchange, outcome, result, now);
    }

    /// What an answer of that code came to, before the script's checks.
    fn outcome(&self, exchange: &Exchange, status: u16) -> Outcome {
        // Nobody was refused, and nothing is over: the script's side goes on with it.
        if exchange.goes_on(status) {
            return Outcome::Ok;
        }
        match outcome(self.right.as_ref(), status) {
            // As in k6 a redirect that was not followed is what the script wanted to see; an objective may know better.
            Outcome::Http3xx if self.right.is_none() => Outcome::Ok,
            outcome => outcome,
        }
    }

    /// Ends the calls whose time is over.
    pub(super) fn sweep(&mut self, now: Nanos) {
        for exchange in self.take_unnamed(|exchange| exchange.is_late(now)) {
            let error = http_error(&Failure::new(Outcome::Timeout, "request timeout"));
            self.refuse(exchange, Outcome::Dns, error, now);
        }
        self.pool.sweep(now);
        self.flush();
    }

    /// Ends the calls of a virtual user that nobody waits for any more; they are counted as they stand.
    pub(super) fn cancel(&mut self, vu: usize, now: Nanos) {
        for exchange in self.take_unnamed(|exchange| exchange.caller.vu == vu) {
            self.refuse(exchange, Outcome::Interrupted, interruption(), now);
        }
        self.pool.cancel(vu as u32, now);
        self.flush();
    }

    /// Closes the connections of a virtual user (option `noVUConnectionReuse`); one that is in use ends with its last call.
    pub(super) fn close_idle(&mut self, vu: usize) {
        self.pool.close_idle(vu as u32);
    }

    pub(super) fn waits_for_names(&self) -> bool {
        !self.unnamed.is_empty()
    }

    /// Calls whose name has been looked up go on.
    pub(super) fn take_names(&mut self, now: Nanos) {
        while !self.unnamed.is_empty()
            && let Some((place, problem)) = self.names.answer(now)
        {
            let Self { names, unnamed, .. } = self;
            let is_its = |exchange: &Exchange| {
                let url = exchange.url.as_ref();
                url.is_some_and(|url| names.place(url) == place)
            };
            let found: Calls = unnamed.extract_if(.., |it| is_its(it)).collect();
            for exchange in found {
                match &problem {
                    Some(error) => self.refuse_name(exchange, error.clone(), now),
                    None => self.carry(exchange, now),
                }
            }
        }
        self.flush();
    }

    fn refuse_name(&mut self, exchange: Box<Exchange>, error: HttpError, now: Nanos) {
        let outcome = if error.code < 1200 {
            Outcome::Dns
        } else {
            Outcome::Tls
        };
        self.refuse(exchange, outcome, error, now);
    }

    fn take_unnamed(&mut self, fits: impl Fn(&Exchange) -> bool) -> Calls {
        let fits = |exchange: &mut Box<Exchange>| fits(exchange);
        self.unnamed.extract_if(.., fits).collect()
    }
}

fn interruption() -> HttpError {
    HttpError {
        code: 1000,
        message: "the iteration was interrupted".into(),
    }
}

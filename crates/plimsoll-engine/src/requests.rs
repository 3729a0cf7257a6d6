//! Users that all send one request, encoded before the run: what takes an attempt, and what its end counts as.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::{Poll, Ready};
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::{Connection, h2};
use plimsoll_net::{Failure, Progress};

use crate::crew::Endpoint;
use crate::message::Body;
use crate::options::Options;
use crate::pool::{Call, CallEnd, Ended, Policy, Pool, PoolEvent, Protocol, Route};
use crate::recorder::Ending;
use crate::source::{Arrival, Level, Part, Source};
use crate::worker::{Context, Users, Worker};

/// A place of a closed loop whose connection failed waits this long, so that a dead target is not hammered and its
/// failures do not crowd out everything else.
const PAUSE: Nanos = Nanos::from_millis(20);
/// How long a finished connection waits for the server to close first.
const PARK: Nanos = Nanos::from_millis(500);
/// All connections belong to all of them, and lead to one place.
pub(crate) const OWNER: u32 = 0;
pub(crate) const ORIGIN: u32 = 0;

/// An attempt on the wire; 32 bytes, and nothing of it on the heap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    arrival: Arrival,
    sent: Nanos,
}

impl Attempt {
    /// One that was due when it was sent, outside of any load.
    pub(crate) fn begun(now: Nanos) -> Self {
        let arrival = Arrival {
            intended: now,
            level: 0,
            closed: false,
        };
        Self { arrival, sent: now }
    }
}

const _: () = assert!(size_of::<Attempt>() <= 32, "it is copied for every request");

impl Call for Attempt {
    type Common = Options;
    type Peer = ();
    type Body = Arc<[u8]>;
    const IS_WATCHED: bool = false;

    fn deadline(&self, options: &Options) -> Nanos {
        self.arrival.intended + options.timeout
    }

    fn is_sent(&self) -> bool {
        true
    }

    #[inline]
    fn send(
        &mut self,
        options: &Options,
        connection: &mut Connection,
        _now: Nanos,
    ) -> Result<(), Failure> {
        connection.send(&options.request)
    }

    #[inline]
    fn ready(
        &mut self,
        options: &Options,
        connection: &mut Connection,
        hung_up: bool,
        scratch: &mut [u8],
    ) -> Progress {
        connection.ready(&options.request, hung_up, scratch)
    }

    #[inline]
    fn start_stream(
        &mut self,
        options: &Options,
        connection: &mut h2::Connection,
        owner: u64,
        _now: Nanos,
    ) -> u32 {
        let http2 = options.http2.as_ref();
        let http2 = http2.expect("streams are started where the options have them");
        connection.start(&http2.request, owner)
    }
}

/// The users of one worker, and what waits for them.
#[derive(Debug)]
pub(crate) struct Requests {
    context: Context,
    options: Options,
    pool: Pool<Attempt>,
    source: Source,
    /// Attempts that a closed loop started and that have not ended.
    looping: u32,
    /// Due, without a connection.
    waiting: VecDeque<Arrival>,
    /// This worker's share of the connections.
    connections_max: u32,
    attempts_left: Option<u64>,
    is_exhausted: bool,
}

/// The connections of one worker.
pub(crate) fn pool(poll: Poll, clock: Clock, options: Options) -> Pool<Attempt> {
    let policy = Policy {
        reuses: options.keepalive,
        streams_max: options
            .http2
            .as_ref()
            .map_or(1, |http2| http2.per_connection),
        park: PARK,
        opening_max: options.timeout,
    };
    Pool::new(poll, clock, options, policy)
}

/// To the target.
pub(crate) fn route(options: &Options) -> Route<'_, ()> {
    Route {
        setup: &options.setup,
        local: None,
        protocol: match options.http2 {
            Some(_) => Protocol::Http2,
            None => Protocol::Http1,
        },
        owner: OWNER,
        origin: ORIGIN,
        peer: (),
    }
}

/// A worker whose users send one request.
pub(crate) fn worker(endpoint: Endpoint, clock: Clock, options: Options) -> Worker<Requests> {
    let part = Part {
        index: endpoint.index as u64,
        workers: u64::from(options.workers),
    };
    let users = Requests {
        context: Context::new(part, clock, options.bounds.clone(), endpoint.reports),
        source: Source::None,
        looping: 0,
        waiting: VecDeque::new(),
        connections_max: part.share_of(u64::from(options.connections_max)).max(1) as u32,
        attempts_left: options.attempts_max.map(|total| part.share_of(total)),
        is_exhausted: false,
        pool: pool(endpoint.poll, clock, options.clone()),
        options,
    };
    Worker::new(users, endpoint.commands)
}

impl Users for Requests {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn poll(&self) -> &Poll {
        &self.pool.poll
    }

    fn start_due(&mut self, now: Nanos) -> Option<Nanos> {
        self.start(now);
        self.settle();
        while self.pool.flush() {
            self.settle();
        }
        if self.attempts_left == Some(0) && self.context.in_flight == 0 && !self.is_exhausted {
            self.is_exhausted = true;
            self.context.report(Body::Exhausted);
        }
        Some(now)
    }

    #[inline]
    fn on_ready(&mut self, ready: Ready) {
        self.pool.on_ready(ready);
        self.settle();
        if !self.waiting.is_empty() {
            // Where a connection was closed another may be opened.
            let now = self.context.clock.now();
            self.serve_waiting(now);
        }
    }

    fn on_time(&mut self, now: Nanos) {
        self.serve_waiting(now);
    }

    fn next_event(&self) -> Nanos {
        match self.attempts_left {
            Some(0) => Nanos::MAX,
            _ => self.source.next(self.looping),
        }
    }

    fn needs_sweep(&self) -> bool {
        self.context.in_flight > 0 || self.pool.needs_sweep()
    }

    fn sweep(&mut self, now: Nanos) -> Nanos {
        self.give_up_waiting(now);
        self.pool.sweep(now);
        self.settle();
        // A hundredth of the timeout, so that a timeout is late by 1 % at most.
        let period = Nanos(self.options.timeout.0 / 100);
        period.clamp(Nanos::from_millis(1), Nanos::from_millis(100))
    }

    fn enter(&mut self, level: &Level, now: Nanos) {
        let seed = self.options.seed;
        self.source = Source::from_level(level, self.context.part, seed, self.looping);
        self.start(now);
    }

    fn stop_starting(&mut self, _now: Nanos) {
        self.source = Source::None;
    }

    fn is_drained(&self) -> bool {
        self.context.in_flight == 0
    }

    fn connections(&mut self) -> (u32, u64) {
        let wire_max = std::mem::take(&mut self.pool.wire_max);
        (self.pool.open_count(), wire_max)
    }
}

impl Requests {
    /// Starts every attempt whose time has come.
    #[inline]
    fn start(&mut self, now: Nanos) {
        while self.attempts_left != Some(0)
            && let Some(arrival) =
                self.source
                    .take_due(now, self.looping, self.context.recorder.level)
        {
            if let Some(left) = &mut self.attempts_left {
                *left -= 1;
            }
            self.looping += u32::from(arrival.closed);
            self.dispatch(arrival, now);
        }
    }

    /// An attempt is due: it takes an idle connection, or waits while one opens.
    #[inline]
    fn dispatch(&mut self, arrival: Arrival, now: Nanos) {
        self.context.begin(arrival.intended, arrival.level, now);
        let idle = if self.waiting.is_empty() {
            self.pool.take_idle(OWNER, ORIGIN)
        } else {
            None
        };
        // The next of a closed loop on the connection of the last is never late, and not worth a count.
        if !arrival.closed || idle.is_none() {
            // Ours is only how late the loop came to it. Whatever it waits for from here is the target's: an overloaded
            // one that lets connections hang must not make the generator look late.
            let lag = now - arrival.intended;
            self.context.recorder.lag.record(lag);
        }
        if let Some(token) = idle {
            return self.send(token, arrival, now);
        }
        self.waiting.push_back(arrival);
        self.serve_waiting(now);
    }

    #[inline]
    fn send(&mut self, token: u64, arrival: Arrival, now: Nanos) {
        self.context.recorder.sent += 1;
        self.pool.give(token, Attempt { arrival, sent: now }, now);
    }

    /// Those that wait take connections that are idle, the longest first; for the others some are opened, within the
    /// bound.
    #[inline]
    fn serve_waiting(&mut self, now: Nanos) {
        if self.waiting.is_empty() {
            return;
        }
        while !self.waiting.is_empty()
            && let Some(token) = self.pool.take_idle(OWNER, ORIGIN)
        {
            if let Some(arrival) = self.waiting.pop_front() {
                self.send(token, arrival, now);
            }
        }
        while (self.pool.opening() as usize) < self.waiting.len()
            && self.pool.open_count() < self.connections_max
        {
            self.open(now);
        }
    }

    fn open(&mut self, now: Nanos) {
        match self.pool.open(route(&self.options), None, now) {
            Ok(()) => self.context.recorder.connects += 1,
            Err((failure, _)) => self.fail_waiting(&failure, now),
        }
    }

    /// A connection could not be opened: the attempt that has waited longest pays for it.
    fn fail_waiting(&mut self, failure: &Failure, now: Nanos) {
        let Some(arrival) = self.waiting.pop_front() else {
            return;
        };
        if failure.outcome == Outcome::Dropped {
            self.context.recorder.dropped_ours += 1;
        }
        self.end(arrival, None, (failure.outcome, 0), now);
        self.free(arrival, now + PAUSE);
    }

    /// Takes in what became of attempts and connections, until nothing is left.
    #[inline]
    fn settle(&mut self) {
        while let Some(event) = self.pool.events.pop() {
            match event {
                PoolEvent::Idle { at } => self.serve_waiting(at),
                PoolEvent::Lost {
                    places,
                    failure,
                    at,
                } => {
                    (0..places).for_each(|_| self.fail_waiting(&failure, at));
                    self.serve_waiting(at);
                }
                PoolEvent::Ended(ended) => self.ended(&ended),
            }
        }
    }

    /// An attempt has left its connection.
    #[inline]
    fn ended(&mut self, ended: &Ended<Attempt>) {
        let (Attempt { arrival, sent }, now) = (ended.call, ended.at);
        let (outcome, bytes, pause) = match &ended.end {
            CallEnd::Answered(answer) => {
                let outcome = Outcome::from_status(answer.status);
                (outcome, answer.bytes, Nanos::ZERO)
            }
            CallEnd::TimedOut { .. } => (Outcome::Timeout, 0, Nanos::ZERO),
            CallEnd::Failed(failure) => (failure.outcome, 0, PAUSE),
            // It goes to another connection, its clock running on.
            CallEnd::Unprocessed(_) | CallEnd::NotTaken | CallEnd::Cancelled | CallEnd::Unfit => {
                self.waiting.push_front(arrival);
                return self.serve_waiting(now);
            }
        };
        self.end(arrival, Some(sent), (outcome, bytes), now);
        self.serve_waiting(now);
        if arrival.closed {
            self.free(arrival, now + pause);
            self.start(now);
        }
    }

    /// A closed loop owes another attempt from that time on.
    #[inline]
    fn free(&mut self, arrival: Arrival, at: Nanos) {
        if arrival.closed {
            self.looping -= 1;
            self.source.free(self.looping, at);
        }
    }

    /// Counts the end of an attempt.
    #[inline]
    fn end(
        &mut self,
        arrival: Arrival,
        sent: Option<Nanos>,
        (outcome, bytes): (Outcome, u64),
        now: Nanos,
    ) {
        let response = now - arrival.intended;
        // A late answer is a timeout even if it came before the sweep noticed.
        let late = outcome.has_answer() && response > self.options.timeout;
        let ending = Ending {
            level: arrival.level,
            outcome: if late { Outcome::Timeout } else { outcome },
            response,
            service: sent.map(|sent| now - sent),
            bytes,
        };
        self.context.end(&ending, now);
    }

    /// Attempts that waited for a connection until their time was over.
    fn give_up_waiting(&mut self, now: Nanos) {
        while let Some(&arrival) = self.waiting.front() {
            if arrival.intended + self.options.timeout > now {
                break;
            }
            self.waiting.pop_front();
            // Connections are opening: nobody answers. None may be opened: all wait for the target.
            let outcome = if self.pool.opening() > 0 {
                Outcome::ConnectTimeout
            } else {
                Outcome::Dropped
            };
            if outcome == Outcome::Dropped {
                self.context.recorder.dropped_target += 1;
            }
            self.end(arrival, None, (outcome, 0), now);
            self.free(arrival, now + PAUSE);
        }
    }
}

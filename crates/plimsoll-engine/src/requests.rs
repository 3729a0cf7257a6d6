//! Users that all send what the test of a URL says: what takes an attempt, and what its end counts as.

mod shot;
mod way;

use std::collections::VecDeque;

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::{Poll, Ready};
use plimsoll_core::step::StepLoad;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Failure;

use crate::crew::Endpoint;
use crate::message::Body;
use crate::options::Options;
use crate::pool::{CallEnd, Ended, Pool, PoolEvent, TRIES_MAX, is_stale, may_go_on};
use crate::recorder::Ending;
use crate::source::{Arrival, Level, Part, Source, Turn};
use crate::worker::{Context, Users, Worker};

pub(crate) use shot::{Attempt, Crafted, Shot};
pub(crate) use way::{OWNER, pool, route};

/// A place of a closed loop waits this long once as many connects in a row have failed as it has places, so that a dead
/// target is not hammered. One that accepts connections and then fails is not rested: what it can do is the question.
const PAUSE: Nanos = Nanos::from_millis(20);
const LEFT: &str = "the server closes connections before a request";

/// The users of one worker, and what waits for them.
#[derive(Debug)]
pub(crate) struct Requests<S: Shot> {
    context: Context,
    options: Options,
    pool: Pool<S>,
    source: Source,
    level_start: Nanos,
    /// Attempts that a closed loop started and that have not ended.
    looping: u32,
    /// Due, without a connection; by origin.
    waiting: Vec<VecDeque<S>>,
    /// Connections that were begun, by which their addresses take turns.
    begun: usize,
    /// Connects that have failed since the last that did not.
    failed_connects: u32,
    /// The shortest time in which an attempt was answered.
    fastest: Nanos,
    /// Attempts of this worker so far.
    count: u64,
    /// This worker's share of the connections, for each origin.
    connections_max: u32,
    attempts_left: Option<u64>,
    is_exhausted: bool,
}

/// A worker whose users send requests.
pub(crate) fn worker<S: Shot>(
    endpoint: Endpoint,
    clock: Clock,
    options: Options,
) -> Worker<Requests<S>> {
    let part = Part {
        index: endpoint.index as u64,
        workers: u64::from(options.workers),
    };
    let mut context = Context::new(part, clock, options.bounds.clone(), endpoint.reports);
    context.list_to(options.listing.clone());
    let users = Requests {
        context,
        source: Source::None,
        level_start: Nanos::ZERO,
        looping: 0,
        waiting: options.origins.iter().map(|_| VecDeque::new()).collect(),
        // Workers do not all begin at the same address.
        begun: endpoint.index,
        failed_connects: 0,
        fastest: Nanos::MAX,
        count: 0,
        connections_max: part.share_of(u64::from(options.connections_max)).max(1) as u32,
        attempts_left: options.attempts_max.map(|total| part.share_of(total)),
        is_exhausted: false,
        pool: pool(endpoint.poll, clock, options.clone()),
        options,
    };
    Worker::new(users, endpoint.commands)
}

impl<S: Shot> Users for Requests<S> {
    type Held<'a>
        = &'a mut Context
    where
        Self: 'a;

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
        if self.waits() {
            // Where a connection was closed another may be opened.
            let now = self.context.clock.now();
            self.serve_all(now);
        }
    }

    fn on_time(&mut self, now: Nanos) {
        self.serve_all(now);
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
        let (part, options) = (self.context.part, &self.options);
        self.source = match level.load {
            StepLoad::Closed { in_flight } => {
                let streams = self.pool.policy.streams_max.into();
                let connections = options.connections_max.into();
                let target = part.share_on(in_flight.into(), connections, streams);
                Source::closed(target as u32, level, part, self.looping)
            }
            StepLoad::Open { .. } => Source::from_level(level, part, options.seed, self.looping),
        };
        self.level_start = level.start;
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

impl<S: Shot> Requests<S> {
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
        let turn = Turn {
            number: self.context.part.number_of(self.count),
            place: self.context.part.place_of(self.count, arrival.closed),
            since: arrival.intended.saturating_sub(self.level_start),
        };
        self.count += 1;
        let shot = S::new(arrival, turn, &self.options);
        let origin = shot.origin();
        let idle = if self.waiting[origin as usize].is_empty() {
            self.pool.take_idle(OWNER, origin)
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
            return self.send(token, shot, now);
        }
        self.waiting[origin as usize].push_back(shot);
        self.serve_waiting(origin, now);
    }

    #[inline]
    fn send(&mut self, token: u64, mut shot: S, now: Nanos) {
        let recorder = &mut self.context.recorder;
        match (shot.sent(), shot.tries()) {
            (None, _) => recorder.sent += 1,
            (Some(_), 0) => recorder.followed += 1,
            (Some(_), _) => recorder.resent += 1,
        }
        shot.note_sent(now);
        self.pool.give(token, shot, now);
    }

    #[inline]
    fn waits(&self) -> bool {
        self.waiting.iter().any(|waiting| !waiting.is_empty())
    }

    #[inline]
    fn serve_all(&mut self, now: Nanos) {
        for origin in 0..self.waiting.len() {
            self.serve_waiting(origin as u32, now);
        }
    }

    /// Those that wait take connections that are idle, the longest first; for the others some are opened, within the
    /// bound.
    #[inline]
    fn serve_waiting(&mut self, origin: u32, now: Nanos) {
        let place = origin as usize;
        while !self.waiting[place].is_empty()
            && let Some(token) = self.pool.take_idle(OWNER, origin)
        {
            let Some(shot) = self.next_for(token, place) else {
                if self.lacks_room(origin) {
                    self.pool.close(token);
                    continue;
                }
                // Nothing is known against it: others will want it.
                self.pool.put_back(token);
                break;
            };
            if self.has_time_left(&shot, now) {
                self.send(token, shot, now);
            } else {
                self.pool.put_back(token);
                self.give_up(&shot, now);
            }
        }
        loop {
            let count = self.pool.count_of(origin);
            if count.opening as usize >= self.waiting[place].len()
                || count.open >= self.connections_max
            {
                return;
            }
            self.open(origin, now);
        }
    }

    /// The one that has waited longest and may take this connection. One that met a connection which was closed does not
    /// try its luck with another that is as old.
    #[inline]
    fn next_for(&mut self, token: u64, place: usize) -> Option<S> {
        let waiting = &mut self.waiting[place];
        if !self.pool.is_kept(token) {
            return waiting.pop_front();
        }
        let fits = waiting.iter().position(|shot| shot.tries() == 0)?;
        waiting.remove(fits)
    }

    /// New connections are wanted for those that wait, more than are on their way and may be opened beside the others.
    #[cold]
    fn lacks_room(&self, origin: u32) -> bool {
        let count = self.pool.count_of(origin);
        let waiting = self.waiting[origin as usize].len();
        let wanted = waiting.saturating_sub(count.opening as usize);
        count.open as usize + wanted > self.connections_max as usize
    }

    /// It could be answered before its client gives up, if the target were as fast as it ever was. Sending others would
    /// only take its time from those that can be.
    #[inline]
    fn has_time_left(&self, shot: &S, now: Nanos) -> bool {
        let fastest = match self.fastest {
            Nanos::MAX => Nanos::ZERO,
            fastest => fastest,
        };
        now + fastest < shot.deadline(&self.options)
    }

    fn open(&mut self, origin: u32, now: Nanos) {
        self.begun += 1;
        let route = route(&self.options, origin, self.begun);
        match self.pool.open(route, None, now) {
            Ok(()) => self.context.recorder.connects += 1,
            Err((failure, _)) => self.fail_waiting(origin, &failure, now),
        }
    }

    /// A connection could not be opened: the attempt that has waited longest pays for it.
    fn fail_waiting(&mut self, origin: u32, failure: &Failure, now: Nanos) {
        self.failed_connects += 1;
        let Some(shot) = self.waiting[origin as usize].pop_front() else {
            return;
        };
        // Want of ports or descriptors is ours.
        let is_ours = failure.outcome == Outcome::Dropped;
        self.context.recorder.dropped_ours += u64::from(is_ours);
        self.end(&shot, (failure.outcome, 0, 0), now);
        let is_dead = self.failed_connects > self.connections_max;
        let pause = if is_ours || is_dead {
            PAUSE
        } else {
            Nanos::ZERO
        };
        self.free(shot.arrival(), now + pause);
    }

    /// Takes in what became of attempts and connections, until nothing is left.
    #[inline]
    fn settle(&mut self) {
        while let Some(event) = self.pool.events.pop() {
            match event {
                PoolEvent::Idle { origin, at } => {
                    self.failed_connects = 0;
                    self.serve_waiting(origin, at);
                }
                PoolEvent::Lost {
                    origin,
                    places,
                    failure,
                    at,
                } => {
                    (0..places).for_each(|_| self.fail_waiting(origin, &failure, at));
                    self.serve_waiting(origin, at);
                }
                PoolEvent::Left { origin, at } => self.left(origin, at),
                PoolEvent::Ended(ended) => self.ended(ended),
            }
        }
    }

    /// A server left a connection before it took a request: the attempt that has waited longest tries another, but not for ever,
    /// as a server that does so each time would be connected to in a loop.
    #[cold]
    fn left(&mut self, origin: u32, now: Nanos) {
        match self.waiting[origin as usize].front_mut() {
            Some(shot) if shot.tries() < TRIES_MAX => drop(shot.try_again()),
            Some(_) => self.fail_waiting(origin, &Failure::new(Outcome::Eof, LEFT), now),
            None => {}
        }
        self.serve_waiting(origin, now);
    }

    /// An attempt has left its connection.
    #[inline]
    fn ended(&mut self, ended: Ended<S>) {
        let (mut shot, now) = (ended.call, ended.at);
        let origin = shot.origin();
        let (outcome, status, bytes) = match &ended.end {
            CallEnd::Answered(answer) => {
                if shot.follow(answer.status, answer.bytes, &self.options) {
                    return self.go_on(shot, now);
                }
                let outcome = self.options.outcome(answer.status);
                if outcome == Outcome::Ok
                    && let Some(sent) = shot.sent()
                {
                    self.fastest = self.fastest.min(now - sent);
                }
                (outcome, answer.status, answer.bytes + shot.earlier_bytes())
            }
            CallEnd::TimedOut { .. } => (Outcome::Timeout, 0, 0),
            // A connection that has answered others and leaves is how servers retire connections, and never the last straw.
            CallEnd::Unprocessed(_) if ended.was_used || shot.tries() < TRIES_MAX => {
                shot.try_again();
                return self.go_on(shot, now);
            }
            CallEnd::Failed(failure)
                if shot.tries() < TRIES_MAX
                    && may_go_on(failure, ended.was_used, shot.method(&self.options)) =>
            {
                shot.try_again();
                return self.go_on(shot, now);
            }
            CallEnd::Failed(failure) if is_stale(failure, ended.was_used) => (Outcome::Stale, 0, 0),
            CallEnd::Failed(failure) | CallEnd::Unprocessed(failure) => (failure.outcome, 0, 0),
            // It goes to another connection, its clock running on.
            CallEnd::NotTaken | CallEnd::Cancelled | CallEnd::Unfit => {
                shot.try_again();
                return self.go_on(shot, now);
            }
        };
        self.end(&shot, (outcome, status, bytes), now);
        self.serve_waiting(origin, now);
        let arrival = shot.arrival();
        if arrival.closed {
            self.free(arrival, now);
            self.start(now);
        }
    }

    /// The attempt needs another connection, before all that wait.
    #[cold]
    fn go_on(&mut self, shot: S, now: Nanos) {
        let origin = shot.origin();
        self.waiting[origin as usize].push_front(shot);
        self.serve_waiting(origin, now);
    }

    /// A closed loop owes another attempt from that time on.
    #[inline]
    fn free(&mut self, arrival: Arrival, at: Nanos) {
        if arrival.closed {
            self.looping -= 1;
            self.source.free(self.looping, at);
        }
    }

    /// Counts the end of an attempt: what it came to, the code and the bytes of its answer.
    #[inline]
    fn end(&mut self, shot: &S, (outcome, status, bytes): (Outcome, u16, u64), now: Nanos) {
        let arrival = shot.arrival();
        let response = now - arrival.intended;
        // A late answer is a timeout even if it came before the sweep noticed.
        let late = outcome.has_answer() && response > self.options.timeout;
        let ending = Ending {
            level: arrival.level,
            intended: arrival.intended,
            outcome: if late { Outcome::Timeout } else { outcome },
            status: if late { 0 } else { status },
            response,
            service: shot.sent().map(|sent| now - sent),
            bytes,
            operation: shot.operation(),
        };
        self.context.end(&ending, now);
    }

    /// Attempts that waited for a connection until their time was over.
    fn give_up_waiting(&mut self, now: Nanos) {
        for place in 0..self.waiting.len() {
            while let Some(shot) = self.waiting[place].front()
                && shot.deadline(&self.options) <= now
                && let Some(shot) = self.waiting[place].pop_front()
            {
                self.give_up(&shot, now);
            }
        }
    }

    /// An attempt has no time left and no connection.
    fn give_up(&mut self, shot: &S, now: Nanos) {
        // Connections are opening: nobody answers. None may be opened: all wait for the target.
        let is_opening = self.pool.count_of(shot.origin()).opening > 0;
        let outcome = match shot.sent() {
            Some(_) => Outcome::Timeout,
            None if is_opening => Outcome::ConnectTimeout,
            None => Outcome::Dropped,
        };
        if outcome == Outcome::Dropped {
            self.context.recorder.dropped_target += 1;
        }
        self.end(shot, (outcome, 0, 0), now);
        let pause = if is_opening { PAUSE } else { Nanos::ZERO };
        self.free(shot.arrival(), now + pause);
    }
}

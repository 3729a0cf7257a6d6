//! Starts and ends attempts: which connection takes one, what its end counts as.

use std::os::fd::AsFd;

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Connection;
use plimsoll_net::connection::{Failure, Progress};
use plimsoll_net::h1::Answer;
use plimsoll_net::poll::Ready;

use crate::arrival::{Arrival, Attempt};
use crate::recorder::Ending;
use crate::slots::{Carrier, State, Token};
use crate::worker::Worker;

/// How long a finished connection waits for the peer to close first.
const PARK: Nanos = Nanos::from_millis(500);

impl Worker {
    /// An attempt is due: it takes an idle connection, or waits while one opens.
    pub(crate) fn dispatch(&mut self, arrival: Arrival, now: Nanos) {
        self.count_start(arrival.intended, now);
        // Ours is only how late the loop came to it. Whatever it waits for from here is the target's:
        // an overloaded one that lets connections hang must not make the generator look late.
        self.recorder.lag.record(now - arrival.intended);
        if self.waiting.is_empty()
            && let Some(token) = self.slots.pop_idle()
        {
            self.send(token, arrival, now);
            return;
        }
        self.waiting.push_back(arrival);
        self.open_for_waiting(now);
    }

    /// An attempt exists from its intended start, however late the loop came round to it.
    #[inline]
    fn count_start(&mut self, intended: Nanos, now: Nanos) {
        self.recorder.advance(now, self.in_flight);
        self.recorder.add_late(now - intended);
        self.in_flight += 1;
        self.recorder.in_flight_max = self.recorder.in_flight_max.max(self.in_flight);
        self.recorder.due += 1;
    }

    /// Opens as many connections as attempts wait, within the bound.
    pub(crate) fn open_for_waiting(&mut self, now: Nanos) {
        while (self.slots.opening() as usize) < self.waiting.len()
            && self.connections_open() < self.connections_max
        {
            let opened = match &self.options.streams {
                None => self.open_own(now),
                Some(streams) => self.open_shared(streams.per_connection, now),
            };
            match opened {
                Ok(()) => self.recorder.connects += 1,
                Err(failure) => self.fail_waiting(&failure, now),
            }
        }
    }

    pub(crate) fn connections_open(&self) -> u32 {
        if self.options.streams.is_some() {
            self.shared.open()
        } else {
            self.slots.open()
        }
    }

    fn open_own(&mut self, now: Nanos) -> Result<(), Failure> {
        let connection = Connection::open(&self.options.setup)?;
        self.register(&connection, self.slots.next_token().0)?;
        self.slots.insert(Carrier::Own(connection), now);
        Ok(())
    }

    /// Tells the poll of a new socket.
    pub(crate) fn register(&self, socket: &impl AsFd, token: u64) -> Result<(), Failure> {
        let added = self.poll.add(socket, token);
        added.map_err(|error| Failure::new(Outcome::Dropped, error.to_string()))
    }

    /// A connection could not be opened: the attempt that has waited longest pays for it.
    fn fail_waiting(&mut self, failure: &Failure, now: Nanos) {
        let Some(arrival) = self.waiting.pop_front() else {
            return;
        };
        if failure.outcome == Outcome::Dropped {
            self.recorder.dropped_ours += 1;
        }
        self.end(arrival, None, failure.outcome, 0, now);
    }

    /// Sends the request through an idle slot.
    #[inline]
    pub(crate) fn send(&mut self, token: Token, arrival: Arrival, now: Nanos) {
        self.slots
            .set(token, State::Busy(Attempt { arrival, sent: now }));
        self.recorder.sent += 1;
        self.recorder.wire_max = self.recorder.wire_max.max(u64::from(self.slots.busy()));
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        match &mut slot.carrier {
            Carrier::Own(connection) => {
                if let Err(failure) = connection.send(&self.options.request) {
                    self.fail(token, &failure, now);
                }
            }
            Carrier::Shared { connection, .. } => {
                let connection = *connection;
                if !self.start_stream(token, connection) {
                    self.send_elsewhere(token, arrival, now);
                }
            }
        }
    }

    /// A socket is ready.
    #[inline]
    pub(crate) fn on_ready(&mut self, ready: Ready) {
        if self.options.streams.is_some() {
            return self.on_shared_ready(ready);
        }
        let token = Token(ready.token);
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        if let State::Parked(_) = slot.state {
            if ready.hung_up {
                self.slots.remove(token);
            }
            return;
        }
        let Carrier::Own(connection) = &mut slot.carrier else {
            return;
        };
        let progress = connection.ready(&self.options.request, ready.hung_up, &mut self.scratch);
        if progress == Progress::Pending {
            return;
        }
        let now = self.clock.now();
        match progress {
            Progress::Pending => {}
            Progress::Answered(answer) => self.on_answer(token, answer, ready.hung_up, now),
            Progress::Connected => self.make_idle(token, now),
            Progress::ClosedIdle => {
                self.slots.remove(token);
                self.open_for_waiting(now);
            }
            Progress::Failed(failure) => self.fail(token, &failure, now),
        }
    }

    #[inline]
    pub(crate) fn on_answer(&mut self, token: Token, answer: Answer, hung_up: bool, now: Nanos) {
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        let State::Busy(attempt) = slot.state else {
            return;
        };
        let keep = answer.keepalive && self.options.keepalive && !hung_up;
        let outcome = Outcome::of_status(answer.status);
        if keep {
            // Not yet on the idle stack: a closed loop sends on it at once.
            let restart = self.end(
                attempt.arrival,
                Some(attempt.sent),
                outcome,
                answer.bytes,
                now,
            );
            if restart && self.waiting.is_empty() {
                self.restart_on(token, now);
                return;
            }
            self.make_idle(token, now);
            if restart {
                self.start_closed(now);
            }
            return;
        }
        let is_own = matches!(slot.carrier, Carrier::Own(_));
        if is_own && !hung_up {
            self.slots.set(token, State::Parked(now + PARK));
        } else {
            self.drop_slot(token);
        }
        if self.end(
            attempt.arrival,
            Some(attempt.sent),
            outcome,
            answer.bytes,
            now,
        ) {
            self.start_closed(now);
        }
        self.open_for_waiting(now);
    }

    /// The closed loop's fast path: the same connection carries the next request.
    #[inline]
    fn restart_on(&mut self, token: Token, now: Nanos) {
        self.count_start(now, now);
        self.closed_running += 1;
        self.use_up();
        let arrival = Arrival {
            intended: now,
            level: self.recorder.level,
            closed: true,
        };
        self.send(token, arrival, now);
    }

    /// The connection can carry a request: the attempt that has waited longest gets it.
    pub(crate) fn make_idle(&mut self, token: Token, now: Nanos) {
        match self.waiting.pop_front() {
            Some(arrival) => self.send(token, arrival, now),
            None => self.slots.set(token, State::Idle),
        }
    }

    /// The slot failed, and with it the attempt on it, or one that waited for it.
    pub(crate) fn fail(&mut self, token: Token, failure: &Failure, now: Nanos) {
        self.fail_one(token, failure, now);
        self.open_for_waiting(now);
    }

    pub(crate) fn fail_one(&mut self, token: Token, failure: &Failure, now: Nanos) {
        let Some(slot) = self.drop_slot(token) else {
            return;
        };
        match slot.state {
            State::Busy(attempt) => {
                if self.end(attempt.arrival, Some(attempt.sent), failure.outcome, 0, now) {
                    self.pause(now);
                }
            }
            State::Opening(_) => self.fail_waiting(failure, now),
            State::Idle | State::Parked(_) => {}
        }
    }

    /// Counts the end of an attempt; true when a closed loop owes a new one at once.
    #[inline]
    pub(crate) fn end(
        &mut self,
        arrival: Arrival,
        sent: Option<Nanos>,
        outcome: Outcome,
        bytes: u64,
        now: Nanos,
    ) -> bool {
        self.recorder.advance(now, self.in_flight);
        self.in_flight -= 1;
        let response = now - arrival.intended;
        // A late answer is a timeout even if it came before the sweep noticed.
        let late = outcome.has_answer() && response > self.options.timeout;
        let outcome = if late { Outcome::Timeout } else { outcome };
        let service = sent.map(|sent| now - sent);
        let ending = Ending {
            level: arrival.level,
            outcome,
            response,
            service,
            bytes,
        };
        self.recorder.record(&ending, &self.options.bounds);
        if !arrival.closed {
            return false;
        }
        self.closed_running -= 1;
        if sent.is_none() {
            self.pause(now);
            return false;
        }
        self.wants_closed()
    }

    /// Attempts and connections whose time is over.
    pub(crate) fn sweep(&mut self, now: Nanos) {
        let timeout = self.options.timeout;
        while let Some(&arrival) = self.waiting.front() {
            if arrival.intended + timeout > now {
                break;
            }
            self.waiting.pop_front();
            // Connections are opening: nobody answers. None may be opened: all wait for the target.
            let outcome = if self.slots.opening() > 0 {
                Outcome::ConnectTimeout
            } else {
                Outcome::Dropped
            };
            if outcome == Outcome::Dropped {
                self.recorder.dropped_target += 1;
            }
            self.end(arrival, None, outcome, 0, now);
        }
        let mut over = std::mem::take(&mut self.over);
        over.extend(
            self.slots
                .iter()
                .filter(|(_, slot)| is_over(&slot.state, timeout, now))
                .map(|(token, _)| token),
        );
        for token in over.drain(..) {
            self.time_out(token, now);
        }
        self.over = over;
        self.open_for_waiting(now);
    }

    fn time_out(&mut self, token: Token, now: Nanos) {
        let Some(slot) = self.slots.get(token) else {
            return;
        };
        let State::Busy(attempt) = slot.state else {
            self.drop_slot(token);
            return;
        };
        let keeps_place = match slot.carrier {
            Carrier::Own(_) => false,
            Carrier::Shared { connection, stream } => {
                self.cancel_stream((connection, stream), attempt.sent)
            }
        };
        let sent = Some(attempt.sent);
        let restart = self.end(attempt.arrival, sent, Outcome::Timeout, 0, now);
        if keeps_place {
            self.make_idle(token, now);
        } else {
            self.drop_slot(token);
        }
        if restart {
            self.start_closed(now);
        }
    }
}

fn is_over(state: &State, timeout: Nanos, now: Nanos) -> bool {
    match state {
        State::Opening(since) => *since + timeout <= now,
        State::Busy(attempt) => attempt.arrival.intended + timeout <= now,
        State::Parked(until) => *until <= now,
        State::Idle => false,
    }
}

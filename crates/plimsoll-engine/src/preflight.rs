//! One request before the run, so that a target that cannot work is named in words at once.

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::Poll;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::h1::Answer;
use plimsoll_net::{Failure, Reached, Target};

use crate::options::Options;
use crate::pool::{CallEnd, Pool, PoolEvent};
use crate::requests::{Crafted, OWNER, Shot, pool, route};
use crate::source::{Arrival, Turn};

/// Connects before the target is called unreachable: one may hit an unlucky moment.
const CONNECTS: usize = 3;
/// Longest wait for a server to go on with a TLS handshake: nobody who speaks it takes as long.
const HANDSHAKE: Nanos = Nanos::from_secs(2);
const LOOK: Nanos = Nanos::from_millis(500);
/// Longest wait for the answer.
const PATIENCE: Nanos = Nanos::from_secs(5);

/// What the target answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    pub answer: Answer,
    /// Where the answer leads, if it says so and was not followed there.
    pub location: Option<String>,
    /// The same, if it was to be followed and the options know no such place: [`Preflight::send`] goes on there once they
    /// do.
    pub unknown: Option<Target>,
    /// Until this answer, without the time between two calls.
    pub time: Nanos,
}

/// The one request of the test, and how far it has come.
#[derive(Debug)]
pub struct Preflight {
    shot: Crafted,
    greeting: Option<Greeting>,
}

/// An answer, and the request that has it.
struct Answered {
    greeting: Greeting,
    shot: Crafted,
}

/// Why there was no answer, and whether the request went out.
struct Silence {
    failure: Failure,
    was_sent: bool,
}

impl Silence {
    /// It would be the same again.
    fn is_final(&self) -> bool {
        matches!(self.failure.outcome, Outcome::Tls | Outcome::Protocol)
    }
}

impl Preflight {
    /// The first request of the test.
    pub fn new(options: &Options) -> Self {
        let arrival = Arrival {
            intended: Nanos::ZERO,
            level: 0,
            closed: false,
        };
        // Its random ids are not those of the first attempt, which a server may take once only.
        let mut options = options.clone();
        options.seed = !options.seed;
        Self {
            shot: Crafted::new(arrival, Turn::default(), &options),
            greeting: None,
        }
    }

    /// Sends it, once, and follows it as far as the test does, to places that the options know. Called again, it goes on
    /// where the last answer led: whoever has answered sees no second request. Only a connection that came to nothing
    /// before a byte was written is tried again.
    pub fn send(&mut self, options: &Options) -> Result<Greeting, Failure> {
        let mut spent = Nanos::ZERO;
        if let Some(last) = &self.greeting {
            let Answer { status, bytes, .. } = last.answer;
            if !self.shot.follow(status, bytes, options) {
                return Ok(Greeting {
                    unknown: None,
                    ..last.clone()
                });
            }
            spent = last.time;
        }
        let Answered { mut greeting, shot } = self.attempts(options)?;
        greeting.time += spent;
        self.shot = shot;
        self.greeting = Some(greeting.clone());
        Ok(greeting)
    }

    fn attempts(&self, options: &Options) -> Result<Answered, Failure> {
        let mut turn = 0;
        loop {
            turn += 1;
            match attempt(self.shot.clone(), options, turn) {
                Ok(answered) => return Ok(answered),
                Err(silence) if silence.was_sent || turn >= CONNECTS || silence.is_final() => {
                    return Err(silence.failure);
                }
                Err(_) => {}
            }
        }
    }
}

fn attempt(shot: Crafted, options: &Options, turn: usize) -> Result<Answered, Silence> {
    let clock = Clock::start();
    let patience = PATIENCE.min(options.timeout);
    let mut greeter = Greeter {
        pool: pool(Poll::new().map_err(broken)?, clock, options.clone()),
        shot: Some(shot),
        options,
        turn,
        was_sent: false,
        is_connected: false,
    };
    greeter.carry(clock.now())?;
    let mut ready = Vec::new();
    while clock.now() < patience && greeter.pool.open_count() > 0 {
        if clock.now() > HANDSHAKE && !greeter.is_connected && greeter.pool.has_reached() {
            break;
        }
        let wait = patience.min(clock.now() + LOOK);
        let wait = wait.saturating_sub(clock.now());
        greeter.pool.poll.wait(wait, &mut ready).map_err(broken)?;
        ready
            .drain(..)
            .for_each(|event| greeter.pool.on_ready(event));
        while let Some(event) = greeter.pool.events.pop() {
            if let Some(answered) = greeter.take(event, clock.now())? {
                return Ok(answered);
            }
        }
    }
    Err(greeter.silence(patience))
}

/// The one request on its way.
struct Greeter<'a> {
    options: &'a Options,
    pool: Pool<Crafted>,
    shot: Option<Crafted>,
    turn: usize,
    was_sent: bool,
    is_connected: bool,
}

impl Greeter<'_> {
    /// Puts the request on a connection, or opens one for it.
    fn carry(&mut self, now: Nanos) -> Result<(), Silence> {
        let Some(mut shot) = self.shot.take() else {
            return Ok(());
        };
        let origin = shot.origin();
        if let Some(token) = self.pool.take_idle(OWNER, origin) {
            shot.note_sent(now);
            self.was_sent = true;
            self.pool.give(token, shot, now);
            self.pool.flush();
            return Ok(());
        }
        self.shot = Some(shot);
        let route = route(self.options, origin, self.turn);
        let opened = self.pool.open(route, None, now);
        opened.map_err(|(failure, _)| self.failed(failure))
    }

    fn take(&mut self, event: PoolEvent<Crafted>, now: Nanos) -> Result<Option<Answered>, Silence> {
        let ended = match event {
            PoolEvent::Idle { .. } => {
                self.is_connected = true;
                self.carry(now)?;
                return Ok(None);
            }
            PoolEvent::Lost { failure, .. } => return Err(self.failed(failure)),
            PoolEvent::Left { .. } => return Err(self.failed(left())),
            PoolEvent::Ended(ended) => ended,
        };
        match ended.end {
            CallEnd::Answered(answer) => {
                let mut shot = ended.call;
                if shot.follow(answer.status, answer.bytes, self.options) {
                    self.shot = Some(shot);
                    self.carry(now)?;
                    return Ok(None);
                }
                let location = shot.leads_to(answer.status);
                let greeting = Greeting {
                    answer,
                    location: location.map(|to| to.to_string()),
                    unknown: shot.wants_to(answer.status, self.options),
                    time: now,
                };
                Ok(Some(Answered { greeting, shot }))
            }
            CallEnd::Failed(failure) | CallEnd::Unprocessed(failure) => Err(self.failed(failure)),
            CallEnd::TimedOut { .. } | CallEnd::Cancelled | CallEnd::Unfit | CallEnd::NotTaken => {
                let reason = "the request was given up";
                Err(self.failed(Failure::new(Outcome::Interrupted, reason)))
            }
        }
    }

    fn failed(&self, failure: Failure) -> Silence {
        Silence {
            was_sent: self.was_sent && failure.reached != Reached::Nothing,
            failure,
        }
    }

    fn silence(&self, patience: Nanos) -> Silence {
        let failure = if self.pool.open_count() == 0 {
            left()
        } else if self.is_connected {
            let reason = format!("connected, but no complete answer within {patience}");
            Failure::new(Outcome::Timeout, reason)
        } else if self.pool.has_reached() {
            let tls = self.options.endpoint().is_some_and(|it| it.target.tls);
            let (outcome, offered) = if tls {
                (Outcome::Tls, "a TLS handshake")
            } else {
                (Outcome::Protocol, "HTTP/2")
            };
            let reason = format!("connected, but the server says nothing to {offered}");
            Failure::new(outcome, reason)
        } else {
            let reason = format!("no connection within {patience}");
            Failure::new(Outcome::ConnectTimeout, reason)
        };
        Silence {
            failure,
            was_sent: self.was_sent,
        }
    }
}

fn left() -> Failure {
    Failure::new(
        Outcome::Eof,
        "the server closes connections before a request",
    )
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn broken(error: std::io::Error) -> Silence {
    Silence {
        failure: Failure::new(Outcome::Dropped, error.to_string()),
        was_sent: false,
    }
}

//! One request before the run, so that a target that cannot work is named in words at once.

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Connection;
use plimsoll_net::clock::Clock;
use plimsoll_net::connection::{Failure, Progress, SCRATCH_BYTES};
use plimsoll_net::h1::Answer;
use plimsoll_net::h2;
use plimsoll_net::poll::Poll;

use crate::options::Options;

/// Attempts before the target is called unreachable: one may hit an unlucky moment.
const ATTEMPTS: u32 = 3;
/// Longest wait for one of them.
const PATIENCE: Nanos = Nanos::from_secs(5);

/// Sends up to three requests, one after the other, until one is answered.
pub fn preflight(options: &Options) -> Result<Answer, Failure> {
    let mut result = attempt(options);
    for _ in 1..ATTEMPTS {
        if result.is_ok() {
            break;
        }
        result = attempt(options);
    }
    result
}

fn attempt(options: &Options) -> Result<Answer, Failure> {
    let of_io = |error: std::io::Error| Failure::new(Outcome::Dropped, error.to_string());
    let clock = Clock::start();
    let patience = PATIENCE.min(options.timeout);
    let poll = Poll::new().map_err(of_io)?;
    let mut asked = Asked::open(options, &poll)?;
    let mut scratch = vec![0; SCRATCH_BYTES];
    let mut ready = Vec::new();
    while clock.now() < patience {
        poll.wait(patience.saturating_sub(clock.now()), &mut ready)
            .map_err(of_io)?;
        for event in ready.drain(..) {
            if let Some(answer) = asked.ready(options, event.hung_up, &mut scratch)? {
                return Ok(answer);
            }
        }
    }
    if asked.is_connected() {
        let reason = format!("connected, but no complete answer within {patience}");
        return Err(Failure::new(Outcome::Timeout, reason));
    }
    let reason = format!("no connection within {patience}");
    Err(Failure::new(Outcome::ConnectTimeout, reason))
}

/// The connection of one such request.
enum Asked {
    Http1(Connection),
    Http2(Box<h2::Connection>),
}

impl Asked {
    fn open(options: &Options, poll: &Poll) -> Result<Self, Failure> {
        let of_io = |error: std::io::Error| Failure::new(Outcome::Dropped, error.to_string());
        if options.streams.is_some() {
            let connection = h2::Connection::open(&options.setup)?;
            poll.add(&connection, 0).map_err(of_io)?;
            return Ok(Self::Http2(Box::new(connection)));
        }
        let connection = Connection::open(&options.setup)?;
        poll.add(&connection, 0).map_err(of_io)?;
        Ok(Self::Http1(connection))
    }

    fn is_connected(&self) -> bool {
        match self {
            Self::Http1(connection) => connection.is_connected(),
            Self::Http2(connection) => connection.running() > 0,
        }
    }

    fn ready(
        &mut self,
        options: &Options,
        hung_up: bool,
        scratch: &mut [u8],
    ) -> Result<Option<Answer>, Failure> {
        match self {
            Self::Http1(connection) => match connection.ready(&options.request, hung_up, scratch) {
                Progress::Pending => Ok(None),
                Progress::Connected => connection.send(&options.request).map(|()| None),
                Progress::Answered(answer) => Ok(Some(answer)),
                Progress::ClosedIdle => Err(closed_before()),
                Progress::Failed(failure) => Err(failure),
            },
            Self::Http2(connection) => {
                let mut events = Vec::new();
                // A server may close with its answer, which counts.
                let ended = connection.ready(hung_up, scratch, &mut events);
                let mut answer = None;
                for event in events {
                    match event {
                        h2::Event::Connected => start(connection, options)?,
                        h2::Event::Answered { answer: whole, .. } => answer = Some(whole),
                        h2::Event::Failed { failure, .. }
                        | h2::Event::Unprocessed { failure, .. } => return Err(failure),
                    }
                }
                match answer {
                    Some(answer) => Ok(Some(answer)),
                    None => ended.map(|()| None),
                }
            }
        }
    }
}

fn start(connection: &mut h2::Connection, options: &Options) -> Result<(), Failure> {
    if let Some(streams) = &options.streams {
        connection.start(&streams.request, 0);
    }
    connection.flush()
}

fn closed_before() -> Failure {
    Failure::new(
        Outcome::Eof,
        "the server closes connections before a request",
    )
}

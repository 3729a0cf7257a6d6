//! One request and its answer while the caller waits: for looks beside a run, never for its load.

use plimsoll_core::test::Request;
use plimsoll_core::{Nanos, Outcome};
use thiserror::Error;

use crate::connection::{Connection, Progress};
use crate::failure::Failure;
use crate::h1::{HeaderError, Sink, encode_request};
use crate::resolve::addresses;
use crate::target::{Target, TargetError};
use crate::tls::{self, TlsChoice, TlsError};
use crate::transport::{SCRATCH_BYTES, Setup};
use plimsoll_base::clock::Clock;
use plimsoll_base::poll::Poll;

/// How long to wait for an answer, and how much of it to take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// From the connect to the last byte.
    pub time: Nanos,
    pub body_bytes_max: usize,
    /// Certificates are not verified.
    pub insecure: bool,
}

/// An answer with its body, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ExchangeError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("{0}")]
    Failed(Failure),
    #[error("no complete answer within {0}")]
    Late(Nanos),
    #[error("the answer is longer than {0} bytes")]
    Long(usize),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Sends `request` over HTTP/1.1 on a connection of its own. Every address of the name has its turn.
pub fn exchange(request: &Request, patience: Patience) -> Result<Response, ExchangeError> {
    let target = Target::parse(&request.url)?;
    let choice = TlsChoice {
        insecure: patience.insecure,
        ..TlsChoice::default()
    };
    let tls = tls::setup_of(&target, &choice)?;
    let bytes = encode_request(request, &target, false)?;
    let mut result = Err(ExchangeError::Late(patience.time));
    for address in addresses(&target.host, target.port, None)? {
        let setup = Setup {
            address: address.into(),
            tunnel: None,
            tls: tls.clone(),
            head_request: request.method == "HEAD",
        };
        result = exchange_with(&setup, &bytes, patience);
        let refused = |failure: &Failure| failure.outcome == Outcome::Refused;
        if !matches!(&result, Err(ExchangeError::Failed(failure)) if refused(failure)) {
            break;
        }
    }
    result
}

fn exchange_with(
    setup: &Setup,
    request: &[u8],
    patience: Patience,
) -> Result<Response, ExchangeError> {
    let clock = Clock::start();
    let poll = Poll::new()?;
    let mut connection = Connection::open(None, setup).map_err(ExchangeError::Failed)?;
    poll.add(&connection, 0)?;
    let mut scratch = vec![0; SCRATCH_BYTES];
    let mut body = Body {
        bytes: Vec::new(),
        room: patience.body_bytes_max,
    };
    let (mut ready, mut again) = (Vec::new(), None);
    while clock.now() < patience.time {
        match again.take() {
            Some(event) => ready.push(event),
            None => poll.wait(patience.time.saturating_sub(clock.now()), &mut ready)?,
        }
        for event in ready.drain(..) {
            match connection.ready_into(request, event.hung_up, &mut scratch, &mut body) {
                Progress::Pending => again = connection.has_more().then_some(event),
                Progress::Connected => connection.send(request).map_err(ExchangeError::Failed)?,
                Progress::Answered(answer) if body.bytes.len() <= body.room => {
                    return Ok(Response {
                        status: answer.status,
                        body: body.bytes,
                    });
                }
                Progress::Answered(_) => return Err(ExchangeError::Long(body.room)),
                Progress::ClosedIdle => {
                    let reason = "the server closes connections before a request";
                    return Err(ExchangeError::Failed(Failure::new(Outcome::Eof, reason)));
                }
                Progress::Failed(failure) => return Err(ExchangeError::Failed(failure)),
            }
        }
        if body.bytes.len() > body.room {
            return Err(ExchangeError::Long(body.room));
        }
    }
    Err(ExchangeError::Late(patience.time))
}

/// Keeps one byte more than there is room for, by which a body that is too long is known.
struct Body {
    bytes: Vec<u8>,
    room: usize,
}

impl Sink for Body {
    fn body(&mut self, bytes: &[u8]) {
        let room = (self.room + 1).saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

#[cfg(test)]
mod tests;

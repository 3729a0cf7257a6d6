//! One HTTP/2 client connection (RFC 9113): many requests on the wire at once, each a stream.

pub(crate) mod frame;
pub mod hpack;
mod huffman;
mod peer;
mod problem;
mod request;
mod session;
mod streams;

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use plimsoll_core::Outcome;

use self::frame::{FRAME_BYTES_MAX, HEAD_BYTES, code, kind};
pub use self::frame::{PeerError, REFUSED_STREAM};
pub use self::hpack::write_field;
pub use self::request::EncodedRequest;
use self::session::OUT_MAX;
pub use self::session::Session;
pub use self::streams::NewStream;
use crate::failure::{Failure, Result};
use crate::h1::Answer;
use crate::tls::Agreed;
use crate::transport::{Read, Setup, Transport};

/// A connection that is over is read so often: more than a socket holds by the defaults of Linux (`tcp_rmem`, 6 MiB).
const LAST_READS_MAX: usize = 16;

/// What a readiness event led to; `owner` is what [`Connection::start`] was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The server speaks HTTP/2 and has said how many streams it takes: requests may start.
    Connected,
    Answered {
        owner: u64,
        answer: Answer,
    },
    /// This stream failed, and no other.
    Failed {
        owner: u64,
        failure: Failure,
    },
    /// The server closes and did not look at this request: it belongs on another connection. The failure is for those who
    /// do not try again.
    Unprocessed {
        owner: u64,
        failure: Failure,
    },
}

/// Where things go as they come; `owner` is what the stream was started with. A `Vec` of events throws headers and bodies
/// away, at no cost.
pub trait Sink {
    fn event(&mut self, event: Event);
    /// A header of the final answer, its name in lower case.
    fn field(&mut self, _owner: u64, _name: &[u8], _value: &[u8]) {}
    /// Some of the body.
    fn body(&mut self, _owner: u64, _bytes: &[u8]) {}
}

impl Sink for Vec<Event> {
    #[inline]
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}

/// One connection, with bodies of requests as `B`.
#[derive(Debug)]
pub struct Connection<B = Arc<[u8]>> {
    transport: Transport,
    session: Session<B>,
    /// What was wrong with what came before there was a connection to speak of.
    problem: Option<Failure>,
}

impl Connection {
    /// Starts a stream; only while [`Self::vacant`]. Its number, for [`Self::cancel`]. [`Self::flush`] sends it.
    #[inline]
    pub fn start(&mut self, request: &EncodedRequest, owner: u64) -> u32 {
        self.session.start(request, owner)
    }
}

impl<B: AsRef<[u8]>> Connection<B> {
    /// Starts to connect, from an address of this host if one is given. An immediate refusal by the local system is a
    /// failure here.
    pub fn open(local: Option<IpAddr>, setup: &Setup) -> Result<Self> {
        Ok(Self {
            transport: Transport::open(local, setup)?,
            session: Session::new(),
            problem: None,
        })
    }

    /// Over a transport that is open and has chosen HTTP/2; `early` is what came with the end of the handshake.
    pub(crate) fn over(transport: Transport, early: &[u8], sink: &mut impl Sink) -> Self {
        let mut session = Session::new();
        let problem = session.read(early, sink).err();
        Self {
            transport,
            session,
            problem,
        }
    }

    /// Streams that may be started now, besides those that run. Before the server has named its limit, that is a guess.
    pub fn vacant(&self) -> usize {
        let session = &self.session;
        if session.leaves.is_some() {
            return 0;
        }
        let most = session.peer.streams_max as usize;
        let vacant = most.saturating_sub(session.streams.len());
        vacant.min(session.numbers_left() as usize)
    }

    /// Streams that wait for their answers.
    pub fn running(&self) -> usize {
        self.session.streams.len()
    }

    /// The socket has found its host.
    pub fn has_reached(&self) -> bool {
        self.transport.is_connected()
    }

    /// No new stream can ever be started.
    pub fn is_leaving(&self) -> bool {
        self.session.leaves.is_some() || self.session.numbers_left() == 0
    }

    /// More has come than one event may read, and raises no further: [`Self::ready`] wants to be called again.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.transport.has_more()
    }

    /// As `start`, with a header block of [`write_field`] for this request only.
    pub fn start_plain(&mut self, block: &[u8], stream: NewStream<B>) -> u32 {
        self.session.start_plain(block, stream)
    }

    /// All of this stream's request was taken by the socket, or TLS.
    pub fn has_written(&self, stream: u32) -> bool {
        let session = &self.session;
        session.out.is_empty() && !session.streams.has_body_left(stream)
    }

    /// What TLS agreed on.
    pub fn agreed(&self) -> Option<Agreed> {
        self.transport.agreed()
    }

    /// Asks the server whether it is there; the answer is no event.
    pub fn ping(&mut self) {
        self.session.ping_peer();
    }

    /// Nobody waits for this stream any more.
    pub fn cancel(&mut self, stream: u32) {
        let session = &mut self.session;
        if session.streams.remove(stream).is_some() {
            frame::write_word(kind::RST_STREAM, stream, code::CANCEL, &mut session.out);
        }
    }

    /// Writes what waits to be written.
    pub fn flush(&mut self) -> Result<()> {
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        if !self.transport.is_open() {
            return Ok(());
        }
        let session = &mut self.session;
        loop {
            let rest = session.out.get(session.out_at..).unwrap_or_default();
            if rest.is_empty() {
                return self.transport.flush();
            }
            self.transport.write(&session.out, &mut session.out_at)?;
            let left = session.out.len() - session.out_at;
            if left > OUT_MAX {
                let reason = "the server reads nothing of what it is sent";
                return Err(Failure::new(Outcome::Protocol, reason));
            }
            if left > 0 {
                return Ok(());
            }
            session.out.clear();
            session.out_at = 0;
            // Bodies wait until there is room, so that they need not be held twice.
            if !session.has_bodies_held_back() {
                return Ok(());
            }
            session.send_bodies();
        }
    }

    /// Handles readiness and hands what happened to `sink`. After an error the connection is over, and with it every
    /// stream of [`Self::take_owners`].
    pub fn ready(&mut self, hung_up: bool, scratch: &mut [u8], sink: &mut impl Sink) -> Result<()> {
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        let Self {
            transport, session, ..
        } = self;
        let mut take = |bytes: &[u8]| session.read(bytes, sink).map(|()| false);
        if !transport.is_open() {
            if !transport.establish(hung_up, scratch, &mut take)? {
                return Ok(());
            }
            check_protocol(transport)?;
            // What came with the end of the connecting, a server's settings or its close, raises no event of its own.
        }
        let read = transport.read(hung_up, scratch, take);
        // Also after an error: a server is told why it is left. What it said weighs more than that it hears nothing.
        let flushed = self.flush();
        match (read?, flushed) {
            (Read::Closed, _) => Err(self.closed()),
            (_, Err(failure)) => Err(self.read_last(failure, scratch, sink)),
            (_, Ok(())) => Ok(()),
        }
    }

    /// Reads what the server said before [`Self::flush`] failed with `failure`: a server that closes in a hurry says first
    /// why, and which requests it did not look at. What the connection has failed with is the answer.
    pub fn read_last(
        &mut self,
        failure: Failure,
        scratch: &mut [u8],
        sink: &mut impl Sink,
    ) -> Failure {
        let Self {
            transport, session, ..
        } = self;
        // After an error of the protocol nothing more may be read.
        if failure.outcome == Outcome::Protocol || !transport.is_open() {
            return failure;
        }
        for _ in 0..LAST_READS_MAX {
            let take = |bytes: &[u8]| session.read(bytes, sink).map(|()| false);
            match transport.read(true, scratch, take) {
                Err(last) if last.peer_error.is_some() => return last,
                Ok(Read::More) => {}
                _ => break,
            }
        }
        let left = self.session.leaves.map(PeerError::GoAway);
        Failure {
            peer_error: failure.peer_error.or(left),
            ..failure
        }
    }

    fn closed(&self) -> Failure {
        let session = &self.session;
        let reason = match (session.is_connected, self.running()) {
            (false, _) => "the server closed the connection before it spoke HTTP/2",
            (true, 0) => "the server closed the connection",
            (true, _) => "the server closed the connection without an answer",
        };
        Failure {
            peer_error: session.leaves.map(PeerError::GoAway),
            ..Failure::new(Outcome::Eof, reason)
        }
    }

    /// Ends the connection: those whose answers will not come.
    pub fn take_owners(&mut self) -> Vec<u64> {
        self.session.streams.take_owners()
    }
}

impl<B> AsFd for Connection<B> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

/// A request with a header block and a body of these lengths on the wire, bytes.
pub fn request_bytes(block: usize, body: usize) -> u64 {
    let frames = 1 + body.div_ceil(FRAME_BYTES_MAX);
    (block + body + frames * HEAD_BYTES) as u64
}

/// With TLS, the server must have chosen HTTP/2.
fn check_protocol(transport: &Transport) -> Result<()> {
    match transport.protocol() {
        Some(b"h2") => Ok(()),
        None if !transport.has_tls() => Ok(()),
        other => {
            let chosen = other.map_or("nothing".into(), String::from_utf8_lossy);
            Err(Failure::new(
                Outcome::Protocol,
                format!("the server does not speak HTTP/2: of what was offered it chose {chosen}"),
            ))
        }
    }
}

//! One HTTP/1.1 client connection: one request on the wire at a time, an answer or a failure.

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use plimsoll_core::Outcome;

use crate::failure::{Failure, Reached, Result};
use crate::h1::{Answer, AnswerParser, ProtocolError, Sink};
use crate::tls::Agreed;
use crate::transport::{Read, Setup, Transport};

/// What a readiness event led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// More events are needed.
    Pending,
    /// Connected (and the handshake done); a request may be sent.
    Connected,
    Answered(Answer),
    /// The peer closed while nothing was asked.
    ClosedIdle,
    Failed(Failure),
}

#[derive(Debug)]
pub struct Connection {
    transport: Transport,
    parser: AnswerParser,
    /// A request is being written or its answer awaited.
    is_busy: bool,
    /// Bytes of the request already taken by the socket, or TLS.
    written: usize,
    /// What the socket had taken before the request.
    sent_before: u64,
}

impl Connection {
    /// Starts to connect, from an address of this host if one is given. An immediate refusal by the local system is a
    /// failure here.
    pub fn open(local: Option<IpAddr>, setup: &Setup) -> Result<Self> {
        let mut connection = Self::over(Transport::open(local, setup)?);
        connection.expect(setup.head_request);
        Ok(connection)
    }

    pub(crate) fn over(transport: Transport) -> Self {
        Self {
            transport,
            parser: AnswerParser::new(false).lenient(),
            is_busy: false,
            written: 0,
            sent_before: 0,
        }
    }

    /// What TLS agreed on, once the connection is open.
    pub fn agreed(&self) -> Option<Agreed> {
        self.transport.agreed()
    }

    /// The next request is HEAD, or not: an answer to HEAD has no body.
    pub fn expect(&mut self, head_request: bool) {
        self.parser.expect(head_request);
    }

    /// The socket, or TLS, has taken all of the request that [`Self::send`] was given.
    pub fn has_written(&self, request: &[u8]) -> bool {
        self.written >= request.len()
    }

    /// Some bytes of the current answer have come.
    pub fn answer_started(&self) -> bool {
        self.parser.started()
    }

    /// The socket is connected, though a TLS handshake may still be under way.
    pub fn is_connected(&self) -> bool {
        self.transport.is_connected()
    }

    /// More has come than one event may read, and raises no further: [`Self::ready`] wants to be called again.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.transport.has_more()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.transport.is_open() && !self.is_busy
    }

    /// Requests can be exchanged.
    pub fn is_open(&self) -> bool {
        self.transport.is_open()
    }

    /// Writes the request; only when idle. What the socket does not take follows on [`Self::ready`]. After a failure that
    /// may still find an answer.
    #[inline]
    pub fn send(&mut self, request: &[u8]) -> Result<()> {
        debug_assert!(self.is_idle(), "one request at a time");
        self.is_busy = true;
        self.written = 0;
        self.sent_before = self.transport.sent();
        let sent = self.transport.write(request, &mut self.written);
        sent.map_err(|failure| self.reached(failure))
    }

    /// Handles readiness. `request` is what [`Self::send`] was given; `scratch` is reading space.
    ///
    /// `hung_up`: the peer's close came with this event and will raise no edge of its own, so the
    /// socket is read to its end.
    #[inline]
    pub fn ready(&mut self, request: &[u8], hung_up: bool, scratch: &mut [u8]) -> Progress {
        self.ready_into(request, hung_up, scratch, &mut ())
    }

    /// As [`Self::ready`], and hands what has come of the answer to `sink`.
    #[inline]
    pub fn ready_into(
        &mut self,
        request: &[u8],
        hung_up: bool,
        scratch: &mut [u8],
        sink: &mut impl Sink,
    ) -> Progress {
        let progress = if self.transport.is_open() {
            self.exchange(request, hung_up, scratch, sink)
        } else {
            self.establish(hung_up, scratch)
        };
        progress.unwrap_or_else(|failure| Progress::Failed(self.reached(failure)))
    }

    /// Says in a failure how far the exchange had come.
    #[cold]
    fn reached(&self, mut failure: Failure) -> Failure {
        failure.reached = if self.parser.started() {
            Reached::Answer
        } else if self.transport.sent() > self.sent_before {
            Reached::Written
        } else {
            Reached::Nothing
        };
        failure
    }

    fn establish(&mut self, hung_up: bool, scratch: &mut [u8]) -> Result<Progress> {
        let surplus = |_: &[u8]| Err(Failure::protocol(ProtocolError::Surplus));
        let open = self.transport.establish(hung_up, scratch, surplus)?;
        Ok(if open {
            Progress::Connected
        } else {
            Progress::Pending
        })
    }

    #[inline]
    fn exchange(
        &mut self,
        request: &[u8],
        hung_up: bool,
        scratch: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<Progress> {
        let Self {
            transport,
            parser,
            is_busy,
            written,
            ..
        } = self;
        let sent = if *is_busy {
            transport.write(request, written)
        } else {
            transport.flush()
        };
        let (mut answer, mut has_surplus) = (None, false);
        let read = transport.read(hung_up, scratch, |bytes| {
            if answer.is_some() {
                // With TLS it comes apart from the answer, which is as whole as without.
                has_surplus = true;
                return Ok(true);
            }
            if !*is_busy {
                return Err(Failure::protocol(ProtocolError::Surplus));
            }
            answer = parser.feed(bytes, sink).map_err(Failure::protocol)?;
            *is_busy = answer.is_none();
            Ok(answer.is_some())
        });
        if let Some(mut answer) = answer {
            // A whole answer counts whatever becomes of its connection. What is left of a request that was answered early
            // would be the beginning of the next.
            let goes_on = matches!(read, Ok(Read::Dry | Read::Enough | Read::More));
            answer.keepalive &= goes_on && sent.is_ok() && !has_surplus;
            answer.keepalive &= *written >= request.len();
            return Ok(Progress::Answered(answer));
        }
        match (read?, sent) {
            // What the server said before it went weighs more than that it heard nothing.
            (Read::Dry | Read::Enough | Read::Closed, Err(failure)) => Err(failure),
            (Read::Closed, Ok(())) => Ok(self.closed()),
            (Read::Dry | Read::Enough | Read::More, _) => Ok(Progress::Pending),
        }
    }

    /// The peer closed: the end of an answer framed by it, a broken answer, or nothing at all.
    fn closed(&mut self) -> Progress {
        if !self.is_busy {
            return Progress::ClosedIdle;
        }
        if let Some(answer) = self.parser.end() {
            return Progress::Answered(answer);
        }
        let reason = if self.parser.started() {
            "the server closed the connection in the middle of an answer"
        } else {
            "the server closed the connection without an answer"
        };
        Progress::Failed(self.reached(Failure::new(Outcome::Eof, reason)))
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

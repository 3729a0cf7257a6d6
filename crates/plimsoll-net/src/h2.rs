//! One HTTP/2 client connection (RFC 9113): many requests on the wire at once, each a stream.

mod exchange;
mod frame;
pub mod hpack;
mod huffman;
mod peer;
mod request;
mod streams;

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use plimsoll_core::Outcome;

use self::exchange::{Exchange, LAST_STREAM, OUT_MAX};
use self::frame::{FrameReader, code, kind};
pub use self::request::EncodedRequest;
use crate::connection::{Failure, Setup};
use crate::h1::Answer;
use crate::transport::{Read, Transport};

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
    /// The server closes and did not look at this request: it belongs on another connection.
    Unprocessed {
        owner: u64,
    },
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    transport: Transport,
    reader: FrameReader,
    exchange: Exchange,
}

impl Connection {
    /// Starts to connect. An immediate refusal by the local system is a failure here.
    pub fn open(setup: &Setup) -> Result<Self, Failure> {
        Self::open_from(None, setup)
    }

    /// The same from an address of this host.
    pub fn open_from(local: Option<IpAddr>, setup: &Setup) -> Result<Self, Failure> {
        Ok(Self {
            transport: Transport::open(local, setup)?,
            reader: FrameReader::default(),
            exchange: Exchange::new(),
        })
    }

    /// Streams that may be started now, besides those that run.
    pub fn vacant(&self) -> usize {
        let exchange = &self.exchange;
        if !exchange.is_connected || exchange.is_leaving {
            return 0;
        }
        let left = (LAST_STREAM - exchange.streams.next_id()) as usize / 2;
        let most = exchange.peer.streams_max as usize;
        most.saturating_sub(exchange.streams.len()).min(left)
    }

    /// Streams that wait for their answers.
    pub fn running(&self) -> usize {
        self.exchange.streams.len()
    }

    /// No new stream can ever be started.
    pub fn is_leaving(&self) -> bool {
        self.exchange.is_leaving
    }

    /// Starts a stream; only while [`Self::vacant`]. Its number, for [`Self::cancel`]. [`Self::flush`] sends it.
    #[inline]
    pub fn start(&mut self, request: &EncodedRequest, owner: u64) -> u32 {
        self.exchange.start(request, owner)
    }

    /// Nobody waits for this stream any more.
    pub fn cancel(&mut self, stream: u32) {
        if self.exchange.streams.remove(stream).is_some() {
            frame::write_word(
                kind::RST_STREAM,
                stream,
                code::CANCEL,
                &mut self.exchange.out,
            );
        }
    }

    /// Writes what waits to be written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let exchange = &mut self.exchange;
        if !self.transport.is_open() {
            return Ok(());
        }
        let rest = exchange.out.get(exchange.out_at..).unwrap_or_default();
        if rest.is_empty() {
            return self.transport.flush();
        }
        exchange.out_at += self.transport.write(rest)?;
        if exchange.out_at == exchange.out.len() {
            exchange.out.clear();
            exchange.out_at = 0;
        } else if exchange.out.len() - exchange.out_at > OUT_MAX {
            let reason = "the server reads nothing of what it is sent";
            return Err(Failure::new(Outcome::Protocol, reason));
        }
        Ok(())
    }

    /// Handles readiness and appends what happened to `events`. After an error the connection is over, and with it every
    /// stream of [`Self::take_owners`].
    pub fn ready(
        &mut self,
        hung_up: bool,
        scratch: &mut [u8],
        events: &mut Vec<Event>,
    ) -> Result<(), Failure> {
        let Self {
            transport,
            reader,
            exchange,
        } = self;
        let mut take = |bytes: &[u8]| {
            exchange
                .read(reader, bytes, events)
                .map(|()| false)
                .map_err(|problem| Failure::new(Outcome::Protocol, problem.to_string()))
        };
        if !transport.is_open() {
            if !transport.establish(hung_up, scratch, &mut take)? {
                return Ok(());
            }
            check_protocol(transport)?;
            return self.flush();
        }
        let read = transport.read(hung_up, scratch, take);
        // Also after an error: a server is told why it is left.
        self.flush()?;
        match read? {
            Read::Closed => Err(self.closed()),
            Read::Dry | Read::Enough => Ok(()),
        }
    }

    fn closed(&self) -> Failure {
        let reason = match (self.exchange.is_connected, self.running()) {
            (false, _) => "the server closed the connection before it spoke HTTP/2",
            (true, 0) => "the server closed the connection",
            (true, _) => "the server closed the connection without an answer",
        };
        Failure::new(Outcome::Eof, reason)
    }

    /// Ends the connection: those whose answers will not come.
    pub fn take_owners(&mut self) -> Vec<u64> {
        self.exchange.streams.take_owners()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

/// With TLS, the server must have chosen HTTP/2.
fn check_protocol(transport: &Transport) -> Result<(), Failure> {
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

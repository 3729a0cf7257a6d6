//! One client: bytes that came, bytes that wait to go, and whether a command of its is under way.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use bson::RawDocumentBuf;
use plimsoll_base::{Nanos, page};

use super::channel::Channel;
use super::session::Session;
use crate::error::{Code, CommandError};
use crate::memory::Claim;
use crate::scheduler::Client;
use crate::wire::{
    Frame, HEADER_BYTES, Header, Origin, WireError, is_tls, origin, reply_with, take,
};

/// Read at once at most; a longer message takes further reads.
const CHUNK_BYTES: usize = 64 << 10;
/// Written at once at most: with a client that reads as fast, the end of a reply of 16 MB would be far.
const FLUSH_BYTES: usize = 256 << 10;
/// A buffer that grew beyond this for one large message is given back after it.
const KEPT_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct Connection {
    channel: Channel,
    pub(crate) session: Session,
    /// The same for those who carry its commands out.
    pub(crate) client: Arc<Client>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// The end of a large reply, after `output`.
    body: Vec<u8>,
    /// Of both.
    written: usize,
    readable: Readable,
    /// A command is under way. The next one waits in the socket, so a client cannot queue without bound.
    pub(crate) busy: bool,
    /// Closed as soon as the output is written.
    pub(crate) closing: bool,
    /// It has more to say than it was listened to.
    pub(crate) is_later: bool,
    /// Since when a message is incomplete.
    partial_since: Option<Nanos>,
    /// When the reply was made that is on its way.
    answered: Nanos,
    /// Bytes of the command that is under way.
    pub(crate) under_way: usize,
    claim: Claim,
}

/// Whether the socket may have more. Edge-triggered readiness is told only once, so it is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readable {
    No,
    Perhaps,
    /// The peer closed its side: reading goes on until the end, whatever a read returns.
    ToTheEnd,
}

/// What a connection gave.
#[derive(Debug)]
pub(crate) enum Input {
    Frame(Box<Frame>),
    /// A whole message that cannot be carried out; whom to tell, if anyone.
    Refused(Option<Origin>, CommandError),
    /// An HTTP request came to the port: its target.
    Http(String),
    /// Nothing whole yet.
    Nothing,
    /// Nothing whole yet, and more has come than one client is listened to at once.
    Later,
    /// The peer is gone.
    Closed,
    Malformed(WireError),
}

impl Connection {
    pub(crate) fn new(channel: Channel, session: Session, claim: Claim) -> Self {
        let client = Arc::new(Client::new(session.id, &session.peer));
        Self {
            channel,
            session,
            client,
            input: Vec::new(),
            output: Vec::new(),
            body: Vec::new(),
            written: 0,
            readable: Readable::Perhaps,
            busy: false,
            closing: false,
            is_later: false,
            partial_since: None,
            answered: Nanos::ZERO,
            under_way: 0,
            claim,
        }
    }

    /// Tells the budget what this client holds. False if all hold more than they may.
    pub(crate) fn account(&mut self) -> bool {
        let buffers = self.input.capacity() + self.output.capacity() + self.body.capacity();
        let buffers = buffers + self.channel.bytes();
        let under_way = if self.busy { self.under_way } else { 0 };
        self.claim.hold(buffers + under_way)
    }

    /// Bytes that are held for as long as the client wants: replies that it does not take, and what it sent of a message.
    pub(crate) fn waiting(&self) -> usize {
        self.input.len() + self.output.len() + self.body.len()
    }

    pub(crate) fn channel(&self) -> &Channel {
        &self.channel
    }

    pub(crate) fn became_readable(&mut self, hung_up: bool) {
        if hung_up {
            self.client.leave();
        }
        self.readable = match (hung_up, self.readable) {
            (true, _) | (_, Readable::ToTheEnd) => Readable::ToTheEnd,
            _ => Readable::Perhaps,
        };
    }

    /// Since when a message, or what comes before the first one, is not whole.
    pub(crate) fn partial_since(&self) -> Option<Nanos> {
        self.partial_since
    }

    /// The next whole message, if the connection may have one.
    pub(crate) fn next(&mut self, now: Nanos) -> Input {
        let mut heard = 0;
        loop {
            match self.buffered() {
                Ok(Input::Nothing) => {}
                Ok(input) => return input,
                Err(error) => return Input::Malformed(error),
            }
            if heard >= CHUNK_BYTES {
                self.partial_since = Some(self.partial_since.unwrap_or(now));
                return Input::Later;
            }
            if self.readable == Readable::No {
                let incomplete = !self.input.is_empty() || self.channel.is_beginning();
                self.partial_since = incomplete.then(|| self.partial_since.unwrap_or(now));
                return Input::Nothing;
            }
            match self.fill() {
                Ok(0) => return Input::Closed,
                Ok(count) => heard += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = Readable::No;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Input::Malformed(WireError::Handshake(error.to_string()));
                }
                Err(_) => return Input::Closed,
            }
        }
    }

    fn buffered(&mut self) -> Result<Input, WireError> {
        if self.input.starts_with(b"GET ") {
            return Ok(page::request_line(&self.input)
                .map_or(Input::Nothing, |line| Input::Http(line.path)));
        }
        if is_tls(&self.input) == Some(true) {
            return Err(WireError::Tls);
        }
        let Some(header) = Header::read(&self.input)? else {
            return Ok(Input::Nothing);
        };
        let Some(message) = self.input.get(..header.length) else {
            return Ok(Input::Nothing);
        };
        let from = origin(message);
        // To copy a large message takes milliseconds: the buffer goes with it.
        let read = if header.length == self.input.len() && header.length > KEPT_BYTES {
            take(Cow::Owned(std::mem::take(&mut self.input)))
        } else {
            let read = take(Cow::Borrowed(message));
            self.input.drain(..header.length);
            if self.input.capacity() > KEPT_BYTES {
                self.input.shrink_to(KEPT_BYTES / 2);
            }
            read
        };
        let read = match read {
            Err(WireError::TooDeep(text)) => Input::Refused(from, Code::Overflow.error(text)),
            Err(error @ WireError::TooMany(_)) => {
                Input::Refused(from, Code::InvalidLength.error(error.to_string()))
            }
            Err(error @ WireError::TooLarge(_)) => {
                Input::Refused(from, Code::BSONObjectTooLarge.error(error.to_string()))
            }
            Err(error) => return Err(error),
            Ok(frame) => Input::Frame(Box::new(frame)),
        };
        self.partial_since = None;
        Ok(read)
    }

    /// Reads once. Room is made for what the header announces, but never far ahead of what has arrived.
    fn fill(&mut self) -> io::Result<usize> {
        let have = self.input.len();
        let announced = Header::read(&self.input)
            .ok()
            .flatten()
            .map_or(HEADER_BYTES, |header| header.length);
        let room = announced
            .saturating_sub(have)
            .clamp(CHUNK_BYTES / 16, CHUNK_BYTES);
        self.input.resize(have + room, 0);
        let read = self
            .channel
            .read(self.input.get_mut(have..).unwrap_or_default());
        let count = read.as_ref().copied().unwrap_or(0);
        self.input.truncate(have + count);
        let short = count > 0 && count < room && self.channel.short_reads_are_last();
        if short && self.readable == Readable::Perhaps {
            // A short read emptied the socket: the next bytes come with a new edge.
            self.readable = Readable::No;
        }
        read
    }

    /// Where a reply is appended; [`Self::flush`] sends it.
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Since when it holds what waits: whoever takes its reply, or goes on with its message, does so soon.
    pub(crate) fn waiting_since(&self) -> Option<Nanos> {
        let reply = self.has_bytes().then_some(self.answered);
        reply.or(self.partial_since)
    }

    /// Takes a reply; [`Self::flush`] sends it.
    pub(crate) fn answer(
        &mut self,
        (origin, id): (Origin, i32),
        document: RawDocumentBuf,
        now: Nanos,
    ) {
        self.answered = now;
        self.body = reply_with(origin, id, document, &mut self.output);
    }

    /// Writes as much as the socket takes, and no more at once than is one client's turn. False if it would take more.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        let mut turn = FLUSH_BYTES;
        while self.has_bytes() {
            if turn == 0 {
                return Ok(false);
            }
            let of_body = self.written.saturating_sub(self.output.len());
            let rest = match self.output.get(self.written..) {
                Some(rest) if !rest.is_empty() => rest,
                _ => self.body.get(of_body..).unwrap_or_default(),
            };
            let now = rest.get(..turn.min(rest.len())).unwrap_or_default();
            match self.channel.write(now) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.written += count;
                    turn -= count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.written = 0;
        self.output.clear();
        self.body = Vec::new();
        if self.output.capacity() > KEPT_BYTES {
            self.output = Vec::new();
        }
        self.channel.push()?;
        Ok(true)
    }

    fn has_bytes(&self) -> bool {
        self.written < self.output.len() + self.body.len()
    }

    pub(crate) fn has_output(&self) -> bool {
        self.has_bytes() || self.channel.has_unsent()
    }
}

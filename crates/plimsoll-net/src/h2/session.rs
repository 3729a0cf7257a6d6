//! The protocol of a connection: frames in, frames and events out; no socket, no clock.

mod heads;
mod sending;

use std::sync::Arc;

use plimsoll_core::Outcome;

use super::frame::{self, FrameHead, FrameReader, Piece, code, code_name, flag, kind, setting};
use super::hpack::Decoder;
use super::peer::Peer;
use super::problem::{NOT_SETTINGS, PADDING, Problem, Result, word};
use super::streams::{Stream, Streams};
use super::{Event, PeerError, Sink};
use crate::failure::Failure;
use crate::h1::Answer;

/// What a server may send of one answer before this side has to say that it took it. Go's client, and so k6, allows as much.
const STREAM_WINDOW: u32 = 4 << 20;
/// The same for the whole connection.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// No window may be larger (section 6.9.1).
const WINDOW_MAX: i64 = (1 << 31) - 1;
/// Every connection starts with this much (section 6.9.2).
const WINDOW_BEFORE: u32 = 65_535;
/// Bytes that wait to be written because the peer reads nothing; beyond it the connection is given up.
pub(super) const OUT_MAX: usize = 4 << 20;
/// Stream numbers end here, and with them the connection.
const LAST_STREAM: u32 = (1 << 31) - 1;

/// A connection without its socket.
#[derive(Debug)]
pub struct Session<B = Arc<[u8]>> {
    reader: FrameReader,
    pub(super) out: Vec<u8>,
    /// Bytes of `out` that were written already.
    pub(super) out_at: usize,
    decoder: Decoder,
    pub(super) streams: Streams<B>,
    pub(super) peer: Peer,
    /// A header block whose end has not come: its stream, whether that ends with it, and its parts.
    block: Option<(FrameHead, Vec<u8>)>,
    /// Bytes of `DATA` that the peer was not told of as taken.
    taken: u32,
    /// Some bytes have come.
    has_heard: bool,
    /// The server has sent its settings.
    pub(super) is_connected: bool,
    /// It takes streams, and whoever waits for that was told.
    takes_streams: bool,
    /// The code with which the server takes no new stream.
    pub(super) leaves: Option<u32>,
}

impl<B: AsRef<[u8]>> Session<B> {
    /// With its greeting to be written: it must come before the answer to settings that a server sent right behind its TLS
    /// handshake.
    #[expect(clippy::new_without_default, reason = "it has something to say")]
    pub fn new() -> Self {
        let mut session = Self {
            reader: FrameReader::default(),
            out: Vec::new(),
            out_at: 0,
            decoder: Decoder::default(),
            streams: Streams::default(),
            peer: Peer::default(),
            block: None,
            taken: 0,
            has_heard: false,
            is_connected: false,
            takes_streams: false,
            leaves: None,
        };
        session.out.extend_from_slice(frame::PREFACE);
        let settings = [
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
        ];
        frame::write_settings(&settings, &mut session.out);
        let more = CONNECTION_WINDOW - WINDOW_BEFORE;
        frame::write_word(kind::WINDOW_UPDATE, 0, more, &mut session.out);
        session
    }

    /// What is to be written, which is then taken as written.
    pub fn take_out(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Streams that may be started before the numbers end.
    pub(super) fn numbers_left(&self) -> u32 {
        LAST_STREAM.saturating_sub(self.streams.next_id()) / 2
    }

    /// What the server's words keep in memory, bytes.
    pub fn kept_bytes(&self) -> usize {
        let block = self.block.as_ref().map_or(0, |(_, parts)| parts.capacity());
        self.reader.kept_bytes() + block + self.out.len() + self.decoder.kept_bytes()
    }

    /// Takes what the server sent. After an error nothing more may be read.
    #[inline]
    pub fn read(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Failure> {
        let read = self.pieces(bytes, sink);
        read.map_err(|problem| problem.failure())
    }

    fn pieces(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<()> {
        if !self.has_heard && bytes.starts_with(b"HTTP/1") {
            return Err(Problem::Http1);
        }
        self.has_heard |= !bytes.is_empty();
        let mut reader = std::mem::take(&mut self.reader);
        let mut input = bytes;
        while let Some(piece) = reader.next(&mut input) {
            if let Err(problem) = self.piece(piece, sink) {
                let mut payload = [0; 8];
                payload[4..].copy_from_slice(&problem.code().to_be_bytes());
                frame::write(kind::GOAWAY, 0, 0, &payload, &mut self.out);
                return Err(problem);
            }
        }
        reader.keep(input);
        self.reader = reader;
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>, sink: &mut impl Sink) -> Result<()> {
        let kind = match piece {
            Piece::Frame(head, _) | Piece::Data { head, .. } => head.kind,
            Piece::TooLong(_) => return Err(Problem::TooLong),
        };
        if !self.is_connected && kind != kind::SETTINGS {
            return Err(NOT_SETTINGS);
        }
        if self.block.is_some() && kind != kind::CONTINUATION {
            return Err(Problem::Frame("a frame cuts into a header block"));
        }
        match piece {
            Piece::Data { head, bytes, last } => self.data(head, bytes, last, sink),
            Piece::Frame(head, payload) => self.frame(head, payload, sink),
            Piece::TooLong(_) => Ok(()),
        }
    }

    fn frame(&mut self, head: FrameHead, payload: &[u8], sink: &mut impl Sink) -> Result<()> {
        match head.kind {
            kind::DATA => {
                let (body, padding) = frame::without_padding(head, payload).ok_or(PADDING)?;
                // Padding counts against the window as the body does.
                self.take(head.stream, padding);
                self.data(head, body, true, sink)
            }
            kind::HEADERS => self.headers(head, payload, sink),
            kind::CONTINUATION => self.continuation(head, payload, sink),
            kind::RST_STREAM => self.reset(head, payload, sink),
            kind::SETTINGS => self.settings(head, payload, sink),
            kind::PUSH_PROMISE => Err(Problem::Frame("the server pushes though it may not")),
            kind::PING => self.ping(head, payload),
            kind::GOAWAY => self.go_away(head, payload, sink),
            kind::WINDOW_UPDATE => self.window_update(head, payload, sink),
            // PRIORITY says nothing any more, and unknown frames are ignored (sections 5.3.2 and 5.5).
            _ => Ok(()),
        }
    }

    #[inline]
    fn data(
        &mut self,
        head: FrameHead,
        body: &[u8],
        last: bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if !self.streams.was_opened(head.stream) {
            return Err(Problem::Frame("DATA on a stream that was never opened"));
        }
        self.take(head.stream, body.len());
        let Some(stream) = self.streams.get(head.stream) else {
            return Ok(());
        };
        stream.bytes += body.len() as u64;
        if last {
            stream.bytes += frame::HEAD_BYTES as u64;
        }
        stream.is_ended = head.has(flag::END_STREAM);
        if stream.status == 0 {
            let reason = "a body came before its headers";
            self.break_stream(head.stream, code::PROTOCOL_ERROR, reason, sink);
            return Ok(());
        }
        let (content, is_all) = stream.take(body);
        if !content.is_empty() {
            sink.body(stream.owner, content);
        }
        if !is_all {
            let reason = "the body is longer than the head of the answer allows";
            self.malformed(head.stream, reason, sink);
        } else if last && head.has(flag::END_STREAM) {
            self.answered(head.stream, sink);
        }
        Ok(())
    }

    /// Counts what came against both windows, and gives each back once half of it is used:
    ///
    /// ```text
    /// what the server may still send   4 MiB ╲    ╱╲    ╱╲
    ///                                  2 MiB  ╲__╱  ╲__╱  ╲   the update is one way to it, meanwhile it goes on
    /// ```
    ///
    /// Later, and a server far away would stand still; earlier, and updates would cost more than they are worth.
    #[inline]
    fn take(&mut self, stream: u32, length: usize) {
        self.taken += length as u32;
        if self.taken > CONNECTION_WINDOW / 2 {
            let taken = std::mem::take(&mut self.taken);
            frame::write_word(kind::WINDOW_UPDATE, 0, taken, &mut self.out);
        }
        if let Some(stream) = self.streams.get(stream) {
            stream.taken += length as u32;
            if stream.taken > STREAM_WINDOW / 2 {
                let taken = std::mem::take(&mut stream.taken);
                frame::write_word(kind::WINDOW_UPDATE, stream.id, taken, &mut self.out);
            }
        }
    }

    #[inline]
    fn answered(&mut self, id: u32, sink: &mut impl Sink) {
        let Some(stream) = self.streams.remove(id) else {
            return;
        };
        if let Some(left @ 1..) = stream.left {
            return self.give_up(&stream, short(left), sink);
        }
        if stream.has_body_left() {
            // The answer came before all of the request was sent, and nobody needs the rest.
            frame::write_word(kind::RST_STREAM, id, code::CANCEL, &mut self.out);
        }
        sink.event(Event::Answered {
            owner: stream.owner,
            answer: Answer {
                status: stream.status,
                bytes: stream.bytes,
                keepalive: self.leaves.is_none(),
            },
        });
    }

    /// What the server says on one stream makes no sense.
    fn malformed(&mut self, id: u32, reason: &'static str, sink: &mut impl Sink) {
        if let Some(stream) = self.streams.remove(id) {
            self.give_up(&stream, Failure::new(Outcome::Protocol, reason), sink);
        }
    }

    /// What the server does with one stream breaks the rules of frames.
    fn break_stream(&mut self, id: u32, code: u32, reason: &'static str, sink: &mut impl Sink) {
        if let Some(stream) = self.streams.remove(id) {
            let failure = Failure {
                peer_error: Some(PeerError::BrokeStream(code)),
                ..Failure::new(Outcome::Protocol, reason)
            };
            self.give_up(&stream, failure, sink);
        }
    }

    /// Fails a stream that was taken out. One that is over on both sides is not reset as well: servers count resets, and
    /// leave whoever sends many.
    fn give_up(&mut self, stream: &Stream<B>, failure: Failure, sink: &mut impl Sink) {
        let (id, owner) = (stream.id, stream.owner);
        if !stream.is_ended || stream.has_body_left() {
            frame::write_word(kind::RST_STREAM, id, code::PROTOCOL_ERROR, &mut self.out);
        }
        sink.event(Event::Failed { owner, failure });
    }

    fn reset(&mut self, head: FrameHead, payload: &[u8], sink: &mut impl Sink) -> Result<()> {
        let code = word(payload, "RST_STREAM is not 4 bytes long")?;
        if !self.streams.was_opened(head.stream) {
            return Err(Problem::Frame(
                "RST_STREAM of a stream that was never opened",
            ));
        }
        if let Some(stream) = self.streams.remove(head.stream) {
            let reason = format!("the server reset the stream: {}", code_name(code));
            sink.event(Event::Failed {
                owner: stream.owner,
                failure: Failure {
                    peer_error: Some(PeerError::Reset(code)),
                    ..Failure::new(Outcome::Reset, reason)
                },
            });
        }
        Ok(())
    }

    fn settings(&mut self, head: FrameHead, payload: &[u8], sink: &mut impl Sink) -> Result<()> {
        let is_confirmation = head.has(flag::ACK);
        if is_confirmation && !self.is_connected {
            return Err(NOT_SETTINGS);
        }
        if head.stream != 0 {
            return Err(Problem::Frame("SETTINGS of a stream"));
        }
        if !payload.len().is_multiple_of(6) || is_confirmation && !payload.is_empty() {
            return Err(Problem::Size("SETTINGS has the wrong length"));
        }
        if is_confirmation {
            return Ok(());
        }
        let before = i64::from(self.peer.initial_window);
        self.peer.settings(payload)?;
        // A new initial window moves those of running streams by the difference, and below zero if more than the new one
        // was sent already: such a stream waits until updates have made up for that (section 6.9.2).
        let change = i64::from(self.peer.initial_window) - before;
        for stream in self.streams.with_body() {
            stream.window += change;
            if stream.window > WINDOW_MAX {
                return Err(Problem::Flow("a setting makes a window too large"));
            }
        }
        frame::write(kind::SETTINGS, flag::ACK, 0, &[], &mut self.out);
        self.check_out()?;
        self.send_bodies();
        self.is_connected = true;
        // Some allow no stream at first, and are not to be asked before they do.
        if !self.takes_streams && self.peer.streams_max > 0 {
            self.takes_streams = true;
            sink.event(Event::Connected);
        }
        Ok(())
    }

    fn ping(&mut self, head: FrameHead, payload: &[u8]) -> Result<()> {
        if payload.len() != 8 {
            return Err(Problem::Size("PING is not 8 bytes long"));
        }
        if head.stream != 0 {
            return Err(Problem::Frame("PING of a stream"));
        }
        if !head.has(flag::ACK) {
            frame::write(kind::PING, flag::ACK, 0, payload, &mut self.out);
        }
        self.check_out()
    }

    /// A server that asks and asks without reading the answers would fill the memory.
    fn check_out(&self) -> Result<()> {
        if self.out.len() > OUT_MAX {
            return Err(Problem::Frame(
                "the server asks more than it reads answers to",
            ));
        }
        Ok(())
    }

    /// Streams above the last one that the server names were not looked at (section 6.8).
    fn go_away(&mut self, head: FrameHead, payload: &[u8], sink: &mut impl Sink) -> Result<()> {
        if head.stream != 0 {
            return Err(Problem::Frame("GOAWAY of a stream"));
        }
        let last = word(payload.get(..4).unwrap_or_default(), "GOAWAY is too short")?;
        let code = word(payload.get(4..8).unwrap_or_default(), "GOAWAY is too short")?;
        self.leaves = Some(code);
        for owner in self.streams.take_above(last & LAST_STREAM) {
            let reason = format!(
                "the server closes the connection without a look at the request: {}",
                code_name(code)
            );
            let failure = Failure {
                peer_error: Some(PeerError::GoAway(code)),
                ..Failure::new(Outcome::Protocol, reason)
            };
            sink.event(Event::Unprocessed { owner, failure });
        }
        if code == code::NO_ERROR {
            return Ok(());
        }
        let text = String::from_utf8_lossy(payload.get(8..).unwrap_or_default());
        let mut text: String = text.chars().filter(|c| !c.is_control()).take(80).collect();
        if !text.is_empty() {
            text = format!(" ({text})");
        }
        Err(Problem::GoAway(code, text))
    }
}

/// An answer of which so many bytes never came: what a connection that is closed too early is over HTTP/1.1.
#[cold]
fn short(left: u64) -> Failure {
    let reason = format!("the server ended the stream {left} bytes short of its content-length");
    Failure::new(Outcome::Eof, reason)
}

#[cfg(test)]
mod tests;

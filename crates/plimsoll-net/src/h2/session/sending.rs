//! What this side says: requests with their bodies, as far as the windows allow, and whether the server is there.

use std::sync::Arc;

use super::super::Sink;
use super::super::frame::{self, FrameHead, code, flag, kind};
use super::super::problem::{Problem, Result, word};
use super::super::request::EncodedRequest;
use super::super::streams::{NewStream, Stream};
use super::{LAST_STREAM, Session, WINDOW_MAX};

/// Bytes of bodies that are made ready beyond what was written: a few times what TLS takes at once.
pub(super) const AHEAD_MAX: usize = 256 << 10;

impl Session {
    #[inline]
    pub(in crate::h2) fn start(&mut self, request: &EncodedRequest, owner: u64) -> u32 {
        let block = self.peer.block(&request.block);
        let body = (!request.body.is_empty()).then(|| Arc::clone(&request.body));
        let stream = NewStream {
            body,
            is_head: request.is_head,
            owner,
        };
        self.open(block, stream)
    }
}

impl<B: AsRef<[u8]>> Session<B> {
    /// Starts a stream with a header block of [`write_field`](super::super::write_field), which leaves no trace in the peer's
    /// table; its number.
    pub fn start_plain(&mut self, block: &[u8], stream: NewStream<B>) -> u32 {
        match self.peer.unheard_of_table() {
            Some(word) => self.open(&[&[word], block].concat(), stream),
            None => self.open(block, stream),
        }
    }

    #[inline]
    fn open(&mut self, block: &[u8], stream: NewStream<B>) -> u32 {
        let id = self.streams.next_id();
        let ends = stream.body.is_none();
        frame::write_headers(id, block, ends, self.peer.frame_max, &mut self.out);
        let window = i64::from(self.peer.initial_window);
        self.streams.push(Stream::new(id, stream, window));
        if !ends {
            self.send_bodies();
        }
        id
    }

    /// Asks the server whether it is there.
    pub(in crate::h2) fn ping_peer(&mut self) {
        frame::write(kind::PING, 0, 0, b"plimsoll", &mut self.out);
    }

    /// Sends of the bodies under way what the windows allow, and not much more than the socket takes.
    pub(in crate::h2) fn send_bodies(&mut self) {
        for stream in self.streams.with_body() {
            while self.peer.window > 0 && stream.window > 0 && self.out.len() < AHEAD_MAX {
                let Some((part, last)) = stream.next_part(&self.peer) else {
                    break;
                };
                let flags = if last { flag::END_STREAM } else { 0 };
                frame::write(kind::DATA, flags, stream.id, part, &mut self.out);
                let length = i64::try_from(part.len()).unwrap_or(i64::MAX);
                stream.sent(length);
                self.peer.window -= length;
            }
        }
    }

    /// Some body could go on as soon as there is room for it.
    pub(in crate::h2) fn has_bodies_held_back(&mut self) -> bool {
        let has_window = |stream: &mut Stream<B>| stream.window > 0;
        self.peer.window > 0 && self.streams.with_body().any(has_window)
    }

    /// The peer takes more.
    pub(super) fn window_update(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<()> {
        let more = i64::from(word(payload, "WINDOW_UPDATE is not 4 bytes long")? & LAST_STREAM);
        if head.stream == 0 {
            self.peer.window += more;
            if more == 0 {
                return Err(Problem::Frame("WINDOW_UPDATE of nothing"));
            }
            if self.peer.window > WINDOW_MAX {
                return Err(Problem::Flow("WINDOW_UPDATE of too much"));
            }
        } else if !self.streams.was_opened(head.stream) {
            return Err(Problem::Frame(
                "WINDOW_UPDATE of a stream that was never opened",
            ));
        } else if let Some(stream) = self.streams.get(head.stream) {
            stream.window += more;
            if more == 0 || stream.window > WINDOW_MAX {
                let code = match more {
                    0 => code::PROTOCOL_ERROR,
                    _ => code::FLOW_CONTROL_ERROR,
                };
                let reason = "WINDOW_UPDATE of nothing, or of too much";
                self.break_stream(head.stream, code, reason, sink);
                return Ok(());
            }
        }
        self.send_bodies();
        Ok(())
    }
}

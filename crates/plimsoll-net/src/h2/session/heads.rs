//! Header blocks: put together from their frames, decoded, and what they mean for their stream.

use super::super::Sink;
use super::super::frame::{self, FrameHead, flag};
use super::super::hpack::HpackError;
use super::super::problem::{PADDING, Problem, Result};
use super::Session;
use crate::h1::{HEAD_BYTES_MAX, parse_length};

impl<B: AsRef<[u8]>> Session<B> {
    pub(super) fn headers(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<()> {
        let (mut block, _) = frame::without_padding(head, payload).ok_or(PADDING)?;
        if head.has(flag::PRIORITY) {
            block = block
                .get(5..)
                .ok_or(Problem::Size("HEADERS is too short"))?;
        }
        if !head.has(flag::END_HEADERS) {
            self.block = Some((head, block.to_vec()));
            return Ok(());
        }
        self.header_block(head, block, sink)
    }

    pub(super) fn continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<()> {
        let Some((first, mut block)) = self.block.take() else {
            return Err(Problem::Frame("CONTINUATION follows no header block"));
        };
        let is_last = head.has(flag::END_HEADERS);
        block.extend_from_slice(payload);
        // Empty ones could follow each other for ever.
        let is_idle = payload.is_empty() && !is_last;
        if first.stream != head.stream || is_idle {
            return Err(Problem::Frame("CONTINUATION where none belongs"));
        }
        if block.len() > HEAD_BYTES_MAX {
            return Err(Problem::Headers(HpackError::Long));
        }
        if is_last {
            return self.header_block(first, &block, sink);
        }
        self.block = Some((first, block));
        Ok(())
    }

    /// Headers or trailers. They are decoded even if nobody waits for them: the table must stay in step.
    fn header_block(&mut self, frame: FrameHead, block: &[u8], sink: &mut impl Sink) -> Result<()> {
        if !self.streams.was_opened(frame.stream) {
            return Err(Problem::Frame("HEADERS on a stream that was never opened"));
        }
        let stream = self.streams.get(frame.stream);
        // Of informational answers and of trailers only what they mean for the stream is looked at.
        let taker = stream.as_ref().filter(|stream| stream.status == 0);
        let taker = taker.map(|stream| stream.owner);
        let mut head = Head::default();
        self.decoder
            .decode(block, &mut |name: &[u8], value: &[u8]| {
                if head.read(name, value)
                    && let Some(owner) = taker
                {
                    sink.field(owner, name, value);
                }
            })?;
        let Some(stream) = stream else {
            return Ok(());
        };
        stream.bytes += (frame::HEAD_BYTES + block.len()) as u64;
        stream.is_ended = frame.has(flag::END_STREAM);
        let ends = stream.is_ended;
        let problem = match (stream.status, head.status) {
            _ if head.problem.is_some() => head.problem,
            (0, 0) => Some("the answer has no status"),
            (0, 101) => Some("the server switches protocols, which HTTP/2 has no way to do"),
            // What comes before the real answer does not end it.
            (0, 100..200) if ends => Some("an informational answer ends the stream"),
            (0, 100..200) => None,
            (0, status) => {
                stream.begin(status, head.length);
                None
            }
            (_, 0) if ends => None,
            _ => Some("the answer has two heads"),
        };
        if let Some(problem) = problem {
            self.malformed(frame.stream, problem, sink);
        } else if ends {
            self.answered(frame.stream, sink);
        }
        Ok(())
    }
}

/// What a header block says that matters to its stream.
#[derive(Debug, Default)]
struct Head {
    /// `0` if there is none, as in trailers, or none that can be.
    status: u16,
    length: Option<u64>,
    has_fields: bool,
    problem: Option<&'static str>,
}

impl Head {
    /// Reads one field; true if it is a header of a final answer.
    #[inline]
    fn read(&mut self, name: &[u8], value: &[u8]) -> bool {
        if name.first() == Some(&b':') {
            if name != b":status" || self.status != 0 || self.has_fields {
                self.problem = Some("a field that begins with a colon is where none belongs");
            }
            self.status = parse_status(value);
            return false;
        }
        self.has_fields = true;
        if !is_name(name) || value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
            self.problem = Some("a field has an upper-case name, or bytes that no field may have");
            return false;
        }
        if self.status < 200 {
            return false;
        }
        // The length first: most names differ in it.
        if name.len() == 14 && name == b"content-length" {
            self.read_length(value);
        }
        true
    }

    fn read_length(&mut self, value: &[u8]) {
        match parse_length(value) {
            Ok(length) if self.length.is_none_or(|known| known == length) => {
                self.length = Some(length);
            }
            _ => {
                self.problem =
                    Some("content-length is not a number, or is given twice with different values");
            }
        }
    }
}

/// Lower-case and visible (RFC 9113, section 8.2.1). Values with space at an end, and the fields of a connection, which
/// the RFC forbids too, pass: servers send them, and nothing depends on it.
#[inline]
fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name
            .iter()
            .all(|byte| matches!(byte, b'!'..=b'9' | b';'..=b'@' | b'['..=b'~'))
}

/// `0` for what is no status.
fn parse_status(value: &[u8]) -> u16 {
    match value {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0')
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests;

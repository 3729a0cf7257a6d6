//! The chunked transfer coding (RFC 9112 section 7.1), read as it comes.

use super::{HEAD_BYTES_USUAL, ProtocolError, Result, Sink};

/// Where in a chunked body the next byte belongs.
#[derive(Debug, Clone)]
pub(super) struct Chunked {
    position: Position,
    /// Size of the chunk being read, or bytes of extensions or trailers seen.
    left: u64,
    seen: usize,
    /// Lines behind the last chunk.
    trailers: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// In the size line: at least one digit is needed before anything else.
    Size {
        digits: u8,
    },
    Extension,
    SizeLineFeed,
    Data,
    DataReturn,
    DataLineFeed,
    /// At the start of a trailer line.
    Trailer,
    TrailerLine,
    LastLineFeed,
}

impl Chunked {
    pub(super) fn new() -> Self {
        Self {
            position: Position::Size { digits: 0 },
            left: 0,
            seen: 0,
            trailers: Vec::new(),
        }
    }

    /// Returns how many bytes belonged to the body once its end has come.
    pub(super) fn feed(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Option<usize>> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            if self.position == Position::Data {
                let taken = self.left.min((input.len() - at) as u64);
                self.left -= taken;
                let end = at + taken as usize;
                sink.body(input.get(at..end).unwrap_or_default());
                at = end;
                if self.left == 0 {
                    self.position = Position::DataReturn;
                }
                continue;
            }
            at += 1;
            if self.step(byte)? {
                if !self.trailers.is_empty() {
                    sink.trailers(&self.trailers);
                }
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// One byte outside of chunk data; true at the end of the body.
    fn step(&mut self, byte: u8) -> Result<bool> {
        self.position = match (self.position, byte) {
            (Position::Size { digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                // Fifteen digits are more than any body and cannot overflow.
                if digits >= 15 {
                    return Err(ProtocolError::ChunkSize);
                }
                let value = (byte as char).to_digit(16).unwrap_or(0);
                self.left = self.left * 16 + u64::from(value);
                Position::Size { digits: digits + 1 }
            }
            (Position::Size { digits: 1.. }, b';' | b' ' | b'\t') => Position::Extension,
            (Position::Size { digits: 1.. } | Position::Extension, b'\r') => Position::SizeLineFeed,
            (Position::Extension, byte) if byte != b'\n' => {
                self.count_line()?;
                Position::Extension
            }
            (Position::SizeLineFeed, b'\n') if self.left == 0 => Position::Trailer,
            (Position::SizeLineFeed, b'\n') => Position::Data,
            (Position::DataReturn, b'\r') => Position::DataLineFeed,
            (Position::DataLineFeed, b'\n') => Position::Size { digits: 0 },
            (Position::Trailer, b'\r') => Position::LastLineFeed,
            (Position::Trailer | Position::TrailerLine, byte) => {
                self.count_line()?;
                self.trailers.push(byte);
                if byte == b'\n' {
                    Position::Trailer
                } else {
                    Position::TrailerLine
                }
            }
            (Position::LastLineFeed, b'\n') => return Ok(true),
            (Position::DataReturn | Position::DataLineFeed | Position::LastLineFeed, _) => {
                return Err(ProtocolError::ChunkEnd);
            }
            _ => return Err(ProtocolError::ChunkSize),
        };
        Ok(false)
    }

    fn count_line(&mut self) -> Result<()> {
        self.seen += 1;
        if self.seen > HEAD_BYTES_USUAL {
            Err(ProtocolError::LongTrailers)
        } else {
            Ok(())
        }
    }
}

//! The chunked transfer coding (RFC 9112 section 7.1), read as it comes.

use super::{HEAD_BYTES_MAX, ProtocolError, Sink};

/// Where in a chunked body the next byte belongs.
#[derive(Debug)]
pub(super) struct Chunked {
    state: State,
    /// Size of the chunk being read, or bytes of extensions or trailers seen.
    left: u64,
    seen: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
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
            state: State::Size { digits: 0 },
            left: 0,
            seen: 0,
        }
    }

    /// Returns how many bytes belonged to the body once its end has come.
    pub(super) fn feed(
        &mut self,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> Result<Option<usize>, ProtocolError> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            if self.state == State::Data {
                let taken = self.left.min((input.len() - at) as u64);
                self.left -= taken;
                let end = at + taken as usize;
                sink.body(input.get(at..end).unwrap_or_default());
                at = end;
                if self.left == 0 {
                    self.state = State::DataReturn;
                }
                continue;
            }
            at += 1;
            if self.step(byte)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// One byte outside of chunk data; true at the end of the body.
    fn step(&mut self, byte: u8) -> Result<bool, ProtocolError> {
        self.state = match (self.state, byte) {
            (State::Size { digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                // Fifteen digits are more than any body and cannot overflow.
                if digits >= 15 {
                    return Err(ProtocolError::ChunkSize);
                }
                let value = (byte as char).to_digit(16).unwrap_or(0);
                self.left = self.left * 16 + u64::from(value);
                State::Size { digits: digits + 1 }
            }
            (State::Size { digits: 1.. }, b';' | b' ' | b'\t') => State::Extension,
            (State::Size { digits: 1.. } | State::Extension, b'\r') => State::SizeLineFeed,
            (State::Extension, byte) if byte != b'\n' => {
                self.count_line()?;
                State::Extension
            }
            (State::SizeLineFeed, b'\n') if self.left == 0 => State::Trailer,
            (State::SizeLineFeed, b'\n') => State::Data,
            (State::DataReturn, b'\r') => State::DataLineFeed,
            (State::DataLineFeed, b'\n') => State::Size { digits: 0 },
            (State::Trailer, b'\r') => State::LastLineFeed,
            (State::Trailer | State::TrailerLine, byte) => {
                self.count_line()?;
                if byte == b'\n' {
                    State::Trailer
                } else {
                    State::TrailerLine
                }
            }
            (State::LastLineFeed, b'\n') => return Ok(true),
            (State::DataReturn | State::DataLineFeed | State::LastLineFeed, _) => {
                return Err(ProtocolError::ChunkEnd);
            }
            _ => return Err(ProtocolError::ChunkSize),
        };
        Ok(false)
    }

    fn count_line(&mut self) -> Result<(), ProtocolError> {
        self.seen += 1;
        if self.seen > HEAD_BYTES_MAX {
            Err(ProtocolError::LongTrailers)
        } else {
            Ok(())
        }
    }
}

//! A connection of HTTP/2 whose frames are weighed as they pass: those that ask for work and carry nothing have a budget.
//!
//! The library bounds what such frames hold of memory; this bounds what they cost in all (CVE-2019-9512, -9515, -9518,
//! CVE-2023-44487, CVE-2024-27316 are of this kind).

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::wire::Wire;

/// What a client of HTTP/2 says first. No request of HTTP/1.1 begins like this.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What may come at once, and what is added in a second. A page that is left cancels some hundred streams; pings and
/// settings are a handful.
const BURST: f64 = 1000.0;
const PER_SECOND: f64 = 100.0;
/// A stream that is taken back has cost a request.
const RESET: f64 = 5.0;
/// Who takes what was sent says so: a window is opened again for each so many bytes at most.
const WRITTEN_BYTES: f64 = 1024.0;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const END_STREAM: u8 = 1;

/// Set once the budget is spent.
pub(crate) type Flooded = Rc<Cell<bool>>;

#[derive(Debug)]
pub(crate) struct Watched {
    wire: Wire,
    /// What was read before it was known that this is HTTP/2.
    ahead: Vec<u8>,
    flooded: Flooded,
    meter: Meter,
}

impl Watched {
    pub(crate) fn new(wire: Wire, ahead: Vec<u8>) -> (Self, Flooded) {
        let flooded = Flooded::default();
        let watched = Self {
            wire,
            ahead,
            flooded: Rc::clone(&flooded),
            meter: Meter::new(),
        };
        (watched, flooded)
    }
}

#[derive(Debug)]
struct Meter {
    left: f64,
    at: Instant,
    /// Bytes until the next frame begins.
    skip: usize,
    header: [u8; 9],
    have: usize,
}

impl Meter {
    fn new() -> Self {
        Self {
            left: BURST,
            at: Instant::now(),
            skip: PREFACE.len(),
            header: [0; 9],
            have: 0,
        }
    }

    fn earn(&mut self, earned: f64) {
        self.left = (self.left + earned).min(BURST);
    }

    /// Weighs frames; false once the budget is spent.
    fn weigh(&mut self, mut bytes: &[u8], now: Instant) -> bool {
        self.earn((now - self.at).as_secs_f64() * PER_SECOND);
        self.at = now;
        while !bytes.is_empty() {
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len());
                self.skip -= skipped;
                bytes = bytes.get(skipped..).unwrap_or_default();
                continue;
            }
            let wanted = (self.header.len() - self.have).min(bytes.len());
            let (taken, rest) = bytes.split_at(wanted);
            if let Some(room) = self.header.get_mut(self.have..self.have + wanted) {
                room.copy_from_slice(taken);
            }
            self.have += wanted;
            bytes = rest;
            if self.have == self.header.len() {
                let [a, b, c, kind, flags, ..] = self.header;
                self.have = 0;
                self.skip = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
                self.left -= match kind {
                    DATA if self.skip > 0 || flags & END_STREAM != 0 => 0.0,
                    HEADERS => 0.0,
                    RST_STREAM => RESET,
                    _ => 1.0,
                };
            }
        }
        self.left >= 0.0
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.flooded.get() {
            // Nothing more is read: the connection is about to end.
            return Poll::Pending;
        }
        let before = into.filled().len();
        if this.ahead.is_empty() {
            match Pin::new(&mut this.wire).poll_read(cx, into) {
                Poll::Ready(Ok(())) => {}
                other => return other,
            }
        } else {
            let count = into.remaining().min(this.ahead.len());
            into.put_slice(this.ahead.get(..count).unwrap_or_default());
            this.ahead.drain(..count);
        }
        let fresh = into.filled().get(before..).unwrap_or_default();
        if !this.meter.weigh(fresh, Instant::now()) {
            this.flooded.set(true);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.wire).poll_write(cx, bytes);
        if let Poll::Ready(Ok(written)) = written {
            this.meter.earn(written as f64 / WRITTEN_BYTES);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn frame(kind: u8, flags: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
        frame.resize(9 + usize::from(length), 0);
        frame
    }

    /// How many of these frames pass at one instant, fed in pieces of `cut` bytes.
    fn passed(frame: &[u8], cut: usize) -> usize {
        let mut meter = Meter::new();
        let now = meter.at;
        assert!(meter.weigh(PREFACE, now));
        let frames = frame.repeat(20_000);
        let mut fed = 0;
        for piece in frames.chunks(cut) {
            if !meter.weigh(piece, now) {
                break;
            }
            fed += piece.len();
        }
        fed / frame.len()
    }

    #[test]
    fn frames_that_carry_nothing_have_a_budget_however_they_are_cut() {
        for cut in [1, 7, 9] {
            assert_eq!(passed(&frame(6, 0, 8), cut), 1000, "pings");
            assert_eq!(passed(&frame(4, 0, 0), cut), 1000, "settings");
            assert_eq!(passed(&frame(RST_STREAM, 0, 4), cut), 200, "resets");
            assert_eq!(passed(&frame(DATA, 0, 0), cut), 1000, "empty data");
            assert_eq!(passed(&frame(DATA, END_STREAM, 0), cut), 20_000);
            assert_eq!(passed(&frame(DATA, 0, 50), cut), 20_000);
            assert_eq!(passed(&frame(HEADERS, 0, 50), cut), 20_000);
        }
    }

    #[test]
    fn the_budget_comes_back_with_time_and_with_what_is_sent() {
        let mut meter = Meter::new();
        let mut now = meter.at;
        assert!(meter.weigh(PREFACE, now));
        for _ in 0..1000 {
            now += Duration::from_millis(10);
            assert!(meter.weigh(&frame(6, 0, 8), now));
        }
        for _ in 0..10_000 {
            meter.earn(16_384.0 / WRITTEN_BYTES);
            assert!(meter.weigh(&frame(8, 0, 4), now));
        }
    }
}

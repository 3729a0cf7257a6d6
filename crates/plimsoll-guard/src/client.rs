//! A client's connection: bytes that have come and were not used yet, and its end.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, timeout};

use crate::alarm::Alarm;
use crate::scratch;
use crate::wire::{Wire, poll_take};

/// Of a client that is told to go: how much more of it is read, and for how long, so that it sees the answer.
const LINGER_BYTES: usize = 256 << 10;
const LINGER: Duration = Duration::from_secs(1);
/// A connection may be idle for so long.
pub(crate) const IDLE: Duration = Duration::from_secs(75);
/// A client that takes nothing for so long has gone.
pub(crate) const STALLED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) wire: Wire,
    pub(crate) inbox: Vec<u8>,
    pub(crate) alarm: Alarm,
    /// No request has come on it yet: its client is about to send one.
    pub(crate) is_fresh: bool,
    /// It waits for a request while the guard ends.
    pub(crate) is_parting: bool,
}

impl Client {
    pub(crate) fn new(wire: Wire) -> Self {
        Self {
            wire,
            inbox: Vec::new(),
            alarm: Alarm::after(STALLED),
            is_fresh: true,
            is_parting: false,
        }
    }

    /// Reads what is there behind what the inbox holds; false at the end. A connection without a request holds no memory
    /// for it.
    pub(crate) fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let (wire, inbox) = (&mut self.wire, &mut self.inbox);
        scratch::with(|read| {
            let is_open = ready!(poll_take(wire, cx, read))?;
            inbox.extend_from_slice(read);
            Poll::Ready(Ok(is_open))
        })
    }

    /// The first `count` bytes of the inbox have been used.
    pub(crate) fn used(&mut self, count: usize) {
        if count == self.inbox.len() {
            self.inbox = Vec::new();
        } else {
            self.inbox.drain(..count);
        }
    }

    pub(crate) async fn more(&mut self) -> io::Result<bool> {
        poll_fn(|cx| self.poll_more(cx)).await
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (mut at, mut until) = (0, None);
        poll_fn(|cx| match self.wire.poll_put(cx, bytes, &mut at) {
            Poll::Pending => {
                // Most are written at once, and need no clock.
                let until = *until.get_or_insert_with(|| Instant::now() + STALLED);
                self.alarm.set(until);
                let is_late = self.alarm.poll(cx);
                is_late.map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            put @ Poll::Ready(_) => put,
        })
        .await
    }

    /// Ends the connection so that the client gets what was written: closing while bytes arrive would take it away.
    pub(crate) async fn part(mut self) {
        let read = async {
            if self.wire.shutdown().await.is_err() {
                return;
            }
            let mut seen = 0;
            while seen < LINGER_BYTES {
                self.inbox.clear();
                if !matches!(self.more().await, Ok(true)) {
                    return;
                }
                seen += self.inbox.len();
            }
        };
        // Whoever is not done by then is cut off.
        drop(timeout(LINGER, read).await);
    }
}

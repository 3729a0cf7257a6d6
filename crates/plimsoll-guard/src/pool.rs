//! Connections to an upstream that are kept for the next request.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use plimsoll_core::Nanos;
use tokio::time::timeout;

use crate::dial::Dial;
use crate::wire::Wire;

/// Node closes idle connections after five seconds: one used just then would be lost with its request.
const IDLE_MOST: Nanos = Nanos::from_secs(4);
const KEPT_MOST: usize = 1024;

#[derive(Debug)]
pub(crate) struct Pool {
    dial: Dial,
    /// The one used last at the end, with when that was.
    idle: RefCell<Vec<(Wire, Nanos)>>,
}

impl Pool {
    pub(crate) fn new(dial: Dial) -> Self {
        Self {
            dial,
            idle: RefCell::default(),
        }
    }

    /// One that still works, as far as can be seen.
    pub(crate) fn kept(&self, now: Nanos) -> Option<Wire> {
        let mut idle = self.idle.borrow_mut();
        while let Some((mut stream, since)) = idle.pop() {
            if now - since > IDLE_MOST {
                // Those before it were idle for longer.
                idle.clear();
                return None;
            }
            // Bytes that nobody asked for, or its end: not to be used.
            if stream.is_quiet() {
                return Some(stream);
            }
        }
        None
    }

    pub(crate) async fn open(&self, within: Duration) -> io::Result<Wire> {
        let opened = timeout(within, self.dial.open()).await;
        opened.map_err(|_| io::ErrorKind::TimedOut)?
    }

    pub(crate) fn keep(&self, stream: Wire, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < KEPT_MOST {
            idle.push((stream, now));
        }
    }

    /// Closes those that were idle too long.
    pub(crate) fn tidy(&self, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        idle.retain(|(_, since)| now - *since <= IDLE_MOST);
    }
}

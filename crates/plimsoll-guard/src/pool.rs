//! Connections to an upstream that are kept for the next request.

use std::cell::{Cell, RefCell};
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
    dial: RefCell<Dial>,
    /// Counts the ways that it was reached in: what was opened in an earlier one is not kept.
    way: Cell<u64>,
    /// Whether it could be reached the last time, as far as that says something about it.
    is_there: Cell<Option<bool>>,
    /// The one used last at the end, with when that was.
    idle: RefCell<Vec<(Wire, Nanos)>>,
}

impl Pool {
    pub(crate) fn new(dial: Dial) -> Self {
        Self {
            dial: RefCell::new(dial),
            way: Cell::new(0),
            is_there: Cell::new(None),
            idle: RefCell::default(),
        }
    }

    /// The same place, reached in another way from now on: what is open was let in by other certificates.
    pub(crate) fn set_dial(&self, dial: &Dial) {
        if !self.dial.borrow().is_as(dial) {
            *self.dial.borrow_mut() = dial.clone();
            self.idle.borrow_mut().clear();
            self.way.set(self.way.get() + 1);
        }
    }

    /// In which way it is reached now.
    pub(crate) fn way(&self) -> u64 {
        self.way.get()
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

    pub(crate) fn host(&self) -> String {
        self.dial.borrow().host()
    }

    pub(crate) async fn open(&self, within: Duration) -> io::Result<Wire> {
        let dial = self.dial.borrow().clone();
        let opened = timeout(within, dial.open()).await;
        let opened = opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        match &opened {
            Ok(_) => self.is_there.set(Some(true)),
            Err(error) if is_absence(error.kind()) => self.is_there.set(Some(false)),
            // Too late, or without a descriptor: whoever is overloaded is there all the same.
            Err(_) => {}
        }
        opened
    }

    /// Nothing until it was tried.
    pub(crate) fn is_there(&self) -> Option<bool> {
        self.is_there.get()
    }

    /// Keeps one that was taken or opened while it was reached in that `way`.
    pub(crate) fn keep(&self, stream: Wire, way: u64, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < KEPT_MOST && way == self.way.get() {
            idle.push((stream, now));
        }
    }

    /// Closes those that were idle too long.
    pub(crate) fn tidy(&self, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        idle.retain(|(_, since)| now - *since <= IDLE_MOST);
    }
}

/// Nobody listens there, or there is no way.
fn is_absence(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, NotFound};
    matches!(
        kind,
        ConnectionRefused | HostUnreachable | NetworkUnreachable | NotFound
    )
}

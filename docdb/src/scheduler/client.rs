//! Who sent a command, as far as those need to know who carry it out on another thread.

use std::sync::atomic::{AtomicBool, Ordering};

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// As `connectionId` in `hello`.
    pub(crate) id: i32,
    /// Where it is.
    pub(crate) peer: String,
    left: AtomicBool,
}

impl Client {
    pub(crate) fn new(id: i32, peer: &str) -> Self {
        Self {
            id,
            peer: peer.to_owned(),
            left: AtomicBool::new(false),
        }
    }

    /// It closed its side: nobody waits for what it asked.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
}

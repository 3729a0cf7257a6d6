//! Who sent a command, as far as those need to know who carry it out on another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// As `connectionId` in `hello`.
    pub(crate) id: i32,
    /// Where it is.
    pub(crate) peer: String,
    left: AtomicBool,
    /// Where its last command was carried out, and what its share of the time there is used up to.
    lane: AtomicU64,
    served: AtomicU64,
    /// What that command took.
    cost: AtomicU64,
}

impl Client {
    pub(crate) fn new(id: i32, peer: &str) -> Self {
        Self {
            id,
            peer: peer.to_owned(),
            left: AtomicBool::new(false),
            lane: AtomicU64::new(0),
            served: AtomicU64::new(0),
            cost: AtomicU64::new(0),
        }
    }

    /// What its share is used up to in a lane, and what its last command there took; nothing if it was elsewhere since. One command
    /// of a client is under way at a time.
    pub(super) fn served_in(&self, lane: u64) -> (u64, u64) {
        if self.lane.load(Ordering::Relaxed) != lane {
            return (0, 0);
        }
        let cost = self.cost.load(Ordering::Relaxed);
        (self.served.load(Ordering::Relaxed), cost)
    }

    pub(super) fn serve(&self, lane: u64, up_to: u64, cost: u64) {
        self.lane.store(lane, Ordering::Relaxed);
        self.served.store(up_to, Ordering::Relaxed);
        self.cost.store(cost, Ordering::Relaxed);
    }

    /// It closed its side: nobody waits for what it asked.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
}

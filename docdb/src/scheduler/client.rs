//! Who sent a command, as far as those need to know who carry it out on another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a command of a client is taken to take of whom nothing is known, in nanoseconds.
const UNKNOWN: u64 = 1_000_000;

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
    /// About what a command of its takes there.
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

    /// What its share is used up to in a lane, and about what a command of its takes there. Of who was elsewhere since nothing is
    /// known: he comes after those who are known to ask for little, or coming anew each time would be a way to be first. One command of
    /// a client is under way at a time.
    pub(super) fn served_in(&self, lane: u64) -> (u64, u64) {
        if self.lane.load(Ordering::Relaxed) != lane {
            return (0, UNKNOWN);
        }
        let cost = self.cost.load(Ordering::Relaxed);
        (self.served.load(Ordering::Relaxed), cost)
    }

    /// A command took `cost`, beginning where its share was used up to `share`. Of what is far more than usual only a part counts:
    /// the thread may have been without a core.
    pub(super) fn serve(&self, lane: u64, share: u64, cost: u64) {
        let (_, usual) = self.served_in(lane);
        let counted = cost.min(8 * usual + UNKNOWN);
        self.lane.store(lane, Ordering::Relaxed);
        self.served
            .store(share.saturating_add(counted), Ordering::Relaxed);
        self.cost
            .store((3 * usual + counted) / 4, Ordering::Relaxed);
    }

    /// It closed its side: nobody waits for what it asked.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
}

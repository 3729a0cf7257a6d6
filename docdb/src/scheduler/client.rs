//! Who sent a command, as far as those need to know who carry it out on another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a command of a client is taken to take of whom nothing is known, in nanoseconds.
pub(super) const UNKNOWN: u64 = 1_000_000;

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

/// What a lane knows of a client.
#[derive(Debug, Clone, Copy)]
pub(super) enum Served {
    /// Its share of the time is used up to `share`, and a command of its takes about `cost`.
    Upto { share: u64, cost: u64 },
    /// A stranger, also if it was elsewhere since.
    Never,
}

/// Of a cost that is far more than usual only a part counts: the thread may have been without a core.
fn counted(usual: u64, cost: u64) -> u64 {
    cost.min(8 * usual + UNKNOWN)
}

/// What is usual after one more.
pub(super) fn usual(before: u64, cost: u64) -> u64 {
    (3 * before + counted(before, cost)) / 4
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

    /// What is known of it in a lane. One command of a client is under way at a time.
    pub(super) fn served_in(&self, lane: u64) -> Served {
        if self.lane.load(Ordering::Relaxed) != lane {
            return Served::Never;
        }
        Served::Upto {
            share: self.served.load(Ordering::Relaxed),
            cost: self.cost.load(Ordering::Relaxed),
        }
    }

    /// A command took `cost`, beginning where its share was used up to `share`.
    pub(super) fn serve(&self, lane: u64, share: u64, cost: u64) {
        let before = match self.served_in(lane) {
            Served::Upto { cost, .. } => cost,
            Served::Never => UNKNOWN,
        };
        let counted = counted(before, cost);
        self.lane.store(lane, Ordering::Relaxed);
        self.served
            .store(share.saturating_add(counted), Ordering::Relaxed);
        self.cost.store(usual(before, cost), Ordering::Relaxed);
    }

    /// It closed its side: nobody waits for what it asked.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
}

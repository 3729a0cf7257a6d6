//! Bytes that queries and clients hold: one budget for all of a server, and a share of it for each who asks.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::{Code, CommandError};

/// No single sort or group holds more than this part of the budget.
const SHARES: usize = 8;
/// What a sort or a group holds at most that may not go to the disk (MongoDB's limit).
const IN_MEMORY_MAX: usize = 100 << 20;
/// Who held so much in small pieces leaves holes between blocks of the cache that nothing else fits into.
const HOLES_BYTES: usize = 8 << 20;
/// What a test or a shard without a server may use.
const DEFAULT_BYTES: usize = 256 << 20;

/// So many times its bytes a filter or a pipeline takes, read and planned: a condition has a path, a constant, a range and the bounds
/// of two keys. The values of long lists of `$in` that are kept as keys are counted with what they take instead.
pub(crate) const READ_TIMES: usize = 12;
/// Of a command with no document above so many bytes that is not counted before a cursor keeps it.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// The budget of a server.
#[derive(Debug)]
pub struct Memory {
    most: usize,
    used: AtomicUsize,
    /// Bytes that went to the disk instead, ever.
    spilled: AtomicU64,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl Memory {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            used: AtomicUsize::new(0),
            spilled: AtomicU64::new(0),
        }
    }

    /// Whether more is held than may be.
    pub(crate) fn is_over(&self) -> bool {
        self.held() > self.most
    }

    /// Whether even those who take little should not: many who take little take much.
    pub(crate) fn is_far_over(&self) -> bool {
        self.held() > self.most.saturating_add(self.most / SHARES)
    }

    /// Whether `bytes` more could be held.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.held().saturating_add(bytes) <= self.most
    }

    /// Bytes held now.
    pub(crate) fn held(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that sorts and groups wrote to the disk since the server started.
    pub(crate) fn spilled(&self) -> u64 {
        self.spilled.load(Ordering::Relaxed)
    }

    pub(crate) fn note_spilled(&self, bytes: usize) {
        self.spilled.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn claim(self: &Arc<Self>) -> Claim {
        Claim {
            memory: Arc::clone(self),
            bytes: 0,
            most: 0,
            of_pieces: false,
        }
    }

    /// For who holds many small pieces: once they are gone, the pages that they filled are given back.
    pub(crate) fn claim_for_pieces(self: &Arc<Self>) -> Claim {
        let mut claim = self.claim();
        claim.of_pieces = true;
        claim
    }

    /// The error of who wants more than there is.
    pub(crate) fn exceeded(&self, what: &str) -> CommandError {
        Code::ExceededMemoryLimit.error(format!(
            "{what}: queries and clients hold the {} MiB that they may; try again later, ask for less, or start with a larger --memory",
            self.most >> 20
        ))
    }
}

/// What one holder holds; given back when it goes.
#[derive(Debug)]
pub(crate) struct Claim {
    memory: Arc<Memory>,
    bytes: usize,
    /// The most that it was at once.
    most: usize,
    /// It has to go after what it counts, so it is the last field of who holds it.
    of_pieces: bool,
}

impl Claim {
    /// Says how much is held now. False if all holders together hold more than they may.
    pub(crate) fn hold(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            let more = bytes - self.bytes;
            self.memory.used.fetch_add(more, Ordering::Relaxed);
        } else {
            let less = self.bytes - bytes;
            self.memory.used.fetch_sub(less, Ordering::Relaxed);
        }
        self.bytes = bytes;
        self.most = self.most.max(bytes);
        !self.memory.is_over()
    }

    /// Bytes that are held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The error of who holds it and wants more than there is.
    pub(crate) fn exceeded(&self, what: &str) -> CommandError {
        self.memory.exceeded(what)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
        if self.of_pieces && self.most >= HOLES_BYTES {
            plimsoll_base::heap::return_free_pages();
        }
    }
}

/// What a blocking part of a query may use: memory, and a folder for what does not fit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    pub(crate) memory: Arc<Memory>,
    /// `None`: what does not fit is an error (`allowDiskUse: false`).
    pub(crate) folder: Option<Arc<Path>>,
}

impl Room {
    /// Bytes that one sort or group may hold.
    pub(crate) fn limit(&self) -> usize {
        match self.folder {
            Some(_) => self.memory.most / SHARES,
            None => IN_MEMORY_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_add_up_and_are_given_back() {
        let memory = Arc::new(Memory::new(100));
        let (mut one, mut other) = (memory.claim(), memory.claim());
        assert!(one.hold(60) && other.hold(40));
        assert!(!memory.has_room(1) && !other.hold(41) && memory.is_over());
        assert!(one.hold(10) && memory.has_room(49));
        drop(other);
        assert!(memory.has_room(90) && !memory.has_room(91));
    }
}

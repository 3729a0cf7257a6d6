//! Sessions that clients ended: connections tell, and every shard hears at its next look and closes their cursors.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Ended sessions that are remembered; a shard looks every 50 ms, so none should ever miss one. What it misses ends by time.
const REMEMBERED: usize = 100_000;

/// What all shards hear of.
#[derive(Debug, Default)]
pub struct EndedSessions {
    /// Sessions ended so far, so that a look costs no lock while nothing happens.
    told: AtomicU64,
    last: Mutex<VecDeque<[u8; 16]>>,
}

impl EndedSessions {
    pub fn tell(&self, sessions: impl IntoIterator<Item = [u8; 16]>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        for session in sessions {
            if last.len() == REMEMBERED {
                last.pop_front();
            }
            last.push_back(session);
            self.told.fetch_add(1, Ordering::Release);
        }
    }

    /// The sessions that ended since `heard`, which is moved on.
    pub fn since(&self, heard: &mut u64) -> BTreeSet<[u8; 16]> {
        if self.told.load(Ordering::Acquire) == *heard {
            return BTreeSet::new();
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let told = self.told.load(Ordering::Acquire);
        let new = usize::try_from(told - *heard).unwrap_or(usize::MAX);
        *heard = told;
        last.iter().rev().take(new).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_hears_of_each_session_once() {
        let ended = EndedSessions::default();
        let (mut one, mut other) = (0, 0);
        assert!(ended.since(&mut one).is_empty());
        ended.tell([[1; 16], [2; 16]]);
        assert_eq!(ended.since(&mut one), [[1; 16], [2; 16]].into());
        ended.tell([[3; 16]]);
        assert_eq!(ended.since(&mut one), [[3; 16]].into());
        assert_eq!(ended.since(&mut other), [[1; 16], [2; 16], [3; 16]].into());
        assert!(ended.since(&mut other).is_empty());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let ended = EndedSessions::default();
        for round in 0..3_u8 {
            ended.tell(std::iter::repeat_n([round; 16], REMEMBERED));
        }
        assert_eq!(ended.since(&mut 0), [[2; 16]].into());
    }
}

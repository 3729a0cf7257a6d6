//! Which idempotency keys came lately: one that comes again is a retry, whatever its client says of it.

use std::time::Duration;

use tokio::time::Instant;

/// Of keys that share a place the last is known: memory stays bounded whatever keys are made up.
const PLACES: usize = 4096;
/// A client that tries again does so within this time.
const MEMORY: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// None before the first key: most services have no use for them.
    seen: Vec<Option<(u64, Instant)>>,
}

impl Repeats {
    /// The hash of a key, whose it is and what it is for, is here now: whether it was lately.
    pub(crate) fn again(&mut self, hash: u64, now: Instant) -> bool {
        if self.seen.is_empty() {
            self.seen.resize(PLACES, None);
        }
        let place = (hash % PLACES as u64) as usize;
        let Some(seen) = self.seen.get_mut(place) else {
            return false;
        };
        let before = seen.replace((hash, now));
        before.is_some_and(|(known, at)| known == hash && now < at + MEMORY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_for_ten_seconds_and_many_keys_need_no_more_memory() {
        let mut repeats = Repeats::default();
        let now = Instant::now();
        assert!(!repeats.again(7, now));
        assert!(repeats.again(7, now + MEMORY - Duration::from_millis(1)));
        assert!(!repeats.again(7, now + MEMORY * 2));
        for hash in 0..100_000 {
            assert!(!repeats.again(hash + 8, now));
        }
        assert_eq!(repeats.seen.len(), PLACES);
    }
}

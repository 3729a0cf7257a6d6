//! When a batch is worth waiting for: on a slow disk, clients answered together come back one after another, and
//! a batch begun at the first of them would let the others wait for a whole further sync.

use plimsoll_base::Nanos;

use crate::error::Result;
use crate::metrics::Committed;

/// Below this an fsync costs less than waiting would.
const SLOW: u64 = 500_000;
/// The share of an fsync that is spent on waiting at most.
const SHARE: u64 = 8;

/// How the last batches went.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Commands in the last two batches.
    recent: [usize; 2],
    /// Moving mean of the time that a sync takes, in nanoseconds.
    fsync: u64,
}

impl Pace {
    pub(super) fn committed(&mut self, committed: &Result<Committed>, commands: usize) {
        let Ok(Committed {
            fsync: Some(fsync), ..
        }) = committed
        else {
            return;
        };
        self.recent = [commands, self.recent[0]];
        self.fsync = (self.fsync * 7 + fsync.0) / 8;
    }

    /// How long to wait with `queued` commands at hand: not at all on a fast disk, or when as many are there as
    /// came together lately.
    pub(super) fn linger(&self, queued: usize) -> Option<Nanos> {
        let expected = self.recent[0].max(self.recent[1]);
        (self.fsync > SLOW && queued < expected).then_some(Nanos(self.fsync / SHARE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(fsync: u64, batches: &[usize]) -> Pace {
        let mut pace = Pace::default();
        for commands in batches {
            let done = Committed {
                writes: 1,
                bytes: 1,
                fsync: Some(Nanos(fsync)),
            };
            pace.committed(&Ok(done), *commands);
        }
        pace
    }

    #[test]
    fn a_fast_disk_is_never_waited_for() {
        assert_eq!(after(50_000, &[30; 20]).linger(1), None);
    }

    #[test]
    fn on_a_slow_disk_the_batch_waits_for_as_many_as_came_lately() {
        let pace = after(5_000_000, &[30; 40]);
        let linger = pace.linger(1).unwrap();
        assert!((500_000..=625_000).contains(&linger.0), "{linger:?}");
        assert_eq!(pace.linger(30), None);
        assert!(
            after(5_000_000, &[29, 1, 29, 1, 29, 1, 29, 1])
                .linger(1)
                .is_some()
        );
    }

    #[test]
    fn a_client_alone_does_not_wait() {
        assert_eq!(after(5_000_000, &[1; 40]).linger(1), None);
    }
}

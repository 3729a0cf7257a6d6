//! The long lists of a command that were read before it began.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::condition::Set;
use crate::error::Result;

/// Lists by where they lie in the bytes of the command, which stay there for as long as these are known.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    bytes: Option<Arc<Vec<u8>>>,
    found: BTreeMap<usize, Result<Set>>,
}

impl Lists {
    pub(super) fn new(bytes: Arc<Vec<u8>>, found: BTreeMap<usize, Result<Set>>) -> Self {
        Self {
            bytes: Some(bytes),
            found,
        }
    }

    /// What the list came to whose bytes in the command these are.
    pub(super) fn find(&self, array: &[u8]) -> Option<Result<Set>> {
        let command = self.bytes.as_ref()?.as_ptr().addr();
        let place = array.as_ptr().addr().checked_sub(command)?;
        let found = self.found.get(&place).cloned();
        #[cfg(test)]
        tests::count(usize::from(found.is_some()), 0);
        found
    }
}

/// Counts long lists, for a change that makes commands read theirs twice gives no other sign.
#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    thread_local! {
        static TALLY: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    pub(in crate::query) fn count(found: usize, read: usize) {
        TALLY.set({
            let (all_found, all_read) = TALLY.get();
            (all_found + found, all_read + read)
        });
    }

    /// How many this thread found that were read before, and how many it read at once, since it was last asked.
    pub(crate) fn tally() -> (usize, usize) {
        TALLY.take()
    }
}

//! Which shard a database lives on: where it is, or for a new one the shard with the fewest.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

#[derive(Debug)]
pub(crate) struct Placement {
    shards: usize,
    known: RwLock<BTreeMap<String, usize>>,
}

/// Names remembered at most; further ones go where their bytes say, which is the same place each time.
const NAMES_MAX: usize = 100_000;

impl Placement {
    /// `found`: the databases that each shard had when it was opened.
    pub(crate) fn new(shards: usize, found: impl IntoIterator<Item = (String, usize)>) -> Self {
        Self {
            shards,
            known: RwLock::new(found.into_iter().collect()),
        }
    }

    pub(crate) fn shard_of(&self, database: &str) -> usize {
        if self.shards == 1 {
            return 0;
        }
        let known = self
            .known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(database)
            .copied();
        known.unwrap_or_else(|| self.place(database))
    }

    fn place(&self, database: &str) -> usize {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(shard) = known.get(database) {
            return *shard;
        }
        if known.len() >= NAMES_MAX {
            return database.bytes().map(usize::from).sum::<usize>() % self.shards;
        }
        let mut counts = vec![0_usize; self.shards];
        for shard in known.values() {
            if let Some(count) = counts.get_mut(*shard) {
                *count += 1;
            }
        }
        let fewest = (0..self.shards)
            .min_by_key(|shard| counts[*shard])
            .unwrap_or(0);
        known.insert(database.to_owned(), fewest);
        fewest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_databases_go_where_the_fewest_are_and_stay_there() {
        let placement = Placement::new(3, [("old".to_owned(), 2)]);
        assert_eq!(placement.shard_of("old"), 2);
        let placed: Vec<_> = ["a", "b", "c", "d", "e"]
            .map(|name| placement.shard_of(name))
            .to_vec();
        assert_eq!(placed, [0, 1, 0, 1, 2]);
        assert_eq!(placement.shard_of("c"), 0);
    }
}

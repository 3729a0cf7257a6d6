//! The published rule for who is next: the database with the most jobs. Kept for comparison only, since a
//! quiet database then waits for as long as another one is busy.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A queue per database, each bounded; the deepest is served first.
#[derive(Debug)]
pub(crate) struct DeepestQueue<T> {
    lanes: BTreeMap<Arc<str>, VecDeque<T>>,
    limit: usize,
}

impl<T> DeepestQueue<T> {
    /// `limit` jobs wait per database at most.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            lanes: BTreeMap::new(),
            limit,
        }
    }

    /// Queues a job, or gives it back when its database has `limit` waiting.
    pub(crate) fn push(&mut self, database: &str, job: T) -> Result<(), T> {
        if !self.lanes.contains_key(database) {
            self.lanes.insert(Arc::from(database), VecDeque::new());
        }
        match self.lanes.get_mut(database) {
            Some(lane) if lane.len() < self.limit => {
                lane.push_back(job);
                Ok(())
            }
            _ => Err(job),
        }
    }

    /// The next job and its database.
    pub(crate) fn pop(&mut self) -> Option<(Arc<str>, T)> {
        let (name, lane) = self.lanes.iter_mut().max_by_key(|(_, lane)| lane.len())?;
        let popped = lane.pop_front().map(|job| (Arc::clone(name), job));
        if popped.is_none() {
            self.lanes.clear();
        }
        popped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_queue_is_next_and_a_quiet_one_starves() {
        let mut queue = DeepestQueue::new(3);
        queue.push("quiet", 0).unwrap();
        for job in 1..=3 {
            queue.push("busy", job).unwrap();
        }
        assert_eq!(queue.push("busy", 4), Err(4));
        for _ in 0..10 {
            let (name, job) = queue.pop().unwrap();
            assert_eq!(&*name, "busy");
            queue.push("busy", job).unwrap();
        }
    }

    #[test]
    fn empty_queues_are_forgotten() {
        let mut queue = DeepestQueue::new(3);
        queue.push("a", 1).unwrap();
        assert!(queue.pop().is_some());
        assert!(queue.pop().is_none());
        assert_eq!(queue.lanes.len(), 0);
    }
}

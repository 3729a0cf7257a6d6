//! Random batches, undone batches, flushes, merges and reopening give what a map gives.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;

use super::support::{Folder, Pairs, all, options, pairs};
use crate::store::{MAX_KEY, Scan, Space, Store, StoreError, StoreOptions};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone)]
enum Step {
    Put(u8, u16, u16),
    Delete(u8, u16),
    Commit,
    /// A batch that fails: a key too long follows it.
    Refuse,
    Scan(u8, u16, u16),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..300_u16;
    prop_oneof![
        20 => (1..3_u8, key.clone(), 0..2_000_u16).prop_map(|(s, k, v)| Step::Put(s, k, v)),
        8 => (1..3_u8, key.clone()).prop_map(|(s, k)| Step::Delete(s, k)),
        6 => Just(Step::Commit),
        1 => Just(Step::Refuse),
        3 => (1..3_u8, key.clone(), key).prop_map(|(s, l, h)| Step::Scan(s, l, h)),
        1 => Just(Step::Reopen),
    ]
}

fn key(number: u16) -> Vec<u8> {
    // Some shorter and some longer than what a slice keeps in place.
    let mut key = number.to_be_bytes().to_vec();
    key.resize(2 + usize::from(number % 40), b'k');
    key
}

fn value(length: u16) -> Vec<u8> {
    vec![length as u8; usize::from(length)]
}

struct Pair {
    store: Option<Store>,
    committed: [Map; 3],
    current: [Map; 3],
    /// Scans left open, and what they must return however late they are read.
    open: Vec<(Scan, Pairs)>,
    /// The same, begun while the batch had writes.
    open_in_batch: Vec<(Scan, Pairs)>,
    has_writes: bool,
}

impl Pair {
    fn store(&mut self) -> &mut Store {
        self.store.as_mut().unwrap()
    }

    fn apply(&mut self, step: &Step, options: &StoreOptions, folder: &Folder) {
        match *step {
            Step::Put(space, number, length) => {
                self.has_writes = true;
                let (key, value) = (key(number), value(length));
                self.store()
                    .put(Space::ALL[usize::from(space)], &key, &value);
                self.current[usize::from(space)].insert(key, value);
            }
            Step::Delete(space, number) => {
                self.has_writes = true;
                let key = key(number);
                self.store().delete(Space::ALL[usize::from(space)], &key);
                self.current[usize::from(space)].remove(&key);
            }
            Step::Commit => {
                assert!(self.store().commit().unwrap().is_durable);
                self.committed = self.current.clone();
                self.has_writes = false;
                self.open.append(&mut self.open_in_batch);
            }
            Step::Refuse => {
                self.store()
                    .put(Space::Documents, &vec![0; MAX_KEY + 1], b"");
                self.store().commit().unwrap_err();
                self.current = self.committed.clone();
                self.has_writes = false;
                for (mut scan, _) in self.open_in_batch.drain(..) {
                    assert!(matches!(scan.next(), Some(Err(StoreError::Undone))));
                    assert!(scan.next_back().is_none());
                }
            }
            Step::Scan(space, low, high) => self.scan(usize::from(space), low, high),
            Step::Reopen => {
                self.check_open_scans();
                self.store = None;
                self.store = Some(Store::open(folder.path(), options).unwrap());
                self.current = self.committed.clone();
                self.has_writes = false;
            }
        }
    }

    fn scan(&mut self, space: usize, low: u16, high: u16) {
        let (low, high) = (key(low), key(high));
        if low >= high {
            let range = (Bound::Included(&high[..]), Bound::Excluded(&low[..]));
            let found = self.store().scan(Space::ALL[space], range.1, range.0);
            assert_eq!(pairs(found).len(), 0);
            return;
        }
        let range = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        let scan = |pair: &Self| {
            let store = pair.store.as_ref().unwrap();
            store.scan(Space::ALL[space], range.0, range.1)
        };
        let expected: Pairs = self.current[space]
            .iter()
            .filter(|(key, _)| **key >= low && **key < high)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        assert_eq!(pairs(scan(self)), expected);
        let mut backwards = pairs(scan(self).rev());
        backwards.reverse();
        assert_eq!(backwards, expected);
        assert_eq!(from_both_ends(scan(self)), expected);
        if self.open.len() + self.open_in_batch.len() < 4 {
            let scan = scan(self);
            let open = if self.has_writes {
                &mut self.open_in_batch
            } else {
                &mut self.open
            };
            open.push((scan, expected));
        }
    }

    fn check_open_scans(&mut self) {
        for (scan, expected) in self.open.drain(..).chain(self.open_in_batch.drain(..)) {
            assert_eq!(from_both_ends(scan), expected);
        }
    }

    fn check(&mut self) {
        self.check_open_scans();
        let store = self.store.as_ref().unwrap();
        for (space, map) in Space::ALL.into_iter().zip(&self.current) {
            let expected: Pairs = map.clone().into_iter().collect();
            assert_eq!(pairs(all(store, space)), expected);
            for number in 0..300 {
                let found = store.get(space, &key(number)).unwrap();
                assert_eq!(found.as_deref(), map.get(&key(number)).map(Vec::as_slice));
            }
        }
    }
}

/// Two from the front, one from the back, until they meet.
fn from_both_ends(mut scan: Scan) -> Pairs {
    let (mut front, mut back) = (Vec::new(), Vec::new());
    for turn in 0.. {
        let (next, end) = if turn % 3 == 2 {
            (scan.next_back(), &mut back)
        } else {
            (scan.next(), &mut front)
        };
        let Some(pair) = next else { break };
        let (key, value) = pair.unwrap();
        end.push((key.to_vec(), value.to_vec()));
    }
    assert!(scan.next().is_none() && scan.next_back().is_none());
    back.reverse();
    front.extend(back);
    front
}

fn run(steps: &[Step], memtable_bytes: u64) {
    let folder = Folder::new("model");
    let options = StoreOptions {
        memtable_bytes,
        ..options()
    };
    let mut pair = Pair {
        store: Some(Store::open(folder.path(), &options).unwrap()),
        committed: Default::default(),
        current: Default::default(),
        open: Vec::new(),
        open_in_batch: Vec::new(),
        has_writes: false,
    };
    for step in steps {
        pair.apply(step, &options, &folder);
    }
    pair.check();
    pair.apply(&Step::Commit, &options, &folder);
    pair.apply(&Step::Reopen, &options, &folder);
    pair.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn equals_a_map_in_memory(steps in prop::collection::vec(step(), 1..400)) {
        run(&steps, 64 << 20);
    }

    /// Memtables of a few kilobytes: flushes and merges all the time.
    #[test]
    fn equals_a_map_while_flushing_and_merging(steps in prop::collection::vec(step(), 200..600)) {
        run(&steps, 64 << 10);
    }
}

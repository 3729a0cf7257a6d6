//! Batches that follow from their number alone, and what a store must hold after each of them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use plimsoll_docdb::internals::store::{Shared, Space, Store, StoreOptions};

const DOCUMENTS: u64 = 1_500;
/// Where a store keeps the number of its last batch.
const COUNTER: &[u8] = b"\0\0\0\0batch";

/// Small memtables and segments: flushes, merges and new segments every few batches.
pub(crate) fn options() -> StoreOptions {
    static SHARED: OnceLock<Arc<Shared>> = OnceLock::new();
    StoreOptions {
        memtable_bytes: 512 << 10,
        segment_bytes: 96 << 10,
        ..StoreOptions::new(Arc::clone(SHARED.get_or_init(|| Shared::start(4 << 20))))
    }
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }
}

type Documents = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a store holds after `batches`.
#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) batches: u64,
    documents: Documents,
}

impl Model {
    /// Writes the next batch to `store`, if there is one, and to the model. Not committed.
    pub(crate) fn write_next(&mut self, mut store: Option<&mut Store>) {
        self.batches += 1;
        let mut random = Random(self.batches.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..=random.below(40) {
            let id = format!("\0\0\0\x01{:06}", random.below(DOCUMENTS)).into_bytes();
            let old = self.documents.remove(&id);
            if let (Some(old), Some(store)) = (&old, store.as_deref_mut()) {
                store.delete(Space::Indexes, &entry(&id, old));
            }
            if random.below(4) == 0 {
                if let Some(store) = store.as_deref_mut() {
                    store.delete(Space::Documents, &id);
                }
                continue;
            }
            let mut document = random.0.to_be_bytes().to_vec();
            document.resize(8 + random.below(900) as usize, random.0 as u8);
            if let Some(store) = store.as_deref_mut() {
                store.put(Space::Documents, &id, &document);
                store.put(Space::Indexes, &entry(&id, &document), b"");
            }
            self.documents.insert(id, document);
        }
        if let Some(store) = store {
            store.put(Space::Catalog, COUNTER, &self.batches.to_be_bytes());
        }
    }

    /// Goes to the state that `store` says it is in, which must lie between two numbers of batches, and compares.
    pub(crate) fn follow(&mut self, store: &Store, least: u64, most: u64, note: &str) {
        let counter = store.get(Space::Catalog, COUNTER).unwrap();
        let found = counter.map_or(0, |bytes| u64::from_be_bytes((*bytes).try_into().unwrap()));
        assert!(
            (least..=most).contains(&found),
            "{note}: batch {found}, not {least} to {most}"
        );
        while self.batches < found {
            self.write_next(None);
        }
        assert_eq!(self.batches, found, "{note}: an older state");
        self.compare(store, note);
    }

    pub(crate) fn compare(&self, store: &Store, note: &str) {
        let scan = |space| {
            let pairs = store.scan(space, Bound::Unbounded, Bound::Unbounded);
            pairs.map(|pair| pair.unwrap_or_else(|error| panic!("{note}: {error}")))
        };
        let documents: Documents = scan(Space::Documents)
            .map(|(id, document)| (id.to_vec(), document.to_vec()))
            .collect();
        assert!(
            documents == self.documents,
            "{note}: documents differ in batch {}",
            self.batches
        );
        let mut expected: Vec<Vec<u8>> =
            self.documents.iter().map(|(id, d)| entry(id, d)).collect();
        expected.sort();
        let entries: Vec<Vec<u8>> = scan(Space::Indexes).map(|(key, _)| key.to_vec()).collect();
        assert!(
            entries == expected,
            "{note}: the index differs in batch {}",
            self.batches
        );
    }
}

fn entry(id: &[u8], document: &[u8]) -> Vec<u8> {
    [b"\0\0\0\x02", &document[..8], id].concat()
}

/// `few` in `cargo test`, `many` with `PLIMSOLL_SOAK=1`.
pub(crate) fn rounds(few: u64, many: u64) -> u64 {
    if std::env::var("PLIMSOLL_SOAK").is_ok_and(|value| value == "1") {
        many
    } else {
        few
    }
}

//! Directories, options and batches for the tests of the store.

use std::ops::Bound;
use std::sync::{Arc, OnceLock};

pub(super) use crate::folder::Folder;
use crate::store::{Scan, Shared, Slice, Space, Store, StoreError, StoreOptions};

/// Options with threads that all tests of this process share.
pub(super) fn options() -> StoreOptions {
    static SHARED: OnceLock<Arc<Shared>> = OnceLock::new();
    StoreOptions {
        segment_bytes: 64 << 10,
        ..StoreOptions::new(Arc::clone(SHARED.get_or_init(|| Shared::start(4 << 20))))
    }
}

pub(super) fn all(store: &Store, space: Space) -> Scan {
    store.scan(space, Bound::Unbounded, Bound::Unbounded)
}

pub(super) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

pub(super) fn pairs(scan: impl Iterator<Item = Result<(Slice, Slice), StoreError>>) -> Pairs {
    scan.map(|pair| pair.unwrap())
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

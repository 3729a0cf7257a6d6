//! Directories, options and batches for the tests of the store.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::store::{Options, Scan, Shared, Slice, Space, Store, StoreError};

/// A directory that is removed at the end.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("plimsoll-store-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Options with threads that all tests of this process share.
pub(super) fn options() -> Options {
    static SHARED: OnceLock<Arc<Shared>> = OnceLock::new();
    Options {
        segment_bytes: 64 << 10,
        ..Options::new(Arc::clone(SHARED.get_or_init(|| Shared::start(4 << 20))))
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

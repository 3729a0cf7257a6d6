//! Bytes that are cheap to clone, so that a reader need not copy what a table or a memtable holds.

use std::borrow::Borrow;
use std::ops::Deref;

/// An immutable run of bytes; up to twenty are kept in place, more are shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slice(pub(super) lsm_tree::Slice);

impl Deref for Slice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Slice {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Slice {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

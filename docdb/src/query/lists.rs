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
        self.found.get(&place).cloned()
    }
}

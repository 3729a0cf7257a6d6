//! Which databases there are and how large, as one executor last said: for `listDatabases`, which asks all.

use std::sync::{Mutex, PoisonError};

/// A line of `listDatabases`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseSize {
    pub name: String,
    pub bytes: u64,
    /// It has no collection.
    pub empty: bool,
}

/// One executor's databases.
#[derive(Debug, Default)]
pub(crate) struct Census(Mutex<Vec<DatabaseSize>>);

impl Census {
    /// Called before the replies of the batch that changed it are released.
    pub(crate) fn publish(&self, sizes: Vec<DatabaseSize>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sizes;
    }

    pub(crate) fn sizes(&self) -> Vec<DatabaseSize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

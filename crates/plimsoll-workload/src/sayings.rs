//! What was said of failures, by class: the first words of each, for people; how many there were is in the record.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_core::Outcome;

/// The first reason of each class, shared by all workers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sayings(Arc<Mutex<BTreeMap<Outcome, String>>>);

impl Sayings {
    pub(crate) fn note(&self, outcome: Outcome, reason: &str) {
        // A worker that panicked has said so by itself.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(outcome).or_insert_with(|| reason.to_owned());
    }

    pub(crate) fn all(&self) -> Vec<(Outcome, String)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .iter()
            .map(|(outcome, reason)| (*outcome, reason.clone()))
            .collect()
    }
}

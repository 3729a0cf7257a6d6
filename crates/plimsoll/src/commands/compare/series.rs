//! What a live comparison plays: its targets, and their order.

use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_core::Nanos;

use super::{Loaded, script};
use crate::page::Page;
use crate::prepared::Prepared;
use crate::recipe::Recipe;

/// Between the end of a run and the start of the next: what is in flight ends, the record is written.
pub(super) const BETWEEN: Nanos = Nanos::from_secs(1);

/// Everything that is to be played.
pub(super) struct Series {
    pub(super) targets: Vec<Target>,
    /// Which target is played when, in every pair, those in reserve too.
    pub(super) order: Vec<Vec<usize>>,
    /// Without those in reserve.
    pub(super) pairs: usize,
    pub(super) folder: PathBuf,
    pub(super) seed: u64,
    /// Shows each run while it runs, if that is asked for.
    pub(super) page: Option<Arc<Page>>,
}

impl Series {
    /// What the runs take from the `from`th on, up to the end of the `pairs`th pair.
    pub(super) fn time_left(&self, from: usize, pairs: usize) -> Nanos {
        let played = self.order.iter().take(pairs).flatten().skip(from);
        let each = played.map(|index| (self.targets[*index].length + BETWEEN).0);
        Nanos(each.sum())
    }
}

pub(super) struct Target {
    pub(super) name: String,
    /// As it was typed: a URL, or a script with its flags.
    pub(super) text: String,
    pub(super) recipe: Recipe,
    /// Of a script.
    pub(super) identity: Option<script::Identity>,
    /// Of one run.
    pub(super) length: Nanos,
    /// As it is known before the first run.
    pub(super) first: Prepared,
    pub(super) runs: Vec<Loaded>,
}

impl Target {
    pub(super) fn is_script(&self) -> bool {
        self.identity.is_some()
    }
}

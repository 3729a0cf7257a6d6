//! A cause with what speaks for it.

use std::collections::BTreeSet;

use plimsoll_core::verdict::{Cause, Evidence, Signal};

use super::case::Tier;

#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) cause: Cause,
    pub(super) tier: Option<String>,
    pub(super) process: Option<String>,
    pub(super) ceiling: Option<f64>,
    pub(super) evidence: Vec<Evidence>,
    /// Its figures fit another cause too: no more than a suspicion.
    pub(super) unsure: bool,
}

impl Finding {
    pub(super) fn new(cause: Cause, tier: &Tier) -> Self {
        let thread = tier.high.thread.as_ref();
        Self {
            cause,
            tier: (!tier.name.is_empty()).then(|| tier.name.clone()),
            process: thread.map(|t| format!("{} (pid {})", t.process, t.pid)),
            ceiling: None,
            evidence: Vec::new(),
            unsure: false,
        }
    }

    /// Adds a figure; lines of the same signal count once.
    pub(super) fn signal(&mut self, signal: Signal, text: String) {
        self.evidence.push(Evidence { signal, text });
    }

    pub(super) fn signals(&self) -> usize {
        let signals = self.evidence.iter().map(|e| &e.signal);
        let figures = signals.filter(|signal| **signal != Signal::None);
        figures.collect::<BTreeSet<_>>().len()
    }
}

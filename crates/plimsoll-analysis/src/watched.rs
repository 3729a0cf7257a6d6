//! Processor time of all processes of a tier, over the time for which it was looked at.

use std::collections::BTreeMap;

use plimsoll_core::Nanos;
use plimsoll_core::record::{Observation, ProcessSample};

/// Processes come and go, and the tier stays: whatever a look saw of it, its time counts once.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    busy_seconds: f64,
    /// How long each look was, by its end.
    looks: BTreeMap<Nanos, Nanos>,
}

impl Watched {
    pub(crate) fn add(&mut self, look: &Observation, process: &ProcessSample) {
        let threads = process.threads.iter().chain([&process.others]);
        self.busy_seconds += threads
            .map(|thread| thread.run_ns.as_secs_f64())
            .sum::<f64>();
        let length = self.looks.entry(look.at_ns).or_default();
        *length = look.length_ns.max(*length);
    }

    pub(crate) fn seconds(&self) -> f64 {
        let lengths = self.looks.values();
        lengths.map(|length| length.as_secs_f64()).sum()
    }

    /// Cores that it used on average; `None` without a look.
    pub(crate) fn cores(&self) -> Option<f64> {
        let seconds = self.seconds();
        (seconds > 0.0).then(|| self.busy_seconds / seconds)
    }
}

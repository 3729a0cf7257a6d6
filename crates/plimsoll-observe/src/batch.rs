//! What one call of the sampler has observed.

use std::collections::BTreeSet;

use plimsoll_core::Nanos;
use plimsoll_core::record::{AbsentSample, Observation, Seen};

/// The observations of one call.
pub(crate) struct Batch {
    pub(crate) at_ns: Nanos,
    pub(crate) length_ns: Nanos,
    pub(crate) is_first: bool,
    pub(crate) observations: Vec<Observation>,
    /// By tier and subject: each is recorded once.
    pub(crate) recorded_absent: BTreeSet<(String, String)>,
}

impl Batch {
    /// The first call has no interval behind it: what was seen then is only a starting point.
    pub(crate) fn see(&mut self, tier: &str, seen: Seen) {
        self.see_over(self.length_ns, tier, seen);
    }

    /// The same over another time than that since the last call.
    pub(crate) fn see_over(&mut self, length: Nanos, tier: &str, seen: Seen) {
        if !self.is_first && length > Nanos::ZERO {
            self.push(length, tier, seen);
        }
    }

    pub(crate) fn absent(&mut self, tier: &str, what: &str, reason: String) {
        if self
            .recorded_absent
            .insert((tier.to_owned(), what.to_owned()))
        {
            let what = what.to_owned();
            self.push(
                self.length_ns,
                tier,
                Seen::Absent(AbsentSample { what, reason }),
            );
        }
    }

    fn push(&mut self, length_ns: Nanos, tier: &str, seen: Seen) {
        self.observations.push(Observation {
            at_ns: self.at_ns,
            length_ns,
            tier: tier.to_owned(),
            seen,
        });
    }
}

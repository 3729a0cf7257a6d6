//! What was found when the load had ended: work taken in and not done, and what was stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// One line of a run that looks at it: of the lab, and of a workload. Counts leave out what was there before the load began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    pub at_ns: Nanos,
    /// Taken in, also of attempts whose answer never arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_count: Option<u64>,
    /// Taken in and not done when the load had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_count: Option<u64>,
    /// The same when the wait for it had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_left_count: Option<u64>,
    /// From the end of the load until nothing was left; absent if something stayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drained_ns: Option<Nanos>,
    /// Stored when the load had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_at_end_count: Option<u64>,
    /// Stored when the wait had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_count: Option<u64>,
    /// Instances that the experiment killed and started again, with the time since the load began: `worker at 40 s`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<String>,
    /// What was to be counted and could not be, with a sentence that says why: `taken`, `backlog`, `stored`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncounted: BTreeMap<String, String>,
    /// Of a workload: every document, held against what was acknowledged for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
}

/// What the documents of a workload were found to be when the load had ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Documents that had to be there.
    pub expected_count: u64,
    /// Of those, the ones that are there with every acknowledged update.
    pub intact_count: u64,
    pub missing_count: u64,
    /// There, without an update that was acknowledged.
    pub stale_count: u64,
    /// There although their deletion was acknowledged.
    pub undead_count: u64,
    /// There although nobody asked for them, or updated more often than anybody asked.
    pub unasked_count: u64,
    /// Left out: an operation on them ended without an answer, and may have been carried out or not.
    pub unknown_count: u64,
}

impl Verified {
    /// Documents that contradict an acknowledgement.
    pub fn broken_count(&self) -> u64 {
        self.missing_count + self.stale_count + self.undead_count + self.unasked_count
    }

    pub fn add(&mut self, other: &Self) {
        self.expected_count += other.expected_count;
        self.intact_count += other.intact_count;
        self.missing_count += other.missing_count;
        self.stale_count += other.stale_count;
        self.undead_count += other.undead_count;
        self.unasked_count += other.unasked_count;
        self.unknown_count += other.unknown_count;
    }
}

impl After {
    /// Items that were taken in and are nowhere. Without a count of those it is what was acknowledged that counts, and at
    /// least so many are lost: attempts that nobody acknowledged may have been stored as well. None if it was not looked
    /// at what is stored.
    pub fn lost_count(&self, acknowledged: u64) -> Option<u64> {
        let there = self.stored_count? + self.backlog_left_count.unwrap_or(0);
        let owed = acknowledged.max(self.taken_count.unwrap_or(0));
        Some(owed.saturating_sub(there))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_still_waits_is_not_lost() {
        let after = After {
            stored_count: Some(70),
            backlog_left_count: Some(20),
            ..After::default()
        };
        assert_eq!(after.lost_count(100), Some(10));
        assert_eq!(
            after.lost_count(80),
            Some(0),
            "more may be stored than acknowledged"
        );
        assert_eq!(After::default().lost_count(5), None);
        let counted = After {
            taken_count: Some(120),
            ..after
        };
        assert_eq!(counted.lost_count(80), Some(30), "also without an answer");
    }
}

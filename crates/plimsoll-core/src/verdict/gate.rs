//! The validity gates: which there are, and what each came to.

use serde::{Deserialize, Serialize};

/// A gate; a record holds its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "u8", into = "u8")]
pub enum GateId {
    Little,
    Accounting,
    Work,
    Wire,
    Steady,
    Generator,
    Failures,
    Percentiles,
    Merged,
    Path,
    Accepted,
    Stored,
    OneChange,
    /// Of another version.
    Other(u8),
}

/// Each gate with its number, its name, and what is said of a run whose verdict it withholds; of a gate that withholds
/// none, or whose own words say it better, nothing.
#[rustfmt::skip]
const TABLE: [(GateId, u8, &str, &str); 13] = [
    (GateId::Little, 1, "Little's law", "the figures contradict Little's law"),
    (GateId::Accounting, 2, "Accounting", "the record does not add up"),
    (GateId::Work, 3, "Work per success", "the work per request changed with the load"),
    (GateId::Wire, 4, "Concurrency on the wire", "the concurrency on the wire was not the configured one"),
    (GateId::Steady, 5, "Steady state", "the run was not steady"),
    (GateId::Generator, 6, "Generator clean", "the generator fell behind"),
    (GateId::Failures, 7, "Failures by kind", "failures are not told apart by kind"),
    (GateId::Percentiles, 8, "Mean below p95", ""),
    (GateId::Merged, 9, "Merged, not averaged", ""),
    (GateId::Path, 10, "Limits on the path", "a limit between generator and service was reached first"),
    (GateId::Accepted, 11, "Accepted apart from done", "accepted is counted as done"),
    (GateId::Stored, 12, "Stored is acknowledged", "stored and acknowledged differ"),
    (GateId::OneChange, 13, "Same target throughout", ""),
];

impl GateId {
    fn row(self) -> Option<&'static (Self, u8, &'static str, &'static str)> {
        TABLE.iter().find(|(id, ..)| *id == self)
    }

    pub fn number(self) -> u8 {
        self.into()
    }

    pub fn name(self) -> &'static str {
        self.row().map_or("", |(_, _, name, _)| name)
    }

    pub fn when_failed(self) -> &'static str {
        self.row().map_or("", |(.., words)| words)
    }
}

impl From<u8> for GateId {
    fn from(number: u8) -> Self {
        let row = TABLE.iter().find(|(_, known, ..)| *known == number);
        row.map_or(Self::Other(number), |(id, ..)| *id)
    }
}

impl From<GateId> for u8 {
    fn from(id: GateId) -> Self {
        match id {
            GateId::Other(number) => number,
            known => known.row().map_or(0, |(_, number, ..)| *number),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    Pass,
    Warning,
    Fail,
    /// The record lacks the figures; the note says which measurement would decide.
    Unknown,
    NotApplicable,
}

/// One validity gate as computed: what was compared, both numbers, the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    #[serde(rename = "number")]
    pub id: GateId,
    pub name: String,
    pub state: GateState,
    pub compared: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<String>,
    /// What it means here and what to do; empty when nothing needs saying.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_its_number_and_an_unknown_one_is_kept() {
        for number in 0..=20 {
            assert_eq!(GateId::from(number).number(), number);
        }
        let read: GateId = serde_json::from_str("6").unwrap();
        assert_eq!(read, GateId::Generator);
        assert_eq!(serde_json::to_string(&GateId::Other(14)).unwrap(), "14");
    }
}

//! What the lab says of a run: the experiment, the variant, and the tiers as they were started.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Kept in the header, so that records of one experiment can be told apart and held against each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LabSetup {
    /// Title of the experiment.
    pub experiment: String,
    pub variant: String,
    /// What the variant shows, in the words of the experiment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Of this variant, from 1.
    pub run: u32,
    pub runs: u32,
    /// What load and limits of the experiment were multiplied with; absent for 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// It moves a suspected limit of its base to see what follows, and is no architecture of the experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe: bool,
    /// The variant that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// In what it differs from that, one entry each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// One entry for each instance, in the order of their start.
    pub tiers: Vec<TierSetup>,
    /// Figures of somebody else, to be shown beside these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// A table that somebody has published; what it says is theirs, and nothing is worked out from it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Whose it is.
    pub source: String,
    /// What is not the same there, in sentences.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub differs: String,
    /// With their units.
    pub columns: Vec<String>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<f64>>,
}

/// One instance of a tier.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TierSetup {
    /// As observations name it: `app`, or `app-2` of several.
    pub name: String,
    pub tier: String,
    /// How it was kept to its share, in words.
    pub isolation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_cores: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// What it takes at once by name, as declared: slots, `per_request`, pool, queue, connections.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, f64>,
    /// Its stub stands in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stubbed: bool,
}

impl TierSetup {
    /// Requests that it takes at once by its narrowest limit, with that limit's name. A pool or a queue lets the
    /// next request wait and is no bound of what is in flight.
    pub fn in_flight_max(&self) -> Option<(&str, f64)> {
        let per_request = self.limits.get("per_request").copied().unwrap_or(1.0);
        let bound = |(name, value): (&'_ String, &f64)| match name.as_str() {
            "slots" => Some(("slots", value / per_request)),
            "connections" => Some(("connections", *value)),
            _ => None,
        };
        let bounds = self.limits.iter().filter_map(bound);
        bounds.min_by(|one, other| one.1.total_cmp(&other.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_shared_by_both_sides_of_a_proxy() {
        let limits = [("slots", 1024.0), ("per_request", 2.0), ("pool", 5.0)];
        let tier = TierSetup {
            limits: limits.map(|(name, value)| (name.to_owned(), value)).into(),
            ..TierSetup::default()
        };
        assert_eq!(tier.in_flight_max(), Some(("slots", 512.0)));
        assert_eq!(TierSetup::default().in_flight_max(), None);
    }
}

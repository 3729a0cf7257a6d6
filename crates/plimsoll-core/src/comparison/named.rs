//! What scripts count by names of their own, held against each other: requests, checks and metrics.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{Contrast, Counted, Figure, value};

/// What has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedKind {
    /// Requests with this `name` tag.
    Requests,
    Check,
}

impl NamedKind {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Check => "check",
        }
    }
}

/// A name of a script; of a check with its group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    pub kind: NamedKind,
    pub name: String,
}

/// A metric that a script declares: what of it is compared, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricFigure {
    /// `per second`, `share`, `value`, `p95`.
    pub figure: &'static str,
    pub value: f64,
}

/// Figures of one run by the names of its script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamedFigures {
    pub rows: BTreeMap<Named, BTreeMap<Figure, f64>>,
    /// What the share of every row is of.
    pub counts: BTreeMap<Named, Counted>,
    pub metrics: BTreeMap<String, MetricFigure>,
}

/// One figure of one name of two variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedContrast {
    pub kind: NamedKind,
    pub name: String,
    #[serde(flatten)]
    pub contrast: Contrast,
}

/// A metric of the script in every variant. Nobody said whether more of it is better, so it is shown and not judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricRow {
    pub metric: String,
    pub figure: &'static str,
    /// The median of each variant, in their order; absent where its runs have none.
    #[serde(serialize_with = "medians")]
    pub medians: Vec<Option<f64>>,
}

fn medians<S: Serializer>(medians: &[Option<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct One(#[serde(serialize_with = "value")] f64);
    serializer.collect_seq(medians.iter().map(|median| median.map(One)))
}

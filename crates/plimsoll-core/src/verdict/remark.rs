//! What a search could not decide and why: figures for programs, a sentence for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::health::Reading;

/// The size of a load in what the search varies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadSize {
    PerS(f64),
    Vus(f64),
}

/// `412/s`, `64 VUs`
impl fmt::Display for LoadSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PerS(rate) if rate < 5.0 => write!(f, "{rate:.3}/s"),
            Self::PerS(rate) => write!(f, "{rate:.0}/s"),
            Self::Vus(vus) if vus < 1.5 => f.write_str("1 VU"),
            Self::Vus(vus) => write!(f, "{vus:.0} VUs"),
        }
    }
}

/// Why the recovery probe was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotProbed {
    /// The highest rate allowed is no overload.
    NoOverload,
    NoTime,
    /// The target was not normal before the pulse.
    NotNormal,
}

/// What kept a search from offering more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CeilingKind {
    MaxRate,
    Generator,
    MaxVus,
}

/// One thing that the search wants known; its figures are fields, its words are [`fmt::Display`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum SearchRemark {
    /// The backlog of `after` was not worked off at `at`: the search ended.
    DidNotComeBack {
        after: LoadSize,
        seconds: f64,
        at: LoadSize,
    },
    GeneratorTooWeak {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<LoadSize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reading: Option<Reading>,
    },
    WarmUpFailed {
        failures_count: u64,
    },
    /// The closed loop filled a thread of the generator.
    AnchorGeneratorBound,
    AnchorFailed,
    /// The time ran out while the bounds were this far apart.
    BoundsApart {
        ratio: f64,
    },
    /// Where the limit lies no load was played for long enough, or what was played there breaks the objective together, or
    /// something else speaks against it: a failure at less, a queue that grew.
    NothingHeld {
        /// What the limit is probably near.
        at: LoadSize,
        /// From just below it to a little above.
        seconds: f64,
        /// What was bad there, as a multiple of what the objective allows.
        budgets_ratio: f64,
        /// A rate is played for so long before it is claimed.
        least_seconds: f64,
    },
    RecoveryNotProbed {
        because: NotProbed,
    },
    DidNotRecover,
    SlowRecovery {
        seconds: f64,
        expected_seconds: f64,
    },
    /// The first level, repeated at the end, was slower (above zero) or faster by this share.
    Drifted {
        ratio: f64,
    },
    /// The closed loop of the beginning, played again at the end, served less by this share.
    SlowsDown {
        ratio: f64,
        over_seconds: f64,
    },
    /// After an overload nothing came in time at a low load, for much longer than the backlog explains.
    StaysOverloaded {
        after: LoadSize,
        at: LoadSize,
        seconds: f64,
        expected_seconds: f64,
    },
    /// The same closed loop, played several times, was served faster at one time than at another.
    PaceVaries {
        least_per_s: f64,
        most_per_s: f64,
        over_seconds: f64,
        /// By so little that a rate is held; it was put lower by this share. Absent: nothing is held for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lower_ratio: Option<f64>,
    },
    NoTimeForSoak {
        seconds: f64,
    },
    FailsEvenAt {
        at: LoadSize,
    },
    /// What is bad at low load is as bad at high load: no rate meets the objective.
    NoLoadMeets {
        clause: String,
        bad_ratio: f64,
        lowest: LoadSize,
        highest: LoadSize,
    },
    /// Levels contradict each other unless the target changed in between: it scaled, slowed down or warmed up.
    Changed {
        /// Since the search began.
        at_seconds: f64,
        /// What it probably carried until then, and carries now.
        before: LoadSize,
        now: LoadSize,
    },
    /// The target was slow for a while although the load was carried before or after.
    SlowSpells {
        count: u32,
        longest_seconds: f64,
        /// Since the search began.
        first_at_seconds: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        apart_seconds: Option<f64>,
        /// Such spells use up the objective's budget unless they are rarer than this.
        rarer_than_seconds: f64,
        watched_seconds: f64,
        /// The rate that holds outside of them, where it does not hold through them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outside: Option<LoadSize>,
    },
    /// How long the claim was watched: what comes more rarely was not seen.
    Watched {
        at: LoadSize,
        seconds: f64,
        /// From the first to the last of them.
        over_seconds: f64,
        is_enough: bool,
    },
    SetByStalls {
        interval_seconds: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lower: Option<LoadSize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upper: Option<LoadSize>,
        soak_intervals: f64,
    },
    AtLeast {
        held: LoadSize,
        limited_by: CeilingKind,
    },
    /// Rates are of requests, of which an iteration of the script sends so many.
    Iterations {
        requests_mean: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity_per_s: Option<f64>,
    },
    /// A sentence of another version.
    #[serde(skip)]
    Other(String),
}

impl SearchRemark {
    pub(crate) fn is_hopeless(&self) -> bool {
        matches!(self, Self::NoLoadMeets { .. } | Self::FailsEvenAt { .. })
    }
}

/// Remarks in a record: each with its sentence beside its figures. Versions before wrote the sentence alone.
pub(super) mod written {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::SearchRemark;

    #[derive(Serialize)]
    #[serde(untagged)]
    enum Write<'a> {
        Sentence(&'a str),
        Typed {
            #[serde(flatten)]
            figures: &'a SearchRemark,
            text: String,
        },
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read {
        Sentence(String),
        Typed(SearchRemark),
        /// Of a later version: its sentence is all that can be said.
        Newer {
            text: String,
        },
    }

    pub(in super::super) fn serialize<S: Serializer>(
        remarks: &[SearchRemark],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(remarks.iter().map(|remark| match remark {
            SearchRemark::Other(text) => Write::Sentence(text),
            figures => Write::Typed {
                figures,
                text: figures.to_string(),
            },
        }))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<SearchRemark>, D::Error> {
        let read = Vec::<Read>::deserialize(deserializer)?;
        let remarks = read.into_iter().map(|read| match read {
            Read::Typed(remark) => remark,
            Read::Sentence(text) | Read::Newer { text } => SearchRemark::Other(text),
        });
        Ok(remarks.collect())
    }
}

mod words;

#[cfg(test)]
mod tests;

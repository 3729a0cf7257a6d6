//! What a record means: gates, capacity, the limit and advice, in the stable keys of the summary.

mod fault;
mod gate;
mod limit;
mod remark;
mod signal;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use fault::ScriptFault;
pub use gate::{Gate, GateId, GateState};
pub use limit::{
    Cause, Confidence, Evidence, Limit, NextLimit, REACH, Resource, ResourceKind, within_reach,
};
pub use remark::{CeilingKind, LoadSize, NotProbed, SearchRemark};
pub use signal::Signal;

use crate::outcome::Outcome;
use crate::tally::Quantile;
use crate::units::Nanos;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    Pass,
    Fail,
    Inconclusive,
    /// A gate failed: the numbers carry no verdict.
    Invalid,
    /// Nothing was asked: a run without objectives.
    None,
}

/// Quantiles over attempts; `never` where more failed than the quantile leaves room for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Of ok answers: a mean over failures has no meaning.
    pub mean: Option<Nanos>,
    pub p50: Option<Quantile>,
    pub p90: Option<Quantile>,
    pub p95: Option<Quantile>,
    pub p99: Option<Quantile>,
    pub p99_9: Option<Quantile>,
    /// The longest ok answer.
    pub max: Option<Nanos>,
}

/// A figure between two bounds; a bound that was not measured is absent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    pub estimate: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
}

/// Where goodput falls more than 10 % below its peak.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collapse {
    /// Between the last rate that kept its goodput and the first that lost it.
    At(Bounds),
    /// Goodput at the highest rate offered, as a share of the peak.
    NoneUpTo { rate_per_s: f64, goodput_ratio: f64 },
    /// The same with the most virtual users.
    NoneUpToVus { vus: f64, goodput_ratio: f64 },
}

/// What the recovery probe saw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Seconds from the end of the pulse until normal; absent when it did not recover in time.
    pub seconds: Option<f64>,
    pub watched_seconds: f64,
    pub base_rate_per_s: f64,
    pub pulse_rate_per_s: f64,
    pub pulse_seconds: f64,
}

/// One thing to change: imperative with a number, then inputs, margin and precondition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    pub action: String,
    pub because: String,
}

/// How one level ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelState {
    Pass,
    Fail,
    Undecided,
    /// The generator could not sustain it.
    Void,
    /// Played for another reason than a decision: warm-up, anchor, overshoot, recovery.
    Observed,
}

/// The outcome of a level: written after its last window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelResult {
    pub level: u32,
    pub state: LevelState,
    /// The clause that failed, as written: `p99 < 250 ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clause: Option<String>,
    /// Bad attempts of the deciding clause, as a share of attempts, with its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_ratio: Option<Bounds>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Windows at the start of the level that were not judged.
    pub discarded_windows: u32,
}

/// A boundary set by events rarer than a level is long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RareStalls {
    /// Seconds between stalls, as far as the windows show.
    pub interval_seconds: f64,
    /// Bad attempts: variance to mean of the counts per second; far above 1 means bursts.
    pub variance_to_mean: f64,
    /// Share of seconds that carry four fifths of the bad attempts.
    pub bad_seconds_ratio: f64,
}

/// What a search found. A field that is absent was not probed. A search over virtual users says
/// `…_vus` where one over arrival rates says `…_per_s`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The highest rate whose pooled seconds held, and a rate that the boundary is below with 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_per_s: Option<Bounds>,
    /// The same in virtual users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_vus: Option<Bounds>,
    /// Over virtual users: correct answers per second that the capacity came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached_per_s: Option<Bounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_per_s: Option<Bounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_vus: Option<Bounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_in_flight: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_goodput_per_s: Option<Bounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapse_per_s: Option<Collapse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapse_vus: Option<Collapse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_seconds: Option<Recovery>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_clause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak_seconds: Option<f64>,
    /// The level whose windows carry the key figures: the longest of [`Self::capacity_levels`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_level: Option<u32>,
    /// The levels whose seconds together carry the capacity: everything that was played at or near that rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacity_levels: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rare_stalls: Option<RareStalls>,
    pub converged: bool,
    /// What the search could not decide, and why.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "remark::written"
    )]
    pub remarks: Vec<SearchRemark>,
}

impl SearchResult {
    /// No load meets the objective, and the search said so.
    pub fn is_hopeless(&self) -> bool {
        self.remarks.iter().any(SearchRemark::is_hopeless)
    }

    /// Only one load was offered, to see whether it holds, and it does not.
    pub fn is_refuted(&self) -> bool {
        let refuted = |bounds: Bounds| bounds.lower.is_none() && bounds.upper.is_some();
        self.converged && self.capacity().is_some_and(refuted)
    }

    /// Nothing that was offered was too much, so there may be more.
    pub fn is_at_least(&self) -> bool {
        self.remarks
            .iter()
            .any(|remark| matches!(remark, SearchRemark::AtLeast { .. }))
    }

    /// What the service carries, in what the search varied: a rate or virtual users.
    pub fn capacity(&self) -> Option<Bounds> {
        self.capacity_per_s.or(self.capacity_vus)
    }

    pub fn knee(&self) -> Option<Bounds> {
        self.knee_per_s.or(self.knee_vus)
    }

    pub fn collapse(&self) -> Option<Collapse> {
        self.collapse_per_s.or(self.collapse_vus)
    }
}

/// The summary: what `--format json` prints and the record's last line holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub valid: bool,
    pub verdict: Judgement,
    /// The level that the figures below describe; in a plain run the only one.
    pub level: u32,
    pub duration_seconds: f64,
    pub attempts_count: u64,
    /// Attempts started per second, answered per second, and correct within the objective per second.
    pub offered_per_s: f64,
    pub throughput_per_s: f64,
    pub goodput_per_s: f64,
    pub outcomes: BTreeMap<Outcome, u64>,
    pub response_time_ns: Times,
    pub service_time_ns: Times,
    pub in_flight_mean: f64,
    pub bytes_received: u64,
    /// Each clause of the objectives with what was measured against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<ObjectiveResult>,
    #[serde(flatten)]
    pub found: SearchResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_limit: Option<NextLimit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// What a script itself calls wrong, and from which load on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script_faults: Vec<ScriptFault>,
    pub gates: Vec<Gate>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveResult {
    pub clause: String,
    pub judgement: Judgement,
    /// What was measured, as shown: `243 ms`, `0.07 %`, `never`.
    pub measured: String,
    /// Bad attempts that might be good if the generator had been on time; where only they break the clause, it is
    /// inconclusive.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub turned_count: u64,
    /// Attempts that were left out because the generator's own stalls met them: the clause is met by all others.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub left_out_count: u64,
    /// Why a clause that is not met is inconclusive and not missed: others held the processors that the service needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_up: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
const fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}

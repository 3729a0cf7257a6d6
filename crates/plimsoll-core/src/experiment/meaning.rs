//! What the runs of an experiment mean: who carries most, what fails, what gives way, and how sure that is. Data only.

use crate::comparison::{Interval, Scale, Standing};
use crate::outcome::Outcome;
use crate::tally::Quantile;
use crate::verdict::{Confidence, Limit};

use super::{Axis, LoadLines};

/// All that is claimed of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    pub lead: Lead,
    /// What the variants are ranked by.
    pub measure: Measure,
    /// One for each variant, in their order.
    pub variants: Vec<VariantMeaning>,
    /// Places of the variants with a valid run, by what they carry, the most first; probes are among them.
    pub ranking: Vec<usize>,
    /// Failures that occurred anywhere.
    pub failures: Vec<Outcome>,
    pub replication: Replication,
    /// None where the variants were not loaded in the same way.
    pub lines: Option<LoadLines>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Requests per second at the objective: every variant was searched.
    Capacity,
    /// Good answers per second.
    Goodput,
}

/// A variant by its place, with what it carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Carrier {
    pub variant: usize,
    pub per_s: f64,
}

/// Who carries most. A probe never does.
#[derive(Debug, Clone, PartialEq)]
pub enum Lead {
    /// No run is valid.
    Nobody,
    /// The only one with a valid run; `others` have none.
    Alone { leader: Carrier, has_others: bool },
    One {
        leader: Carrier,
        /// Against its base, else against the next.
        ahead: Option<Difference>,
    },
    /// Nothing that was measured tells these apart; the most first.
    Tie(Vec<Carrier>),
}

impl Lead {
    pub fn leaders(&self) -> &[Carrier] {
        match self {
            Self::Nobody => &[],
            Self::Alone { leader, .. } | Self::One { leader, .. } => std::slice::from_ref(leader),
            Self::Tie(leaders) => leaders,
        }
    }
}

/// One variant against another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The place of the other.
    pub over: usize,
    pub scale: Scale,
    pub estimate: f64,
    /// None of single runs: a ratio of medians and no more.
    pub tested: Option<Tested>,
}

/// What repeated runs say of a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    pub interval: Option<Interval>,
    pub standing: Standing,
    pub pairs_count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replication {
    /// Of the variant that ran most often.
    pub runs_count: u64,
    /// So few runs cannot make a difference certain: what would be needed.
    pub runs_needed: Option<u32>,
}

impl Replication {
    pub fn is_single(self) -> bool {
        self.runs_count <= 1
    }
}

/// Over the runs of a variant; absent without a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    pub median: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// A percentile over the runs of a variant: `never` is above every time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeSpread {
    pub median: Quantile,
    pub low: Quantile,
    pub high: Quantile,
}

/// What the runs of one variant say.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an answer of its own, and none rules out another"
)]
pub struct VariantMeaning {
    /// The place of its base.
    pub base: Option<usize>,
    /// At least one run is valid.
    pub is_valid: bool,
    pub goodput_per_s: Spread,
    pub throughput_per_s: Spread,
    pub offered_per_s: Spread,
    pub failed_ratio: Spread,
    /// Failures that occurred in any variant, each as a share of attempts.
    pub classes: Vec<(Outcome, Spread)>,
    pub p50: Option<TimeSpread>,
    pub p95: Option<TimeSpread>,
    pub p99: Option<TimeSpread>,
    /// Goodput against its base: tested where there are several runs.
    pub on_base: Option<Difference>,
    /// Of the medians of goodput.
    pub ratio_to_base: Option<f64>,
    pub capacity: Capacity,
    pub foreseen: Option<Foreseen>,
    pub trouble: Option<Trouble>,
    /// More failures than a leader may have without a word.
    pub is_failing: bool,
    pub invalid: Option<InvalidRuns>,
    /// It differs from its base in more than one thing.
    pub has_several_changes: bool,
    /// The generator warned of itself: what the variant carries is a lower bound.
    pub generator_warns: bool,
    pub limits: Limits,
    pub tiers: Tiers,
    pub goodput_per_core: Option<f64>,
    /// Most requests on the wire at once in any run.
    pub wire_max: u64,
    pub after: AfterLoad,
    /// Of runs in which a fault was made and was over before their end.
    pub recovery: Option<Recovery>,
}

/// What a variant carries at the objective, as far as the runs say; rates are per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Capacity {
    /// The lower bounds of the searches; open when a search held the highest it was allowed to offer.
    Searched {
        spread: Spread,
        over_vus: bool,
        is_open: bool,
    },
    /// The highest place of a ramp up to which every clause held, with the goodput there.
    Held {
        axis: Axis,
        at: f64,
        goodput_per_s: f64,
        /// The ramp went no further.
        is_open: bool,
    },
    /// Missed from the lowest load of the ramp on.
    Missed {
        axis: Axis,
        at: f64,
    },
    /// One load was played.
    OneLoad {
        offered_per_s: f64,
        held: bool,
    },
    Unknown(Unprobed),
}

/// Why a capacity is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unprobed {
    NoValidRun,
    NoObjective,
    /// The search did not decide.
    Undecided,
    NothingMeasured,
}

impl Capacity {
    /// Goodput that goes with it, to be held against a prediction.
    pub fn per_s(&self) -> Option<f64> {
        match self {
            Self::Searched {
                spread,
                over_vus: false,
                ..
            } => spread.median,
            Self::Held { goodput_per_s, .. } => Some(*goodput_per_s),
            _ => None,
        }
    }
}

/// A prediction beside what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreseen {
    pub per_s: f64,
    /// The variant whose runs it comes from.
    pub from: String,
    /// How far the measured capacity is from it: 0.02 is 2 % above.
    pub measured_off_ratio: Option<f64>,
}

/// Answers that are not good, or attempts that fail, often enough for a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    pub throughput_per_s: f64,
    pub goodput_per_s: f64,
    /// Throughput says more than users got.
    pub is_apart: bool,
    pub failed_ratio: f64,
    /// The most frequent first, at most three.
    pub classes: Vec<(Outcome, f64)>,
    /// Accepted (202) and not done, if that is a noticeable part.
    pub accepted_per_s: Option<f64>,
    pub late_per_s: Option<f64>,
}

/// Runs that carry no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRuns {
    pub invalid_count: u64,
    pub runs_count: u64,
    /// Number, name and note of each gate that failed in any of them; empty if they were interrupted.
    pub gates: Vec<(u8, String, String)>,
}

/// Where a limit is: a tier, or one instance of several where the others have room left.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LimitLocation {
    pub tier: String,
    /// How many instances the tier has, if only one of them is full.
    pub alone_of: Option<usize>,
}

/// What gives way.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// As an experiment showed, else as most runs say.
    pub first: Option<LimitClaim>,
    /// What each run that is shown says of it.
    pub of_runs: Vec<RunClaim>,
    pub next: Option<NextClaim>,
}

/// A first limit and how many of the runs name it.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitClaim {
    pub limit: Limit,
    pub location: Option<LimitLocation>,
    /// As sure as the least sure of the runs that name it.
    pub confidence: Confidence,
    pub runs_count: usize,
    pub of_runs_count: usize,
}

/// What one run says of its first limit.
#[derive(Debug, Clone, PartialEq)]
pub enum RunClaim {
    Limit(LimitClaim),
    Nothing,
    NotValid,
}

/// What comes next, with the middle of the rates at which it would be full.
#[derive(Debug, Clone, PartialEq)]
pub struct NextClaim {
    pub resource: String,
    pub location: LimitLocation,
    pub full_at_per_s: f64,
}

/// What the tiers were given, and what they used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tiers {
    /// In the order of their start; empty where the records do not say what was started.
    pub each: Vec<TierUse>,
    pub pools: Vec<PoolUse>,
    /// Cores given to all together, if every tier has a share.
    pub cores_given: Option<f64>,
    /// Processor seconds of all per good answer, if every tier was seen.
    pub cost_seconds: Option<f64>,
}

/// One tier with all its instances; medians over the runs.
#[derive(Debug, Clone, PartialEq)]
pub struct TierUse {
    pub tier: String,
    pub instances: usize,
    /// Cores that all instances may use together; none if they are not confined.
    pub cores_given: Option<f64>,
    /// Cores used on average while the load was on; none if its processes were not seen.
    pub cores_used: Option<f64>,
    /// Used as a share of what was given.
    pub busy_ratio: Option<f64>,
    /// Nothing is left of what was given.
    pub is_full: bool,
    /// Share of the scheduler's periods in which the busiest instance was held back by its quota.
    pub throttled_ratio: Option<f64>,
    /// It was held back often enough for a word.
    pub is_throttled: bool,
    /// Processor seconds per good answer.
    pub cost_seconds: Option<f64>,
    /// Requests that all instances take at once, with the limit that says so.
    pub takes: Option<(String, f64)>,
    /// How each instance was kept to its share, in words.
    pub isolation: Vec<String>,
}

/// A connection pool of a tier, of the first run that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolUse {
    pub tier: String,
    pub used_ratio: f64,
    pub size: Option<f64>,
}

/// How long goodput stayed away after a fault was over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// Of the runs in which it came back.
    pub seconds: Spread,
    /// Runs in which it did not, for as long as they were watched.
    pub lost_count: u64,
    pub runs_count: u64,
    /// How long they were after the fault, at least.
    pub watched_seconds: f64,
}

/// What the load left behind, over the runs that looked.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AfterLoad {
    pub accepted_per_s: Spread,
    /// In the course of the load: what is stored afterwards does not help who waits.
    pub stored_per_s: Spread,
    pub backlog_count: Spread,
    pub drained_seconds: Spread,
    /// Only where something stayed.
    pub left_count: Spread,
    pub lost_count: Spread,
}

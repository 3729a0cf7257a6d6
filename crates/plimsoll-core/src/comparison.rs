//! What repeated runs of two or more variants say beside each other: figures, effects, verdicts.

mod counts;
mod named;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

pub use counts::{Counted, Counts};
pub use named::{MetricFigure, MetricRow, Named, NamedContrast, NamedFigures, NamedKind};

use crate::outcome::Outcome;

/// The schema of `plimsoll compare --format json`.
pub const SCHEMA: &str = "plimsoll.comparison/1";
/// Fewer runs show no change at the 5 % level, however large: of three and four there are 35 orders, and two split as well.
pub const RUNS_THAT_SHOW: usize = 8;
/// The schema of the same with `--history`.
pub const HISTORY_SCHEMA: &str = "plimsoll.history/1";

/// One figure of a run that can be compared. Percentiles are over attempts; a run in which a
/// percentile is never reached has the value infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// The highest rate that held a soak, per second.
    Capacity,
    /// The most virtual users that held a soak.
    CapacityVus,
    /// Correct answers within the objective, per second.
    Goodput,
    /// All answers, per second.
    Throughput,
    /// Failed attempts as a share of attempts.
    Failures,
    /// Checks of a script that failed, as a share of those that were evaluated.
    ChecksFailed,
    /// Attempts that ended in this class, as a share of attempts.
    Class(Outcome),
    P50,
    P90,
    P95,
    P99,
    P999,
    /// Processor seconds of all tiers that were watched, per correct answer within the objective.
    ProcessorTime,
}

/// How two values of a figure are held against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// B ÷ A.
    Ratio,
    /// B − A, for shares: the ratio of two shares near zero says nothing.
    Difference,
}

impl Figure {
    /// Those that have a name of their own; the classes are beside them.
    pub const PLAIN: [Self; 12] = [
        Self::Capacity,
        Self::CapacityVus,
        Self::Goodput,
        Self::Throughput,
        Self::Failures,
        Self::ChecksFailed,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::ProcessorTime,
    ];

    /// The stable key in JSON and on the command line.
    pub fn key(self) -> String {
        match self {
            Self::Capacity => "capacity_per_s".to_owned(),
            Self::CapacityVus => "capacity_vus".to_owned(),
            Self::Goodput => "goodput_per_s".to_owned(),
            Self::Throughput => "throughput_per_s".to_owned(),
            Self::Failures => "failure_ratio".to_owned(),
            Self::ChecksFailed => "checks_failed_ratio".to_owned(),
            Self::Class(outcome) => format!("{}_ratio", outcome.name()),
            Self::P50 => "p50_seconds".to_owned(),
            Self::P90 => "p90_seconds".to_owned(),
            Self::P95 => "p95_seconds".to_owned(),
            Self::P99 => "p99_seconds".to_owned(),
            Self::P999 => "p99_9_seconds".to_owned(),
            Self::ProcessorTime => "processor_seconds_per_good".to_owned(),
        }
    }

    /// The figure of a key; the unit behind its last name may be left out: `goodput`, `p99`.
    pub fn from_key(text: &str) -> Option<Self> {
        let classes = Outcome::ALL.into_iter().map(Self::Class);
        Self::PLAIN.into_iter().chain(classes).find(|figure| {
            let key = figure.key();
            let short = ["_per_s", "_seconds", "_ratio"]
                .into_iter()
                .find_map(|unit| key.strip_suffix(unit));
            key == text || short == Some(text)
        })
    }

    /// The percentile of a quantile (0–1), if it is one of those that are compared.
    pub fn of_quantile(quantile: f64) -> Option<Self> {
        let each = [
            (0.5, Self::P50),
            (0.9, Self::P90),
            (0.95, Self::P95),
            (0.99, Self::P99),
            (0.999, Self::P999),
        ];
        let found = each
            .into_iter()
            .find(|(at, _)| (at - quantile).abs() < 1e-9);
        found.map(|(_, figure)| figure)
    }

    /// As a reader sees it.
    pub fn name(self) -> String {
        match self {
            Self::Capacity => "capacity".to_owned(),
            Self::CapacityVus => "capacity in virtual users".to_owned(),
            Self::Goodput => "goodput".to_owned(),
            Self::Throughput => "throughput".to_owned(),
            Self::Failures => "failed attempts".to_owned(),
            Self::ChecksFailed => "failed checks".to_owned(),
            Self::Class(outcome) => format!("outcome {}", outcome.name()),
            Self::P50 => "p50 over attempts".to_owned(),
            Self::P90 => "p90 over attempts".to_owned(),
            Self::P95 => "p95 over attempts".to_owned(),
            Self::P99 => "p99 over attempts".to_owned(),
            Self::P999 => "p99.9 over attempts".to_owned(),
            Self::ProcessorTime => "CPU per good answer".to_owned(),
        }
    }

    /// More of it is better.
    pub const fn more_is_better(self) -> bool {
        matches!(
            self,
            Self::Capacity | Self::CapacityVus | Self::Goodput | Self::Throughput
        )
    }

    pub const fn scale(self) -> Scale {
        match self {
            Self::Failures | Self::ChecksFailed | Self::Class(_) => Scale::Difference,
            _ => Scale::Ratio,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.key())
    }
}

/// How the runs belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Run n of every variant was played beside run n of the others.
    Paired,
    /// Runs of a variant are exchangeable, and nothing ties them to those of another.
    Unpaired,
}

/// One run: its figures, or why they are not used.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Run {
    /// Where it is kept: the path of its record.
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub started_at: String,
    /// Why its figures are not used; it counts for nothing then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
    /// How long its load was on, where that is known.
    #[serde(skip)]
    pub length_seconds: Option<f64>,
    #[serde(serialize_with = "values")]
    pub figures: BTreeMap<Figure, f64>,
    /// What its shares are of, where that is known; a contrast says what all its runs come to.
    #[serde(skip)]
    pub counts: BTreeMap<Figure, Counted>,
    /// By the names that a script gives; the comparison's own rows say what they come to.
    #[serde(skip)]
    pub named: NamedFigures,
}

/// All runs of one variant, in the order of their pairs where they have any.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    pub name: String,
    pub runs: Vec<Run>,
}

impl Variant {
    pub fn usable(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.excluded.is_none())
    }

    /// Values of a figure over the usable runs that have it.
    pub fn values(&self, figure: Figure) -> Vec<f64> {
        self.usable()
            .filter_map(|run| run.figures.get(&figure).copied())
            .collect()
    }
}

/// What a difference between the set-ups of the runs does to the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Worth knowing; probably what is being compared.
    Noted,
    /// Any difference found may come from this.
    Confounds,
    /// Figures that depend on it are not compared.
    Withholds,
    /// The runs have no figure in common that means the same.
    Incomparable,
}

/// A fact of the set-up that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// As in `arrival rate`.
    pub fact: String,
    pub effect: Effect,
    /// Each variant with what its runs say; several where they disagree among themselves.
    pub values: Vec<(String, Vec<String>)>,
    /// What follows from it.
    pub says: String,
}

/// The answer of one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Better,
    Worse,
    /// The 90 % interval lies within the margin: two one-sided tests at 5 %.
    Equivalent,
    Inconclusive,
}

impl Standing {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// A Hodges–Lehmann estimate with its exact interval; bounds may be infinite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    #[serde(serialize_with = "value")]
    pub lower: f64,
    #[serde(serialize_with = "value")]
    pub upper: f64,
    /// What it covers at least: ranks come in steps, so this is above the level asked for.
    pub coverage_ratio: f64,
}

/// How a p value came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Every sign or every labelling was counted.
    Exact,
    /// So many were drawn at random: there are too many to count.
    MonteCarlo { draws_count: u32 },
}

/// One figure of one variant held against the same of another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    pub figure: Figure,
    /// Names: `variant` is judged against `baseline`.
    pub variant: String,
    pub baseline: String,
    pub scale: Scale,
    /// Medians over the runs that were used.
    #[serde(serialize_with = "value")]
    pub baseline_median: f64,
    #[serde(serialize_with = "value")]
    pub variant_median: f64,
    pub baseline_count: usize,
    pub variant_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// Ratio or difference, variant over baseline.
    #[serde(serialize_with = "value")]
    pub estimate: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// What is held against the margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_90: Option<Interval>,
    /// Each pair's ratio or difference; empty in an unpaired design.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "list")]
    pub pairs: Vec<f64>,
    pub p: f64,
    pub p_adjusted: f64,
    pub method: Method,
    /// Comparisons that Holm's rule corrected together.
    pub family_count: usize,
    /// Indifference: a ratio within 1 ± this, or a difference within ± this, is no difference.
    pub margin: f64,
    /// Runs after which something beside the variants comes back; it was taken out, and that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rhythm_runs: Option<f64>,
    /// Smallest change that so many runs with this spread find in four of five cases, as a change of
    /// the ratio (0.04 is 4 %) or a difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// Pairs, or runs of each variant, that would find a change as small as the margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_for_margin: Option<u32>,
    /// So few runs that no result could reach 5 %: what would be needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u32>,
    pub standing: Standing,
    /// The standing in a sentence, with its reason.
    pub because: String,
}

/// Everything a comparison came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub schema: &'static str,
    pub design: Design,
    /// The same target under two names: what differs is the environment's.
    pub is_calibration: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// What the runs were: `closed loop, 16 in flight, 30 s`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// Declared beforehand, and therefore not corrected for the figures beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<Figure>,
    /// Figures beside it in which no variant may be worse: latency, failures and goodput.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guarded: Vec<Figure>,
    /// Of all others against the first. Worse: in the primary or a guarded figure. Equivalent: in all of them, but for p99.9,
    /// which need only not be plainly different.
    pub standing: Standing,
    pub mismatches: Vec<Mismatch>,
    pub variants: Vec<Variant>,
    pub contrasts: Vec<Contrast>,
    /// Requests and checks by the names that scripts give them, corrected together; they do not decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<NamedContrast>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricRow>,
    /// Sentences on what was left out, and why.
    pub remarks: Vec<String>,
    /// Too few valid runs are left to say anything.
    pub is_withheld: bool,
    /// A signal ended it before its end: then what was seen is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// How far a comparison came that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// Runs that were begun, and those that were planned.
    pub begun_count: usize,
    pub planned_count: usize,
}

impl Comparison {
    /// The same figures without a verdict, since a signal ended the runs.
    #[must_use]
    pub fn stopped(mut self, stopped: Stopped) -> Self {
        self.standing = Standing::Inconclusive;
        let by_name = self.named.iter_mut().map(|named| &mut named.contrast);
        for contrast in self.contrasts.iter_mut().chain(by_name) {
            contrast.standing = Standing::Inconclusive;
            "Not decided: the comparison was interrupted.".clone_into(&mut contrast.because);
        }
        self.stopped = Some(stopped);
        self
    }

    /// The comparisons of the primary figure.
    pub fn primaries(&self) -> impl Iterator<Item = &Contrast> {
        self.contrasts
            .iter()
            .filter(|contrast| Some(contrast.figure) == self.primary)
    }

    /// Those of the guarded figures.
    pub fn guards(&self) -> impl Iterator<Item = &Contrast> {
        self.contrasts
            .iter()
            .filter(|contrast| self.guarded.contains(&contrast.figure))
    }
}

/// One run in a row of runs over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    pub name: String,
    pub started_at: String,
    #[serde(serialize_with = "value")]
    pub value: f64,
}

/// A place where a figure changed and stayed changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Index of the first run after the change, and the indexes between which it lies at 95 %.
    pub first_index: usize,
    pub earliest_index: usize,
    pub latest_index: usize,
    /// The last run before the change and the first after it.
    pub before: String,
    pub after: String,
    pub scale: Scale,
    /// Hodges–Lehmann ratio or difference of the runs after the change over those before it.
    #[serde(serialize_with = "value")]
    pub estimate: f64,
    pub p: f64,
    pub standing: Standing,
}

/// A figure over time and where it changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    pub schema: &'static str,
    pub figure: Figure,
    pub mismatches: Vec<Mismatch>,
    pub moments: Vec<Moment>,
    pub changes: Vec<Change>,
    /// The smallest change in the middle that so many runs would have shown in four of five cases, for better and for worse:
    /// a ratio or a difference, as the figure's scale says. Absent where so few runs show none, however large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    pub remarks: Vec<String>,
}

/// JSON has no infinity: what is never reached is the word.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde hands over")]
fn value<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Value(*value).serialize(serializer)
}

fn list<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().copied().map(Value))
}

fn values<S: Serializer>(values: &BTreeMap<Figure, f64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(figure, at)| (figure, Value(*at))))
}

struct Value(f64);

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == f64::INFINITY {
            serializer.serialize_str("never")
        } else if self.0 == f64::NEG_INFINITY {
            serializer.serialize_str("-never")
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_names_one_figure() {
        let classes = Outcome::ALL.into_iter().map(Figure::Class);
        for figure in Figure::PLAIN.into_iter().chain(classes) {
            assert_eq!(Figure::from_key(&figure.key()), Some(figure));
        }
        assert_eq!(Figure::from_key("goodput"), Some(Figure::Goodput));
        assert_eq!(Figure::from_key("p99_9"), Some(Figure::P999));
        assert_eq!(Figure::from_key("speed"), None);
    }

    #[test]
    fn a_figure_that_is_never_reached_says_so_in_json() {
        let run = Run {
            name: "a".to_owned(),
            figures: BTreeMap::from([(Figure::P99, f64::INFINITY), (Figure::Goodput, 5.0)]),
            ..Run::default()
        };
        let text = serde_json::to_string(&run).unwrap();
        assert_eq!(
            text,
            r#"{"name":"a","figures":{"goodput_per_s":5.0,"p99_seconds":"never"}}"#
        );
    }
}

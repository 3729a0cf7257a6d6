//! A sweep: one test at many points, what was measured at each, which model follows them, and what they advise. Data only.

mod counsel;
mod model;

pub use counsel::{Counsel, Rule, Says};
pub use model::{Model, Refusal};

use serde::Serialize;

use crate::tally::Quantile;

/// The schema of the document that `--format json` prints.
pub const SCHEMA: &str = "plimsoll.sweep/1";

/// Everything a sweep came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    pub schema: &'static str,
    /// `GET http://127.0.0.1:3000/`
    pub test: String,
    /// Each point searched for what it carries; else it was loaded as its values say.
    pub is_search: bool,
    pub dimensions: Vec<Dimension>,
    /// All choices of values, in their order and not in that of the runs.
    pub points: Vec<Point>,
    /// One for each choice of the values that are not along it.
    pub lines: Vec<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    pub advice: Vec<Counsel>,
    /// What a reader must know of how it was played, as sentences.
    pub remarks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// One number of the test, with the values it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dimension {
    pub name: String,
    pub values: Vec<String>,
}

/// One choice of a value in each dimension.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Places of the values, one for each dimension.
    pub values: Vec<usize>,
    pub runs: Vec<Run>,
    /// Over the valid runs; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

/// One run of a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// Path of the record.
    pub record: String,
    /// Why it carries nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
    /// Absent where the target could not be loaded at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

/// Of a run; of several, their means, and of percentiles the middle one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// Good answers per second; of a search the capacity.
    pub carried_per_s: f64,
    /// 95 % by the spread of the runs; none of a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried_interval: Option<(f64, f64)>,
    /// Correct answers per second, however late: what the models are about, since being late is what a full system does.
    pub done_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_interval: Option<(f64, f64)>,
    pub throughput_per_s: f64,
    pub failed_ratio: f64,
    /// Requests in flight, on average.
    pub in_flight: f64,
    /// What the test says may be in flight, or virtual users; none of an arrival rate and of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<f64>,
    /// X·R ÷ N, which is 1 where counting is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub little: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<Quantile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Quantile>,
    /// Absent where too few answers reach so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9: Option<Quantile>,
}

/// Points that differ in one dimension only.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The dimension along which they lie.
    pub along: usize,
    /// `workers=2`; empty in a sweep of one dimension.
    pub name: String,
    /// Places of the points, in the order of the values.
    pub points: Vec<usize>,
    /// Of each point against the first one that carried anything: how much one unit of concurrency carries.
    pub efficiency: Vec<Option<Estimate>>,
    #[serde(flatten)]
    pub modelled: Modelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    pub estimate: f64,
    /// 95 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// What the models say of a line.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Modelled {
    /// The best first.
    pub fits: Vec<Fit>,
    /// Why there are none, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_fit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
    /// Why there is none, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_knee: Option<String>,
    /// The upper levels as a model of the lower ones foretells them.
    pub held_out: Vec<HeldOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_held_out: Option<String>,
}

/// One model held against a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    pub model: Model,
    /// Symbol, value and unit of each coefficient.
    pub coefficients: Vec<(&'static str, f64, &'static str)>,
    pub aicc: f64,
    pub residual_per_s: f64,
    /// What it must not be quoted for.
    pub refused: Vec<Refusal>,
    /// Concurrency and throughput, for drawing.
    pub curve: Vec<(f64, f64)>,
}

/// Where more in flight begins to bring nothing but waiting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Knee {
    pub in_flight: Estimate,
    /// The most that is carried.
    pub max_per_s: Estimate,
    /// Think time and response time without load.
    pub base_seconds: Estimate,
    /// By a fit of this model; else from the highest throughput and the response time at the lowest concurrency alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
}

/// A level that no fit has seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldOut {
    pub model: Model,
    pub concurrency: f64,
    pub predicted_per_s: f64,
    pub measured_per_s: f64,
}

/// The first point, played again at the very end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    pub first_per_s: f64,
    pub last_per_s: f64,
    /// As a share: what the runs of one point differ by, and no less than 5 %.
    pub tolerance: f64,
    /// The target changed while it was swept: figures are shown, and nothing follows from them.
    pub is_exceeded: bool,
}

/// A sweep that ended before its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stopped {
    pub played_count: usize,
    pub planned_count: usize,
    pub why: String,
}

impl Sweep {
    /// `connections=4, workers=2`
    pub fn name(&self, point: &Point) -> String {
        let values = self.dimensions.iter().zip(&point.values);
        let values = values.map(|(dimension, value)| {
            let text = dimension.values.get(*value).map_or("", String::as_str);
            format!("{}={text}", dimension.name)
        });
        values.collect::<Vec<_>>().join(", ")
    }

    /// The point that carries most, of those with a valid run.
    pub fn best(&self) -> Option<(&Point, &Figures)> {
        let carrying = self.points.iter();
        let carrying = carrying.filter_map(|point| Some((point, point.figures.as_ref()?)));
        carrying.max_by(|a, b| a.1.carried_per_s.total_cmp(&b.1.carried_per_s))
    }

    /// Every point has a valid run, and the target stayed what it was.
    pub fn is_valid(&self) -> bool {
        let drifted = self.drift.as_ref().is_some_and(|drift| drift.is_exceeded);
        !drifted && self.points.iter().all(|point| point.figures.is_some())
    }
}

impl Point {
    /// Why it has no figures: what the last of its runs says.
    pub fn excluded(&self) -> Option<&str> {
        let reason = self
            .runs
            .iter()
            .rev()
            .find_map(|run| run.excluded.as_deref());
        reason.filter(|_| self.figures.is_none())
    }
}

impl Drift {
    /// The last run over the first, less one: -0.06 is 6 % less.
    pub fn change(&self) -> f64 {
        self.last_per_s / self.first_per_s - 1.0
    }
}

impl HeldOut {
    /// 0.02: the model says 2 % too much.
    pub fn off(&self) -> f64 {
        self.predicted_per_s / self.measured_per_s - 1.0
    }
}

//! Goodput, throughput and failures of every variant against what the load varied.

use crate::interval::ATTEMPTS_MIN;
use crate::tally::{Quantile, Tally};
use crate::units::Nanos;

/// What the points of all variants differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Levels of a search, requests offered per second.
    Levels,
    /// A ramp of arrivals.
    Rate,
    /// A ramp of virtual users.
    Users,
    /// One load that does not change: seconds since its start.
    Seconds,
}

impl Axis {
    /// The load rises along it.
    pub fn is_load(self) -> bool {
        self != Self::Seconds
    }
}

/// Everything measured about one place of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub at: f64,
    pub seconds: f64,
    /// What ended within these seconds.
    pub ended: Tally,
    /// With what was due here and ended later: for shares and percentiles, not for rates.
    pub tally: Tally,
    /// Attempts that became later here than the objective allows, and had not ended: where requests starve, those that
    /// end are the lucky ones.
    pub overdue: u64,
}

impl Point {
    /// Of so many that ended here.
    pub fn per_s(&self, count: u64) -> f64 {
        if self.seconds > 0.0 {
            count as f64 / self.seconds
        } else {
            0.0
        }
    }

    pub fn goodput_per_s(&self) -> f64 {
        self.per_s(self.ended.good())
    }

    pub fn throughput_per_s(&self) -> f64 {
        self.per_s(self.ended.answers())
    }

    /// All that ended, failures included.
    pub fn attempts_per_s(&self) -> f64 {
        self.per_s(self.ended.decided())
    }

    pub fn failed_ratio(&self) -> f64 {
        self.tally.failed_ratio().unwrap_or(0.0)
    }

    /// A percentile of the response time, where there are attempts enough to have one.
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        let enough = self.tally.decided() >= ATTEMPTS_MIN;
        self.tally.response_quantile(q).filter(|_| enough)
    }
}

/// One line for each variant, in their order, on one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadLines {
    pub axis: Axis,
    pub lines: Vec<Vec<Point>>,
    /// The percentile of the response time that is drawn: the objective's highest, else p95.
    pub quantile: f64,
    /// What the objective demands of it.
    pub bound: Option<Nanos>,
}

impl LoadLines {
    /// At least two points somewhere, or there is no line.
    pub fn is_drawable(&self) -> bool {
        self.lines.iter().any(|line| line.len() > 1)
    }

    pub fn highest(&self, figure: impl Fn(&Point) -> f64) -> f64 {
        self.lines.iter().flatten().map(figure).fold(0.0, f64::max)
    }
}

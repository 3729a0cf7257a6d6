//! What becomes of samples: one sink per metric and per submetric.

use serde::{Deserialize, Serialize};

use super::registry::Kind;
use super::sum::Sum;
use super::trend::Trend;
use crate::units::Nanos;

/// Values added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counter {
    sum: Sum,
    samples: u64,
}

impl Counter {
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    /// Per second over `elapsed`; zero when no time has passed.
    pub fn per_s(&self, elapsed: Nanos) -> f64 {
        if elapsed == Nanos::ZERO {
            return 0.0;
        }
        self.sum() / elapsed.as_secs_f64()
    }
}

/// The last value by time, the smallest and the largest.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Gauge {
    last: Option<(Nanos, f64)>,
    min: f64,
    max: f64,
}

impl Gauge {
    pub fn value(&self) -> f64 {
        self.last.map_or(0.0, |(_, value)| value)
    }

    pub const fn min(&self) -> f64 {
        self.min
    }

    pub const fn max(&self) -> f64 {
        self.max
    }

    fn add(&mut self, at: Nanos, value: f64) {
        self.merge(&Self {
            last: Some((at, value)),
            min: value,
            max: value,
        });
    }

    /// The later value stays; of two at the same instant the larger, so that order does not matter.
    fn merge(&mut self, other: &Self) {
        let Some(theirs) = other.last else { return };
        let Some(mine) = self.last else {
            *self = *other;
            return;
        };
        if (theirs.0, theirs.1) > (mine.0, mine.1) {
            self.last = other.last;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// How many samples were not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rate {
    pub passes: u64,
    pub total: u64,
}

impl Rate {
    pub const fn fails(&self) -> u64 {
        self.total.saturating_sub(self.passes)
    }

    /// Zero without samples.
    pub fn ratio(&self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        self.passes as f64 / self.total as f64
    }
}

/// Everything kept of the samples of one metric or submetric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Sink {
    Counter(Counter),
    Gauge(Gauge),
    Rate(Rate),
    Trend(Trend),
}

impl Sink {
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter(Counter::default()),
            Kind::Gauge => Self::Gauge(Gauge::default()),
            Kind::Rate => Self::Rate(Rate::default()),
            Kind::Trend => Self::Trend(Trend::new()),
        }
    }

    /// Counts one finite value. Allocates only for a trend that meets a new magnitude.
    #[inline]
    pub fn add(&mut self, at: Nanos, value: f64) {
        match self {
            Self::Counter(counter) => {
                counter.sum.add(value);
                counter.samples += 1;
            }
            Self::Gauge(gauge) => gauge.add(at, value),
            Self::Rate(rate) => {
                rate.passes += u64::from(value != 0.0);
                rate.total += 1;
            }
            Self::Trend(trend) => trend.record(value),
        }
    }

    /// Adds what another sink of the same kind counted; a sink of another kind is left out.
    pub fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Counter(mine), Self::Counter(theirs)) => {
                mine.sum.merge(theirs.sum);
                mine.samples += theirs.samples;
            }
            (Self::Gauge(mine), Self::Gauge(theirs)) => mine.merge(theirs),
            (Self::Rate(mine), Self::Rate(theirs)) => {
                mine.passes += theirs.passes;
                mine.total += theirs.total;
            }
            (Self::Trend(mine), Self::Trend(theirs)) => mine.merge(theirs),
            _ => {}
        }
    }

    /// Forgets the samples and keeps the memory.
    pub fn clear(&mut self) {
        match self {
            Self::Counter(counter) => *counter = Counter::default(),
            Self::Gauge(gauge) => *gauge = Gauge::default(),
            Self::Rate(rate) => *rate = Rate::default(),
            Self::Trend(trend) => trend.clear(),
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.samples() == 0
    }

    /// Samples that were counted; of a gauge only whether there were any.
    pub const fn samples(&self) -> u64 {
        match self {
            Self::Counter(counter) => counter.samples,
            Self::Gauge(gauge) => gauge.last.is_some() as u64,
            Self::Rate(rate) => rate.total,
            Self::Trend(trend) => trend.count(),
        }
    }

    pub const fn kind(&self) -> Kind {
        match self {
            Self::Counter(_) => Kind::Counter,
            Self::Gauge(_) => Kind::Gauge,
            Self::Rate(_) => Kind::Rate,
            Self::Trend(_) => Kind::Trend,
        }
    }
}

//! The operational bounds as a curve of two parameters: X(N) = min(N ÷ T, Xmax), T being think time and response time without load.

use plimsoll_core::statistics::median;

use super::Sample;

/// Rounds of weighing down what lies far off; they settle within about five.
const ROUNDS: usize = 30;
/// Residuals beyond so many deviations count for less (Huber 1964): 95 % as good as squares where errors are normal.
const FAR: f64 = 1.345;
/// A median of absolute residuals is this part of their standard deviation.
const OF_DEVIATION: f64 = 0.6745;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hinge {
    /// Z + R₀ in seconds.
    pub base_seconds: f64,
    pub max_per_s: f64,
}

/// How residuals are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    Squares,
    /// Far ones weigh less: a single bad point moves nothing.
    Robust,
}

impl Hinge {
    pub fn throughput(&self, n: f64) -> f64 {
        (n / self.base_seconds).min(self.max_per_s)
    }

    /// Concurrency where the two lines meet: with fewer nobody need wait, with more somebody must.
    pub fn knee(&self) -> f64 {
        self.base_seconds * self.max_per_s
    }

    /// The least concurrency that gives this throughput; none above the most.
    pub fn concurrency(&self, throughput: f64) -> Vec<f64> {
        let n = throughput * self.base_seconds;
        (throughput <= self.max_per_s)
            .then_some(n)
            .into_iter()
            .collect()
    }

    /// `None` without a sample that has throughput.
    pub fn fit(samples: &[Sample], loss: Loss) -> Option<Self> {
        let mut weights = vec![1.0; samples.len()];
        let mut best = Self::weighted(samples, &weights)?;
        if loss == Loss::Squares {
            return Some(best);
        }
        for _ in 0..ROUNDS {
            let residual = |sample: &Sample| (sample.x - best.throughput(sample.n)).abs();
            let scale = median(samples.iter().map(residual).collect())? / OF_DEVIATION;
            if scale <= 0.0 {
                break;
            }
            for (weight, sample) in weights.iter_mut().zip(samples) {
                *weight = (FAR * scale / residual(sample).max(f64::MIN_POSITIVE)).min(1.0);
            }
            let next = Self::weighted(samples, &weights)?;
            if next == best {
                break;
            }
            best = next;
        }
        Some(best)
    }

    /// The least weighted squares of all: every way to part the samples into a slope and a level, and every sample as the knee.
    fn weighted(samples: &[Sample], weights: &[f64]) -> Option<Self> {
        let mut order: Vec<(&Sample, f64)> = samples.iter().zip(weights.iter().copied()).collect();
        order.sort_by(|a, b| a.0.n.total_cmp(&b.0.n));
        let mut candidates = Vec::new();
        for parted in 0..=order.len() {
            let (left, right) = order.split_at(parted);
            candidates.push(Self::parted(left, right));
            if let Some((at, _)) = order.get(parted) {
                candidates.push(Self::knee_at(&order, at.n));
            }
        }
        let squares = |hinge: &Self| -> f64 {
            let each = order.iter();
            each.map(|(s, weight)| weight * (s.x - hinge.throughput(s.n)).powi(2))
                .sum()
        };
        candidates
            .into_iter()
            .flatten()
            .min_by(|a, b| squares(a).total_cmp(&squares(b)))
    }

    fn parted(left: &[(&Sample, f64)], right: &[(&Sample, f64)]) -> Option<Self> {
        let slope = slope_of(left.iter().map(|(s, weight)| (s.n, s.x, *weight)));
        let weight: f64 = right.iter().map(|(_, weight)| weight).sum();
        let sum: f64 = right.iter().map(|(s, weight)| weight * s.x).sum();
        let last = left.last().map(|(s, _)| s.n);
        match (slope, weight > 0.0) {
            (Some(slope), true) => Self::of(slope, sum / weight),
            // No sample is beyond the knee: the highest throughput that the slope leads to.
            (Some(slope), false) => Self::of(slope, slope * last?),
            (None, _) => {
                let first = right.first()?.0.n;
                Self::of(sum / weight / first, sum / weight)
            }
        }
    }

    /// With the knee at this concurrency there is one parameter left.
    fn knee_at(order: &[(&Sample, f64)], knee: f64) -> Option<Self> {
        let slope = slope_of(
            order
                .iter()
                .map(|(s, weight)| (s.n.min(knee), s.x, *weight)),
        )?;
        Self::of(slope, slope * knee)
    }

    fn of(slope: f64, max_per_s: f64) -> Option<Self> {
        let hinge = Self {
            base_seconds: 1.0 / slope,
            max_per_s,
        };
        let is_valid = slope > 0.0 && max_per_s > 0.0;
        (is_valid && hinge.knee().is_finite()).then_some(hinge)
    }
}

/// A line through the origin: Σ w·n·x ÷ Σ w·n².
fn slope_of(samples: impl Iterator<Item = (f64, f64, f64)>) -> Option<f64> {
    let (mut across, mut along) = (0.0, 0.0);
    for (n, x, weight) in samples {
        across += weight * n * x;
        along += weight * n * n;
    }
    (along > 0.0).then(|| across / along)
}

//! Which model follows the samples best by Akaike's criterion, and what it must not be quoted for.

pub use plimsoll_core::sweep::{Model, Refusal};

use super::{Hinge, Loss, Repairman, Sample, Usl, Weighting};

/// Fewer different concurrencies fit anything.
const LEVELS_MIN: usize = 6;
/// Levels beyond the highest measured one that show a fall.
const PAST_PEAK_MIN: usize = 2;
/// A peak further out than so many times the largest concurrency is a guess.
const REACH: f64 = 1.25;
/// Runs of signs as few as these come by chance in one case of so many.
const CHANCE: f64 = 0.05;
/// Residuals below this share of the largest value are as good as none: then exact samples have no best model.
const EXACT: f64 = 1e-9;

/// A model with its coefficients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Curve {
    Hinge(Hinge),
    Mva(Repairman),
    Amdahl(Usl),
    Usl(Usl),
}

impl Curve {
    /// `None` where there are fewer samples than coefficients.
    pub fn fit(model: Model, samples: &[Sample]) -> Option<Self> {
        match model {
            Model::Hinge => Hinge::fit(samples, Loss::Squares).map(Self::Hinge),
            Model::Mva => Repairman::fit(samples).map(Self::Mva),
            Model::Amdahl => Usl::fit_amdahl(samples).map(|fit| Self::Amdahl(fit.usl)),
            Model::Usl => Usl::fit(samples, Weighting::Equal).map(|fit| Self::Usl(fit.usl)),
        }
    }

    pub fn model(&self) -> Model {
        match self {
            Self::Hinge(_) => Model::Hinge,
            Self::Mva(_) => Model::Mva,
            Self::Amdahl(_) => Model::Amdahl,
            Self::Usl(_) => Model::Usl,
        }
    }

    pub fn throughput(&self, n: f64) -> f64 {
        match self {
            Self::Hinge(hinge) => hinge.throughput(n),
            Self::Mva(mva) => mva.throughput(n),
            Self::Amdahl(usl) | Self::Usl(usl) => usl.throughput(n),
        }
    }

    /// Concurrencies that give this throughput, the smallest first; a law that falls again has two.
    pub fn concurrency(&self, throughput: f64) -> Vec<f64> {
        match self {
            Self::Hinge(hinge) => hinge.concurrency(throughput),
            Self::Mva(mva) => mva.concurrency(throughput),
            Self::Amdahl(usl) | Self::Usl(usl) => usl.concurrency(throughput),
        }
    }

    /// Σ (x − X(n))².
    pub fn squares(&self, samples: &[Sample]) -> f64 {
        self.residuals(samples).iter().map(|r| r * r).sum()
    }

    /// Measured less predicted.
    pub(super) fn residuals(&self, samples: &[Sample]) -> Vec<f64> {
        let pairs = samples.iter().zip(self.throughputs(samples));
        pairs
            .map(|(sample, predicted)| sample.x - predicted)
            .collect()
    }

    fn throughputs(&self, samples: &[Sample]) -> Vec<f64> {
        match self {
            Self::Mva(mva) => {
                let concurrencies: Vec<f64> = samples.iter().map(|sample| sample.n).collect();
                mva.throughputs(&concurrencies)
            }
            other => samples.iter().map(|s| other.throughput(s.n)).collect(),
        }
    }
}

/// One model held against the samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub curve: Curve,
    /// Lower is better; by 2 is something, by 10 decides.
    pub aicc: f64,
    /// √(Σ residual² ÷ (n − k)), in requests per second.
    pub residual_error: f64,
    pub refused: Vec<Refusal>,
}

/// All models that could be fitted, the best first; none where that is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    pub ranked: Vec<Ranked>,
    pub refused: Option<Refusal>,
}

impl Selection {
    fn refused(refusal: Refusal) -> Self {
        Self {
            ranked: Vec::new(),
            refused: Some(refusal),
        }
    }
}

pub fn select(samples: &[Sample]) -> Selection {
    let levels = levels(samples).len();
    if levels < LEVELS_MIN {
        return Selection::refused(Refusal::FewLevels {
            levels,
            needed: LEVELS_MIN,
        });
    }
    if !samples.iter().any(|sample| sample.x > 0.0) {
        return Selection::refused(Refusal::NothingCarried);
    }
    let ranked = Model::ALL.into_iter();
    let ranked =
        ranked.filter_map(|model| Some(ranked_curve(Curve::fit(model, samples)?, samples)));
    let mut ranked: Vec<Ranked> = ranked.collect();
    ranked.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    Selection {
        ranked,
        refused: None,
    }
}

fn ranked_curve(curve: Curve, samples: &[Sample]) -> Ranked {
    let coefficients = curve.model().parameters();
    let squares = curve.squares(samples);
    let left = samples.len().saturating_sub(coefficients).max(1);
    Ranked {
        aicc: aicc(squares, coefficients, samples),
        residual_error: (squares / left as f64).sqrt(),
        refused: refused(&curve, samples),
        curve,
    }
}

/// n·ln(Σ r² ÷ n) + 2k + 2k(k + 1) ÷ (n − k − 1), k counting the variance too (Burnham and Anderson 2002).
fn aicc(squares: f64, coefficients: usize, samples: &[Sample]) -> f64 {
    let n = samples.len() as f64;
    let k = coefficients as f64 + 1.0;
    let highest = samples.iter().map(|sample| sample.x).fold(0.0, f64::max);
    let least = (EXACT * highest).powi(2);
    let left = n - k - 1.0;
    if left <= 0.0 {
        return f64::INFINITY;
    }
    n * (squares / n).max(least).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / left
}

/// What this curve must not be quoted for.
fn refused(curve: &Curve, samples: &[Sample]) -> Vec<Refusal> {
    let mut refused = Vec::new();
    let levels = levels(samples);
    let largest = levels.last().map_or(0.0, |level| level.n);
    let highest = levels.iter().max_by(|a, b| a.x.total_cmp(&b.x));
    let peak = match curve {
        Curve::Usl(usl) => usl.peak(),
        _ => None,
    };
    if let Some(at) = peak {
        let past = levels
            .iter()
            .filter(|level| highest.is_some_and(|top| level.n > top.n));
        let levels_past = past.count();
        if at > REACH * largest {
            refused.push(Refusal::PeakBeyond { at, largest });
        } else if levels_past < PAST_PEAK_MIN {
            refused.push(Refusal::PeakUnseen {
                levels_past,
                needed: PAST_PEAK_MIN,
            });
        }
    }
    refused.extend(pattern(curve, &levels));
    refused
}

/// The mean of each concurrency that was measured, in their order.
fn levels(samples: &[Sample]) -> Vec<Sample> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let mut levels: Vec<(Sample, f64)> = Vec::new();
    for sample in sorted {
        match levels.last_mut() {
            Some((level, count)) if level.n.total_cmp(&sample.n).is_eq() => {
                *count += 1.0;
                level.x += (sample.x - level.x) / *count;
            }
            _ => levels.push((sample, 1.0)),
        }
    }
    levels.into_iter().map(|(level, _)| level).collect()
}

/// Residuals keep one sign for long: fewer runs of signs than chance makes.
fn pattern(curve: &Curve, levels: &[Sample]) -> Option<Refusal> {
    let signs: Vec<bool> = curve.residuals(levels).iter().map(|r| *r >= 0.0).collect();
    let above = signs.iter().filter(|above| **above).count();
    let changes = signs.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let runs = changes + 1;
    let chance = chance_of_runs(above, signs.len() - above, runs);
    (chance < CHANCE).then_some(Refusal::Pattern {
        runs,
        levels: signs.len(),
    })
}

/// Probability of so few runs or fewer among `a` of one sign and `b` of the other in an order by chance (Wald and Wolfowitz 1940).
fn chance_of_runs(a: usize, b: usize, most: usize) -> f64 {
    if a == 0 || b == 0 {
        return 1.0;
    }
    let ways = |runs: usize| {
        let half = runs / 2;
        if runs.is_multiple_of(2) {
            2.0 * choose(a - 1, half - 1) * choose(b - 1, half - 1)
        } else {
            choose(a - 1, half) * choose(b - 1, half - 1)
                + choose(a - 1, half - 1) * choose(b - 1, half)
        }
    };
    let all = choose(a + b, a);
    (2..=most).map(ways).sum::<f64>() / all
}

fn choose(n: usize, k: usize) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k).fold(1.0, |product, index| {
        product * (n - index) as f64 / (index + 1) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_signs_by_hand() {
        // Of 6 orders of ++-- two have two runs, two have three and two have four.
        assert!((chance_of_runs(2, 2, 2) - 2.0 / 6.0).abs() < 1e-12);
        assert!((chance_of_runs(2, 2, 3) - 4.0 / 6.0).abs() < 1e-12);
        assert!((chance_of_runs(2, 2, 4) - 1.0).abs() < 1e-12);
        assert!((chance_of_runs(4, 4, 2) - 2.0 / 70.0).abs() < 1e-12);
        let alike = chance_of_runs(5, 0, 1);
        assert!(
            (alike - 1.0).abs() < 1e-12,
            "one sign only says nothing of order"
        );
    }

    #[test]
    fn repeated_levels_are_one_level() {
        let sample = |n, x| Sample { n, x };
        let levels = levels(&[sample(2.0, 10.0), sample(1.0, 5.0), sample(2.0, 14.0)]);
        assert_eq!(levels, [sample(1.0, 5.0), sample(2.0, 12.0)]);
    }
}

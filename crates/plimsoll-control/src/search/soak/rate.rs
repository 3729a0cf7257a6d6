//! Chooses the rate of a soak from everything the levels near the boundary have shown.
//!
//! Only where to look, never a claim: pooling levels into a capacity is biased upward (B.4), but a soak
//! that is lost costs two minutes, so what is expected may lower its rate, never raise it.

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::LevelState;

use crate::search::ended_level::EndedLevel;
use crate::search::progress::Progress;

/// The share of the budget to aim for. A soak of 120 s measures the share to about ±20 %. Both targets lie
/// above 1 because bursts make the fitted line overestimate, and because a soak that is lost can be
/// repeated lower (tuned on simulated searches with seeds that neither tests nor figures use).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Odds {
    Safe,
    Even,
}

impl Odds {
    fn share(self) -> f64 {
        match self {
            Self::Safe => 1.15,
            Self::Even => 1.3,
        }
    }
}

/// Levels from this far below the lower bound take part.
const NEAR: f64 = 0.88;
/// Levels beyond this many budgets are saturated and no longer on the line.
const SATURATED: f64 = 10.0;
/// Expected growth of the logarithm of the bad share with that of the rate, and how uncertain it is:
/// 14 at the boundary of M/LN/4 with p99 < 8 service times, 9 to 25 for its neighbours (simulated).
const SLOPE: f64 = 15.0;
const SLOPE_DEVIATION: f64 = 8.0;
/// Bad attempts of neighbouring seconds belong together: this much more variance than seconds show.
const NEIGHBOURS: f64 = 1.5;

/// A level as the fit sees it: logarithm of rate over reference, bad attempts, attempts.
struct FitPoint {
    x: f64,
    bad: f64,
    attempts: f64,
}

/// At most `rate`, at least `least`: where the bad share of the binding clause is expected to be
/// the target share of its budget.
pub(crate) fn below(progress: &Progress, rate: f64, least: f64, odds: Odds) -> f64 {
    let Some(high) = progress.high() else {
        return rate;
    };
    let budget = progress.config.objectives.clauses()[high.clause].budget();
    let levels: Vec<&EndedLevel> = near(progress, high.clause, budget, rate).collect();
    let points: Vec<FitPoint> = levels.iter().map(|p| point(p, high.clause, rate)).collect();
    if points.len() < 2 || points.iter().all(|point| point.bad < 1.0) {
        return rate;
    }
    let (intercept, slope) = fit(&points, dispersion(&levels, high.clause), budget);
    let x = (libm::log(odds.share() * budget) - intercept) / slope.max(1.0);
    (rate * libm::exp(x)).clamp(least, rate)
}

fn near(
    progress: &Progress,
    clause: usize,
    budget: f64,
    rate: f64,
) -> impl Iterator<Item = &EndedLevel> {
    progress.history.iter().filter(move |played| {
        let (bad, attempts) = counts(played, clause);
        matches!(played.phase, Phase::Bracket | Phase::Bisect | Phase::Soak)
            && played.state != LevelState::Void
            && played.rate().is_some_and(|r| r >= rate * NEAR)
            && attempts > 0.0
            && bad <= SATURATED * budget * attempts
    })
}

fn counts(played: &EndedLevel, clause: usize) -> (f64, f64) {
    let seconds = played.measured.judged().iter();
    seconds.fold((0.0, 0.0), |(bad, attempts), second| {
        (
            bad + second.bad[clause] as f64,
            attempts + second.attempts as f64,
        )
    })
}

fn point(played: &EndedLevel, clause: usize, reference: f64) -> FitPoint {
    let (bad, attempts) = counts(played, clause);
    let x = played
        .rate()
        .map_or(0.0, |rate| libm::log(rate / reference));
    FitPoint { x, bad, attempts }
}

/// Variance of the bad attempts per second over what independent attempts would have.
fn dispersion(levels: &[&EndedLevel], clause: usize) -> f64 {
    let (mut squares, mut degrees) = (0.0, 0.0);
    for played in levels {
        let (bad, attempts) = counts(played, clause);
        let share = bad / attempts;
        let seconds = played.measured.judged();
        for second in seconds.iter().filter(|_| bad > 0.0) {
            let expected = share * second.attempts as f64;
            let residual = second.bad[clause] as f64 - expected;
            squares += residual * residual / expected.max(f64::MIN_POSITIVE);
        }
        degrees += seconds.len() as f64 - 1.0;
    }
    (squares / f64::max(degrees, 1.0) * NEIGHBOURS).max(1.0)
}

/// log share = a + s·x, with x = log(rate ÷ reference), by Poisson quasi-likelihood (Wedderburn 1974): its score
/// is linear in the counts, so bursts do not bias it. The slope has a normal prior with mean s₀ and deviation σ; φ is how
/// many times more the counts vary than a Poisson count.
///
/// ```text
/// eᵢ = nᵢ·exp(a + s·xᵢ)
/// gradient   Σ(bᵢ − eᵢ)                 Σ(bᵢ − eᵢ)·xᵢ − φ ÷ σ²·(s − s₀)
/// hessian    Σeᵢ    Σeᵢ·xᵢ              Σeᵢ·xᵢ² + φ ÷ σ²
/// ```
/// Newton's method: (a, s) moves by hessian⁻¹ · gradient. Shares of 0.012·e^(12·x) give a = log 0.012 and s = 12.
fn fit(points: &[FitPoint], dispersion: f64, budget: f64) -> (f64, f64) {
    let (mut intercept, mut slope) = (libm::log(budget), SLOPE);
    let precision = dispersion / (SLOPE_DEVIATION * SLOPE_DEVIATION);
    for _ in 0..20 {
        let (mut gradient, mut hessian) = ([0.0; 2], [0.0; 3]);
        for point in points {
            let expected = point.attempts * libm::exp((intercept + slope * point.x).min(0.0));
            let residual = point.bad - expected;
            gradient[0] += residual;
            gradient[1] += residual * point.x;
            hessian[0] += expected;
            hessian[1] += expected * point.x;
            hessian[2] += expected * point.x * point.x;
        }
        gradient[1] -= precision * (slope - SLOPE);
        hessian[2] += precision;
        let determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
        if determinant <= 0.0 {
            break;
        }
        let steps = [
            (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant,
            (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant,
        ];
        // Newton overshoots far from the optimum; a factor of e per step is plenty.
        intercept += steps[0].clamp(-1.0, 1.0);
        slope += steps[1].clamp(-5.0, 5.0);
    }
    (intercept, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fit_finds_a_known_line() {
        let points: Vec<FitPoint> = [-0.1, 0.0, 0.05, 0.1]
            .into_iter()
            .map(|x| FitPoint {
                x,
                bad: 1e6 * 0.012 * f64::exp(12.0 * x),
                attempts: 1e6,
            })
            .collect();
        let (intercept, slope) = fit(&points, 1.0, 0.01);
        assert!((intercept - 0.012f64.ln()).abs() < 1e-3, "{intercept}");
        assert!((slope - 12.0).abs() < 0.05, "{slope}");
    }

    #[test]
    fn with_hardly_any_data_the_slope_stays_what_was_expected() {
        let points = [
            FitPoint {
                x: -0.02,
                bad: 3.0,
                attempts: 400.0,
            },
            FitPoint {
                x: 0.0,
                bad: 2.0,
                attempts: 400.0,
            },
        ];
        let (_, slope) = fit(&points, 40.0, 0.01);
        assert!((slope - SLOPE).abs() < 1.0, "{slope}");
    }
}

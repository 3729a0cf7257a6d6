//! Sees that no rate meets the objective: what is bad at low load is as bad at high load.

use plimsoll_core::verdict::SearchRemark;

use super::ended_level::EndedLevel;
use super::measured::Second;
use super::progress::Progress;

/// Levels up to this share of the closed loop's throughput: there the load explains nothing.
const CALM_SHARE: f64 = 0.75;
const LEVELS_LEAST: usize = 3;
/// Their rates are at least this far apart.
const SPREAD: f64 = 1.3;
/// The share of bad attempts lies above the budget by so many standard deviations, in all of them…
const SURE: f64 = 2.6;
/// …and in the half with the lower rates.
const SURE_LOWER: f64 = 1.3;
/// And at the lower rates it is not much smaller.
const AS_BAD: f64 = 0.6;
/// Bad attempts that come in bursts are a condition that passes, not an objective that cannot be met.
const DISPERSION_MOST: f64 = 2.0;

/// Attempts and bad ones of some levels, under one clause.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    bad: f64,
    attempts: f64,
}

impl Count {
    fn of_levels(levels: &[&EndedLevel], clause: usize) -> Self {
        levels
            .iter()
            .flat_map(|played| played.measured.judged())
            .fold(Self::default(), |sum, second| Self {
                bad: sum.bad + second.bad[clause] as f64,
                attempts: sum.attempts + second.attempts as f64,
            })
    }

    fn share(self) -> f64 {
        self.bad / self.attempts.max(1.0)
    }

    /// Standard deviations of a Poisson count by which it exceeds the budget.
    fn excess(self, budget: f64) -> f64 {
        let allowed = budget * self.attempts;
        if allowed > 0.0 {
            (self.bad - allowed) / libm::sqrt(allowed)
        } else {
            0.0
        }
    }
}

/// What to say when no rate meets the objective.
pub(crate) fn seen(progress: &Progress) -> Option<SearchRemark> {
    let scale = match progress.anchor {
        Some(anchor) => anchor.throughput_max_per_s,
        None => progress.posterior()?.quantile(0.9),
    };
    let mut calm: Vec<&EndedLevel> = progress
        .levels()
        .filter(|played| is_calm(progress, played, CALM_SHARE * scale))
        .collect();
    calm.sort_by(|a, b| a.rate().unwrap_or(0.0).total_cmp(&b.rate().unwrap_or(0.0)));
    let (first, last) = (calm.first()?.rate()?, calm.last()?.rate()?);
    if calm.len() < LEVELS_LEAST || last < SPREAD * first {
        return None;
    }
    let (lower, upper) = calm.split_at(calm.len() / 2);
    let clauses = progress.config.objectives.clauses().iter().enumerate();
    let hopeless = |index: usize, budget: f64| {
        let (all, lower, upper) = (
            Count::of_levels(&calm, index),
            Count::of_levels(lower, index),
            Count::of_levels(upper, index),
        );
        all.excess(budget) > SURE
            && lower.excess(budget) > SURE_LOWER
            && lower.share() >= AS_BAD * upper.share()
            && dispersion(&calm, index) < DISPERSION_MOST
    };
    let over = progress.config.over;
    clauses
        .filter(|(index, clause)| hopeless(*index, clause.budget()))
        .map(|(index, clause)| SearchRemark::NoLoadMeets {
            clause: clause.to_string(),
            bad_ratio: Count::of_levels(&calm, index).share(),
            lowest: over.size(first),
            highest: over.size(last),
        })
        .next()
}

/// No queue: what is bad at such a level is bad without it.
fn is_calm(progress: &Progress, played: &EndedLevel, most: f64) -> bool {
    played
        .rate()
        .is_some_and(|rate| rate <= most && played.in_flight_mean <= progress.calm_in_flight(rate))
}

/// Variance over mean of the bad attempts per second, beyond what the attempts themselves explain.
fn dispersion(levels: &[&EndedLevel], clause: usize) -> f64 {
    let share = Count::of_levels(levels, clause).share();
    let seconds: Vec<&Second> = levels
        .iter()
        .flat_map(|played| played.measured.judged())
        .collect();
    let squares: f64 = seconds
        .iter()
        .map(|second| second.bad[clause] as f64 - share * second.attempts as f64)
        .map(|residual| residual * residual)
        .sum();
    let expected: f64 = seconds
        .iter()
        .map(|second| share * second.attempts as f64)
        .sum();
    if expected > 0.0 {
        squares / expected
    } else {
        0.0
    }
}

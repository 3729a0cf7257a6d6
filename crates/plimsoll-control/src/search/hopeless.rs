//! Sees that no rate meets the objective: what is bad at low load is as bad at high load.

use plimsoll_core::objective::Clause;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{LevelState, SearchRemark};

use super::ended_level::EndedLevel;
use super::load::Load;
use super::measured::Second;
use super::progress::Progress;

/// Levels up to this share of the closed loop's throughput: there the load explains nothing.
const CALM_SHARE: f64 = 0.75;
/// Failures are no slow answers: while hardly anything waits, no load below what is served at most explains them.
const CALM_SHARE_OF_ERRORS: f64 = 0.95;
const LEVELS_LEAST: usize = 3;
/// So many are enough where one request alone is among them, which never waits for another, and each is sure by itself.
const LEVELS_ALONE: usize = 2;
/// Their rates are at least this far apart.
const SPREAD: f64 = 1.3;
/// The share of bad attempts lies above the budget by so many standard deviations, in all of them…
const SURE: f64 = 2.6;
/// …and in each half of them: the one with the lower rates may have been played while the target was still cold.
const SURE_HALF: f64 = 1.3;
/// And at the lower rates it is not much smaller.
const AS_BAD: f64 = 0.6;
/// Nor is what is good a larger share there, by more than this many times and this much more: a rule that lets so many requests
/// a second pass and refuses the rest leaves twice the share at half the rate.
const AS_GOOD: (f64, f64) = (2.0, 0.05);
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
        let ended = levels.iter().flat_map(|played| {
            let seconds = played.measured.judged().iter();
            let each = seconds.map(move |second| (second.bad[clause], second.attempts));
            let clauses = played.measured.clauses();
            let failed = played.measured.failed_after(clauses[clause]);
            each.chain(std::iter::once((failed, failed)))
        });
        ended.fold(Self::default(), |sum, (bad, attempts)| Self {
            bad: sum.bad + bad as f64,
            attempts: sum.attempts + attempts as f64,
        })
    }

    fn share(self) -> f64 {
        self.bad / self.attempts.max(1.0)
    }

    /// Far fewer are bad than at the levels together. Where a rule refuses, one client alone is refused 90,000 times a second, and
    /// 40/s that are all good count for nothing in a sum with it.
    fn is_better_than(self, share: f64) -> bool {
        let expected = AS_BAD * share * self.attempts;
        self.bad < expected - SURE * libm::sqrt(expected)
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
        // Whatever was too much is no scale while nothing was carried: what is in flight tells alone whether it was calm.
        None if is_none_carried(progress) => f64::INFINITY,
        None => progress.posterior()?.quantile(0.9),
    };
    let open = |share: f64| {
        let levels = progress.levels();
        levels.filter(move |played| is_calm(progress, played, share * scale))
    };
    // One alone never queues, and failures are no slow answers: those of any closed loop count, at the rate that it came to.
    let closed = || {
        let levels = progress.history.iter();
        levels.filter(|played| played.phase == Phase::Anchor && played.state != LevelState::Void)
    };
    let mut clauses = progress.config.objectives.clauses().iter().enumerate();
    clauses.find_map(|(index, clause)| {
        let any = matches!(clause, Clause::Errors { .. });
        let calm = if any {
            CALM_SHARE_OF_ERRORS
        } else {
            CALM_SHARE
        };
        let mut levels: Vec<(f64, &EndedLevel)> = open(calm).map(at_its_rate).collect();
        let counts = |played: &&EndedLevel| any || played.measured.load == Load::Closed(1);
        levels.extend(closed().filter(counts).map(at_its_rate));
        let is_alone = !any && closed().any(|played| counts(&played));
        let (first, last, bad_ratio) = hopeless(levels, index, clause.budget(), is_alone)?;
        Some(SearchRemark::NoLoadMeets {
            clause: clause.to_string(),
            bad_ratio,
            lowest: progress.config.over.size(first),
            highest: progress.config.over.size(last),
        })
    })
}

fn is_none_carried(progress: &Progress) -> bool {
    !progress.config.over.is_vus() && progress.highest_passed().is_none()
}

/// One request after the other, in the closed loop, exceeds the budget of a response time: no load will be within it.
pub(crate) fn is_late_alone(progress: &Progress) -> bool {
    let mut alone = progress.history.iter().filter(|played| {
        played.measured.load == Load::Closed(1) && played.state != LevelState::Void
    });
    alone.any(|played| {
        let mut clauses = progress.config.objectives.clauses().iter().enumerate();
        clauses.any(|(index, clause)| {
            let is_late = Count::of_levels(&[played], index).excess(clause.budget()) > SURE;
            is_late && matches!(clause, Clause::ResponseTime { .. })
        })
    })
}

fn at_its_rate(played: &EndedLevel) -> (f64, &EndedLevel) {
    let seconds = played.measured.seconds_judged().max(f64::MIN_POSITIVE);
    let came = played.measured.attempts() as f64 / seconds;
    (played.rate().unwrap_or(came), played)
}

/// The lowest and highest rate, and the share that is bad at all of them, where it is over the budget whatever the rate.
fn hopeless(
    mut levels: Vec<(f64, &EndedLevel)>,
    index: usize,
    budget: f64,
    is_alone: bool,
) -> Option<(f64, f64, f64)> {
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, last) = (levels.first()?.0, levels.last()?.0);
    let least = if is_alone { LEVELS_ALONE } else { LEVELS_LEAST };
    if levels.len() < least || last < SPREAD * first {
        return None;
    }
    let sure_half = if levels.len() < LEVELS_LEAST {
        SURE
    } else {
        SURE_HALF
    };
    let calm: Vec<&EndedLevel> = levels.iter().map(|(_, played)| *played).collect();
    let (lower, upper) = calm.split_at(calm.len() / 2);
    let (all, lower, upper) = (
        Count::of_levels(&calm, index),
        Count::of_levels(lower, index),
        Count::of_levels(upper, index),
    );
    let is_hopeless = !calm
        .iter()
        .any(|played| Count::of_levels(&[*played], index).is_better_than(all.share()))
        && all.excess(budget) > SURE
        && lower.excess(budget) > sure_half
        && upper.excess(budget) > sure_half
        && lower.share() >= AS_BAD * upper.share()
        && 1.0 - lower.share() <= AS_GOOD.0 * (1.0 - upper.share()) + AS_GOOD.1
        && dispersion(&calm, index) < DISPERSION_MOST;
    is_hopeless.then(|| (first, last, all.share()))
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

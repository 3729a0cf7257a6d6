//! Tells a boundary that is set by events rarer than a level from one that is set by the load.
//!
//! Near its capacity a queue also makes attempts late in bursts, so bursts alone prove nothing. At
//! half of the boundary a queue is short: what comes in bursts there does not come from the load.

use plimsoll_core::statistics::carrying_share;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{LevelState, RareStalls};

use super::ended_level::EndedLevel;
use super::measured::Second;
use super::progress::Progress;
use super::{stats, vus};

/// Levels at up to this share of the rate that the boundary is surely above, and of the anchor, are
/// calm: queueing explains nothing there.
const CALM_SHARE: f64 = 0.6;
/// A burst: at least this share of a second's attempts bad, and this multiple of the budget.
const BURST_SHARE: f64 = 0.03;
const BURST_BUDGETS: f64 = 5.0;
/// And at least so many attempts.
const BURST_LEAST: u64 = 2;
/// Bad attempts in so small a share of the seconds are bursts (B.4).
const CARRYING_SHARE: f64 = 0.2;
/// Bursts that make a pattern.
const BURSTS_LEAST: usize = 2;

/// Stalls as the calm levels show them: at least two bursts that carry what was bad.
pub(crate) fn seen(progress: &Progress) -> Option<RareStalls> {
    let seconds: Vec<Second> = calm(progress)
        .flat_map(|played| played.measured.judged().iter().copied())
        .collect();
    let bursts = groups(progress, &seconds);
    let counts = bad_counts(&seconds);
    let carrying = carrying_share(&counts);
    if bursts < BURSTS_LEAST || carrying >= CARRYING_SHARE {
        return None;
    }
    let length: f64 = seconds.iter().map(|second| second.length).sum();
    Some(RareStalls {
        interval_seconds: length / bursts as f64,
        variance_to_mean: stats::variance_to_mean(&counts),
        bad_seconds_ratio: carrying,
    })
}

/// Up to here queueing explains nothing. Virtual users may queue long before they are too many, so for them
/// the knee bounds it.
pub(crate) fn calm_limit(progress: &Progress) -> f64 {
    let low = progress
        .posterior()
        .map_or(f64::INFINITY, |posterior| posterior.quantile(0.05));
    let served = if progress.config.over.is_vus() {
        Some(vus::crossing(progress).unwrap_or(0.0))
    } else {
        progress.anchor.map(|anchor| anchor.throughput_max_per_s)
    };
    low.min(served.unwrap_or(f64::INFINITY)) * CALM_SHARE
}

fn calm(progress: &Progress) -> impl Iterator<Item = &EndedLevel> {
    let limit = calm_limit(progress);
    progress.history.iter().filter(move |played| {
        let calm = match played.phase {
            Phase::Bracket | Phase::Bisect | Phase::Soak => {
                played.rate().is_some_and(|rate| rate <= limit)
            }
            // 0.7 of the capacity by construction, and a minute long.
            Phase::RecoveryBefore => true,
            _ => false,
        };
        calm && played.state != LevelState::Void
    })
}

fn is_burst(progress: &Progress, second: &Second) -> bool {
    let clauses = progress.config.objectives.clauses();
    clauses.iter().zip(second.bad).any(|(clause, bad)| {
        let share = BURST_SHARE.max(BURST_BUDGETS * clause.budget());
        bad >= BURST_LEAST && bad as f64 >= share * second.attempts as f64
    })
}

/// Runs of burst seconds; a stall may straddle two windows.
fn groups(progress: &Progress, seconds: &[Second]) -> usize {
    let bursts: Vec<bool> = seconds
        .iter()
        .map(|second| is_burst(progress, second))
        .collect();
    let starts = bursts.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    starts + usize::from(bursts.first() == Some(&true))
}

fn bad_counts(seconds: &[Second]) -> Vec<u64> {
    seconds.iter().map(Second::worst_bad).collect()
}

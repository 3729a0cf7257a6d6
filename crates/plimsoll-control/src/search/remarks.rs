//! What a search says beside its figures: what it saw, how long it watched, what it could not decide.

use plimsoll_core::verdict::{Bounds, LevelState, SearchRemark, SearchResult};

use super::claim::{self, Claim};
use super::progress::Progress;
use super::spells::Spell;

/// Soak needed to place a boundary set by stalls, in intervals between them (B.4).
const STALL_INTERVALS: f64 = 50.0;
/// A claim that was put lower by less is not worth a word.
const SCATTER_LEAST: f64 = 0.01;
/// Bounds further apart than this are said…
const APART: f64 = 0.1;
/// …where no more than this share of the time was left: whatever else ended the search has its own words.
const LEFT_MOST: f64 = 0.3;

pub(crate) fn about(
    progress: &Progress,
    claim: Option<&Claim>,
    found: &SearchResult,
) -> Vec<SearchRemark> {
    let each = [
        about_change(progress, found),
        about_stalls(progress, found),
        about_spells(progress, claim, found),
        about_watching(progress, claim),
        about_scatter(progress, claim),
        about_lack(progress, claim, found),
        about_ceiling(progress, claim),
    ];
    each.into_iter().flatten().collect()
}

/// The target is not what it was when the search began.
fn about_change(progress: &Progress, found: &SearchResult) -> Option<SearchRemark> {
    let change = progress.change()?;
    let over = progress.config.over;
    Some(SearchRemark::Changed {
        at_seconds: change.after + progress.config.spent.as_secs_f64(),
        before: over.size(over.at_most(change.before)),
        now: over.size(found.capacity()?.estimate),
    })
}

fn about_stalls(progress: &Progress, found: &SearchResult) -> Option<SearchRemark> {
    let stalls = found.rare_stalls?;
    let over = progress.config.over;
    let capacity = found.capacity();
    Some(SearchRemark::SetByStalls {
        interval_seconds: stalls.interval_seconds,
        lower: capacity
            .and_then(|bounds| bounds.lower)
            .map(|rate| over.size(rate)),
        upper: capacity
            .and_then(|bounds| bounds.upper)
            .map(|rate| over.size(rate)),
        soak_intervals: STALL_INTERVALS,
    })
}

/// Slow spells that the load does not explain: how many, how long, and how rare they must be.
fn about_spells(
    progress: &Progress,
    claim: Option<&Claim>,
    found: &SearchResult,
) -> Option<SearchRemark> {
    let spells = progress.spells();
    let first = spells.iter().next()?;
    let longest = spells.iter().map(Spell::seconds).fold(0.0, f64::max);
    let rate = found.capacity()?.estimate;
    let watched = progress.seconds_watched(rate);
    let starts: Vec<f64> = spells.iter().map(|spell| spell.start).collect();
    let gaps = starts.len().saturating_sub(1) as f64;
    let apart = (starts.len() > 1).then(|| (starts[starts.len() - 1] - starts[0]) / gaps);
    let cost = progress.spells_cost(rate);
    Some(SearchRemark::SlowSpells {
        count: spells.len() as u32,
        longest_seconds: longest,
        first_at_seconds: first.start + progress.config.spent.as_secs_f64(),
        apart_seconds: apart,
        rarer_than_seconds: cost / spells.len() as f64 / progress.least_budget(),
        watched_seconds: watched,
        outside: over_size(progress, claim.filter(|claim| claim.is_conditional)),
    })
}

fn over_size(
    progress: &Progress,
    claim: Option<&Claim>,
) -> Option<plimsoll_core::verdict::LoadSize> {
    claim.map(|claim| progress.config.over.size(claim.rate))
}

/// What the time at the rate excludes, and what it cannot.
fn about_watching(progress: &Progress, claim: Option<&Claim>) -> Option<SearchRemark> {
    let claim = claim.filter(|claim| !claim.is_conditional)?;
    Some(SearchRemark::Watched {
        at: progress.config.over.size(claim.rate),
        seconds: claim.pool.seconds,
        over_seconds: claim.pool.span,
        is_enough: claim.pool.is_enough,
    })
}

/// The claim was put lower because the target's own speed varies.
fn about_scatter(progress: &Progress, claim: Option<&Claim>) -> Option<SearchRemark> {
    claim.filter(|claim| !claim.is_conditional)?;
    let scatters = progress.scatters()?;
    (scatters.deviation >= SCATTER_LEAST).then_some(SearchRemark::PaceVaries {
        least_per_s: scatters.least_per_s,
        most_per_s: scatters.most_per_s,
        over_seconds: scatters.over_seconds,
        lower_ratio: Some(scatters.deviation),
    })
}

/// Why nothing is held although the target stood still and all of the time was used: the bounds are apart, or what lies
/// between them was not played for long enough or did not hold.
fn about_lack(
    progress: &Progress,
    claim: Option<&Claim>,
    found: &SearchResult,
) -> Option<SearchRemark> {
    let has_reason = !progress.stands_still() || progress.remarks.iter().any(ends_a_search);
    let has_time = progress.clock.left() > LEFT_MOST * progress.clock.total();
    if has_reason || has_time || progress.checked.is_some() {
        return None;
    }
    let is_conditional = |claim: &Claim| claim.is_conditional && progress.spells().is_empty();
    if !claim.is_none_or(is_conditional) {
        return None;
    }
    let Bounds {
        estimate, upper, ..
    } = found.capacity()?;
    let apart = upper.map(|upper| upper / estimate - 1.0);
    if let Some(ratio) = apart.filter(|ratio| claim.is_none() && *ratio > APART) {
        return Some(SearchRemark::BoundsApart { ratio });
    }
    let pool = claim::pool(progress, estimate, claim::NEAR_MOST[0]);
    Some(SearchRemark::NothingHeld {
        at: progress.config.over.size(estimate),
        seconds: pool.seconds,
        budgets_ratio: pool.budgets(),
        least_seconds: claim::seconds_least(progress),
    })
}

/// More time would not have helped.
fn ends_a_search(remark: &SearchRemark) -> bool {
    matches!(
        remark,
        SearchRemark::DidNotComeBack { .. } | SearchRemark::GeneratorTooWeak { .. }
    )
}

/// "At least" only where nothing was too much: no level above failed, was void or was cut short.
fn about_ceiling(progress: &Progress, claim: Option<&Claim>) -> Option<SearchRemark> {
    let ceiling = progress.config.ceiling()?;
    let is_at_it = |claim: &&Claim| claim.rate >= ceiling.rate() * 0.999;
    let claim = claim
        .filter(|claim| !claim.is_conditional)
        .filter(is_at_it)?;
    let too_much = progress
        .levels()
        .any(|played| played.is_over || played.budgets() > 1.0);
    let void = progress
        .history
        .iter()
        .any(|played| played.state == LevelState::Void);
    (!too_much && !void).then(|| SearchRemark::AtLeast {
        held: progress.config.over.size(claim.rate),
        limited_by: ceiling.kind(),
    })
}

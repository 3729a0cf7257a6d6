//! Puts together what the levels say: capacity, knee, peak, collapse, and what could not be decided.

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Bounds, Collapse, LevelState, SearchResult};

use super::claim::{self, Claim};
use super::ended_level::EndedLevel;
use super::load::Over;
use super::measured::late_in_time;
use super::overload::COLLAPSE;
use super::progress::Progress;
use super::{remarks, stalls, vus};

/// The interval that is shown: the boundary lies below it with this probability.
const HIGH: f64 = 0.95;
/// Where nothing is claimed, what is shown is the rate that the boundary lies below with this probability: the median lies a
/// little low, because what is bad by accident weighs and what is good by accident does not (simulated: `worlds`).
const LIKELY: f64 = 0.55;
/// Of a target that gets slower, whose speed varies much, or that stays overloaded by itself, on the careful side: it may not
/// carry that later.
const CAUTIOUS: f64 = 0.42;
/// What is shown as an upper bound lies above the estimate by this much.
const LEAST_APART: f64 = 1.005;
/// A knee this little above the load line is at it; further above there is none.
const KNEE_SLACK: f64 = 1.03;
/// Response time that is so many times that at rest has risen.
const RISES: f64 = 1.2;

pub(crate) fn compose(progress: &Progress) -> SearchResult {
    let claim = claim::of_search(progress);
    let claim = claim.map(|claim| claim.only_offered(progress).below_scatter(progress));
    // What a target that changed carries now is likely, and no claim.
    let meanwhile = claim.as_ref().map_or(0.0, |claim| claim.rate);
    let claim = claim.filter(|_| progress.change().is_none());
    let held = claim.as_ref().filter(|claim| !claim.is_conditional);
    let capacity = capacity(progress, claim.as_ref(), meanwhile);
    let mut found = SearchResult {
        peak_goodput_per_s: progress.peak_goodput(),
        recovery_seconds: progress.recovery,
        binding_clause: binding_clause(progress, capacity),
        soak_seconds: held_seconds(progress, held),
        capacity_level: capacity_level(progress, claim.as_ref()),
        capacity_levels: claim
            .as_ref()
            .map(|claim| claim.pool.levels.clone())
            .unwrap_or_default(),
        rare_stalls: stalls::seen(progress),
        converged: is_sure(progress, held),
        remarks: progress.remarks.clone(),
        ..SearchResult::default()
    };
    if progress.config.over.is_vus() {
        found.capacity_vus = capacity;
        found.reached_per_s = if found.capacity_levels.is_empty() {
            vus::reached(progress, found.capacity_level.as_slice())
        } else {
            vus::reached(progress, &found.capacity_levels)
        };
        found.knee_vus = vus::knee(progress);
        found.collapse_vus = collapse(progress);
    } else {
        let most = capacity.map_or(0.0, |bounds| bounds.estimate);
        let knee = knee(progress).filter(|knee| knee.rate.estimate <= most * KNEE_SLACK);
        let knee = knee.map(|knee| knee.at_most(most));
        found.capacity_per_s = capacity;
        found.knee_per_s = knee.map(|knee| knee.rate);
        found.knee_in_flight = knee.map(|knee| knee.in_flight);
        found.collapse_per_s = collapse(progress);
    }
    found
        .remarks
        .extend(remarks::about(progress, claim.as_ref(), &found));
    found
}

/// Lower: the rate that is claimed, absent where nothing is. Upper: the boundary lies below it with 95 %; absent where
/// nothing that was allowed was too much.
fn capacity(progress: &Progress, claim: Option<&Claim>, meanwhile: f64) -> Option<Bounds> {
    if progress.config.only_check().is_some() {
        let checked = progress.checked?;
        return Some(Bounds {
            estimate: checked.rate,
            lower: checked.holds.then_some(checked.rate),
            upper: (!checked.holds).then_some(checked.rate),
        });
    }
    if progress.is_hopeless() {
        return None;
    }
    let posterior = progress
        .posterior()
        .filter(|_| progress.levels().next().is_some())?;
    let high = posterior.quantile(HIGH);
    let upper = (high < progress.ceiling()).then_some(high);
    let over = progress.config.over;
    // What no level carried is not shown as carried, nor more than was ever served in time.
    let served = progress.peak().filter(|_| !over.is_vus());
    let carried = served.map_or(f64::INFINITY, |peak| peak.estimate);
    let carried = carried.min(progress.highest_passed().unwrap_or(f64::INFINITY));
    let estimate = claim.map_or_else(
        || {
            let likely = posterior.quantile(likely(progress)).min(carried);
            over.at_most(likely).max(meanwhile)
        },
        |claim| claim.rate,
    );
    Some(Bounds {
        estimate: estimate.min(progress.ceiling()),
        lower: claim
            .filter(|claim| !claim.is_conditional)
            .map(|claim| claim.rate),
        upper: upper.map(|upper| upper.max(over.next_above(estimate * LEAST_APART))),
    })
}

/// The quantile that is shown where nothing is claimed.
fn likely(progress: &Progress) -> f64 {
    if progress.is_unsteady() {
        CAUTIOUS
    } else {
        LIKELY
    }
}

/// Too few attempts to tell a clause from chance hold nothing for certain, here as in a run.
fn is_sure(progress: &Progress, held: Option<&Claim>) -> bool {
    let checked = progress.checked.is_some_and(|checked| checked.is_sure);
    held.is_some_and(|claim| claim.pool.is_enough) || checked
}

fn held_seconds(progress: &Progress, held: Option<&Claim>) -> Option<f64> {
    let checked = progress.checked.filter(|checked| checked.holds);
    held.map(|claim| claim.pool.seconds)
        .or(checked.map(|checked| checked.seconds))
}

/// The clause that was worst at the level nearest above what is claimed: what gives way first.
fn binding_clause(progress: &Progress, capacity: Option<Bounds>) -> Option<String> {
    let clauses = progress.config.objectives.clauses();
    if let Some(checked) = progress.checked {
        return (!checked.holds).then(|| clauses[checked.clause].to_string());
    }
    let from = capacity?.estimate;
    let above = progress
        .levels()
        .filter(|played| played.budgets() > 1.0 || played.is_over);
    let above =
        above.filter_map(|played| Some((played.rate().filter(|rate| *rate >= from)?, played)));
    let (_, nearest) = above.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(clauses[nearest.worst_clause().0].to_string())
}

/// The level that carries the key figures: the longest of those that carry the claim, else the highest that was met.
fn capacity_level(progress: &Progress, claim: Option<&Claim>) -> Option<u32> {
    let length = |played: &&EndedLevel| played.measured.seconds_judged();
    if let Some(checked) = progress.checked {
        return Some(checked.level);
    }
    if let Some(claim) = claim {
        let pooled = progress
            .levels()
            .filter(|played| claim.pool.levels.contains(&played.level));
        return pooled
            .max_by(|a, b| length(a).total_cmp(&length(b)))
            .map(|played| played.level);
    }
    let met = progress
        .levels()
        .filter(|played| !played.is_over && played.budgets() <= 1.0);
    let rate = |played: &&EndedLevel| played.rate().unwrap_or(0.0);
    met.max_by(|a, b| rate(a).total_cmp(&rate(b)))
        .map(|played| played.level)
}

#[derive(Debug, Clone, Copy)]
struct Knee {
    rate: Bounds,
    in_flight: f64,
}

impl Knee {
    fn at_most(self, most: f64) -> Self {
        let rate = Bounds {
            estimate: self.rate.estimate.min(most),
            ..self.rate
        };
        Self { rate, ..self }
    }
}

/// The rate at which as many are in flight as the operational bounds meet at, N* = Xmax · R₀:
/// below it response time is flat, above it attempts wait. Interpolated on a logarithmic scale
/// between the two open levels around it, whose rates are the bounds.
fn knee(progress: &Progress) -> Option<Knee> {
    // An anchor from an earlier search may be outdated by now; what was served since is not.
    let served = progress.anchor.map(|anchor| anchor.throughput_max_per_s);
    let peak = progress.peak().map(|peak| peak.estimate);
    let most = served.into_iter().chain(peak).fold(0.0, f64::max);
    let rest = progress.response_at_rest()?.as_secs_f64();
    let in_flight = most * rest;
    if in_flight <= 0.0 {
        return None;
    }
    let mut levels: Vec<(f64, f64)> = progress
        .history
        .iter()
        .filter(|p| matches!(p.phase, Phase::Bracket | Phase::Bisect | Phase::Soak))
        .filter(|p| p.state != LevelState::Void && p.in_flight_mean > 0.0)
        .filter_map(|played| Some((played.rate()?, played.in_flight_mean)))
        .collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let above = levels.iter().position(|&(_, n)| n >= in_flight)?;
    let (high, n_high) = levels[above];
    let (low, n_low) = *levels.get(above.checked_sub(1)?)?;
    // Where a rule or slots refuse what is too much, response time never rises and there is no knee.
    let rises = |&(rate, n): &(f64, f64)| n / rate >= RISES * rest;
    if !levels[above..].iter().any(rises) {
        return None;
    }
    let share = libm::log(in_flight / n_low) / libm::log(n_high / n_low);
    let estimate = low * libm::pow(high / low, share.clamp(0.0, 1.0));
    Some(Knee {
        rate: Bounds {
            estimate,
            lower: Some(low),
            upper: Some(high),
        },
        in_flight,
    })
}

/// From the overshoot levels: where answers in time fall more than 10 % below the peak.
fn collapse(progress: &Progress) -> Option<Collapse> {
    let peak = progress.peak()?.estimate;
    let mut levels: Vec<(f64, f64)> = progress
        .history
        .iter()
        .filter(|p| p.phase == Phase::Overshoot && p.state != LevelState::Void)
        .filter_map(|p| Some((p.rate()?, late_in_time(p.measured.judged()))))
        .collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lost = levels
        .iter()
        .position(|&(_, goodput)| goodput < COLLAPSE * peak);
    match lost {
        Some(index) => {
            let kept = match index.checked_sub(1) {
                Some(before) => levels[before].0,
                // Below the overshoot: the highest rate that met the objective.
                None => claim::of_search(progress)?.rate,
            };
            let upper = levels[index].0;
            Some(Collapse::At(Bounds {
                estimate: f64::midpoint(kept, upper),
                lower: Some(kept),
                upper: Some(upper),
            }))
        }
        None => levels.last().map(|&(rate, goodput)| {
            let goodput_ratio = goodput / peak;
            match progress.config.over {
                Over::Rate => Collapse::NoneUpTo {
                    rate_per_s: rate,
                    goodput_ratio,
                },
                Over::Vus { .. } => Collapse::NoneUpToVus {
                    vus: rate,
                    goodput_ratio,
                },
            }
        }),
    }
}

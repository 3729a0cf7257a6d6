//! Puts together what the levels say: capacity, knee, peak, collapse, and what could not be decided.

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{
    Bounds, Collapse, LevelState, RareStalls, SearchRemark, SearchResult,
};

use super::ended_level::EndedLevel;
use super::load::Over;
use super::measured::late_in_time;
use super::overload::COLLAPSE;
use super::progress::Progress;
use super::vus;

/// A soak that failed is followed by one 5 % lower: that distance counts as converged too.
const WIDTH_SLACK: f64 = 0.005;
/// Soak needed to place a boundary set by stalls, in intervals between them (B.4).
const STALL_INTERVALS: f64 = 50.0;

pub(crate) fn compose(progress: &Progress) -> SearchResult {
    let capacity = capacity(progress);
    let mut found = SearchResult {
        peak_goodput_per_s: progress.peak_goodput(),
        recovery_seconds: progress.recovery,
        binding_clause: binding_clause(progress),
        soak_seconds: progress.held.map(|held| held.seconds),
        capacity_level: capacity_level(progress),
        rare_stalls: progress.stalls,
        converged: converged(progress),
        remarks: progress.remarks.clone(),
        ..SearchResult::default()
    };
    if progress.config.over.is_vus() {
        found.capacity_vus = capacity;
        found.reached_per_s = vus::reached(progress, found.capacity_level);
        found.knee_vus = vus::knee(progress);
        found.collapse_vus = collapse(progress);
    } else {
        let knee = knee(progress);
        found.capacity_per_s = capacity;
        found.knee_per_s = knee.map(|knee| knee.rate);
        found.knee_in_flight = knee.map(|knee| knee.in_flight);
        found.collapse_per_s = collapse(progress);
    }
    if let Some(stalls) = &progress.stalls {
        let remark = about_stalls(stalls, capacity, progress.config.over);
        found.remarks.push(remark);
    }
    found.remarks.extend(about_ceiling(progress));
    found
}

/// Lower: the highest rate that held a soak. Upper: the lowest rate that failed. The estimate is
/// the rate that held; without one, the highest that passed shorter levels.
fn capacity(progress: &Progress) -> Option<Bounds> {
    let upper = progress.high().map(|edge| edge.rate);
    if let Some(held) = progress
        .held
        .filter(|held| upper.is_none_or(|upper| held.rate < upper))
    {
        return Some(Bounds {
            estimate: held.rate,
            lower: Some(held.rate),
            upper,
        });
    }
    if progress.config.only_check().is_some() {
        return upper.map(|rate| Bounds {
            estimate: rate,
            lower: None,
            upper: Some(rate),
        });
    }
    progress.low().map(|low| Bounds {
        estimate: low.rate,
        lower: None,
        upper,
    })
}

fn converged(progress: &Progress) -> bool {
    if progress.config.only_check().is_some() {
        return progress.held.is_some() || progress.high().is_some();
    }
    let Some(held) = progress.held else {
        return false;
    };
    let width = progress.config.goal_width.max(1.0 / 0.95 - 1.0) + WIDTH_SLACK;
    let over = progress.config.over;
    match (progress.high(), progress.config.ceiling()) {
        _ if progress.stalls.is_some() => false,
        (Some(high), _) if over.are_neighbours(held.rate, high.rate) => held.rate < high.rate,
        (Some(high), _) => held.rate < high.rate && high.rate <= held.rate * (1.0 + width),
        (None, Some(ceiling)) => held.rate >= ceiling.rate(),
        (None, None) => false,
    }
}

/// The clause that failed at the upper bound; without a failure the one that came nearest.
fn binding_clause(progress: &Progress) -> Option<String> {
    let edge = progress.high()?;
    Some(progress.config.objectives.clauses()[edge.clause].to_string())
}

/// The level that carries the key figures: the soak that held, else the highest that passed.
fn capacity_level(progress: &Progress) -> Option<u32> {
    let low = progress.low().map(|edge| edge.rate);
    progress.held.map(|held| held.level).or_else(|| {
        let at = |played: &&EndedLevel| played.rate().is_some() && played.rate() == low;
        progress.history.iter().rfind(at).map(|played| played.level)
    })
}

#[derive(Debug, Clone, Copy)]
struct Knee {
    rate: Bounds,
    in_flight: f64,
}

/// The rate at which as many are in flight as the operational bounds meet at, N* = Xmax · R₀:
/// below it response time is flat, above it attempts wait. Interpolated on a logarithmic scale
/// between the two open levels around it, whose rates are the bounds.
fn knee(progress: &Progress) -> Option<Knee> {
    // An anchor from an earlier search may be outdated by now; what was served since is not.
    let served = progress.anchor.map(|anchor| anchor.throughput_max_per_s);
    let peak = progress
        .high()
        .and(progress.peak())
        .map(|peak| peak.estimate);
    let most = served.into_iter().chain(peak).fold(0.0, f64::max);
    let in_flight = most * progress.response_at_rest()?.as_secs_f64();
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
                None => progress.low()?.rate,
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

fn about_stalls(stalls: &RareStalls, capacity: Option<Bounds>, over: Over) -> SearchRemark {
    let size =
        |bound: fn(Bounds) -> Option<f64>| capacity.and_then(bound).map(|rate| over.size(rate));
    SearchRemark::SetByStalls {
        interval_seconds: stalls.interval_seconds,
        lower: size(|bounds| bounds.lower),
        upper: size(|bounds| bounds.upper),
        soak_intervals: STALL_INTERVALS,
    }
}

fn about_ceiling(progress: &Progress) -> Option<SearchRemark> {
    let ceiling = progress.config.ceiling()?;
    let held = progress.held?;
    let at_ceiling = progress.high().is_none() && held.rate >= ceiling.rate() * 0.999;
    at_ceiling.then(|| SearchRemark::AtLeast {
        held: progress.config.over.size(held.rate),
        limited_by: ceiling.kind(),
    })
}

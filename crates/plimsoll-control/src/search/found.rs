//! Puts together what the levels say: capacity, knee, peak, collapse, and what could not be decided.

pub(crate) mod vus;

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Bounds, Collapse, Found, LevelState, RareStalls};

use super::config::Ceiling;
use super::over::Over;
use super::overload::{COLLAPSE, late_goodput};
use super::shared::{Played, Shared};

/// A soak that failed is followed by one 5 % lower: that distance counts as converged too.
const WIDTH_SLACK: f64 = 0.005;
/// Soak needed to place a boundary set by stalls, in intervals between them (B.4).
const STALL_INTERVALS: f64 = 50.0;

pub(crate) fn compose(shared: &Shared) -> Found {
    let capacity = capacity(shared);
    let mut found = Found {
        peak_goodput_per_s: shared.peak(),
        recovery_seconds: shared.recovery,
        binding_clause: binding_clause(shared),
        soak_seconds: shared.held.map(|held| held.seconds),
        capacity_level: capacity_level(shared),
        rare_stalls: shared.stalls,
        converged: converged(shared),
        remarks: shared.remarks.clone(),
        ..Found::default()
    };
    if shared.config.over.is_vus() {
        found.capacity_vus = capacity;
        found.reached_per_s = vus::reached(shared, found.capacity_level);
        found.knee_vus = vus::knee(shared);
        found.collapse_vus = collapse(shared);
    } else {
        let knee = knee(shared);
        found.capacity_per_s = capacity;
        found.knee_per_s = knee.map(|knee| knee.rate);
        found.knee_in_flight = knee.map(|knee| knee.in_flight);
        found.collapse_per_s = collapse(shared);
    }
    if let Some(stalls) = &shared.stalls {
        let text = about_stalls(stalls, capacity, shared.config.over);
        found.remarks.push(text);
    }
    if let Some(text) = about_ceiling(shared) {
        found.remarks.push(text);
    }
    found
}

/// Lower: the highest rate that held a soak. Upper: the lowest rate that failed. The estimate is
/// the rate that held; without one, the highest that passed shorter levels.
fn capacity(shared: &Shared) -> Option<Bounds> {
    let upper = shared.high().map(|edge| edge.rate);
    if let Some(held) = shared
        .held
        .filter(|held| upper.is_none_or(|upper| held.rate < upper))
    {
        return Some(Bounds {
            estimate: held.rate,
            lower: Some(held.rate),
            upper,
        });
    }
    if shared.config.only_check().is_some() {
        return upper.map(|rate| Bounds {
            estimate: rate,
            lower: None,
            upper: Some(rate),
        });
    }
    shared.low().map(|low| Bounds {
        estimate: low.rate,
        lower: None,
        upper,
    })
}

fn converged(shared: &Shared) -> bool {
    if shared.config.only_check().is_some() {
        return shared.held.is_some() || shared.high().is_some();
    }
    let Some(held) = shared.held else {
        return false;
    };
    let width = shared.config.goal_width.max(1.0 / 0.95 - 1.0) + WIDTH_SLACK;
    let over = shared.config.over;
    match (shared.high(), shared.config.ceiling()) {
        _ if shared.stalls.is_some() => false,
        (Some(high), _) if over.are_neighbours(held.rate, high.rate) => held.rate < high.rate,
        (Some(high), _) => held.rate < high.rate && high.rate <= held.rate * (1.0 + width),
        (None, Some(ceiling)) => held.rate >= ceiling.rate(),
        (None, None) => false,
    }
}

/// The clause that failed at the upper bound; without a failure the one that came nearest.
fn binding_clause(shared: &Shared) -> Option<String> {
    let edge = shared.high()?;
    Some(shared.config.objectives.clauses()[edge.clause].to_string())
}

/// The level that carries the key figures: the soak that held, else the highest that passed.
fn capacity_level(shared: &Shared) -> Option<u32> {
    let low = shared.low().map(|edge| edge.rate);
    shared.held.map(|held| held.level).or_else(|| {
        let at = |played: &&Played| played.rate().is_some() && played.rate() == low;
        shared.history.iter().rfind(at).map(|played| played.level)
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
fn knee(shared: &Shared) -> Option<Knee> {
    // An anchor from an earlier search may be outdated by now; what was served since is not.
    let served = shared.anchor.map(|anchor| anchor.throughput_max_per_s);
    let peak = shared.high().and(shared.peak()).map(|peak| peak.estimate);
    let most = served.into_iter().chain(peak).fold(0.0, f64::max);
    let in_flight = most * shared.response_at_rest()?.as_secs_f64();
    if in_flight <= 0.0 {
        return None;
    }
    let mut levels: Vec<(f64, f64)> = shared
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

/// From the overshoot levels: where goodput falls more than 10 % below the peak.
fn collapse(shared: &Shared) -> Option<Collapse> {
    let peak = shared.peak()?.estimate;
    let mut levels: Vec<(f64, f64)> = shared
        .history
        .iter()
        .filter(|p| p.phase == Phase::Overshoot && p.state != LevelState::Void)
        .filter_map(|p| Some((p.rate()?, late_goodput(p.judged_seconds()))))
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
                None => shared.low()?.rate,
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
            match shared.config.over {
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

fn about_stalls(stalls: &RareStalls, capacity: Option<Bounds>, over: Over) -> String {
    let interval = stalls.interval_seconds;
    let bounds = match capacity {
        Some(Bounds {
            lower: Some(lower),
            upper: Some(upper),
            ..
        }) => format!("capacity between {lower:.0} and {}; ", over.name(upper)),
        _ => String::new(),
    };
    format!(
        "boundary set by stalls about every {interval:.0} s; {bounds}a soak of at least 50 stall \
         intervals ({:.0} min) is needed to place it",
        (interval * STALL_INTERVALS / 60.0).ceil()
    )
}

fn about_ceiling(shared: &Shared) -> Option<String> {
    let ceiling = shared.config.ceiling()?;
    let held = shared.held?;
    let at_ceiling = shared.high().is_none() && held.rate >= ceiling.rate() * 0.999;
    let fix = match ceiling {
        Ceiling::MaxRate(_) => "allow more to find the bound",
        Ceiling::Generator(_) => "use more cores or agents to find the bound",
        Ceiling::Vus(_) => "allow more with -c to find the bound",
    };
    at_ceiling.then(|| {
        format!(
            "carries at least {}, limited by {}; {fix}",
            shared.config.over.name(held.rate),
            ceiling.reason()
        )
    })
}

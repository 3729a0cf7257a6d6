//! What a variant carries at the objective: found by a search, read from its load line, or not probed.

use plimsoll_core::experiment::{Axis, Capacity, LoadLines, Point, Unprobed, Variant};
use plimsoll_core::objective::Objectives;
use plimsoll_core::verdict::{Judgement, Verdict};

use super::figures;
use super::load_line::holds;
use super::spread::spread;

pub(super) fn of_variant(
    variant: &Variant<'_>,
    index: usize,
    lines: Option<&LoadLines>,
) -> Capacity {
    if !variant.is_valid() {
        return Capacity::Unknown(Unprobed::NoValidRun);
    }
    let mut runs = variant.shown();
    if runs.any(|run| run.record.header.test.is_search()) {
        return found(variant);
    }
    let mut runs = variant.shown();
    let Some(objectives) = runs.find_map(|run| run.record.header.test.objectives()) else {
        return Capacity::Unknown(Unprobed::NoObjective);
    };
    let line = lines
        .filter(|lines| lines.axis.is_load())
        .and_then(|lines| Some((lines.axis, lines.lines.get(index)?)));
    match line {
        Some((axis, line)) if line.len() > 1 => along(axis, line, objectives),
        _ => one_load(variant),
    }
}

fn found(variant: &Variant<'_>) -> Capacity {
    let bounds = |verdict: &Verdict| verdict.found.capacity();
    let lower: Vec<f64> = variant
        .verdicts()
        .filter_map(bounds)
        .map(|bounds| bounds.lower.unwrap_or(bounds.estimate))
        .collect();
    if lower.is_empty() {
        return Capacity::Unknown(Unprobed::Undecided);
    }
    Capacity::Searched {
        spread: spread(lower),
        over_vus: variant
            .verdicts()
            .any(|verdict| verdict.found.capacity_vus.is_some()),
        is_open: variant
            .verdicts()
            .filter_map(bounds)
            .any(|bounds| bounds.upper.is_none()),
    }
}

fn along(axis: Axis, line: &[Point], objectives: &Objectives) -> Capacity {
    let held = line
        .iter()
        .take_while(|point| holds(point, objectives))
        .count();
    match (line.get(held.wrapping_sub(1)), line.first()) {
        (Some(last), _) => Capacity::Held {
            axis,
            at: last.at,
            goodput_per_s: last.goodput_per_s(),
            is_open: held == line.len(),
        },
        (None, Some(first)) => Capacity::Missed { axis, at: first.at },
        (None, None) => Capacity::Unknown(Unprobed::NothingMeasured),
    }
}

fn one_load(variant: &Variant<'_>) -> Capacity {
    let held = variant
        .verdicts()
        .all(|verdict| verdict.verdict == Judgement::Pass);
    Capacity::OneLoad {
        offered_per_s: figures(variant, |f| f.offered_per_s)
            .median
            .unwrap_or_default(),
        held,
    }
}

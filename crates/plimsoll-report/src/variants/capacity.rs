//! What a variant carries at the objective: found by a search, read from its load line, or not probed.

use plimsoll_core::objective::Objectives;
use plimsoll_core::verdict::{Judgement, Verdict};

use super::cell::{Spread, spread};
use super::load_line::{Axis, Point};
use super::{Experiment, LoadLines, Variant};
use crate::format;
use crate::view::Varied;

/// As far as the runs say; rates are per second.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Capacity {
    /// The lower bounds of the searches; open when a search held the highest it was allowed to offer.
    Found {
        spread: Spread,
        varied: Varied,
        is_open: bool,
    },
    /// The highest place of a ramp up to which every clause held, with the goodput there.
    Kept {
        axis: Axis,
        at: f64,
        goodput_per_s: f64,
        /// The ramp went no further.
        is_open: bool,
    },
    /// Missed from the lowest load of the ramp on.
    Missed { axis: Axis, at: f64 },
    /// One load was played.
    OneLoad { offered_per_s: f64, held: bool },
    /// No objective, no valid run, or a search that did not decide.
    Unknown(&'static str),
}

impl Capacity {
    pub(crate) fn of(
        experiment: &Experiment<'_>,
        variant: &Variant<'_>,
        lines: Option<&LoadLines>,
    ) -> Self {
        if !variant.is_valid() {
            return Self::Unknown("no valid run");
        }
        if variant
            .shown()
            .any(|run| run.record.header.command == "find")
        {
            return found(variant);
        }
        let mut runs = variant.shown();
        let Some(objectives) = runs.find_map(|run| run.record.header.plan.objectives.as_ref())
        else {
            return Self::Unknown("no objective asked");
        };
        let place = experiment
            .variants
            .iter()
            .position(|other| other.name == variant.name);
        let line = lines
            .zip(place)
            .filter(|(lines, _)| lines.axis.is_load())
            .and_then(|(lines, place)| Some((lines.axis, lines.lines.get(place)?)));
        match line {
            Some((axis, line)) if line.len() > 1 => along(axis, line, objectives),
            _ => one_load(variant),
        }
    }

    /// Goodput that goes with it, to be held against a prediction.
    pub(crate) fn per_s(&self) -> Option<f64> {
        match self {
            Self::Found {
                spread,
                varied: Varied::Rate,
                ..
            } => spread.median,
            Self::Kept { goodput_per_s, .. } => Some(*goodput_per_s),
            _ => None,
        }
    }

    /// `412/s (404/s–421/s)`, `1,290/s, up to 480 users`, `not probed; 960/s offered held it`
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Found {
                spread,
                varied,
                is_open,
            } => {
                let shown = match varied {
                    Varied::Rate => spread.text(format::rate),
                    Varied::Vus => spread.text(|value| Varied::Vus.text(value)),
                };
                let open = if *is_open { "at least " } else { "" };
                format!("{open}{shown}")
            }
            Self::Kept {
                axis,
                at,
                goodput_per_s,
                is_open,
            } => {
                let goodput = format::rate(*goodput_per_s);
                let at = axis.text(*at);
                let up_to = if *is_open {
                    format!("up to {at}, the most offered")
                } else {
                    format!("up to about {at}")
                };
                format!("{goodput}, {up_to}")
            }
            Self::Missed { axis, at } => {
                format!("missed from {} on, the least probed", axis.text(*at))
            }
            Self::OneLoad {
                offered_per_s,
                held,
            } => {
                let word = if *held { "held it" } else { "missed it" };
                format!("not probed; {} {word}", format::rate(*offered_per_s))
            }
            Self::Unknown(why) => format!("not probed: {why}"),
        }
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
        return Capacity::Unknown("the search did not decide");
    }
    let vus = variant
        .verdicts()
        .any(|verdict| verdict.found.capacity_vus.is_some());
    Capacity::Found {
        spread: spread(&lower),
        varied: if vus { Varied::Vus } else { Varied::Rate },
        is_open: variant
            .verdicts()
            .filter_map(bounds)
            .any(|bounds| bounds.upper.is_none()),
    }
}

fn along(axis: Axis, line: &[Point], objectives: &Objectives) -> Capacity {
    let held = line
        .iter()
        .take_while(|point| point.holds(objectives))
        .count();
    match (line.get(held.wrapping_sub(1)), line.first()) {
        (Some(last), _) => Capacity::Kept {
            axis,
            at: last.at,
            goodput_per_s: last.goodput_per_s(),
            is_open: held == line.len(),
        },
        (None, Some(first)) => Capacity::Missed { axis, at: first.at },
        (None, None) => Capacity::Unknown("nothing was measured"),
    }
}

fn one_load(variant: &Variant<'_>) -> Capacity {
    let held = variant
        .verdicts()
        .all(|verdict| verdict.verdict == Judgement::Pass);
    Capacity::OneLoad {
        offered_per_s: variant
            .median(|verdict| verdict.offered_per_s)
            .unwrap_or_default(),
        held,
    }
}

//! What analysis found of a variant, in the words that sentences, cells and charts share.

use plimsoll_core::experiment::{
    Axis, Capacity, Difference, Foreseen, InvalidRuns, LimitClaim, LimitLocation, Replication,
    Spread, Unprobed, Variant, VariantMeaning,
};
use plimsoll_core::verdict::Cause;

use crate::format::{self, quoted};
use crate::view::{Varied, comparison as words};

/// What is said of one variant in more than one place.
#[derive(Debug)]
pub(crate) struct Words {
    /// In quotes.
    pub(crate) name: String,
    pub(crate) capacity: String,
    /// Goodput against its base, as in a sentence.
    pub(crate) on_base: Option<String>,
    pub(crate) prediction: Option<String>,
    pub(crate) limit: Option<String>,
    /// What a reader has to know before believing anything of it.
    pub(crate) remarks: Vec<String>,
}

impl Words {
    pub(crate) fn new(variant: &Variant<'_>, meaning: &VariantMeaning) -> Self {
        let differs = variant.base.filter(|_| meaning.has_several_changes);
        let several = differs.map(|base| several_changes(variant, base));
        let invalid = meaning.invalid.as_ref();
        let invalid = invalid.map(|runs| invalid_runs(variant.name, runs, meaning.is_valid));
        let on_base = meaning.on_base.as_ref().zip(variant.base);
        Self {
            name: quoted(variant.name),
            capacity: capacity(&meaning.capacity),
            on_base: on_base.map(|(by, base)| difference(by, base)),
            prediction: meaning.foreseen.as_ref().map(prediction),
            limit: meaning.limits.first.as_ref().map(limit),
            remarks: several.into_iter().chain(invalid).collect(),
        }
    }
}

/// `single run, no interval` or what the ranges are.
pub(crate) fn replication(replication: Replication) -> String {
    if replication.is_single() {
        return "single run, no interval".to_owned();
    }
    format!(
        "median of {}, with the lowest and the highest",
        format::plural(replication.runs_count, "run", "runs")
    )
}

/// `412/s`, or `412/s (404/s–421/s)` of several runs.
pub(super) fn spread(spread: Spread, show: fn(f64) -> String) -> String {
    let Some(median) = spread.median else {
        return format::ABSENT.to_owned();
    };
    ranged(show(median), spread.low.map(show), spread.high.map(show))
}

pub(super) fn ranged(shown: String, low: Option<String>, high: Option<String>) -> String {
    match (low, high) {
        (Some(low), Some(high)) if low != high => format!("{shown} ({low}–{high})"),
        _ => shown,
    }
}

/// An axis by its name, and a place on it: `412/s`, `480 users`, `12 s`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AxisWords {
    pub(crate) name: &'static str,
    pub(crate) place: fn(f64) -> String,
}

pub(crate) fn axis(axis: Axis) -> AxisWords {
    let users = |value: f64| {
        let tens = (value / 10.0).round() * 10.0;
        format::plural(tens as u64, "user", "users")
    };
    let (name, place): (_, fn(f64) -> String) = match axis {
        Axis::Levels | Axis::Rate => ("requests offered per second", format::rate),
        Axis::Users => ("virtual users", users),
        Axis::Seconds => ("seconds since the start of the load", format::seconds),
    };
    AxisWords { name, place }
}

/// `412/s (404/s–421/s)`, `1,290/s, up to 480 users`, `not probed; 960/s met the objective`
fn capacity(capacity: &Capacity) -> String {
    let place_on = |on: Axis, at: f64| (axis(on).place)(at);
    match *capacity {
        Capacity::Searched {
            spread: found,
            over_vus,
            is_open,
        } => {
            let shown = if over_vus {
                spread(found, |value| Varied::Vus.text(value))
            } else {
                spread(found, format::rate)
            };
            let open = if is_open { "at least " } else { "" };
            format!("{open}{shown}")
        }
        Capacity::Held {
            axis,
            at,
            goodput_per_s,
            is_open,
        } => {
            let (goodput, at) = (format::rate(goodput_per_s), place_on(axis, at));
            if is_open {
                format!("{goodput}, up to {at}, the highest load played")
            } else {
                format!("{goodput}, up to about {at}")
            }
        }
        Capacity::Missed { axis, at } => {
            format!(
                "none: missed already at {}, the lowest load played",
                place_on(axis, at)
            )
        }
        Capacity::OneLoad {
            offered_per_s,
            held,
        } => {
            let verb = if held { "met" } else { "missed" };
            format!(
                "not probed; {} {verb} the objective",
                format::rate(offered_per_s)
            )
        }
        Capacity::Unknown(why) => {
            let why = match why {
                Unprobed::NoValidRun => "no valid run",
                Unprobed::NoObjective => "no objective asked",
                Unprobed::Undecided => "the search did not decide",
                Unprobed::NothingMeasured => "nothing was measured",
            };
            format!("not probed: {why}")
        }
    }
}

/// `+80 % on ‘2A’`, with the interval and the word where there are several runs.
pub(super) fn difference(difference: &Difference, other: &str) -> String {
    let lead = on_other(difference, other);
    let Some(tested) = difference.tested else {
        return lead;
    };
    let range = tested.interval.map_or(String::new(), |_| {
        let range = words::range(difference.scale, tested.interval);
        let pairs = format::plural(tested.pairs_count as u64, "pair", "pairs");
        format!("95{}% interval {range}, {pairs}: ", format::NBSP)
    });
    format!("{lead} ({range}{})", tested.standing.word())
}

/// `+80 % on ‘2A’`
pub(super) fn on_other(difference: &Difference, other: &str) -> String {
    let change = words::change(difference.scale, difference.estimate);
    format!("{change} on {}", quoted(other))
}

/// `640/s from ‘1’, measured 2.3 % above`
fn prediction(foreseen: &Foreseen) -> String {
    let from = quoted(&foreseen.from);
    let text = format!("{} from {from}", format::rate(foreseen.per_s));
    foreseen.measured_off_ratio.map_or(text.clone(), |off| {
        let side = if off.is_sign_negative() {
            "below"
        } else {
            "above"
        };
        format!("{text}, measured {} {side}", format::percent(off.abs()))
    })
}

pub(super) fn location(location: &LimitLocation) -> String {
    let alone = location.alone_of.map_or(String::new(), |count| {
        format!("one of the {count} instances of ")
    });
    format!("{alone}{}", location.tier)
}

/// `connection slots of proxy`, `the CPU quota of one of the 2 instances of app`, `the downstream service stock`
pub(super) fn limit(claim: &LimitClaim) -> String {
    let of = claim.location.as_ref().map(location);
    // With a process the tier named is the one that is waited for, without one the tier that waits.
    let is_downstream = claim.limit.cause == Cause::Downstream && claim.limit.process.is_some();
    match of {
        Some(of) if is_downstream => format!("the downstream service {of}"),
        Some(of) => format!("{} of {of}", claim.limit.cause.noun()),
        None => claim.limit.cause.noun().to_owned(),
    }
}

/// `supported`, `supported in 2 of 3 runs`
pub(super) fn sureness(claim: &LimitClaim) -> String {
    let word = claim.confidence.word();
    if claim.runs_count == claim.of_runs_count {
        word.to_owned()
    } else {
        let runs = format::plural(claim.of_runs_count as u64, "run", "runs");
        format!("{word} in {} of {runs}", claim.runs_count)
    }
}

fn several_changes(variant: &Variant<'_>, base: &str) -> String {
    format!(
        "{} differs from {} in {} things ({}): a difference between them cannot be put down to one of these",
        quoted(variant.name),
        quoted(base),
        variant.changes.len(),
        variant.changes.join("; ")
    )
}

fn invalid_runs(name: &str, runs: &InvalidRuns, is_valid: bool) -> String {
    let mut gates: Vec<String> = runs
        .gates
        .iter()
        .map(|(number, name, note)| format!("gate {number} {name} ({note})"))
        .collect();
    if gates.is_empty() {
        gates.push("interrupted, or not judged".to_owned());
    }
    let used = if is_valid {
        "; the figures are those of the other runs"
    } else {
        "; its figures are shown, but nothing is concluded from them"
    };
    format!(
        "{}: {} of {} {} no verdict: {}{used}",
        quoted(name),
        runs.invalid_count,
        format::plural(runs.runs_count, "run", "runs"),
        if runs.invalid_count == 1 {
            "has"
        } else {
            "have"
        },
        gates.join("; ")
    )
}

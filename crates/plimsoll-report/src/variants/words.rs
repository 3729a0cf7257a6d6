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
    /// What it is, as a sentence names it: `two servers behind a proxy`.
    pub(crate) subject: String,
    pub(crate) capacity: String,
    pub(crate) prediction: Option<String>,
    pub(crate) limit: Option<String>,
    /// What a reader has to know before believing anything of it.
    pub(crate) remarks: Vec<String>,
}

impl Words {
    pub(crate) fn new(variant: &Variant<'_>, subject: String, meaning: &VariantMeaning) -> Self {
        let differs = variant.base.filter(|_| meaning.has_several_changes);
        let several = differs.map(|base| several_changes(variant, base));
        let invalid = meaning.invalid.as_ref();
        let invalid = invalid.map(|runs| invalid_runs(variant.name, runs, meaning.is_valid));
        Self {
            name: quoted(variant.name),
            subject,
            capacity: capacity(&meaning.capacity),
            prediction: meaning.foreseen.as_ref().map(prediction),
            limit: meaning.limits.first.as_ref().map(limit),
            remarks: several.into_iter().chain(invalid).collect(),
        }
    }
}

/// What each variant is, in its own words up to the first comma or colon where that tells it from the others; the name of
/// one that says nothing, or the same as another.
pub(super) fn subjects(variants: &[Variant<'_>]) -> Vec<String> {
    let whole = |variant: &Variant<'_>| variant.about.trim().trim_end_matches('.').to_owned();
    let short = |variant: &Variant<'_>| {
        let about = whole(variant);
        // A comma within a number is none.
        let ends = [", ", ": ", "; "].map(|end| about.find(end));
        let end = ends.into_iter().flatten().min();
        let short = end.and_then(|end| about.get(..end));
        short.unwrap_or(&about).to_owned()
    };
    // A probe is what another variant is, but for the limit that it moves.
    let is_own = |variant: &Variant<'_>, of: &dyn Fn(&Variant<'_>) -> String| {
        let text = of(variant);
        let others = variants.iter().filter(|other| other.name != variant.name);
        let mut others = others.filter(|other| variant.probe || !other.probe);
        !text.is_empty() && others.all(|other| of(other) != text)
    };
    let subject = |variant: &Variant<'_>| {
        if is_own(variant, &short) {
            short(variant)
        } else if is_own(variant, &whole) {
            whole(variant)
        } else {
            quoted(variant.name)
        }
    };
    variants.iter().map(subject).collect()
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
        // From a hundred on in tens; of few each counts, and none at all would be no load.
        let value = value.max(1.0);
        let step = 10_f64.powf((value.log10().floor() - 1.0).clamp(0.0, 1.0));
        let shown = (value / step).round() * step;
        format::plural(shown as u64, "user", "users")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_users_are_not_none() {
        let place = axis(Axis::Users).place;
        let shown = [0.4, 1.2, 14.0, 23.0, 1_648.0].map(place);
        assert_eq!(
            shown,
            [
                "1\u{a0}user",
                "1\u{a0}user",
                "14\u{a0}users",
                "23\u{a0}users",
                "1,650\u{a0}users"
            ]
        );
    }
}

//! What analysis found of a variant, in words and figures: cells of tables and parts of sentences.

use std::collections::BTreeMap;

use plimsoll_core::experiment::{
    Axis, Capacity, Difference, Foreseen, InvalidRuns, Judged, LimitClaim, NextClaim, Place,
    Replication, RunClaim, Spread, TierUse, TimeSpread, Unprobed, Variant, VariantMeaning,
};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{Cause, Verdict};

use crate::format::{self, quoted};
use crate::view::{Varied, comparison as words};

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
pub(crate) fn spread(spread: Spread, show: fn(f64) -> String) -> String {
    let Some(median) = spread.median else {
        return format::ABSENT.to_owned();
    };
    ranged(show(median), spread.low.map(show), spread.high.map(show))
}

pub(crate) fn times(spread: Option<TimeSpread>) -> String {
    spread.map_or(format::ABSENT.to_owned(), |spread| {
        let show = |quantile| format::quantile(Some(quantile));
        let (low, high) = (show(spread.low), show(spread.high));
        ranged(show(spread.median), Some(low), Some(high))
    })
}

fn ranged(shown: String, low: Option<String>, high: Option<String>) -> String {
    match (low, high) {
        (Some(low), Some(high)) if low != high => format!("{shown} ({low}–{high})"),
        _ => shown,
    }
}

pub(crate) const fn axis(axis: Axis) -> &'static str {
    match axis {
        Axis::Levels | Axis::Rate => "requests offered per second",
        Axis::Users => "virtual users",
        Axis::Seconds => "seconds since the start of the load",
    }
}

/// `412/s`, `480 users`, `12 s`
pub(crate) fn place_on(axis: Axis, value: f64) -> String {
    match axis {
        Axis::Levels | Axis::Rate => format::rate(value),
        Axis::Users => {
            let value = (value / 10.0).round() * 10.0;
            format::plural(value as u64, "user", "users")
        }
        Axis::Seconds => format::seconds(value),
    }
}

/// `412/s (404/s–421/s)`, `1,290/s, up to 480 users`, `not probed; 960/s offered held it`
pub(crate) fn capacity(capacity: &Capacity) -> String {
    match *capacity {
        Capacity::Found {
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
            let goodput = format::rate(goodput_per_s);
            let at = place_on(axis, at);
            if is_open {
                format!("{goodput}, up to {at}, the most offered")
            } else {
                format!("{goodput}, up to about {at}")
            }
        }
        Capacity::Missed { axis, at } => {
            format!("missed from {} on, the least probed", place_on(axis, at))
        }
        Capacity::OneLoad {
            offered_per_s,
            held,
        } => {
            let word = if held { "held it" } else { "missed it" };
            format!("not probed; {} {word}", format::rate(offered_per_s))
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

/// `+80 % on ‘2A’ (+71 to +88 %), ▲ better`, `+80 % on ‘2A’, no interval`
pub(crate) fn against_base(experiment: &Judged<'_>, difference: &Difference) -> String {
    let lead = on_other(experiment, difference);
    match difference.tested {
        None => format!("{lead}, no interval"),
        Some(tested) => {
            let interval = tested.interval.map_or("no interval".to_owned(), |_| {
                words::range(difference.scale, tested.interval)
            });
            let sign = words::sign(tested.standing);
            format!("{lead} ({interval}), {sign} {}", tested.standing.word())
        }
    }
}

/// `+80 % on ‘2A’`, with the interval and the word where there are several runs.
pub(crate) fn on_base(experiment: &Judged<'_>, difference: &Difference) -> String {
    let lead = on_other(experiment, difference);
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

fn on_other(experiment: &Judged<'_>, difference: &Difference) -> String {
    let change = words::change(difference.scale, difference.estimate);
    format!("{change} on {}", quoted(experiment.name(difference.over)))
}

/// `640/s from ‘1’, measured 2.3 % above`
pub(crate) fn prediction(foreseen: &Foreseen) -> String {
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

fn place(place: &Place) -> String {
    let alone = place.alone_of.map_or(String::new(), |count| {
        format!("one of the {count} instances of ")
    });
    format!("{alone}{}", place.tier)
}

/// `connection slots of proxy`, `the CPU quota of one of the 2 instances of app`, `the downstream service stock`
pub(crate) fn limit(claim: &LimitClaim) -> String {
    let of = claim.place.as_ref().map(place);
    // With a process the tier named is the one that is waited for, without one the tier that waits.
    let is_downstream = claim.limit.cause == Cause::Downstream && claim.limit.process.is_some();
    match of {
        Some(of) if is_downstream => format!("the downstream service {of}"),
        Some(of) => format!("{} of {of}", claim.limit.cause.noun()),
        None => claim.limit.cause.noun().to_owned(),
    }
}

/// `supported`, `supported in 2 of 3 runs`
pub(crate) fn sureness(claim: &LimitClaim) -> String {
    let word = claim.confidence.word();
    if claim.runs_count == claim.of_runs_count {
        word.to_owned()
    } else {
        let runs = format::plural(claim.of_runs_count as u64, "run", "runs");
        format!("{word} in {} of {runs}", claim.runs_count)
    }
}

pub(crate) fn first_limit(meaning: &VariantMeaning) -> String {
    let moved = meaning.limit.as_ref();
    if let Some(claim) = moved.filter(|claim| claim.limit.experiment().is_some()) {
        return format!("{}, {}", limit(claim), sureness(claim));
    }
    counted(meaning.run_limits.iter().map(|claim| match claim {
        RunClaim::Nothing => "not said".to_owned(),
        RunClaim::NotValid => "not said: the run is not valid".to_owned(),
        RunClaim::Limit(claim) if claim.limit.cause.is_known() => {
            format!("{}, {}", limit(claim), sureness(claim))
        }
        RunClaim::Limit(claim) => limit(claim),
    }))
}

pub(crate) fn next_limit(next: &NextClaim) -> String {
    format!(
        "{} of {}, predicted full at {}",
        next.resource,
        place(&next.place),
        format::rate(next.full_at_per_s)
    )
}

/// `97 % of 0.35 cores, throttled in 80 % of periods`
pub(crate) fn busy(tier: &TierUse) -> String {
    let Some(used) = tier.cores_used else {
        return "not seen".to_owned();
    };
    let mut text = match (tier.busy_ratio, tier.cores_given) {
        (Some(busy), Some(given)) => {
            format!("{} of {}", format::percent(busy), format::cores(given))
        }
        _ => format!("{} used", format::cores(used)),
    };
    if let Some(throttled) = tier.throttled_ratio.filter(|_| tier.is_throttled) {
        let share = format::percent(throttled);
        put!(text, ", throttled in {share} of periods");
    }
    text
}

/// What the runs that are shown say, each text with how often it occurred, the most frequent first.
pub(crate) fn of_runs(variant: &Variant<'_>, say: impl Fn(&Record, &Verdict) -> String) -> String {
    let records = variant.shown().map(|run| run.record);
    counted(records.filter_map(|record| Some(say(record, record.verdict.as_ref()?))))
}

fn counted(texts: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    let mut texts: Vec<(u64, String)> = counts.into_iter().map(|(t, n)| (n, t)).collect();
    texts.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    match texts.as_slice() {
        [] => format::ABSENT.to_owned(),
        [(_, text)] => text.clone(),
        several => {
            let parts: Vec<String> = several
                .iter()
                .map(|(count, text)| format!("{text} ({count}×)"))
                .collect();
            parts.join("; ")
        }
    }
}

/// The warnings, and those that follow from what the variants differ in and from their gates.
pub(crate) fn remarks(experiment: &Judged<'_>) -> Vec<String> {
    let mut remarks = experiment.experiment.warnings.clone();
    for (variant, meaning) in experiment.variants() {
        if let (Some(base), true) = (variant.base, meaning.has_several_changes) {
            remarks.push(format!(
                "{} differs from {} in {} things ({}): a difference between them cannot be put down to one of these",
                quoted(variant.name),
                quoted(base),
                variant.changes.len(),
                variant.changes.join("; ")
            ));
        }
        let invalid = meaning.invalid.as_ref();
        remarks.extend(invalid.map(|runs| invalid_runs(variant.name, runs, meaning.is_valid)));
    }
    remarks
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
        "; the others are what is shown"
    } else {
        "; its figures are shown and carry no claim"
    };
    format!(
        "{}: {} of {} carry no verdict: {}{used}",
        quoted(name),
        runs.invalid_count,
        format::plural(runs.runs_count, "run", "runs"),
        gates.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Nanos;
    use plimsoll_core::tally::Quantile;

    use super::*;

    #[test]
    fn one_run_shows_no_range_and_several_show_theirs() {
        let of = |median, low, high| Spread {
            median: Some(median),
            low: Some(low),
            high: Some(high),
        };
        assert_eq!(spread(of(412.0, 412.0, 412.0), format::rate), "412/s");
        assert_eq!(
            spread(of(412.0, 404.0, 421.0), format::rate),
            "412/s (404/s–421/s)"
        );
        assert_eq!(spread(Spread::default(), format::rate), format::ABSENT);
    }

    #[test]
    fn never_ends_a_range_of_times() {
        let at = |ms| Quantile::At(Nanos::from_millis(ms));
        let (low, median) = (at(10), at(20));
        let high = Quantile::Never;
        let spread = TimeSpread { median, low, high };
        assert_eq!(times(Some(spread)), "20.0\u{a0}ms (10.0\u{a0}ms–never)");
        assert_eq!(times(None), format::ABSENT);
    }
}

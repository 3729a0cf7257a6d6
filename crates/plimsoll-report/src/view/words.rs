//! The sentences: subject, verb, number, unit, in the present tense.

use plimsoll_core::test::How;
use plimsoll_core::verdict::{
    Cause, Confidence, GateState, Judgement, ObjectiveResult, SearchRemark, Verdict,
};
use plimsoll_core::{Nanos, Outcome};

use super::{Conclusion, Kind, View, sentence, unbroken};
use crate::format;

pub(super) fn headline(view: &View) -> String {
    let title = view.title();
    let Some(verdict) = view.verdict() else {
        return interrupted_after(view);
    };
    match (view.kind, view.conclusion) {
        (_, Conclusion::Interrupted) => interrupted_after(view),
        (_, Conclusion::Invalid) => format!("No verdict: {}.", invalid_because(view)),
        (Kind::Find, conclusion) => find_headline(view, conclusion, verdict),
        (Kind::Run, Conclusion::Held) => format!(
            "{title} {} at {} {} per second.",
            held_words(view, verdict),
            format::number(verdict.offered_per_s),
            asked(view)
        ),
        (Kind::Run, Conclusion::Missed) => run_missed(view, verdict),
        (Kind::Run, Conclusion::Undecided) => undecided_run(verdict),
        (Kind::Run, _) => format!(
            "{title} answered {} {} per second, {} of attempts correctly.",
            format::number(verdict.throughput_per_s),
            asked(view),
            format::percent(share(verdict, Outcome::Ok))
        ),
    }
}

/// What is asked of the target.
fn asked(view: &View) -> &'static str {
    match view.record.header.test.workload() {
        Some(_) => "operations",
        None => "requests",
    }
}

/// When it was stopped, and how long it would have taken.
fn interrupted_after(view: &View) -> String {
    let at = view.record.interrupted_at().unwrap_or(view.elapsed);
    let planned = match &view.record.header.test.how {
        How::Search { settings, .. } => {
            Some(format!(" of at most {}", format::duration(settings.within)))
        }
        How::Set { .. } => {
            let length = view.record.header.test.length();
            length.map(|length| format!(" of {}", format::duration(length)))
        }
    };
    format!(
        "No verdict: the run was interrupted after {}{}.",
        format::duration(at),
        planned.unwrap_or_default()
    )
}

/// What was not held against an objective because it was our own doing.
pub(crate) fn left_out(objective: &ObjectiveResult) -> Option<String> {
    (objective.left_out_count > 0).then(|| {
        format!(
            "{} left out, which the generator’s own stalls met; all others meet it",
            format::plural(objective.left_out_count, "attempt is", "attempts are")
        )
    })
}

/// Why a run has no answer: our own lateness, a load that was not carried to the end, or too little of it.
fn undecided_run(verdict: &Verdict) -> String {
    let undecided = |objective: &&ObjectiveResult| objective.judgement == Judgement::Inconclusive;
    let mut held_up = verdict.objectives.iter().filter(undecided);
    if let Some(why) = held_up.find_map(|objective| objective.held_up.as_ref()) {
        return format!("Not decided: {why}.");
    }
    let ours = verdict.objectives.iter().filter(undecided);
    let ours = ours.map(|objective| objective.turned_count).max();
    match ours {
        Some(0) => format!(
            "Not decided: {} attempts are too few.",
            format::count(verdict.attempts_count)
        ),
        Some(ours) => format!(
            "Not decided: {} may be bad because the generator was late, not the target.",
            format::plural(ours, "attempt", "attempts")
        ),
        None => "Not decided: the objective holds so far, but what is in flight keeps growing."
            .to_owned(),
    }
}

fn find_headline(view: &View, conclusion: Conclusion, verdict: &Verdict) -> String {
    let (title, what) = (view.title(), view.varied.in_prose());
    let capacity = verdict.found.capacity();
    let claimed = capacity.map(|bounds| bounds.lower.unwrap_or(bounds.estimate));
    match (conclusion, claimed) {
        (Conclusion::NotReached, Some(lower)) => format!(
            "{title} carries at least {} {what}; the limit was not reached.",
            format::number(lower)
        ),
        (Conclusion::Undecided, Some(estimate)) => undecided(view, verdict, estimate),
        (Conclusion::Missed, Some(load)) if verdict.found.is_refuted() => format!(
            "{title} does not hold the objective at {} {what}.",
            format::number(load)
        ),
        (_, Some(_)) => format!(
            "{title} carries {} {what}{}.",
            format::number(capacity.map_or(0.0, |bounds| bounds.estimate)),
            as_long_as(verdict).unwrap_or_default()
        ),
        (Conclusion::Missed, None) => {
            format!(
                "{title} does not hold the objective at any {} offered.",
                view.varied.singular()
            )
        }
        (_, None) => "No load line found: the search did not decide.".to_owned(),
    }
}

/// The condition under which a rate is held whose target is not equally fast all the time.
fn as_long_as(verdict: &Verdict) -> Option<String> {
    let mut remarks = verdict.found.remarks.iter();
    let varies = |remark: &SearchRemark| {
        matches!(
            remark,
            SearchRemark::PaceVaries {
                lower_ratio: Some(_),
                ..
            }
        )
    };
    let seconds = verdict.found.soak_seconds?;
    remarks.any(varies).then(|| {
        format!(
            " as long as it gets no slower than in the {} watched",
            format::duration(Nanos::from_secs(seconds as u64))
        )
    })
}

/// Why a rate that was carried is not held: the target does not stand still.
fn unsteady(verdict: &Verdict) -> Option<&'static str> {
    verdict
        .found
        .remarks
        .iter()
        .find_map(|remark| match remark {
            SearchRemark::SlowsDown { .. } => Some("but it got slower meanwhile"),
            SearchRemark::PaceVaries {
                lower_ratio: None, ..
            } => Some("but its own speed varies too much"),
            SearchRemark::StaysOverloaded { .. } => {
                Some("but an overload does not end by itself when the load does")
            }
            _ => None,
        })
}

/// Nothing is claimed that no rate held; what is known instead.
fn undecided(view: &View, verdict: &Verdict, estimate: f64) -> String {
    let (title, what) = (view.title(), view.varied.in_prose());
    let changed = |remark: &SearchRemark| matches!(remark, SearchRemark::Changed { .. });
    if verdict.found.remarks.iter().any(changed) {
        return format!(
            "{title} probably carries about {} {what} now, but it changed during the search: no rate is held.",
            format::number(estimate)
        );
    }
    let conditional = |remark: &SearchRemark| {
        matches!(
            remark,
            SearchRemark::SlowSpells {
                outside: Some(_),
                ..
            }
        )
    };
    if verdict.found.remarks.iter().any(conditional) {
        return format!(
            "{title} carries {} {what} outside of slow spells that were seen; through them no rate is proven.",
            format::number(estimate)
        );
    }
    if let Some(why) = unsteady(verdict).filter(|_| !verdict.found.capacity_levels.is_empty()) {
        return format!(
            "{title} carried {} {what} while it was watched, {why}: no rate is held.",
            format::number(estimate)
        );
    }
    match verdict.found.capacity().and_then(|bounds| bounds.upper) {
        Some(upper) => format!(
            "The limit of {title} is probably about {} {what}, and below {}; the search held no load.",
            format::number(estimate),
            format::number(upper)
        ),
        None => format!(
            "No load line found: no {} was held for long enough, and nothing up to {} {what} was too much.",
            view.varied.singular(),
            format::number(estimate)
        ),
    }
}

/// What a run that passed was asked for.
fn held_words(view: &View, verdict: &Verdict) -> &'static str {
    let thresholds = view.script.as_ref().map(|s| s.counts.thresholds.len());
    match (verdict.objectives.len(), thresholds.unwrap_or(0)) {
        (_, 0) => "holds its objective",
        (0, 1) => "keeps its threshold",
        (0, _) => "keeps its thresholds",
        _ => "holds its objective and its thresholds",
    }
}

fn run_missed(view: &View, verdict: &Verdict) -> String {
    let title = view.title();
    let missed: Vec<String> = verdict
        .objectives
        .iter()
        .filter(|objective| objective.judgement == Judgement::Fail)
        .map(|objective| {
            format!(
                "{} (measured {})",
                unbroken(&objective.clause),
                unbroken(&objective.measured)
            )
        })
        .collect();
    let crossed = view.script.as_ref().map(super::ScriptView::crossed);
    let crossed = crossed.unwrap_or_default();
    match (missed.as_slice(), crossed.as_slice()) {
        ([], []) => format!("{title} misses its objective."),
        ([], crossed) => format!(
            "{title} crosses {}: {}.",
            if crossed.len() == 1 {
                "a threshold"
            } else {
                "its thresholds"
            },
            format::list(crossed)
        ),
        (missed, []) => format!("{title} misses its objective: {}.", format::list(missed)),
        (missed, crossed) => format!(
            "{title} misses its objective, {}, and crosses {}.",
            format::list(missed),
            format::list(crossed)
        ),
    }
}

/// The first failed gate in the words of its effect.
pub(super) fn invalid_because(view: &View) -> String {
    let gates = view.verdict().map_or(&[][..], |verdict| &verdict.gates);
    let Some(gate) = gates.iter().find(|gate| gate.state == GateState::Fail) else {
        return "the run is not valid".to_owned();
    };
    match gate.id.when_failed() {
        "" => format!("gate {} failed ({})", gate.id.number(), gate.name),
        words => words.to_owned(),
    }
}

pub(super) fn lede(view: &View) -> Vec<String> {
    let Some(verdict) = view
        .verdict()
        .filter(|_| view.conclusion != Conclusion::Interrupted)
    else {
        return interrupted(view);
    };
    if view.conclusion == Conclusion::Invalid {
        return invalid(verdict);
    }
    let mut sentences = Vec::new();
    if view.kind == Kind::Find {
        if view.conclusion != Conclusion::Undecided {
            sentences.extend(between(view, verdict));
        }
        sentences.extend(held(view, verdict));
        sentences.extend(gives_way(verdict));
        sentences.extend(stalls(verdict));
    } else {
        sentences.push(run_in_numbers(view, verdict));
        sentences.extend(kinds_of_failure(verdict));
        sentences.extend(gives_way(verdict));
    }
    sentences
}

fn interrupted(view: &View) -> Vec<String> {
    let attempts: u64 = view.levels.iter().map(|level| level.tally.attempts()).sum();
    vec![format!(
        "What was measured until then is shown: {} and {} over {}.",
        format::plural(view.levels.len() as u64, "level", "levels"),
        format::plural(attempts, "attempt", "attempts"),
        format::duration(view.elapsed)
    )]
}

fn invalid(verdict: &Verdict) -> Vec<String> {
    let mut sentences = vec![
        "The numbers below are shown so that the cause can be found; they carry no verdict."
            .to_owned(),
    ];
    let failed = verdict
        .gates
        .iter()
        .filter(|gate| gate.state == GateState::Fail);
    sentences.extend(failed.map(|gate| {
        let note = if gate.note.is_empty() {
            &gate.compared
        } else {
            &gate.note
        };
        format!("Gate {}: {}", gate.id.number(), sentence(note))
    }));
    sentences.truncate(4);
    sentences
}

fn between(view: &View, verdict: &Verdict) -> Option<String> {
    let capacity = verdict.found.capacity()?;
    match (capacity.lower, capacity.upper) {
        (Some(lower), Some(upper)) => Some(format!(
            "The limit lies between {} and {}.",
            format::number(lower),
            view.varied.text(upper)
        )),
        (Some(lower), None) => Some(format!(
            "{} is the highest {} that was offered; every level up to it held.",
            view.varied.text(lower),
            view.varied.singular()
        )),
        _ => None,
    }
}

fn held(view: &View, verdict: &Verdict) -> Option<String> {
    let level = view.deciding_level()?;
    verdict.found.capacity()?;
    let good = 1.0 - level.not_good_ratio()?;
    let bounds = view.record.header.test.objectives()?.bounds();
    let within = match bounds.as_slice() {
        [] => String::new(),
        [bound] => format!(" within {}", format::bound(*bound)),
        _ => " within every bound".to_owned(),
    };
    Some(format!(
        "At {}, {} of attempts were correct{within} and {} failed, for {}.",
        level.name(),
        format::percent(good),
        format::percent(level.failed_ratio()?),
        format::seconds(
            verdict
                .found
                .soak_seconds
                .unwrap_or_else(|| level.judged.as_secs_f64().round())
        )
    ))
}

fn gives_way(verdict: &Verdict) -> Option<String> {
    let limit = verdict.limit.as_ref()?;
    let sure = match (limit.cause, limit.confidence) {
        (Cause::NotReached, _) => return None,
        (Cause::Unknown, _) | (_, Confidence::Unknown) => {
            return Some("What gives way first is unknown.".to_owned());
        }
        (_, Confidence::Suspected) => " (suspected)",
        (_, Confidence::Supported | Confidence::Confirmed) => "",
    };
    let place = limit.process.as_deref().or(limit.tier.as_deref());
    let place = place.map_or(String::new(), |place| format!(", {place}"));
    let noun = limit.cause.noun();
    Some(format!("What gives way first is {noun}{place}{sure}."))
}

fn stalls(verdict: &Verdict) -> Option<String> {
    let stalls = verdict.found.rare_stalls?;
    Some(format!(
        "Rare stalls set the limit, about one in {}: it says how often the service stalls, not how fast it is.",
        format::seconds(stalls.interval_seconds)
    ))
}

fn run_in_numbers(view: &View, verdict: &Verdict) -> String {
    let within = if view.objective().is_some() {
        "good"
    } else {
        "correct"
    };
    format!(
        "{} over {}: {} {within}, {} in flight on average; the p50 is {} and the p99 {}.",
        format::plural(verdict.attempts_count, "attempt", "attempts"),
        format::seconds(verdict.duration_seconds),
        format::rate(verdict.goodput_per_s),
        format::number(verdict.in_flight_mean),
        format::quantile(verdict.response_time_ns.p50),
        format::quantile(verdict.response_time_ns.p99)
    )
}

fn kinds_of_failure(verdict: &Verdict) -> Option<String> {
    let kinds: Vec<String> = verdict
        .outcomes
        .iter()
        .filter(|(outcome, n)| outcome.is_failure() && **n > 0)
        .map(|(outcome, n)| format!("{}{}{}", format::count(*n), format::NBSP, outcome.name()))
        .collect();
    (!kinds.is_empty()).then(|| format!("Failed: {}.", format::list(&kinds)))
}

fn share(verdict: &Verdict, outcome: Outcome) -> f64 {
    let n = verdict.outcomes.get(&outcome).copied().unwrap_or(0);
    n as f64 / verdict.attempts_count.max(1) as f64
}

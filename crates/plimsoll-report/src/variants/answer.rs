//! The verdict of an experiment in a paragraph: who carries most, what fails, what gives way, and how sure that is.

use plimsoll_core::experiment::{Carrier, Judged, Lead, Measure, Trouble, Variant, VariantMeaning};
use plimsoll_core::verdict::{Cause, Confidence};

use super::words;
use crate::format::{self, quoted};
use crate::view::{sentence, unbroken};

/// One sentence, what was found beside it, and what it is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) headline: String,
    pub(crate) findings: Vec<String>,
    pub(crate) caveats: Vec<String>,
}

impl Answer {
    pub(crate) fn new(experiment: &Judged<'_>) -> Self {
        let (mut findings, mut caveats) = (Vec::new(), Vec::new());
        if !experiment.meaning.ranking.is_empty() {
            findings.extend(failing(experiment));
            findings.extend(giving_way(experiment));
            findings.extend(predicted(experiment));
            caveats.push(replication(experiment));
            caveats.extend(others(experiment));
            caveats.extend(several_changes(experiment));
            caveats.extend(generator(experiment));
        }
        caveats.extend(not_valid(experiment));
        Self {
            headline: headline(experiment),
            findings,
            caveats,
        }
    }

    /// All of it.
    pub(crate) fn paragraph(&self) -> String {
        format!("{} {}", self.headline, self.rest())
    }

    /// All but the headline.
    pub(crate) fn rest(&self) -> String {
        let all: Vec<&str> = self
            .findings
            .iter()
            .chain(&self.caveats)
            .map(String::as_str)
            .collect();
        all.join(" ")
    }
}

/// Variants with a valid run, the one that carries most first.
fn ranked<'j, 'a>(
    experiment: &'j Judged<'a>,
) -> impl Iterator<Item = (&'j Variant<'a>, &'j VariantMeaning)> {
    let places = experiment.meaning.ranking.iter();
    places.filter_map(|place| experiment.variants().nth(*place))
}

fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(quoted).collect();
    format::list(&names)
}

fn headline(experiment: &Judged<'_>) -> String {
    let unit = match experiment.meaning.measure {
        Measure::Capacity => "requests per second at the objective",
        Measure::Goodput => "good answers per second",
    };
    let carries = |carrier: &Carrier| {
        let name = quoted(experiment.name(carrier.variant));
        (name, format!("{} {unit}", format::number(carrier.per_s)))
    };
    let lead = &experiment.meaning.lead;
    let but = but_fails(experiment, lead.leaders());
    match lead {
        Lead::Nobody => "No verdict: no run is valid.".to_owned(),
        Lead::Alone { leader, has_others } => {
            let (name, amount) = carries(leader);
            let rest = if *has_others {
                "; no other variant has a valid run to compare it with"
            } else {
                ""
            };
            format!("{name} carries {amount}{rest}.")
        }
        Lead::One { leader, ahead } => {
            let (name, amount) = carries(leader);
            let ahead = ahead.as_ref().map_or(String::new(), |difference| {
                format!(", {}", words::on_base(experiment, difference))
            });
            format!("{name} carries the most: {amount}{ahead}{but}.")
        }
        Lead::Tie(leaders) => {
            let names = listed(leaders.iter().map(|one| experiment.name(one.variant)));
            let (least, most) = (leaders.last(), leaders.first());
            format!(
                "{names} carry the most, {} to {}, and nothing measured tells them apart{but}.",
                least.map_or(String::new(), |one| format::number(one.per_s)),
                most.map_or(String::new(), |one| carries(one).1)
            )
        }
    }
}

/// Whoever carries most and fails must not be read as the better one.
fn but_fails(experiment: &Judged<'_>, leaders: &[Carrier]) -> String {
    let fails: Vec<String> = leaders
        .iter()
        .filter_map(|leader| experiment.variants().nth(leader.variant))
        .filter(|(_, meaning)| meaning.is_failing)
        .filter_map(|(variant, meaning)| Some((variant.name, meaning.failed_ratio.median?)))
        .map(|(name, failed)| {
            let share = format::percent(failed);
            format!("{share} of the attempts of {} fail", quoted(name))
        })
        .collect();
    if fails.is_empty() {
        String::new()
    } else {
        format!(", but {}", format::list(&fails))
    }
}

/// Throughput and goodput told apart, and failures by kind.
fn failing(experiment: &Judged<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let (mut clean, mut most) = (Vec::new(), 0.0_f64);
    for (variant, meaning) in ranked(experiment) {
        if let Some(found) = &meaning.trouble {
            sentences.push(trouble(variant.name, found));
        } else {
            clean.push(variant.name);
            most = most.max(meaning.failed_ratio.median.unwrap_or_default());
        }
    }
    if !clean.is_empty() {
        let names = listed(clean);
        sentences.push(if most == 0.0 {
            format!("No attempt of {names} fails.")
        } else {
            let share = format::percent(most);
            format!("At most {share} of the attempts of {names} fail.")
        });
    }
    sentences
}

/// `‘2A’ answers 7,175/s, but only 1,341/s are correct and in time: 62 % of its attempts fail (eof 60 %).`
fn trouble(name: &str, trouble: &Trouble) -> String {
    let mut reasons = Vec::new();
    if !trouble.classes.is_empty() {
        let classes: Vec<String> = trouble
            .classes
            .iter()
            .map(|(outcome, share)| format!("{} {}", outcome.name(), format::percent(*share)))
            .collect();
        reasons.push(format!(
            "{} of its attempts fail ({})",
            format::percent(trouble.failed_ratio),
            classes.join(", ")
        ));
    }
    reasons.extend(trouble.accepted_per_s.map(|accepted| {
        let accepted = format::rate(accepted);
        format!("{accepted} are only accepted (202), not done")
    }));
    let late = trouble.late_per_s;
    reasons.extend(late.map(|late| format!("{} come too late", format::rate(late))));
    let (name, reasons) = (quoted(name), format::list(&reasons));
    let goodput = format::rate(trouble.goodput_per_s);
    if trouble.is_apart {
        let throughput = format::rate(trouble.throughput_per_s);
        format!(
            "{name} answers {throughput}, but only {goodput} are correct and in time: {reasons}."
        )
    } else {
        format!("{name} carries {goodput}, but {reasons}.")
    }
}

/// The first limits, variants with the same one together, in the order of the experiment.
fn giving_way(experiment: &Judged<'_>) -> Option<String> {
    let mut places: Vec<(String, Vec<&str>)> = Vec::new();
    for (variant, meaning) in ranked(experiment) {
        let text = match &meaning.limit {
            Some(claim) if claim.limit.cause.is_known() => {
                format!("{} ({})", words::limit(claim), words::sureness(claim))
            }
            Some(claim) if claim.limit.cause == Cause::NotReached => "nothing yet".to_owned(),
            _ => "not known".to_owned(),
        };
        match places.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(variant.name),
            None => places.push((text, vec![variant.name])),
        }
    }
    let parts: Vec<String> = places
        .into_iter()
        .map(|(place, names)| format!("in {} {place}", listed(names)))
        .collect();
    let tried = ranked(experiment).filter_map(|(variant, meaning)| {
        let claim = meaning.limit.as_ref()?;
        let word = if claim.confidence == Confidence::Confirmed {
            "Confirmed"
        } else {
            "Not confirmed"
        };
        let text = unbroken(claim.limit.experiment()?);
        Some(format!(" {word} for {}: {text}.", quoted(variant.name)))
    });
    let confirmed: String = tried.collect();
    (!parts.is_empty()).then(|| format!("What gives way first: {}.{confirmed}", parts.join("; ")))
}

fn predicted(experiment: &Judged<'_>) -> Option<String> {
    let parts: Vec<String> = experiment
        .variants()
        .filter(|(_, meaning)| meaning.is_valid)
        .filter_map(|(variant, meaning)| {
            let foreseen = words::prediction(meaning.foreseen.as_ref()?);
            Some(format!("{} {foreseen}", quoted(variant.name)))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("Predicted before it was measured: {}.", parts.join("; ")))
}

/// What a difference is worth.
fn replication(experiment: &Judged<'_>) -> String {
    let replication = experiment.meaning.replication;
    if replication.is_single() {
        return "Each variant ran once, so no difference has an interval.".to_owned();
    }
    let runs = format::plural(
        replication.runs_count,
        "interleaved run",
        "interleaved runs",
    );
    replication.runs_needed.map_or_else(
        || format!("Figures are medians of {runs}."),
        |needed| {
            format!(
                "Figures are medians of {runs}; that is too few to make a difference certain, which takes {needed}."
            )
        },
    )
}

/// Every variant against its base, but for the one of which the headline says it.
fn others(experiment: &Judged<'_>) -> Option<String> {
    let named = match &experiment.meaning.lead {
        Lead::Alone { leader, .. } | Lead::One { leader, .. } => Some(leader.variant),
        Lead::Nobody | Lead::Tie(_) => None,
    };
    let parts: Vec<String> = experiment
        .variants()
        .enumerate()
        .filter(|(place, _)| Some(*place) != named)
        .filter_map(|(_, (variant, meaning))| {
            let difference = words::on_base(experiment, meaning.on_base.as_ref()?);
            Some(format!("{} {difference}", quoted(variant.name)))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("Goodput against its base: {}.", format::list(&parts)))
}

fn several_changes(experiment: &Judged<'_>) -> Option<String> {
    let parts: Vec<String> = experiment
        .variants()
        .filter(|(_, meaning)| meaning.has_several_changes)
        .filter_map(|(variant, _)| Some(listed([variant.name, variant.base?])))
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Between {} more than one thing differs, so the difference cannot be put down to one of them.",
            parts.join(", and between ")
        )
    })
}

/// Where our own thread was full, the service was not asked for all it has.
fn generator(experiment: &Judged<'_>) -> Option<String> {
    let warned: Vec<&str> = ranked(experiment)
        .filter(|(_, meaning)| meaning.generator_warns)
        .map(|(variant, _)| variant.name)
        .collect();
    (!warned.is_empty()).then(|| {
        format!(
            "The load generator was near its own limit with {} (gate 6): what is said of it is a lower bound.",
            listed(warned)
        )
    })
}

fn not_valid(experiment: &Judged<'_>) -> Option<String> {
    let mut parts = Vec::new();
    for (variant, meaning) in experiment.variants() {
        let Some(runs) = &meaning.invalid else {
            continue;
        };
        let name = quoted(variant.name);
        parts.push(if meaning.is_valid {
            let are = if runs.invalid_count == 1 { "is" } else { "are" };
            format!(
                "{} of {} of {name} {are} not valid and not used",
                runs.invalid_count,
                format::plural(runs.runs_count, "run", "runs")
            )
        } else {
            format!("{name} has no valid run, so nothing is claimed of it")
        });
    }
    (!parts.is_empty()).then(|| sentence(&parts.join("; ")))
}

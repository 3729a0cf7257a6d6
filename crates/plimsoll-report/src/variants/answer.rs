//! The verdict of an experiment in a paragraph: who carries most, what fails, what gives way, and how sure that is.

use plimsoll_core::experiment::{
    Carrier, Judged, Lead, Measure, Replication, Trouble, Variant, VariantMeaning,
};
use plimsoll_core::verdict::{Cause, Confidence};

use super::words::{self, Words};
use crate::format::{self, quoted};
use crate::view::{sentence, unbroken};

/// One sentence, what was found beside it, and what it is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) headline: String,
    pub(crate) findings: Vec<String>,
    pub(crate) caveats: Vec<String>,
}

/// A variant with what its runs say and the words for it.
type One<'j> = (&'j Variant<'j>, &'j VariantMeaning, &'j Words);

impl Answer {
    pub(super) fn new(judged: &Judged<'_>, words: &[Words]) -> Self {
        let all: Vec<One<'_>> = judged
            .variants()
            .zip(words)
            .map(|((variant, meaning), words)| (variant, meaning, words))
            .collect();
        let places = judged.meaning.ranking.iter();
        let ranked: Vec<One<'_>> = places.filter_map(|at| all.get(*at).copied()).collect();
        let (mut findings, mut caveats) = (Vec::new(), Vec::new());
        if !ranked.is_empty() {
            findings.extend(failing(&ranked));
            findings.extend(giving_way(&ranked));
            findings.extend(predicted(&all));
            caveats.push(replication(judged.meaning.replication));
            caveats.extend(others(&all, &judged.meaning.lead));
            caveats.extend(several_changes(&all));
            caveats.extend(generator(&ranked));
        }
        caveats.extend(not_valid(&all));
        let clean = |texts: Vec<String>| texts.iter().map(|text| format::clean(text)).collect();
        Self {
            headline: format::clean(&headline(judged, &all)),
            findings: clean(findings),
            caveats: clean(caveats),
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

fn listed<'n>(all: impl IntoIterator<Item = &'n One<'n>>) -> String {
    let names: Vec<String> = all
        .into_iter()
        .map(|(.., words)| words.name.clone())
        .collect();
    format::list(&names)
}

fn headline(judged: &Judged<'_>, all: &[One<'_>]) -> String {
    let unit = match judged.meaning.measure {
        Measure::Capacity => "requests per second at the objective",
        Measure::Goodput => "good answers per second",
    };
    let amount = |carrier: &Carrier| format!("{} {unit}", format::number(carrier.per_s));
    let lead = &judged.meaning.lead;
    let leaders = lead.leaders().iter();
    let leaders: Vec<One<'_>> = leaders
        .filter_map(|one| all.get(one.variant).copied())
        .collect();
    let (names, but) = (listed(&leaders), but_fails(&leaders));
    match lead {
        Lead::Nobody => "No verdict: no run is valid.".to_owned(),
        Lead::Alone { leader, has_others } => {
            let rest = if *has_others {
                "; no other variant has a valid run to compare it with"
            } else {
                ""
            };
            format!("{names} carries {}{rest}.", amount(leader))
        }
        Lead::One { leader, ahead } => {
            let ahead = ahead.as_ref().map_or(String::new(), |by| {
                format!(", {}", words::difference(by, judged.name(by.over)))
            });
            format!("{names} carries the most: {}{ahead}{but}.", amount(leader))
        }
        Lead::Tie(leaders) => {
            let (least, most) = (leaders.last(), leaders.first());
            format!(
                "{names} carry the most, {} to {}, and nothing measured tells them apart{but}.",
                least.map_or(String::new(), |one| format::number(one.per_s)),
                most.map_or(String::new(), amount)
            )
        }
    }
}

/// Whoever carries most and fails must not be read as the better one.
fn but_fails(leaders: &[One<'_>]) -> String {
    let failing = leaders.iter().filter(|(_, meaning, _)| meaning.is_failing);
    let fails: Vec<String> = failing
        .filter_map(|(_, meaning, words)| {
            let share = format::percent(meaning.failed_ratio.median?);
            Some(format!("{share} of the attempts of {} fail", words.name))
        })
        .collect();
    if fails.is_empty() {
        String::new()
    } else {
        format!(", but {}", format::list(&fails))
    }
}

/// Throughput and goodput told apart, and failures by kind.
fn failing(ranked: &[One<'_>]) -> Vec<String> {
    let (troubled, clean): (Vec<One<'_>>, Vec<One<'_>>) = ranked
        .iter()
        .partition(|(_, meaning, _)| meaning.trouble.is_some());
    let mut sentences: Vec<String> = troubled
        .iter()
        .filter_map(|(_, meaning, words)| Some(trouble(&words.name, meaning.trouble.as_ref()?)))
        .collect();
    if !clean.is_empty() {
        let failed = clean.iter().filter_map(|(_, it, _)| it.failed_ratio.median);
        let most = failed.fold(0.0, f64::max);
        let names = listed(&clean);
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
    let reasons = format::list(&reasons);
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

/// The first limits, variants with the same one together, in the order of what they carry.
fn giving_way(ranked: &[One<'_>]) -> Option<String> {
    let mut places: Vec<(String, Vec<One<'_>>)> = Vec::new();
    for one @ (_, meaning, words) in ranked {
        let text = match (&meaning.limits.first, &words.limit) {
            (Some(claim), Some(limit)) if claim.limit.cause.is_known() => {
                format!("{limit} ({})", words::sureness(claim))
            }
            (Some(claim), _) if claim.limit.cause == Cause::NotReached => "nothing yet".to_owned(),
            _ => "not known".to_owned(),
        };
        match places.iter_mut().find(|(known, _)| *known == text) {
            Some((_, variants)) => variants.push(*one),
            None => places.push((text, vec![*one])),
        }
    }
    let parts: Vec<String> = places
        .iter()
        .map(|(place, variants)| format!("in {} {place}", listed(variants)))
        .collect();
    let tried = ranked.iter().filter_map(|(_, meaning, words)| {
        let claim = meaning.limits.first.as_ref()?;
        let word = if claim.confidence == Confidence::Confirmed {
            "Confirmed"
        } else {
            "Not confirmed"
        };
        let text = unbroken(claim.limit.experiment()?);
        Some(format!(" {word} for {}: {text}.", words.name))
    });
    let confirmed: String = tried.collect();
    (!parts.is_empty()).then(|| format!("What gives way first: {}.{confirmed}", parts.join("; ")))
}

fn predicted(all: &[One<'_>]) -> Option<String> {
    let valid = all.iter().filter(|(_, meaning, _)| meaning.is_valid);
    let parts: Vec<String> = valid
        .filter_map(|(.., words)| Some(format!("{} {}", words.name, words.prediction.as_ref()?)))
        .collect();
    (!parts.is_empty()).then(|| format!("Predicted before it was measured: {}.", parts.join("; ")))
}

/// What a difference is worth.
fn replication(replication: Replication) -> String {
    if replication.is_single() {
        return "Each variant ran once, so no difference has an interval.".to_owned();
    }
    let runs = format::plural(
        replication.runs_count,
        "interleaved run",
        "interleaved runs",
    );
    let needed = replication.runs_needed.map_or(String::new(), |needed| {
        format!("; that is too few to make a difference certain, which takes {needed}")
    });
    format!("Figures are medians of {runs}{needed}.")
}

/// Every variant against its base, but for the one of which the headline says it.
fn others(all: &[One<'_>], lead: &Lead) -> Option<String> {
    let named = match lead {
        Lead::Alone { leader, .. } | Lead::One { leader, .. } => Some(leader.variant),
        Lead::Nobody | Lead::Tie(_) => None,
    };
    let others = all.iter().enumerate();
    let others = others.filter(|(place, _)| Some(*place) != named);
    let parts: Vec<String> = others
        .filter_map(|(_, (.., words))| Some(format!("{} {}", words.name, words.on_base.as_ref()?)))
        .collect();
    (!parts.is_empty()).then(|| format!("Goodput against its base: {}.", format::list(&parts)))
}

fn several_changes(all: &[One<'_>]) -> Option<String> {
    let several = all
        .iter()
        .filter(|(_, meaning, _)| meaning.has_several_changes);
    let parts: Vec<String> = several
        .filter_map(|(variant, _, words)| {
            Some(format!("{} and {}", words.name, quoted(variant.base?)))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Between {} more than one thing differs, so the difference cannot be put down to one of them.",
            parts.join(", and between ")
        )
    })
}

/// Where our own thread was full, the service was not asked for all it has.
fn generator(ranked: &[One<'_>]) -> Option<String> {
    let warned = ranked.iter().filter(|(_, it, _)| it.generator_warns);
    let warned: Vec<One<'_>> = warned.copied().collect();
    (!warned.is_empty()).then(|| {
        format!(
            "The load generator was near its own limit with {} (gate 6): it may carry more than is said here.",
            listed(&warned)
        )
    })
}

fn not_valid(all: &[One<'_>]) -> Option<String> {
    let mut parts = Vec::new();
    for (_, meaning, words) in all {
        let Some(runs) = &meaning.invalid else {
            continue;
        };
        let name = &words.name;
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

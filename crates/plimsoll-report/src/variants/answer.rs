//! The verdict of an experiment in at most four sentences: who carried most, what failed, what gave way, what that is worth.
//!
//! Its subjects are what the variants are (`about`), not the keys of their file; past tense, so that one server and two
//! servers take the same verb.

use plimsoll_core::experiment::{
    Carrier, Difference, Judged, Lead, Measure, Replication, Trouble, Variant, VariantMeaning,
};
use plimsoll_core::verdict::{Cause, Confidence};

use super::words::{self, Words};
use crate::format;
use crate::view::{comparison as figures, sentence, unbroken};

/// One sentence, what was found beside it, what it is worth, and what else there is to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) headline: String,
    pub(crate) findings: Vec<String>,
    pub(crate) caveats: Vec<String>,
    /// Beside the verdict, each a line of its own.
    pub(crate) notes: Vec<String>,
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
        let (mut findings, mut caveats, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        if !ranked.is_empty() {
            findings.extend(failing(&ranked, &leaders(judged, &all)));
            findings.extend(giving_way(&ranked));
            caveats.push(replication(judged.meaning.replication));
            notes.extend(tried(&ranked));
            notes.extend(predicted(&all));
            notes.extend(generator(&ranked));
        }
        let clean = |texts: Vec<String>| texts.iter().map(|text| format::clean(text)).collect();
        Self {
            headline: format::clean(&headline(judged, &all)),
            findings: clean(findings),
            caveats: clean(caveats),
            notes: clean(notes),
        }
    }

    /// All of the verdict.
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

/// What they are: `one server and two servers behind a proxy`.
fn subjects<'n>(all: impl IntoIterator<Item = &'n One<'n>>) -> String {
    /// More are counted: who they are says the table.
    const NAMED: usize = 3;
    let all = all.into_iter().map(|(.., words)| words.subject.clone());
    let mut subjects: Vec<String> = all.collect();
    if subjects.len() > NAMED {
        let others = subjects.len() - (NAMED - 1);
        subjects.truncate(NAMED - 1);
        subjects.push(format!("{others} others"));
    }
    format::list(&subjects)
}

fn listed<'n>(all: impl IntoIterator<Item = &'n One<'n>>) -> String {
    let names: Vec<String> = all
        .into_iter()
        .map(|(.., words)| words.name.clone())
        .collect();
    format::list(&names)
}

/// Whoever carried most.
fn leaders<'j>(judged: &Judged<'_>, all: &[One<'j>]) -> Vec<One<'j>> {
    let leaders = judged.meaning.lead.leaders().iter();
    leaders
        .filter_map(|one| all.get(one.variant).copied())
        .collect()
}

fn headline(judged: &Judged<'_>, all: &[One<'_>]) -> String {
    let mut records = judged.experiment.variants.iter().flat_map(Variant::shown);
    let is_workload = records.all(|run| run.record.header.test.workload().is_some());
    let unit = match judged.meaning.measure {
        Measure::Capacity if is_workload => "operations per second at the objective",
        Measure::Capacity => "requests per second at the objective",
        Measure::Goodput => "good answers per second",
    };
    let amount = |carrier: &Carrier| format!("{} {unit}", format::number(carrier.per_s));
    let leaders = leaders(judged, all);
    let (who, but) = (subjects(&leaders), but_failed(&leaders));
    sentence(&match &judged.meaning.lead {
        Lead::Nobody => "No verdict: no run is valid".to_owned(),
        Lead::Alone { leader, has_others } => {
            let rest = if *has_others {
                "; no other variant has a valid run to compare it with"
            } else {
                ""
            };
            format!("{who} carried {}{but}{rest}", amount(leader))
        }
        Lead::One { leader, ahead } => {
            let over = ahead.as_ref().and_then(|by| Some((by, all.get(by.over)?)));
            let ahead = over.map_or(String::new(), |(by, (.., over))| {
                format!(", {}", more_than(by, &over.subject))
            });
            format!("{who} carried the most: {}{ahead}{but}", amount(leader))
        }
        Lead::Tie(tied) => {
            let (least, most) = (tied.last(), tied.first());
            format!(
                "{who} carried the most, {} to {}, and nothing measured tells them apart{but}",
                least.map_or(String::new(), |one| format::number(one.per_s)),
                most.map_or(String::new(), amount)
            )
        }
    })
}

/// `80 % more than one server (95 % interval +77 to +83 %)`
fn more_than(by: &Difference, over: &str) -> String {
    let change = figures::change(by.scale, by.estimate);
    let more = match change.strip_prefix('+') {
        Some(more) => format!("{more} more than {over}"),
        None => format!("{change} against {over}"),
    };
    let Some(tested) = by.tested else {
        return more;
    };
    let word = tested.standing.word();
    if tested.interval.is_none() {
        return format!("{more} ({word})");
    }
    let range = figures::range(by.scale, tested.interval);
    format!("{more} ({word}, 95{}% interval {range})", format::NBSP)
}

/// Whoever carried most and failed must not be read as the better one.
fn but_failed(leaders: &[One<'_>]) -> String {
    let failing = leaders.iter().filter(|(_, meaning, _)| meaning.is_failing);
    let alone = leaders.len() == 1;
    let failed: Vec<String> = failing
        .filter_map(|(_, meaning, words)| {
            let share = format::percent(meaning.failed_ratio.median?);
            let whose = if alone {
                format!("{share} of its attempts failed")
            } else {
                format!("{share} of the attempts of {} failed", words.subject)
            };
            let only = only_failures(meaning).map(|kinds| format!(" ({kinds})"));
            Some(whose + &only.unwrap_or_default())
        })
        .collect();
    if failed.is_empty() {
        String::new()
    } else {
        format!(", but {}", format::list(&failed))
    }
}

/// Failures by kind, where they are all that is wrong with a variant: the headline says them of whoever carried most.
fn only_failures(meaning: &VariantMeaning) -> Option<String> {
    let trouble = meaning.trouble.as_ref().filter(|_| meaning.is_failing)?;
    let is_more =
        trouble.is_apart || trouble.accepted_per_s.is_some() || trouble.late_per_s.is_some();
    (!is_more && !trouble.classes.is_empty()).then(|| kinds(trouble))
}

/// `eof 60 %, reset 2.1 %`
fn kinds(trouble: &Trouble) -> String {
    let kinds = trouble.classes.iter();
    let kinds =
        kinds.map(|(outcome, share)| format!("{} {}", outcome.name(), format::percent(*share)));
    kinds.collect::<Vec<_>>().join(", ")
}

/// Throughput and goodput told apart, and failures by kind: one sentence, the worst first, of all that the headline does not say.
fn failing(ranked: &[One<'_>], leaders: &[One<'_>]) -> Option<String> {
    let is_said = |one: &One<'_>| {
        let leads = leaders.iter().any(|leader| std::ptr::eq(leader.1, one.1));
        leads && only_failures(one.1).is_some()
    };
    let (mut troubled, clean): (Vec<One<'_>>, Vec<One<'_>>) = ranked
        .iter()
        .filter(|one| !is_said(one))
        .partition(|(_, meaning, _)| meaning.trouble.is_some());
    let failed = |one: &One<'_>| one.1.failed_ratio.median.unwrap_or(0.0);
    troubled.sort_by(|a, b| failed(b).total_cmp(&failed(a)));
    let mut parts: Vec<String> = troubled
        .iter()
        .filter_map(|(_, meaning, words)| Some(trouble(&words.subject, meaning.trouble.as_ref()?)))
        .collect();
    if !clean.is_empty() {
        let most = clean.iter().map(failed).fold(0.0, f64::max);
        let whose = if clean.len() == ranked.len() {
            String::new()
        } else {
            format!(" of {}", subjects(&clean))
        };
        parts.push(if most == 0.0 {
            format!("no attempt{whose} failed")
        } else {
            format!(
                "at most {} of the attempts{whose} failed",
                format::percent(most)
            )
        });
    }
    (!parts.is_empty()).then(|| sentence(&parts.join("; ")))
}

/// `two servers answered 7,175/s, of which 1,341/s were correct and in time: 62 % of the attempts failed (eof 60 %)`
fn trouble(subject: &str, trouble: &Trouble) -> String {
    let mut reasons = Vec::new();
    if !trouble.classes.is_empty() {
        reasons.push(format!(
            "{} of the attempts failed ({})",
            format::percent(trouble.failed_ratio),
            kinds(trouble)
        ));
    }
    reasons.extend(trouble.accepted_per_s.map(|accepted| {
        let accepted = format::rate(accepted);
        format!("{accepted} were only accepted (202), not done")
    }));
    let late = trouble.late_per_s;
    reasons.extend(late.map(|late| format!("{} came too late", format::rate(late))));
    let reasons = format::list(&reasons);
    let goodput = format::rate(trouble.goodput_per_s);
    if trouble.is_apart {
        let throughput = format::rate(trouble.throughput_per_s);
        format!(
            "{subject} answered {throughput}, of which {goodput} were correct and in time: {reasons}"
        )
    } else {
        format!("{subject} carried {goodput}, but {reasons}")
    }
}

/// The first limits, variants with the same one together, in the order of what they carried.
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
    match &places[..] {
        [] => None,
        [(place, only)] if only.len() > 1 => {
            Some(format!("What gave way first in all of them: {place}."))
        }
        _ => {
            let part =
                |(place, of): &(String, Vec<One<'_>>)| format!("{place} in {}", subjects(of));
            let parts: Vec<String> = places.iter().map(part).collect();
            Some(format!("What gave way first: {}.", parts.join("; ")))
        }
    }
}

/// What an experiment of its own showed of a limit.
fn tried(ranked: &[One<'_>]) -> Vec<String> {
    let of_one = |(_, meaning, words): &One<'_>| {
        let claim = meaning.limits.first.as_ref()?;
        let word = if claim.confidence == Confidence::Confirmed {
            "Confirmed"
        } else {
            "Not confirmed"
        };
        let text = unbroken(claim.limit.experiment()?);
        Some(format!("{word} for {}: {text}.", words.name))
    };
    ranked.iter().filter_map(of_one).collect()
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

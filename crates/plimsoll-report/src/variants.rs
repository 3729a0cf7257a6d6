//! Variants of an experiment side by side: one reading of their runs, as text, Markdown, JSON and HTML.

mod after;
mod capacity;
mod cell;
mod document;
mod limits;
pub(crate) mod load_line;
pub(crate) mod rows;
mod text;
pub(crate) mod tiers;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::Outcome;
use plimsoll_core::comparison::{Comparison, Contrast};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{GateState, Limit, Verdict};
use serde_json::Value;

use crate::format;

pub(crate) use capacity::Capacity;
pub(crate) use load_line::LoadLines;
pub(crate) use verdict::Answer;

/// What is compared.
#[derive(Debug)]
pub struct Experiment<'a> {
    pub title: &'a str,
    /// In the order of the experiment.
    pub variants: Vec<Variant<'a>>,
    /// What a reader has to know before believing anything else, as sentences.
    pub warnings: Vec<String>,
    /// Where the records are.
    pub folder: String,
    /// Every variant against its base over the runs, where there are several.
    pub comparison: Option<Comparison>,
    /// Path of the page, if one is written.
    pub report: Option<String>,
}

/// One variant with its runs.
#[derive(Debug)]
pub struct Variant<'a> {
    pub name: &'a str,
    pub about: &'a str,
    /// What it is compared with, and in what it differs from that.
    pub base: Option<&'a str>,
    pub changes: &'a [String],
    pub runs: Vec<Run<'a>>,
    /// What gives way first as the whole experiment sees it, shown instead of what each run says: confirmed,
    /// if another variant moved it with the predicted effect.
    pub limit: Option<Limit>,
    /// Worked out from its base's runs before it was measured.
    pub predicted: Option<Prediction>,
    /// It moves a suspected limit of its base to see what follows: it is shown, and never recommended.
    pub probe: bool,
}

/// What a variant should carry.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    pub per_s: f64,
    /// The variant whose runs it comes from.
    pub from: String,
    /// The arithmetic in one line.
    pub why: String,
}

#[derive(Debug)]
pub struct Run<'a> {
    /// Path of the record.
    pub path: String,
    pub record: &'a Record,
}

impl<'a> Experiment<'a> {
    /// `single run, no interval` or what the ranges are.
    pub(crate) fn replication(&self) -> String {
        match self.most_runs() {
            0 | 1 => "single run, no interval".to_owned(),
            most => format!(
                "median of {}, with the lowest and the highest",
                format::plural(most, "run", "runs")
            ),
        }
    }

    pub(crate) fn most_runs(&self) -> u64 {
        let counts = self
            .variants
            .iter()
            .map(|variant| variant.runs.len() as u64);
        counts.max().unwrap_or(0)
    }

    pub(crate) fn variant(&self, name: &str) -> Option<&Variant<'a>> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    pub(crate) fn base_of(&self, variant: &Variant<'_>) -> Option<&Variant<'a>> {
        variant.base.and_then(|base| self.variant(base))
    }

    /// The variant against its base in the figure that the experiment is decided by.
    pub(crate) fn contrast(&self, variant: &Variant<'_>) -> Option<&Contrast> {
        let base = variant.base?;
        let mut primaries = self.comparison.as_ref()?.primaries();
        primaries.find(|contrast| contrast.variant == variant.name && contrast.baseline == base)
    }

    /// The warnings, and those that follow from what the variants differ in and from their gates.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = self.warnings.clone();
        for variant in &self.variants {
            if let (Some(base), true) = (variant.base, variant.changes.len() > 1) {
                remarks.push(format!(
                    "{} differs from {base} in {} things ({}): a difference between them cannot be put down to one of these",
                    variant.name,
                    variant.changes.len(),
                    variant.changes.join("; ")
                ));
            }
            remarks.extend(variant.invalid());
        }
        remarks
    }

    /// Failures that occurred anywhere.
    pub(crate) fn failures(&self) -> Vec<Outcome> {
        let occurred = |outcome: &Outcome| {
            let mut verdicts = self.variants.iter().flat_map(Variant::verdicts);
            verdicts.any(|verdict| share(verdict, *outcome) > 0.0)
        };
        let failures = Outcome::ALL
            .into_iter()
            .filter(|outcome| outcome.is_failure());
        failures.filter(occurred).collect()
    }
}

impl<'a> Variant<'a> {
    /// The runs whose figures are shown: the valid ones; all of them where none is.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Run<'a>> {
        let any_valid = self.is_valid();
        let of = move |run: &&Run<'a>| run.is_valid() || !any_valid && run.record.verdict.is_some();
        self.runs.iter().filter(of)
    }

    /// At least one run carries a verdict.
    pub(crate) fn is_valid(&self) -> bool {
        self.runs.iter().any(Run::is_valid)
    }

    pub(crate) fn verdicts(&self) -> impl Iterator<Item = &'a Verdict> {
        self.shown().filter_map(|run| run.record.verdict.as_ref())
    }

    pub(crate) fn median(&self, of: impl Fn(&Verdict) -> f64) -> Option<f64> {
        cell::spread(&self.figures(of)).median
    }

    pub(crate) fn figures(&self, of: impl Fn(&Verdict) -> f64) -> Vec<f64> {
        self.verdicts().map(of).collect()
    }

    /// How many runs carry no verdict, and which gates failed in them.
    fn invalid(&self) -> Option<String> {
        let invalid: Vec<&Run<'_>> = self.runs.iter().filter(|run| !run.is_valid()).collect();
        if invalid.is_empty() {
            return None;
        }
        let gates = invalid
            .iter()
            .filter_map(|run| run.record.verdict.as_ref())
            .flat_map(|verdict| &verdict.gates);
        let failed = gates.filter(|gate| gate.state == GateState::Fail);
        let named: BTreeSet<String> = failed
            .map(|gate| format!("gate {} {} ({})", gate.number, gate.name, gate.note))
            .collect();
        let mut named: Vec<String> = named.into_iter().collect();
        if named.is_empty() {
            named.push("interrupted, or not judged".to_owned());
        }
        let used = if self.is_valid() {
            "; the others are what is shown"
        } else {
            "; its figures are shown and carry no claim"
        };
        Some(format!(
            "{}: {} of {} carry no verdict: {}{used}",
            self.name,
            invalid.len(),
            format::plural(self.runs.len() as u64, "run", "runs"),
            named.join("; ")
        ))
    }

    /// Texts of all runs with how often each occurred, the most frequent first.
    fn said(&self, of: impl Fn(&Record, &Verdict) -> String) -> String {
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for record in self.shown().map(|run| run.record) {
            if let Some(verdict) = &record.verdict {
                *counted.entry(of(record, verdict)).or_default() += 1;
            }
        }
        let mut texts: Vec<(u64, String)> = counted.into_iter().map(|(t, n)| (n, t)).collect();
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
}

impl Run<'_> {
    pub(crate) fn is_valid(&self) -> bool {
        let verdict = self.record.verdict.as_ref();
        verdict.is_some_and(|verdict| verdict.valid)
    }
}

/// Failed attempts as a share of all.
pub(crate) fn failed_ratio(verdict: &Verdict) -> f64 {
    let failures = verdict
        .outcomes
        .iter()
        .filter(|(outcome, _)| outcome.is_failure());
    ratio(
        failures.map(|(_, count)| count).sum(),
        verdict.attempts_count,
    )
}

pub(crate) fn share(verdict: &Verdict, outcome: Outcome) -> f64 {
    let count = verdict.outcomes.get(&outcome).copied().unwrap_or(0);
    ratio(count, verdict.attempts_count)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// The verdict and the table for a terminal.
pub fn text(experiment: &Experiment<'_>, columns: usize) -> String {
    text::table(experiment, columns)
}

/// The same for a pull request.
pub fn markdown(experiment: &Experiment<'_>) -> String {
    text::markdown(experiment)
}

/// One document: the verdict, for each variant the spread of its figures, and the summary of every run.
pub fn document(experiment: &Experiment<'_>) -> Value {
    document::of(experiment)
}

/// The page of the experiment; `version` is the program's that made it.
pub fn html(experiment: &Experiment<'_>, version: &str) -> String {
    crate::html::experiment(experiment, version)
}

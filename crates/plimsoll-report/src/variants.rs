//! Variants of an experiment side by side: one reading of their runs, as text, Markdown and JSON.

mod cell;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::Outcome;
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{GateState, Limit, Verdict};
use serde_json::{Value, json};

use crate::format;
use crate::json;
use crate::view::{GateTally, cause_words, confidence_word};
use cell::{Spread, spread, times};

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

impl Experiment<'_> {
    /// `single run, no interval` or what the ranges are.
    fn replication(&self) -> String {
        let counts = self
            .variants
            .iter()
            .map(|variant| variant.runs.len() as u64);
        match counts.max().unwrap_or(0) {
            0 | 1 => "single run, no interval".to_owned(),
            most => format!(
                "median of {}, with the lowest and the highest",
                format::plural(most, "run", "runs")
            ),
        }
    }

    /// The warnings, and those that follow from what the variants differ in and from their gates.
    fn remarks(&self) -> Vec<String> {
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

    /// The rows of the table: a name, and a cell for each variant.
    fn rows(&self) -> Vec<(String, Vec<String>)> {
        let mut rows = Vec::new();
        let mut row = |name: &str, cell: &dyn Fn(&Variant<'_>) -> String| {
            let cells: Vec<String> = self.variants.iter().map(cell).collect();
            rows.push((name.to_owned(), cells));
        };
        row("goodput", &|v| {
            spread(&v.figures(|f| f.goodput_per_s)).text(format::rate)
        });
        row("throughput", &|v| {
            spread(&v.figures(|f| f.throughput_per_s)).text(format::rate)
        });
        row("offered", &|v| {
            spread(&v.figures(|f| f.offered_per_s)).text(format::rate)
        });
        row("failed", &|v| {
            spread(&v.figures(failed_ratio)).text(format::percent)
        });
        for outcome in self.failures() {
            row(&format!("  {}", outcome.name()), &|v| {
                let share = v.figures(|f| share(f, outcome));
                spread(&share).text(format::percent)
            });
        }
        row("p50", &|v| {
            times(v.verdicts().map(|f| f.response_time_ns.p50))
        });
        row("p95", &|v| {
            times(v.verdicts().map(|f| f.response_time_ns.p95))
        });
        row("p99", &|v| {
            times(v.verdicts().map(|f| f.response_time_ns.p99))
        });
        if self
            .variants
            .iter()
            .any(|v| v.verdicts().any(|f| !f.objectives.is_empty()))
        {
            row("objectives", &|v| v.objectives());
        }
        row("gives way first", &|v| v.first_limit());
        row("then", &|v| v.next_limit());
        row("gates", &|v| v.gates());
        row("differs in", &|v| match (v.base, v.changes) {
            (None, _) => format::ABSENT.to_owned(),
            (Some(base), []) => format!("nothing from {base}"),
            (Some(_), changes) => changes.join("; "),
        });
        rows
    }

    /// Failures that occurred anywhere.
    fn failures(&self) -> Vec<Outcome> {
        let occurred = |outcome: &Outcome| {
            self.variants
                .iter()
                .flat_map(Variant::verdicts)
                .any(|verdict| {
                    verdict
                        .outcomes
                        .get(outcome)
                        .is_some_and(|count| *count > 0)
                })
        };
        let failures = Outcome::ALL
            .into_iter()
            .filter(|outcome| outcome.is_failure());
        failures.filter(occurred).collect()
    }
}

impl Variant<'_> {
    fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.runs
            .iter()
            .filter_map(|run| run.record.verdict.as_ref())
    }

    /// How many runs carry no verdict, and which gates failed in them.
    fn invalid(&self) -> Option<String> {
        let count = self.verdicts().filter(|verdict| !verdict.valid).count();
        if count == 0 {
            return None;
        }
        let gates = self.verdicts().flat_map(|verdict| &verdict.gates);
        let failed = gates.filter(|gate| gate.state == GateState::Fail);
        let named: BTreeSet<String> = failed
            .map(|gate| format!("gate {} {} ({})", gate.number, gate.name, gate.note))
            .collect();
        let named: Vec<String> = named.into_iter().collect();
        Some(format!(
            "{}: {count} of {} carry no verdict: {}",
            self.name,
            format::plural(self.runs.len() as u64, "run", "runs"),
            named.join("; ")
        ))
    }

    fn figures(&self, of: impl Fn(&Verdict) -> f64) -> Vec<f64> {
        self.verdicts().map(of).collect()
    }

    /// Texts of all runs with how often each occurred, the most frequent first.
    fn said(&self, of: impl Fn(&Verdict) -> String) -> String {
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for verdict in self.verdicts() {
            *counted.entry(of(verdict)).or_default() += 1;
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

    fn first_limit(&self) -> String {
        if let Some(limit) = &self.limit {
            return limit_words(limit);
        }
        self.said(|verdict| match &verdict.limit {
            Some(limit) => limit_words(limit),
            None => "not said: the run is not valid".to_owned(),
        })
    }

    fn next_limit(&self) -> String {
        self.said(|verdict| match &verdict.next_limit {
            Some(next) => format!("{} of {}", next.resource, next.tier),
            None => format::ABSENT.to_owned(),
        })
    }

    fn gates(&self) -> String {
        self.said(|verdict| GateTally::of(&verdict.gates).words())
    }

    fn objectives(&self) -> String {
        self.said(|verdict| {
            let parts: Vec<String> = verdict
                .objectives
                .iter()
                .map(|o| format!("{}: {:?}", o.clause, o.judgement).to_lowercase())
                .collect();
            parts.join(", ")
        })
    }
}

/// `connection slots of proxy, confirmed`
fn limit_words(limit: &Limit) -> String {
    let tier = limit.tier.as_deref();
    let tier = tier.map_or(String::new(), |tier| format!(" of {tier}"));
    let confidence = confidence_word(limit.confidence);
    format!("{}{tier}, {confidence}", cause_words(limit.cause))
}

fn failed_ratio(verdict: &Verdict) -> f64 {
    let failed = |outcome: &Outcome| outcome.is_failure();
    let failures: u64 = verdict
        .outcomes
        .iter()
        .filter(|(outcome, _)| failed(outcome))
        .map(|(_, count)| count)
        .sum();
    ratio(failures, verdict.attempts_count)
}

fn share(verdict: &Verdict, outcome: Outcome) -> f64 {
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

/// The table for a terminal.
pub fn text(experiment: &Experiment<'_>, columns: usize) -> String {
    text::table(experiment, columns)
}

/// The table for a pull request.
pub fn markdown(experiment: &Experiment<'_>) -> String {
    text::markdown(experiment)
}

/// One document: for each variant the spread of its figures, and the summary of every run.
pub fn document(experiment: &Experiment<'_>) -> Value {
    let variants: Vec<Value> = experiment.variants.iter().map(variant).collect();
    json!({
        "schema": "plimsoll.lab/1",
        "title": experiment.title,
        "replication": experiment.replication().replace(format::NBSP, " "),
        "warnings": experiment.remarks(),
        "variants": variants,
    })
}

fn variant(variant: &Variant<'_>) -> Value {
    let runs: Vec<Value> = variant
        .runs
        .iter()
        .map(|run| json!({ "record": run.path, "summary": json::document(run.record) }))
        .collect();
    let of = |figure: fn(&Verdict) -> f64| {
        let Spread { median, low, high } = spread(&variant.figures(figure));
        json!({ "median": median, "lowest": low, "highest": high })
    };
    json!({
        "name": variant.name,
        "about": variant.about,
        "base": variant.base,
        "changes": variant.changes,
        "limit": variant.limit,
        "goodput_per_s": of(|f| f.goodput_per_s),
        "throughput_per_s": of(|f| f.throughput_per_s),
        "failed_ratio": of(failed_ratio),
        "runs": runs,
    })
}

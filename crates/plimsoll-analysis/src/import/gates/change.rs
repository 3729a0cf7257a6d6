//! What a comparison with a baseline can carry: the same work, one change, the same state to begin from, repeats.

use std::fmt::Write as _;

use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Gate, GateId, GateState};

use super::{Declared, TOLERANCE, agrees, grouped, percent, state};
use crate::gates::{deviation, gate, with_figures, with_note};
use crate::import::figures::Figures;

/// A log that begins within this share of where another ended was carried over.
const SAME_LOG: f64 = 0.01;
const MEGABYTE: f64 = 1e6;

/// Gate 3: a success takes as many bytes as before, and a write as many as it must.
pub(super) fn work(figures: &Figures, baseline: Option<&Figures>) -> Gate {
    if let Some((grown, least)) = figures.log_bytes.filter(|(_, least)| *least > 0.0) {
        let line = gate(
            GateId::Work,
            state(grown >= least * (1.0 - TOLERANCE)),
            "bytes that the log grew with those of the writes that were counted",
        );
        let line = with_figures(line, grouped(grown as u64), grouped(least as u64), "5 %");
        let note = format!(
            "only {} of the bytes were written: most of the counted writes failed or never happened",
            percent(grown / least)
        );
        return if line.state == GateState::Fail {
            with_note(line, note)
        } else {
            line
        };
    }
    let compared = "bytes received per success with the baseline";
    let line = |state| gate(GateId::Work, state, compared);
    let before = baseline.and_then(Figures::bytes_per_success);
    match figures.bytes_per_success().zip(before) {
        Some((now, before)) => {
            let holds = agrees(now, before);
            let numbers = |line| with_figures(line, three_digits(now), three_digits(before), "5 %");
            let may_explain = failures_may_explain(figures, now - before)
                || baseline.is_some_and(|baseline| failures_may_explain(baseline, before - now));
            if !holds && baseline.is_some_and(|baseline| baseline.tool != figures.tool) {
                let note = "the two were measured by different tools, and not all count the bytes of headers";
                return with_note(numbers(line(GateState::Unknown)), note);
            }
            if !holds && may_explain {
                let note = "the answers of failures may be among the bytes; count those of successes alone";
                return with_note(numbers(line(GateState::Unknown)), note);
            }
            let line = numbers(line(state(holds)));
            if !holds {
                let note = "a success is another answer than before, so their rates are not of the same work";
                return with_note(line, note);
            }
            if figures.failures.total > Some(0) {
                return with_note(
                    line,
                    "successes account for all bytes: failures brought none",
                );
            }
            line
        }
        None => with_note(
            line(GateState::Unknown),
            "needs bytes, failures and a baseline",
        ),
    }
}

/// What an error page has at most.
const ERROR_BYTES_MAX: f64 = 10_000.0;

/// So many more bytes per success may be those that failures brought.
fn failures_may_explain(figures: &Figures, more: f64) -> bool {
    let counts = figures.successes().zip(figures.failures.total);
    counts.is_some_and(|(good, failed)| {
        (0.0..=ERROR_BYTES_MAX * failed as f64).contains(&(more * good as f64)) && failed > 0
    })
}

/// Gate 13: one thing was changed, from the same state, and both were repeated.
pub(super) fn one_change(
    figures: &Figures,
    baseline: Option<&Figures>,
    declared: &Declared,
) -> Gate {
    let compared = "settings, state at the beginning, and repeats";
    let mut found = Vec::new();
    found.extend(changes(figures, baseline, declared));
    found.extend(carried_over(figures, baseline));
    if let Some(baseline) = baseline {
        found.push(one_run_each(figures, baseline));
    }
    let name = "One change, clean state, repeats".to_owned();
    if found.is_empty() {
        let note = "one run: how far two runs of the same test differ is not in the file. Repeat both variants in \
                    turns, at least five times: plimsoll compare --a FILES --b FILES";
        let line = gate(GateId::OneChange, GateState::Unknown, compared);
        return with_note(Gate { name, ..line }, note);
    }
    let line = gate(GateId::OneChange, GateState::Warning, compared);
    with_note(Gate { name, ..line }, found.join("; "))
}

fn one_run_each(figures: &Figures, baseline: &Figures) -> String {
    let change = figures.goodput_per_s().zip(baseline.goodput_per_s());
    let change = change.filter(|(_, before)| *before > 0.0).map_or_else(
        || "a difference".to_owned(),
        |(now, before)| format!("the difference of {:+.1} %", (now / before - 1.0) * 100.0),
    );
    format!(
        "one run of each: {change} has no interval, and two runs of the same test differ too. Repeat both in turns, \
         at least five times: plimsoll compare --a FILES --b FILES"
    )
}

/// Settings that differ between the files, and what was declared to be changed.
fn changes(figures: &Figures, baseline: Option<&Figures>, declared: &Declared) -> Option<String> {
    let mut changed: Vec<String> = declared.changes.clone();
    for (name, now) in &figures.settings {
        let before = baseline.and_then(|other| {
            let same = other.settings.iter().find(|(other, _)| other == name);
            same.map(|(_, value)| value)
        });
        if let Some(before) = before.filter(|before| *before != now) {
            changed.push(format!("{name} {before} → {now}"));
        }
    }
    let listed = changed.join(", ");
    match changed.len() {
        0 => None,
        1 => Some(format!(
            "changed: {listed}. If anything else was changed too, which of them made the difference cannot be told"
        )),
        many => Some(format!(
            "{many} changes at once: {listed}. Which of them made the difference cannot be told; change one at a time"
        )),
    }
}

/// What earlier runs left in the target's logs.
fn carried_over(figures: &Figures, baseline: Option<&Figures>) -> Option<String> {
    let megabytes = |bytes: f64| format!("{:.1} MB", bytes / MEGABYTE);
    let (old, new): (Vec<_>, Vec<_>) = figures.logs.iter().partition(|(_, begun, _)| *begun > 0.0);
    if old.is_empty() {
        return None;
    }
    let names = |of: &[&(String, f64, f64)]| {
        let names: Vec<&str> = of.iter().map(|(name, ..)| name.as_str()).collect();
        names.join(", ")
    };
    let held: f64 = old.iter().map(|(_, begun, _)| *begun).sum();
    let mut note = format!(
        "state was carried over: when the test began the logs of {} held {}",
        names(&old),
        megabytes(held)
    );
    if !new.is_empty() {
        let _infallible = write!(note, ", beside {} that were empty", names(&new));
    }
    let ended_so = |name: &str, begun: f64| {
        let logs = baseline.into_iter().flat_map(|other| &other.logs);
        let mut same = logs.filter(|(other, ..)| other == name);
        same.any(|(.., ended)| deviation(begun, *ended) < SAME_LOG)
    };
    if old.iter().all(|(name, begun, _)| ended_so(name, *begun)) {
        note += ", which is where the baseline ended";
    }
    Some(note + ". Begin every run from the same state: restart the target with fresh data")
}

//! What the load of a variant left behind: taken in, waiting, stored, lost. Shown where any run looked.

use plimsoll_core::record::{After, Record};
use serde_json::{Value, json};

use super::cell::spread;
use super::{Experiment, Variant};
use crate::format;

/// A row's name and its cells, one for each variant; none if no run looked.
pub(super) fn rows(experiment: &Experiment<'_>) -> Vec<(String, Vec<String>)> {
    let figures: [(&str, Figure, fn(f64) -> String); 5] = [
        ("accepted", accepted_per_s, format::rate),
        ("stored", stored_per_s, format::rate),
        ("backlog at the end", backlog, count),
        ("drained in", drained, format::seconds),
        ("lost, at least", lost, count),
    ];
    let mut rows = Vec::new();
    for (name, figure, show) in figures {
        let cell = |variant: &Variant<'_>| spread(&of(variant, figure)).text(show);
        let any = experiment
            .variants
            .iter()
            .any(|variant| !of(variant, figure).is_empty());
        if any {
            let cells = experiment.variants.iter().map(cell);
            rows.push((name.to_owned(), cells.collect()));
        }
    }
    rows
}

/// The figures of one run, under the record's own names.
pub(super) fn document(record: &Record) -> Option<Value> {
    let after = record.after.as_ref()?;
    let (ok, accepted) = record.acknowledged();
    Some(json!({
        "ok_count": ok,
        "accepted_count": accepted,
        "backlog_count": after.backlog_count,
        "backlog_left_count": after.backlog_left_count,
        "drained_ns": after.drained_ns,
        "stored_at_end_count": after.stored_at_end_count,
        "stored_count": after.stored_count,
        "lost_count": after.lost_count(ok + accepted),
        "killed": after.killed,
    }))
}

/// None where it was not looked at, or means nothing.
type Figure = fn(&Record, &After) -> Option<f64>;

fn of(variant: &Variant<'_>, figure: Figure) -> Vec<f64> {
    let records = variant.runs.iter().map(|run| run.record);
    records
        .filter_map(|record| figure(record, record.after.as_ref()?))
        .collect()
}

fn accepted_per_s(record: &Record, _: &After) -> Option<f64> {
    let (_, accepted) = record.acknowledged();
    (accepted > 0).then(|| per_second(record, accepted))?
}

/// In the course of the load: what is stored afterwards does not help who waits.
fn stored_per_s(record: &Record, after: &After) -> Option<f64> {
    per_second(record, after.stored_at_end_count?)
}

fn backlog(_: &Record, after: &After) -> Option<f64> {
    after.backlog_count.map(|count| count as f64)
}

fn drained(_: &Record, after: &After) -> Option<f64> {
    after.drained_ns.map(|took| took.as_secs_f64())
}

fn lost(record: &Record, after: &After) -> Option<f64> {
    let (ok, accepted) = record.acknowledged();
    after.lost_count(ok + accepted).map(|count| count as f64)
}

fn per_second(record: &Record, count: u64) -> Option<f64> {
    let seconds = record.verdict.as_ref()?.duration_seconds;
    (seconds > 0.0).then(|| count as f64 / seconds)
}

fn count(value: f64) -> String {
    format::count(value as u64)
}

//! What the load of a variant left behind: taken in, waiting, stored, lost. Shown where any run looked.

use plimsoll_core::Nanos;
use plimsoll_core::record::{After, Record};
use serde_json::{Value, json};

use super::cell::spread;
use super::rows::Row;
use super::{Experiment, Variant};
use crate::format;

/// None if no run looked.
pub(super) fn rows(experiment: &Experiment<'_>) -> Vec<Row> {
    let rows = ROWS.iter().filter_map(|row| {
        let figures = experiment
            .variants
            .iter()
            .map(|variant| of(variant, row.of));
        let figures: Vec<Vec<f64>> = figures.collect();
        let looked = figures.iter().any(|runs| !runs.is_empty());
        let cells = figures.iter().map(|runs| spread(runs).text(row.show));
        looked.then(|| Row {
            name: row.name.to_owned(),
            cells: cells.collect(),
        })
    });
    rows.collect()
}

struct Found {
    name: &'static str,
    of: Figure,
    show: fn(f64) -> String,
}

const ROWS: [Found; 6] = [
    Found {
        name: "accepted",
        of: accepted_per_s,
        show: format::rate,
    },
    Found {
        name: "stored",
        of: stored_per_s,
        show: format::rate,
    },
    Found {
        name: "backlog at the end",
        of: backlog,
        show: count,
    },
    Found {
        name: "drained in",
        of: drained,
        show: format::seconds,
    },
    Found {
        name: "left after the wait",
        of: left,
        show: count,
    },
    Found {
        name: "lost, at least",
        of: lost,
        show: count,
    },
];

/// The figures of one run, under the record's own names.
pub(super) fn document(record: &Record) -> Option<Value> {
    let after = record.after.as_ref()?;
    let (ok, accepted) = record.acknowledged();
    Some(json!({
        "ok_count": ok,
        "accepted_count": accepted,
        "taken_count": after.taken_count,
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

/// Said only where something stayed.
fn left(_: &Record, after: &After) -> Option<f64> {
    let left = after.backlog_left_count.filter(|count| *count > 0);
    left.map(|count| count as f64)
}

fn drained(_: &Record, after: &After) -> Option<f64> {
    after.drained_ns.map(Nanos::as_secs_f64)
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

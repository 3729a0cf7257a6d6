//! The JSON of the load tool of `DocDB`: operations and times per database, and no failures at all.

use serde_json::Value;

use super::ImportError;
use super::figures::{Figures, Part, Times, Tool, count, number};

const TOOL: &str = "DocDB load tool";
/// Bytes of a document unless the file says otherwise: the tool's default.
const DOCUMENT_BYTES: f64 = 1024.0;
/// Names of percentiles, in milliseconds.
const PERCENTS: [(&str, f64); 4] = [("P50", 50.0), ("P95", 95.0), ("P99", 99.0), ("P999", 99.9)];

pub(super) fn read(value: &Value) -> Result<Figures, ImportError> {
    let missing = |field| ImportError::Missing { tool: TOOL, field };
    let databases = value["Databases"].as_object();
    let databases = databases.ok_or(missing("Databases"))?;
    let parts: Vec<Part> = databases
        .iter()
        .map(|(name, value)| part(name, value))
        .collect();
    let config = &value["TestConfig"];
    // Each database says its own number; the one beside them is a default.
    let each = config["Databases"].as_array().into_iter().flatten();
    let each: Vec<u64> = each
        .filter_map(|database| count(database, &["Workers"]))
        .collect();
    let all: u64 = each.iter().sum();
    let mut figures = Figures {
        tool: Tool::DocDb,
        seconds: number(value, &["DurationSeconds"]),
        attempts: count(value, &["TotalOperations"]),
        // Each database has one client, which is locked from the request to its reply.
        on_wire_per_part: Some(1),
        workers_per_part: each.first().copied(),
        ..Figures::default()
    };
    figures.reported_per_s = figures.attempts_per_s();
    figures.in_flight = (all > 0).then_some(all as f64);
    figures.all.mean = weighted(&parts, |times| times.mean);
    figures.log_bytes = log_bytes(databases.values(), config);
    figures.global = times(&value["Global"]["Latency"]);
    figures.parts = parts;
    if figures.attempts.is_none() || figures.seconds.is_none() {
        return Err(missing("DurationSeconds"));
    }
    Ok(figures)
}

fn part(name: &str, value: &Value) -> Part {
    Part {
        name: name.to_owned(),
        operations: count(value, &["TotalOperations"]).unwrap_or(0),
        times: times(&value["Latency"]),
    }
}

/// Over all operations of a database, weighted by their number.
fn times(latency: &Value) -> Times {
    let operations: Vec<&Value> = latency
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, v)| v)
        .collect();
    let weighted = |field: &str| {
        let (mut sum, mut counted) = (0.0, 0.0);
        for operation in &operations {
            let n = number(operation, &["Count"])?;
            sum += number(operation, &[field])? * n;
            counted += n;
        }
        (counted > 0.0).then(|| sum / counted)
    };
    let mut times = Times {
        mean: weighted("Mean"),
        ..Times::default()
    };
    for (field, percent) in PERCENTS {
        times.set(percent, weighted(field));
    }
    times
}

/// A figure of the parts, weighted by their operations.
pub(super) fn weighted(parts: &[Part], figure: impl Fn(&Times) -> Option<f64>) -> Option<f64> {
    let mut sum = 0.0;
    for part in parts {
        sum += figure(&part.times)? * part.operations as f64;
    }
    let operations: u64 = parts.iter().map(|part| part.operations).sum();
    (operations > 0).then(|| sum / operations as f64)
}

/// What the logs grew, and the payload of creates and updates as counted.
fn log_bytes<'a>(databases: impl Iterator<Item = &'a Value>, config: &Value) -> Option<(f64, f64)> {
    let size = number(config, &["DocumentSize"]).unwrap_or(DOCUMENT_BYTES);
    let (mut grown, mut written) = (0.0, 0.0);
    for database in databases {
        let wal = &database["WALGrowth"];
        grown += number(wal, &["FinalSizeBytes"])? - number(wal, &["InitialSizeBytes"])?;
        let counts = database["OperationCounts"].as_object()?;
        let is_write =
            |name: &str| matches!(name.to_ascii_lowercase().as_str(), "create" | "update");
        let writes = counts.iter().filter(|(name, _)| is_write(name));
        written += writes.filter_map(|(_, n)| n.as_f64()).sum::<f64>() * size;
    }
    Some((grown, written))
}

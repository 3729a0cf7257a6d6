//! The JSON of the load tool of `DocDB`, for one database or several: operations and times, and no failures at all.

use serde_json::Value;

use super::ImportError;
use super::figures::{Arrivals, Counting, Figures, Part, Times, Tool, count, number};

const TOOL: &str = "DocDB load tool";
/// Bytes of a document unless the file says otherwise: the tool's default.
const DOCUMENT_BYTES: f64 = 1024.0;
/// Names of percentiles, in milliseconds.
const PERCENTS: [(&str, f64); 4] = [("P50", 50.0), ("P95", 95.0), ("P99", 99.0), ("P999", 99.9)];

pub(super) fn is(value: &Value) -> bool {
    let is_single = value["TestConfig"].is_object() && value.get("WALGrowth").is_some();
    (value.get("Databases").is_some() || is_single) && value.get("TotalOperations").is_some()
}

pub(super) fn read(value: &Value) -> Result<Figures, ImportError> {
    let missing = |field| ImportError::Missing { tool: TOOL, field };
    let config = &value["TestConfig"];
    let databases = databases(value).ok_or(missing("Databases"))?;
    let parts: Vec<Part> = databases
        .iter()
        .map(|(name, value)| part(name, value))
        .collect();
    // Each database says its own number; the one beside them is a default.
    let each = config["Databases"].as_array().into_iter().flatten();
    let mut each: Vec<u64> = each
        .filter_map(|database| count(database, &["Workers"]))
        .collect();
    if parts.len() == 1 && each.is_empty() {
        each.extend(count(config, &["Workers"]));
    }
    let all: u64 = each.iter().sum();
    let mut figures = Figures {
        tool: Tool::DocDb,
        arrivals: Arrivals::Closed,
        counting: Counting::Never,
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
    figures.all.max = parts
        .iter()
        .filter_map(|part| part.times.max)
        .reduce(f64::max);
    figures.percentiles_per = Some("operation");
    figures.logs = databases
        .iter()
        .filter_map(|(name, value)| log(name, value))
        .collect();
    figures.log_bytes = log_bytes(databases.iter().map(|(_, value)| *value), config);
    figures.global = times(&value["Global"]["Latency"]);
    figures.settings = settings(config, &each, parts.len());
    figures.parts = parts;
    if figures.attempts.is_none() || figures.seconds.is_none() {
        return Err(missing("DurationSeconds"));
    }
    Ok(figures)
}

/// Several under their names, or the one that the whole file is of.
fn databases(value: &Value) -> Option<Vec<(String, &Value)>> {
    if let Some(several) = value["Databases"].as_object() {
        return Some(
            several
                .iter()
                .map(|(name, value)| (name.clone(), value))
                .collect(),
        );
    }
    let name = value["TestConfig"]["DBName"]
        .as_str()
        .unwrap_or("the database");
    value
        .get("WALGrowth")
        .map(|_| vec![(name.to_owned(), value)])
}

/// What its author chose.
fn settings(config: &Value, workers: &[u64], databases: usize) -> Vec<(&'static str, String)> {
    let mut settings = vec![("databases", databases.to_string())];
    let same = workers.windows(2).all(|pair| pair[0] == pair[1]);
    match workers.first().filter(|_| same) {
        Some(each) => settings.push(("workers per database", each.to_string())),
        None => settings.push(("workers per database", format!("{workers:?}"))),
    }
    let seconds = number(config, &["Duration"]).map(|nanos| format!("{} s", nanos / 1e9));
    settings.extend(seconds.map(|seconds| ("duration", seconds)));
    for (key, name) in [
        ("DocumentSize", "document bytes"),
        ("DocumentCount", "documents"),
        ("ReadPercent", "reads in percent"),
        ("WritePercent", "creates in percent"),
        ("UpdatePercent", "updates in percent"),
        ("DeletePercent", "deletes in percent"),
        ("BatchSize", "operations per request"),
        ("ConnectionsPerDB", "connections per database"),
    ] {
        settings.extend(number(config, &[key]).map(|value| (name, value.to_string())));
    }
    settings
}

/// What a database's log held at the beginning and at the end.
fn log(name: &str, database: &Value) -> Option<(String, f64, f64)> {
    let at = |when| number(database, &["WALGrowth", when]);
    Some((
        name.to_owned(),
        at("InitialSizeBytes")?,
        at("FinalSizeBytes")?,
    ))
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
    let slowest = operations
        .iter()
        .filter_map(|operation| number(operation, &["Max"]));
    let mut times = Times {
        mean: weighted("Mean"),
        max: slowest.reduce(f64::max),
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
        let is_write =
            |name: &str| matches!(name.to_ascii_lowercase().as_str(), "create" | "update");
        // Of a single database they are counted with their times alone.
        let counts = database["OperationCounts"].as_object();
        let timed = database["Latency"].as_object();
        let writes: f64 = match (counts, timed) {
            (Some(counts), _) => counts
                .iter()
                .filter(|(name, _)| is_write(name))
                .filter_map(|(_, n)| n.as_f64())
                .sum(),
            (None, Some(timed)) => timed
                .iter()
                .filter(|(name, _)| is_write(name))
                .filter_map(|(_, operation)| number(operation, &["Count"]))
                .sum(),
            (None, None) => return None,
        };
        written += writes * size;
    }
    Some((grown, written))
}

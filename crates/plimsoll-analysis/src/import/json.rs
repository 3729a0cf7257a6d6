//! oha, vegeta and latte, which write one JSON document each.

use serde_json::Value;

use super::ImportError;
use super::figures::{Figures, Times, Tool, count, number, percent_of};

fn missing(tool: &'static str, field: &'static str) -> ImportError {
    ImportError::Missing { tool, field }
}

/// oha: seconds; statuses and errors apart; times over answers, unless it was asked for more.
pub(super) fn oha(value: &Value) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::Oha,
        seconds: number(value, &["summary", "total"]),
        reported_per_s: number(value, &["summary", "requestsPerSec"]),
        bytes_received: number(value, &["summary", "totalData"]),
        counts_failures: true,
        ..Figures::default()
    };
    let statuses = counts(value.get("statusCodeDistribution"));
    let errors = counts(value.get("errorDistribution"));
    if statuses.is_empty() && errors.is_empty() {
        return Err(missing("oha", "statusCodeDistribution"));
    }
    let mut attempts = 0;
    for (name, n) in statuses {
        attempts += n;
        add_status(&mut figures, name.parse().ok(), n);
    }
    for (name, n) in errors {
        attempts += n;
        figures.failures.unanswered.insert(name, n);
    }
    figures.attempts = Some(attempts);
    let unanswered: u64 = figures.failures.unanswered.values().sum();
    figures.failures.total = Some(figures.failures.answered() + unanswered);
    let scale = |seconds: f64| seconds * 1e3;
    figures.all = times_of(value.get("latencyPercentiles"), scale);
    figures.all.mean = number(value, &["summary", "average"]).map(scale);
    figures.all.min = number(value, &["summary", "fastest"]).map(scale);
    figures.all.max = number(value, &["summary", "slowest"]).map(scale);
    Ok(figures)
}

/// vegeta: nanoseconds; status 0 is a failure without an answer; times over everything.
pub(super) fn vegeta(value: &Value) -> Result<Figures, ImportError> {
    let seconds = |path: &[&str]| number(value, path).map(|nanos| nanos / 1e9);
    let duration = seconds(&["duration"]).ok_or(missing("vegeta", "duration"))?;
    let mut figures = Figures {
        tool: Tool::Vegeta,
        // The attack, and the wait for the last answer.
        seconds: Some(duration + seconds(&["wait"]).unwrap_or(0.0)),
        attempts: count(value, &["requests"]),
        offered_per_s: number(value, &["rate"]),
        reported_per_s: number(value, &["throughput"]),
        bytes_received: number(value, &["bytes_in", "total"]),
        counts_failures: true,
        ..Figures::default()
    };
    for (name, n) in counts(value.get("status_codes")) {
        match name.parse::<u16>() {
            Ok(0) | Err(_) => {
                figures
                    .failures
                    .unanswered
                    .insert("no answer".to_owned(), n);
            }
            Ok(status) => add_status(&mut figures, Some(status), n),
        }
    }
    let unanswered: u64 = figures.failures.unanswered.values().sum();
    figures.failures.total = Some(figures.failures.answered() + unanswered);
    let scale = |nanos: f64| nanos / 1e6;
    figures.all = times_of(value.get("latencies"), scale);
    figures.all.mean = number(value, &["latencies", "mean"]).map(scale);
    figures.all.min = number(value, &["latencies", "min"]).map(scale);
    figures.all.max = number(value, &["latencies", "max"]).map(scale);
    Ok(figures)
}

/// The percentiles that latte lists, in its order.
const LATTE: [f64; 15] = [
    0.0, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.9, 99.99, 100.0,
];

/// latte: milliseconds; the mean number in flight is measured, the configured one is in `conf`.
pub(super) fn latte(value: &Value) -> Result<Figures, ImportError> {
    let result = &value["result"];
    let requests = count(result, &["request_count"]).ok_or(missing("latte", "request_count"))?;
    let errors = count(result, &["error_count"]).unwrap_or(0);
    let threads = number(value, &["conf", "threads"]);
    let concurrency = number(value, &["conf", "concurrency"]);
    let mut figures = Figures {
        tool: Tool::Latte,
        seconds: number(result, &["elapsed_time_s"]),
        attempts: Some(requests),
        reported_per_s: number(result, &["req_throughput", "value"]),
        offered_per_s: number(value, &["conf", "rate"]),
        in_flight: threads
            .zip(concurrency)
            .map(|(threads, each)| threads * each),
        counts_failures: true,
        ..Figures::default()
    };
    figures.failures.total = Some(errors);
    if errors > 0 {
        figures
            .failures
            .unanswered
            .insert("database error".to_owned(), errors);
    }
    let times = ["request_latency", "cycle_latency"]
        .into_iter()
        .find_map(|name| result.get(name).filter(|times| times.is_object()));
    if let Some(times) = times {
        figures.all.mean = number(times, &["mean", "value"]);
        let list = times["percentiles"].as_array();
        for (percent, value) in LATTE.iter().zip(list.into_iter().flatten()) {
            figures.all.set(*percent, number(value, &["value"]));
        }
        figures.all.min = figures.all.percentile(0.0);
        figures.all.max = figures.all.percentile(100.0);
    }
    Ok(figures)
}

fn counts(value: Option<&Value>) -> Vec<(String, u64)> {
    let map = value.and_then(Value::as_object);
    let pairs = map.into_iter().flatten();
    pairs
        .filter_map(|(name, value)| Some((name.clone(), count(value, &[])?)))
        .collect()
}

fn add_status(figures: &mut Figures, status: Option<u16>, n: u64) {
    match status {
        Some(status) if status >= 400 => {
            figures.failures.by_status.insert(status, n);
        }
        Some(_) => *figures.counted_successes.get_or_insert(0) += n,
        None => figures.failures.other_answers += n,
    }
}

/// Every key that is a percentile.
fn times_of(value: Option<&Value>, scale: impl Fn(f64) -> f64) -> Times {
    let mut times = Times::default();
    for (name, value) in value.and_then(Value::as_object).into_iter().flatten() {
        if let Some(percent) = percent_of(name) {
            times.set(percent, value.as_f64().map(&scale));
        }
    }
    times
}

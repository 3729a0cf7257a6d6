//! oha, vegeta, Fortio and latte, which write one JSON document each.

use serde_json::Value;

use super::ImportError;
use super::figures::{Arrivals, Figures, Times, Tool, count, number, percent_of};

fn missing(tool: &'static str, field: &'static str) -> ImportError {
    ImportError::Missing { tool, field }
}

pub(super) fn is_oha(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    has("summary") && (has("latencyPercentiles") || has("statusCodeDistribution"))
}

pub(super) fn is_vegeta(value: &Value) -> bool {
    value.get("latencies").is_some() && value.get("status_codes").is_some()
}

pub(super) fn is_latte(value: &Value) -> bool {
    value.get("conf").is_some() && value.get("result").is_some()
}

pub(super) fn is_fortio(value: &Value) -> bool {
    value.get("DurationHistogram").is_some() && value.get("ActualQPS").is_some()
}

/// What oha calls the requests that were on their way when the time was up: they are no failures of the target.
pub(super) const CUT_OFF: &str = "aborted due to deadline";

/// oha: seconds; statuses and errors apart; times over answers, unless it was asked for more.
pub(super) fn oha(value: &Value) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::Oha,
        seconds: number(value, &["summary", "total"]),
        reported_per_s: number(value, &["summary", "requestsPerSec"]),
        bytes_received: number(value, &["summary", "totalData"]),
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
        if name == CUT_OFF {
            figures.unfinished += n;
        } else {
            attempts += n;
            figures.failures.no_answer(name, n);
        }
    }
    figures.attempts = Some(attempts);
    figures.failures.add_up();
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
        arrivals: Arrivals::Open,
        ..Figures::default()
    };
    for (name, n) in counts(value.get("status_codes")) {
        match name.parse::<u16>() {
            Ok(0) | Err(_) => figures.failures.no_answer("no answer", n),
            Ok(status) => add_status(&mut figures, Some(status), n),
        }
    }
    figures.failures.add_up();
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
        ..Figures::default()
    };
    figures.failures.total = Some(errors);
    figures.failures.no_answer("database error", errors);
    // Without a rate the answer to one request makes the next due.
    figures.arrivals = match figures.offered_per_s {
        Some(_) => Arrivals::Open,
        None => Arrivals::Closed,
    };
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
        Some(status) => figures.answer(status, n),
        None => figures.failures.other_answers += n,
    }
}

/// Fortio: seconds; `max` as the rate is a closed loop; -1 is a failure without an answer.
pub(super) fn fortio(value: &Value) -> Result<Figures, ImportError> {
    let nanos = number(value, &["ActualDuration"]).ok_or(missing("Fortio", "ActualDuration"))?;
    let rate = value["RequestedQPS"]
        .as_str()
        .and_then(|rate| rate.parse().ok());
    let mut figures = Figures {
        tool: Tool::Fortio,
        seconds: Some(nanos / 1e9),
        attempts: count(value, &["DurationHistogram", "Count"]),
        reported_per_s: number(value, &["ActualQPS"]),
        offered_per_s: rate,
        // Threads that keep to a rate catch up, and are timed from when they send.
        arrivals: Arrivals::Closed,
        has_pauses: rate.is_some(),
        in_flight: number(value, &["NumThreads"]),
        bytes_received: number(value, &["Sizes", "Sum"]),
        ..Figures::default()
    };
    for (status, n) in counts(value.get("RetCodes")) {
        match status.parse::<u16>() {
            Ok(status) if status > 0 => figures.answer(status, n),
            Ok(_) => *figures.counted_successes.get_or_insert(0) += n,
            Err(_) if status == "OK" || status == "SERVING" => {
                *figures.counted_successes.get_or_insert(0) += n;
            }
            Err(_) => figures.failures.no_answer("no answer", n),
        }
    }
    figures.failures.add_up();
    let histogram = &value["DurationHistogram"];
    let millis = |name: &str| number(histogram, &[name]).map(|seconds| seconds * 1e3);
    (figures.all.mean, figures.all.min, figures.all.max) =
        (millis("Avg"), millis("Min"), millis("Max"));
    for entry in histogram["Percentiles"].as_array().into_iter().flatten() {
        if let Some(percent) = number(entry, &["Percentile"]) {
            let time = number(entry, &["Value"]).map(|seconds| seconds * 1e3);
            figures.all.set(percent, time);
        }
    }
    Ok(figures)
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

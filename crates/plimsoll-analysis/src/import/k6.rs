//! k6's summaries: the export file and the data of `handleSummary`.

use serde_json::{Map, Value};

use super::ImportError;
use super::figures::{Figures, Times, Tool, count, number, percent_of};

const TOOL: &str = "k6";
const EXPECTED: &str = "http_req_duration{expected_response:true}";

/// Both shapes: figures lie directly below a metric, or below its `values`.
pub(super) fn summary(value: &Value) -> Result<Figures, ImportError> {
    let metrics = value.get("metrics").and_then(Value::as_object);
    let metrics = Metrics(metrics.ok_or(ImportError::Missing {
        tool: TOOL,
        field: "metrics",
    })?);
    let requests = metrics
        .values("http_reqs")
        .or_else(|| metrics.values("iterations"));
    let requests = requests.ok_or(ImportError::Missing {
        tool: TOOL,
        field: "http_reqs",
    })?;
    let mut figures = Figures {
        tool: Tool::K6,
        attempts: count(requests, &["count"]),
        reported_per_s: number(requests, &["rate"]),
        seconds: seconds(value, requests),
        bytes_received: metrics
            .values("data_received")
            .and_then(|m| number(m, &["count"])),
        counts_failures: metrics.values("http_req_failed").is_some(),
        ..Figures::default()
    };
    if let Some(failed) = metrics.values("http_req_failed") {
        // `passes` of a metric about failing are the failed ones.
        figures.failures.total = count(failed, &["passes"]);
        figures.counted_successes = count(failed, &["fails"]);
    }
    for name in metrics.0.keys() {
        let counted = metrics
            .values(name)
            .and_then(|metric| count(metric, &["count"]));
        if let Some((status, counted)) = status_in(name).zip(counted.filter(|n| *n > 0)) {
            figures.failures.by_status.insert(status, counted);
        }
    }
    figures.all = metrics
        .values("http_req_duration")
        .map(times)
        .unwrap_or_default();
    figures.successes = metrics.values(EXPECTED).map(times).unwrap_or_default();
    let of = |name, field| {
        metrics
            .values(name)
            .and_then(|metric| number(metric, &[field]))
    };
    figures.rounds = of("iterations", "rate").zip(of("iteration_duration", "avg"));
    if let Some(vus) = metrics.values("vus") {
        let (min, max) = (number(vus, &["min"]), number(vus, &["max"]));
        figures.is_ramp = min != max;
        figures.in_flight = max;
    }
    Ok(figures)
}

struct Metrics<'a>(&'a Map<String, Value>);

impl<'a> Metrics<'a> {
    fn values(&self, name: &str) -> Option<&'a Value> {
        let metric = self.0.get(name)?;
        Some(metric.get("values").unwrap_or(metric))
    }
}

fn seconds(value: &Value, requests: &Value) -> Option<f64> {
    let written = number(value, &["state", "testRunDurationMs"]);
    let derived = || {
        let rate = number(requests, &["rate"]).filter(|rate| *rate > 0.0)?;
        Some(number(requests, &["count"])? / rate)
    };
    written.map(|millis| millis / 1e3).or_else(derived)
}

fn times(metric: &Value) -> Times {
    let mut times = Times {
        mean: number(metric, &["avg"]),
        min: number(metric, &["min"]),
        max: number(metric, &["max"]),
        ..Times::default()
    };
    times.set(50.0, number(metric, &["med"]));
    for (name, value) in metric.as_object().into_iter().flatten() {
        if let Some(percent) = percent_of(name) {
            times.set(percent, value.as_f64());
        }
    }
    times
}

/// A script's own counter of an error status has its number in its name: `http_500`, `errors503`.
fn status_in(name: &str) -> Option<u16> {
    let is_built_in = ["http_req", "iteration", "data_"];
    if is_built_in.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let mut numbers = name.split(|c: char| !c.is_ascii_digit());
    numbers.find_map(|digits| digits.parse().ok().filter(|n| (400..600).contains(n)))
}

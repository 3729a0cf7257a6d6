//! k6's summaries: the export file, the data of `handleSummary`, and the newer machine-readable shape.

use serde_json::{Map, Value};

use super::ImportError;
use super::figures::{Counting, Figures, Times, Tool, count, number, percent_of, whole};
use super::k6_load::{self, Vus};

const TOOL: &str = "k6";
const EXPECTED: &str = "http_req_duration{expected_response:true}";
/// What a k6 test can do, the counter of it, and the metric that times it; the first that is there is taken.
const PROTOCOLS: [(&str, &str, Counting); 4] = [
    ("http_reqs", "http_req_duration", Counting::Counted),
    (
        "grpc_reqs",
        "grpc_req_duration",
        Counting::NotHere("k6 does not count gRPC calls that failed"),
    ),
    (
        "ws_sessions",
        "ws_session_duration",
        Counting::NotHere("k6 does not count WebSocket sessions that failed"),
    ),
    (
        "iterations",
        "iteration_duration",
        Counting::NotHere("k6 does not count iterations that failed"),
    ),
];

/// A summary in any of its shapes.
pub(super) fn is(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let metrics = metrics(value).unwrap_or_default();
    has("root_group")
        || (has("metrics") && has("state"))
        || PROTOCOLS
            .iter()
            .any(|(_, time, _)| metrics.contains_key(*time))
}

/// Metrics by name; their figures lie directly below them, or below their `values`, and the newer shape lists them.
fn metrics(value: &Value) -> Option<Map<String, Value>> {
    let found = value.get("metrics");
    match found.or_else(|| value.get("results")?.get("metrics"))? {
        Value::Object(map) => Some(map.clone()),
        Value::Array(list) => {
            let named =
                |metric: &Value| Some((metric["name"].as_str()?.to_owned(), metric.clone()));
            Some(list.iter().filter_map(named).collect())
        }
        _ => None,
    }
}

pub(super) fn summary(value: &Value) -> Result<Figures, ImportError> {
    let missing = |field| ImportError::Missing { tool: TOOL, field };
    let metrics = Metrics(metrics(value).ok_or(missing("metrics"))?);
    let protocol = PROTOCOLS
        .iter()
        .find(|(counter, time, _)| metrics.values(counter).or(metrics.values(time)).is_some());
    let (counter, time, counting) = protocol.ok_or(missing("http_reqs"))?;
    let iterations = metrics.values("iterations");
    let requests = metrics.values(counter).or(iterations);
    let requests = requests.ok_or(missing("http_reqs"))?;
    let mut figures = Figures {
        tool: Tool::K6,
        attempts: count(requests, &["count"]),
        reported_per_s: number(requests, &["rate"]),
        seconds: seconds(value, requests),
        bytes_received: metrics.number("data_received", "count"),
        has_pauses: true,
        counting: *counting,
        ..Figures::default()
    };
    if figures.attempts.is_none() {
        return Err(missing("http_reqs"));
    }
    if *counting == Counting::Counted {
        failures(&mut figures, &metrics);
    } else {
        figures.remarks.extend(checks(&metrics));
    }
    figures.accepts = accepts(value, &metrics);
    figures.all = metrics.values(time).map(times).unwrap_or_default();
    figures.successes = metrics.values(EXPECTED).map(times).unwrap_or_default();
    let rate = metrics.number("iterations", "rate");
    figures.rounds = rate.zip(metrics.number("iteration_duration", "avg"));
    let vus = Vus {
        low: metrics.number("vus", "min"),
        high: metrics.number("vus", "max"),
        ready: metrics
            .number("vus_max", "max")
            .or_else(|| metrics.number("vus_max", "value")),
        dropped: metrics.number("dropped_iterations", "count").unwrap_or(0.0),
        iterations: metrics.number("iterations", "count"),
    };
    k6_load::classify(&mut figures, vus);
    figures
        .settings
        .extend(vus.ready.map(|ready| ("VUs", ready.to_string())));
    Ok(figures)
}

struct Metrics(Map<String, Value>);

impl Metrics {
    fn values(&self, name: &str) -> Option<&Value> {
        let metric = self.0.get(name)?;
        Some(metric.get("values").unwrap_or(metric))
    }

    fn number(&self, name: &str, field: &str) -> Option<f64> {
        number(self.values(name)?, &[field])
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

fn failures(figures: &mut Figures, metrics: &Metrics) {
    let Some(failed) = metrics.values("http_req_failed") else {
        figures.counting = Counting::NotHere("this summary leaves `http_req_failed` out");
        return;
    };
    // `passes` of a metric about failing are the failed ones.
    let counted = count(failed, &["passes"]).or_else(|| count(failed, &["matches"]));
    let total = count(failed, &["total"]);
    let share = number(failed, &["rate"]).or_else(|| number(failed, &["value"]));
    let of_share = || whole(share? * figures.attempts? as f64);
    figures.counted_successes =
        count(failed, &["fails"]).or_else(|| Some(total? - counted?.min(total?)));
    figures.failures.total = counted.or_else(of_share);
    for name in metrics.0.keys() {
        let counted = metrics.number(name, "count").and_then(whole);
        let Some((status, counted)) = status_in(name).zip(counted.filter(|n| *n > 0)) else {
            continue;
        };
        if status == 202 {
            figures.accepted_count = counted;
        } else if status >= 400 {
            figures.failures.by_status.insert(status, counted);
        }
    }
    // What is called a status but exceeds all failures is no count of them.
    if figures
        .failures
        .total
        .is_some_and(|total| figures.failures.answered() > total)
    {
        figures.failures.by_status.clear();
    }
}

/// How many checks passed, where they are all that tells of failures.
fn checks(metrics: &Metrics) -> Option<String> {
    let passed = metrics.number("checks", "passes").and_then(whole)?;
    let failed = metrics.number("checks", "fails").and_then(whole)?;
    Some(format!(
        "{passed} of {} checks passed, which is the closest that the file has",
        passed + failed
    ))
}

/// A check that takes a 202 for success, by its name.
fn accepts(value: &Value, metrics: &Metrics) -> Option<String> {
    let mut names = Vec::new();
    check_names(&value["root_group"], &mut names);
    check_names(&value["results"], &mut names);
    names.extend(metrics.0.keys().filter_map(|name| {
        let tag = name.strip_prefix("checks{check:")?.strip_suffix('}')?;
        Some(tag.to_owned())
    }));
    let says_202 = |name: &&String| words(name).iter().any(|word| word == "202");
    let name = names.iter().find(says_202)?;
    Some(format!("the check `{name}` takes a 202 for a success"))
}

/// Of a group and those below it; maps in one shape, lists in the other.
fn check_names(group: &Value, names: &mut Vec<String>) {
    let each = |value: &Value| -> Vec<Value> {
        match value {
            Value::Array(list) => list.clone(),
            Value::Object(map) => map.values().cloned().collect(),
            _ => Vec::new(),
        }
    };
    let checks = each(&group["checks"]);
    names.extend(
        checks
            .iter()
            .filter_map(|check| Some(check["name"].as_str()?.to_owned())),
    );
    for inner in each(&group["groups"]) {
        check_names(&inner, names);
    }
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

/// Runs of letters and runs of digits.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for c in name.chars() {
        let kind = c.is_alphanumeric().then(|| c.is_ascii_digit());
        match (kind, words.last_mut()) {
            (Some(_), Some(word)) if kind == before => word.extend(c.to_lowercase()),
            (Some(_), _) => words.push(c.to_lowercase().collect()),
            (None, _) => {}
        }
        before = kind;
    }
    words
}

/// Words of which one has to be in a counter's name for its number to be a status; `orders_500` counts orders.
const NAMING: [&str; 12] = [
    "http",
    "https",
    "status",
    "statuses",
    "code",
    "codes",
    "response",
    "responses",
    "error",
    "errors",
    "err",
    "errs",
];
/// The only others that may stand beside it.
const BESIDE: [&str; 12] = [
    "resp", "server", "fail", "failed", "failure", "failures", "count", "counter", "total", "num",
    "s", "is",
];

/// The status that a script's own counter, or a part of the built-in one, counts: `http_500_errors`, `errors503`,
/// `http_reqs{status:500}`. Only where nothing else is meant.
fn status_in(name: &str) -> Option<u16> {
    let of_built_in = name
        .strip_prefix("http_reqs{status:")
        .and_then(|rest| rest.strip_suffix('}'));
    if let Some(status) = of_built_in {
        return status.trim().parse().ok();
    }
    let is_built_in = ["http_req", "iteration", "data_", "grpc_", "ws_"];
    if is_built_in.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let words = words(name);
    let is_digits = |word: &&String| word.chars().all(|c| c.is_ascii_digit());
    let (numbers, others): (Vec<&String>, Vec<&String>) = words.iter().partition(is_digits);
    let [number] = numbers.as_slice() else {
        return None;
    };
    let naming = |word: &str| NAMING.contains(&word);
    let names = others.iter().any(|word| naming(word));
    let fits = others
        .iter()
        .all(|word| naming(word) || BESIDE.contains(&word.as_str()));
    let status = number.parse().ok().filter(|n| (200..600).contains(n));
    status.filter(|_| fits && names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_a_name_is_a_status_only_where_nothing_else_is_meant() {
        for (name, status) in [
            ("http_500_errors", Some(500)),
            ("http_500s", Some(500)),
            ("errors503", Some(503)),
            ("status_500_total", Some(500)),
            ("Status Code 429", Some(429)),
            ("http_reqs{status:502}", Some(502)),
            ("status_202", Some(202)),
            ("orders_500", None),
            ("batch_500_errors", None),
            ("requests_500", None),
            ("total_500", None),
            ("errors_500ms", None),
            ("errors_5000", None),
            ("http_req_500", None),
            ("errors", None),
        ] {
            assert_eq!(status_in(name), status, "{name}");
        }
    }
}

//! k6's `--out json`: every sample on a line of its own, so that percentiles can be taken exactly.

use plimsoll_base::calendar::unix_seconds;
use serde_json::Value;

use super::ImportError;
use super::figures::{Figures, Times, Tool, number, whole};

const TOOL: &str = "k6 --out json";
const PERCENTS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

#[derive(Debug, Default)]
struct Points {
    all: Vec<f64>,
    successes: Vec<f64>,
    first: Option<f64>,
    last: Option<f64>,
    vus: Vec<f64>,
    iterations: Vec<f64>,
    is_any: bool,
}

pub(super) fn read(text: &str) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::K6,
        counts_failures: true,
        ..Figures::default()
    };
    let mut points = Points::default();
    let lines = text.lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).map_err(|error| {
            let first = index == 0;
            let problem = error.to_string();
            let line = index + 1;
            let tool = TOOL;
            if first {
                ImportError::Unknown
            } else {
                ImportError::Line {
                    tool,
                    line,
                    problem,
                }
            }
        })?;
        if value["type"] == "Point" {
            add(&mut figures, &mut points, &value);
        } else if value["type"] != "Metric" {
            return Err(ImportError::Unknown);
        }
    }
    if !points.is_any {
        return Err(ImportError::Missing {
            tool: TOOL,
            field: "Point of http_reqs",
        });
    }
    figures.seconds = points
        .last
        .zip(points.first)
        .map(|(last, first)| last - first);
    figures.reported_per_s = figures.attempts_per_s();
    figures.all = times(&mut points.all);
    figures.successes = times(&mut points.successes);
    let rounds = points.iterations.len() as f64;
    let whole: f64 = points.iterations.iter().sum();
    let seconds = figures
        .seconds
        .filter(|seconds| *seconds > 0.0 && rounds > 0.0);
    figures.rounds = seconds.map(|seconds| (rounds / seconds, whole / rounds));
    figures.in_flight = points.vus.iter().copied().reduce(f64::max);
    figures.is_ramp = points.vus.iter().copied().reduce(f64::min) != figures.in_flight;
    Ok(figures)
}

fn add(figures: &mut Figures, points: &mut Points, point: &Value) {
    let data = &point["data"];
    let Some(value) = number(data, &["value"]) else {
        return;
    };
    if let Some(at) = data["time"].as_str().and_then(unix_seconds) {
        points.first = Some(points.first.map_or(at, |first: f64| first.min(at)));
        points.last = Some(points.last.map_or(at, |last: f64| last.max(at)));
    }
    let tags = &data["tags"];
    match point["metric"].as_str().unwrap_or_default() {
        "http_reqs" => {
            points.is_any = true;
            let requests = whole(value).unwrap_or(0);
            figures.attempts = Some(figures.attempts.unwrap_or(0) + requests);
        }
        "http_req_failed" => {
            let total = figures.failures.total.get_or_insert(0);
            if value == 0.0 {
                *figures.counted_successes.get_or_insert(0) += 1;
            } else {
                *total += 1;
                count_failure(figures, tags);
            }
        }
        "http_req_duration" => {
            points.all.push(value);
            if tags["expected_response"] == "true" {
                points.successes.push(value);
            }
        }
        "data_received" => {
            figures.bytes_received = Some(figures.bytes_received.unwrap_or(0.0) + value);
        }
        "vus" => points.vus.push(value),
        "iteration_duration" => points.iterations.push(value),
        _ => {}
    }
}

fn count_failure(figures: &mut Figures, tags: &Value) {
    let status = tags["status"]
        .as_str()
        .and_then(|status| status.parse().ok());
    if let Some(status) = status.filter(|status: &u16| *status > 0) {
        *figures.failures.by_status.entry(status).or_default() += 1;
        return;
    }
    let kind = tags["error"]
        .as_str()
        .or_else(|| tags["error_code"].as_str());
    let kind = kind.unwrap_or("no answer").to_owned();
    *figures.failures.unanswered.entry(kind).or_default() += 1;
}

/// Percentiles interpolated as k6 does.
fn times(values: &mut [f64]) -> Times {
    let mut times = Times::default();
    values.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return times;
    };
    times.min = Some(*first);
    times.max = Some(*last);
    times.mean = Some(values.iter().sum::<f64>() / values.len() as f64);
    for percent in PERCENTS {
        let index = percent / 100.0 * (values.len() - 1) as f64;
        let low = values[index.floor() as usize];
        let high = values[index.ceil() as usize];
        times.set(percent, Some(low + (high - low) * index.fract()));
    }
    times
}

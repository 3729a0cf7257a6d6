//! k6's `--out json`: every sample on a line of its own, so that percentiles can be taken exactly.

use plimsoll_base::calendar::unix_seconds;
use serde_json::Value;

use super::ImportError;
use super::figures::{Figures, Tool, number, whole};
use super::k6_load::{self, Vus};
use super::samples::Samples;

const TOOL: &str = "k6 --out json";

#[derive(Debug, Default)]
struct Points {
    requests: Samples,
    vus: Vec<f64>,
    vus_max: Option<f64>,
    iterations: Vec<f64>,
    dropped: f64,
    is_any: bool,
}

/// The first line names a metric, or is a sample of one.
pub(super) fn is(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let value: Value = serde_json::from_str(first).unwrap_or_default();
    value.get("metric").is_some() && (value["type"] == "Metric" || value["type"] == "Point")
}

pub(super) fn read(text: &str) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::K6,
        has_pauses: true,
        ..Figures::default()
    };
    let mut points = Points::default();
    let lines = text.lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let bad = |problem: String| ImportError::Line {
            tool: TOOL,
            line: index + 1,
            problem,
        };
        let value: Value = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
        if value["type"] == "Point" {
            add(&mut figures, &mut points, &value);
        } else if value["type"] != "Metric" {
            return Err(bad("neither a Metric nor a Point".to_owned()));
        }
    }
    if !points.is_any {
        return Err(ImportError::Missing {
            tool: TOOL,
            field: "Point of http_reqs",
        });
    }
    points.requests.fill(&mut figures);
    let rounds = points.iterations.len() as f64;
    let whole: f64 = points.iterations.iter().sum();
    let seconds = figures
        .seconds
        .filter(|seconds| *seconds > 0.0 && rounds > 0.0);
    figures.rounds = seconds.map(|seconds| (rounds / seconds, whole / rounds));
    let vus = Vus {
        low: points.vus.iter().copied().reduce(f64::min),
        high: points.vus.iter().copied().reduce(f64::max),
        ready: points.vus_max,
        dropped: points.dropped,
        iterations: Some(rounds),
    };
    k6_load::classify(&mut figures, vus);
    Ok(figures)
}

fn add(figures: &mut Figures, points: &mut Points, point: &Value) {
    let data = &point["data"];
    let Some(value) = number(data, &["value"]) else {
        return;
    };
    if let Some(at) = data["time"].as_str().and_then(unix_seconds) {
        points.requests.at(at);
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
                figures.accepted_count += u64::from(status(tags) == Some(202));
            } else {
                *total += 1;
                count_failure(figures, tags);
            }
        }
        "http_req_duration" => points
            .requests
            .add(value, tags["expected_response"] == "true"),
        "data_received" => {
            figures.bytes_received = Some(figures.bytes_received.unwrap_or(0.0) + value);
        }
        "vus" => points.vus.push(value),
        "vus_max" => points.vus_max = Some(points.vus_max.map_or(value, |most| most.max(value))),
        "dropped_iterations" => points.dropped += value,
        "iteration_duration" => points.iterations.push(value),
        _ => {}
    }
}

fn status(tags: &Value) -> Option<u16> {
    tags["status"].as_str()?.parse().ok()
}

fn count_failure(figures: &mut Figures, tags: &Value) {
    if let Some(status) = status(tags).filter(|status| *status > 0) {
        *figures.failures.by_status.entry(status).or_default() += 1;
        return;
    }
    let kind = tags["error"]
        .as_str()
        .or_else(|| tags["error_code"].as_str());
    figures.failures.no_answer(kind.unwrap_or("no answer"), 1);
}

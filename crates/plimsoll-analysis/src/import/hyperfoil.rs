//! Hyperfoil's run as JSON: `all.json` of every version of its schema, and the totals of its REST interface.

use serde_json::Value;

use super::ImportError;
use super::figures::{Figures, Times, Tool, count, either, number};

const TOOL: &str = "Hyperfoil";

/// The lists of phases and metrics, by version.
const LISTS: [&str; 3] = ["stats", "total", "statistics"];

pub(super) fn is(value: &Value) -> bool {
    entries(value).any(|(_, summary)| summary.get("requestCount").is_some())
}

/// Each with what was counted in it; newer versions wrap that in `total`.
fn entries(value: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let lists = LISTS.iter().filter_map(|name| value.get(name)?.as_array());
    lists.flatten().filter_map(|entry| {
        let entry_total = entry.get("total").unwrap_or(entry);
        Some((entry, entry_total.get("summary")?))
    })
}

pub(super) fn read(value: &Value) -> Result<Figures, ImportError> {
    let measured: Vec<(&Value, &Value)> = entries(value)
        .filter(|(entry, summary)| {
            entry["isWarmup"] != true && count(summary, &["requestCount"]) > Some(0)
        })
        .collect();
    let field = "requestCount";
    if measured.is_empty() {
        return Err(ImportError::Missing { tool: TOOL, field });
    }
    let mut figures = Figures {
        tool: Tool::Hyperfoil,
        // Whether a phase kept to a rate is in the benchmark alone.
        has_pauses: true,
        ..Figures::default()
    };
    let (mut attempts, mut sum, mut answers) = (0, 0.0, 0.0);
    let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
    for (entry, summary) in &measured {
        attempts += count(summary, &["requestCount"]).unwrap_or(0);
        failures(&mut figures, summary);
        let answered = number(summary, &["responseCount"]).unwrap_or(0.0);
        sum += number(summary, &["meanResponseTime"]).unwrap_or(0.0) * answered;
        answers += answered;
        let total = entry.get("total").unwrap_or(entry);
        let when = |here: &str, there: &str| number(total, &[here]).or(number(summary, &[there]));
        first = first.min(when("start", "startTime").unwrap_or(first));
        last = last.max(when("end", "endTime").unwrap_or(last));
        figures.all.max = either(
            figures.all.max,
            millis(summary, "maxResponseTime"),
            f64::max,
        );
    }
    figures.attempts = Some(attempts);
    figures.failures.add_up();
    figures.seconds = (last > first).then(|| (last - first) / 1e3);
    figures.reported_per_s = figures.attempts_per_s();
    match measured.as_slice() {
        [(_, only)] => figures.all = times(only),
        many => {
            figures.percentiles_per = Some("phase and metric");
            figures.scope = format!("of {} phases and metrics, warm-up left out", many.len());
        }
    }
    figures.all.mean = (answers > 0.0).then(|| sum / answers / 1e6);
    Ok(figures)
}

/// Statuses lie in an extension, in older versions beside the rest; `invalid` has them and what checks refused.
fn failures(figures: &mut Figures, summary: &Value) {
    let http = &summary["extensions"]["http"];
    let of = |name: &str| {
        count(http, &[name])
            .or(count(summary, &[name]))
            .unwrap_or(0)
    };
    let statuses = of("status_4xx") + of("status_5xx") + of("status_other");
    figures.failures.other_answers += statuses.max(of("invalid"));
    for (name, kind) in [
        ("connectionErrors", "connection error"),
        ("connectFailureCount", "connect failure"),
        ("resetCount", "reset"),
        ("requestTimeouts", "timeout"),
        ("timeouts", "timeout"),
        ("internalErrors", "internal error"),
    ] {
        figures
            .failures
            .no_answer(kind, count(summary, &[name]).unwrap_or(0));
    }
}

/// Nanoseconds in the file.
fn millis(summary: &Value, name: &str) -> Option<f64> {
    number(summary, &[name]).map(|nanos| nanos / 1e6)
}

fn times(summary: &Value) -> Times {
    let mut times = Times {
        min: millis(summary, "minResponseTime"),
        max: millis(summary, "maxResponseTime"),
        ..Times::default()
    };
    for (percent, nanos) in summary["percentileResponseTime"]
        .as_object()
        .into_iter()
        .flatten()
    {
        if let Ok(percent) = percent.parse() {
            times.set(percent, nanos.as_f64().map(|nanos| nanos / 1e6));
        }
    }
    times
}

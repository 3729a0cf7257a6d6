//! The three JSON shapes of a summary: for `handleSummary`, for `--summary-export`, and for machines.

use plimsoll_core::metrics::{Check, Sink};
use plimsoll_core::scenario::SummaryUnit;
use serde_json::{Map, Value, json};

use super::groups::Group;
use super::value::number;
use super::{Results, Row};

/// What `handleSummary(data)` may want to know about the terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct State {
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
    /// The summary is to be without colours.
    pub no_colour: bool,
}

/// The argument of `handleSummary(data)`: lists of groups and checks, typed metrics, and for each
/// threshold whether it is `ok`.
pub fn handle_summary_data(results: &Results<'_>, state: State) -> Value {
    let mut metrics = Map::new();
    for row in results.rows() {
        let figures = results.figures(row.sink);
        let values = figures
            .into_iter()
            .map(|(name, value)| (name, number(value)));
        let mut metric = json!({
            "type": row.metric.kind.name(),
            "contains": row.metric.contains.name(),
            "values": Value::Object(values.collect()),
        });
        let judged = results.judgements_of(&row);
        let judged: Map<_, _> = judged
            .map(|judgement| (judgement.source.clone(), json!({ "ok": judgement.ok })))
            .collect();
        if !judged.is_empty() {
            metric["thresholds"] = Value::Object(judged);
        }
        metrics.insert(row.key.to_owned(), metric);
    }
    let names: Vec<String> = results.trend_stats.iter().map(|stat| stat.name()).collect();
    let mut data = json!({
        "root_group": Group::root(results.store).listed(),
        "options": {
            "summaryTrendStats": names,
            "summaryTimeUnit": results.unit.map_or("", SummaryUnit::name),
            "noColor": state.no_colour,
        },
        "state": {
            "isStdOutTTY": state.stdout_is_terminal,
            "isStdErrTTY": state.stderr_is_terminal,
            "testRunDurationMs": results.elapsed.as_millis_f64(),
        },
        "metrics": metrics,
    });
    if let Some(setup) = results.setup_data {
        data["setup_data"] = setup.clone();
    }
    data
}

/// `--summary-export`: figures directly below each metric, a rate's as `value`, and for each
/// threshold whether it was *crossed*, the opposite of `ok`.
pub fn export(results: &Results<'_>) -> Value {
    let mut metrics = Map::new();
    for row in results.rows() {
        let figures = results.figures(row.sink).into_iter();
        let is_rate = matches!(row.sink, Sink::Rate(_));
        let flat = figures.map(|(name, value)| match &*name {
            "rate" if is_rate => ("value".to_owned(), number(value)),
            _ => (name, number(value)),
        });
        let mut metric: Map<String, Value> = flat.collect();
        let judged: Map<_, _> = results
            .judgements_of(&row)
            .map(|judgement| (judgement.source.clone(), json!(!judgement.ok)))
            .collect();
        if !judged.is_empty() {
            metric.insert("thresholds".to_owned(), Value::Object(judged));
        }
        metrics.insert(row.key.to_owned(), Value::Object(metric));
    }
    let mut data = json!({
        "root_group": Group::root(results.store).mapped(),
        "metrics": metrics,
    });
    if let Some(setup) = results.setup_data {
        data["setup_data"] = setup.clone();
    }
    data
}

/// What a machine-readable summary says about where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Config<'a> {
    pub version: &'a str,
    /// Name or text of the script.
    pub script: &'a str,
    /// When it was made, as calendar time.
    pub generated_at: &'a str,
}

/// The newer machine-readable shape: metrics in a list, durations in seconds, checks with totals.
pub fn machine_readable(results: &Results<'_>, config: &Config<'_>) -> Value {
    let is_checks = |row: &Row<'_>| row.metric.name == "checks";
    let rows = results.rows();
    let metrics = rows.iter().filter(|row| !is_checks(row));
    let metrics: Vec<Value> = metrics.map(|row| machine_metric(results, row)).collect();
    json!({
        "version": "1.0.0",
        "metadata": {
            "generated_at": config.generated_at,
            "plimsoll_version": config.version,
        },
        "config": {
            "script": config.script,
            "duration": results.elapsed.as_secs_f64(),
            "execution": "local",
        },
        "results": { "metrics": metrics, "checks": machine_checks(results) },
    })
}

fn machine_metric(results: &Results<'_>, row: &Row<'_>) -> Value {
    let values: Map<String, Value> = match row.sink {
        Sink::Rate(rate) => matches(rate.passes, rate.total),
        Sink::Counter(counter) => {
            let mut map = Map::new();
            map.insert("count".to_owned(), number(counter.sum()));
            map
        }
        // `p(95)` would need quoting in most query languages, so it is `p95` here.
        sink => {
            let figures = results.figures(sink).into_iter();
            let plain = |name: String| name.replace(['(', ')'], "");
            figures
                .map(|(name, value)| (plain(name), number(value)))
                .collect()
        }
    };
    let mut metric = json!({
        "name": row.key,
        "type": row.metric.kind.name(),
        "contains": row.metric.contains.name(),
        "values": values,
    });
    let judged = results.judgements_of(row);
    let judged: Vec<Value> = judged
        .map(|judgement| {
            json!({ "source": judgement.source, "value": judgement.value, "ok": judgement.ok })
        })
        .collect();
    if !judged.is_empty() {
        metric["thresholds"] = json!(judged);
    }
    metric
}

fn matches(passes: u64, total: u64) -> Map<String, Value> {
    let ratio = if total == 0 {
        0.0
    } else {
        passes as f64 / total as f64
    };
    let mut map = Map::new();
    map.insert("rate".to_owned(), number(ratio));
    map.insert("matches".to_owned(), json!(passes));
    map.insert("total".to_owned(), json!(total));
    map
}

fn machine_checks(results: &Results<'_>) -> Value {
    let checks = results.store.checks();
    let passes: u64 = checks.iter().map(|check| check.passes).sum();
    let fails: u64 = checks.iter().map(|check| check.fails).sum();
    let total = passes + fails;
    let rate = |name: &str, passes: u64| {
        json!({ "name": name, "type": "rate", "contains": "default",
                "values": matches(passes, total) })
    };
    let result = |check: &Check| {
        json!({ "name": check.name, "group": check.group,
                "passes": check.passes, "fails": check.fails })
    };
    json!({
        "metrics": [
            { "name": "checks_total", "type": "counter", "contains": "default",
              "values": { "count": total } },
            rate("checks_succeeded", passes),
            rate("checks_failed", fails),
        ],
        "results": checks.iter().map(result).collect::<Vec<_>>(),
    })
}

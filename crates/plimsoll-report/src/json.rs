//! The summary as one JSON document, in the stable keys of the verdict.

use plimsoll_core::Nanos;
use plimsoll_core::comparison::{Comparison, History};
use plimsoll_core::record::{Record, ScriptCounts};
use plimsoll_core::sweep::Sweep;
use plimsoll_core::verdict::Judgement;
use serde_json::{Map, Value, json};

use crate::view::{Conclusion, MixView, View};

/// The document of `--format json`: the verdict's own keys, and beside them what names the run.
/// Without a verdict it holds `valid: false`, the reason, and no figure.
pub fn summary(record: &Record) -> String {
    let mut text = serde_json::to_string_pretty(&document(record)).unwrap_or_default();
    text.push('\n');
    text
}

/// The same as a value, for callers that add to it.
pub fn document(record: &Record) -> Value {
    let view = View::new(record);
    let mut document = Map::new();
    let header = &record.header;
    for (key, value) in [
        ("schema", json!("plimsoll.summary/1")),
        ("command", json!(header.test.command())),
        ("title", json!(header.title)),
        ("started_at", json!(header.started_at)),
        ("plimsoll_version", json!(header.plimsoll_version)),
        (
            "headline",
            json!(view.headline.replace(crate::format::NBSP, " ")),
        ),
    ] {
        document.insert(key.to_owned(), value);
    }
    if let Some(objectives) = header.test.objectives() {
        document.insert("objective".to_owned(), json!(objectives.to_string()));
    }
    if let Some(Ok(Value::Object(keys))) = record.verdict.as_ref().map(serde_json::to_value) {
        document.extend(keys);
    } else {
        document.insert("valid".to_owned(), json!(false));
    }
    if view.conclusion == Conclusion::Interrupted {
        document.insert("interrupted".to_owned(), json!(true));
        let at = record.interrupted_at().map(Nanos::as_secs_f64);
        document.extend(at.map(|at| ("interrupted_after_seconds".to_owned(), json!(at))));
        // An older version judged what it had seen of an interrupted run.
        for claim in ["limit", "next_limit", "advice"] {
            document.remove(claim);
        }
        if record.verdict.is_some() {
            document.insert("verdict".to_owned(), json!(Judgement::None));
        }
    }
    document.extend(view.guard().map(|guard| ("guard".to_owned(), guard)));
    if let Some(level) = view.deciding_level() {
        for (key, value) in [
            ("status", json!(level.tally.status())),
            ("resent_count", json!(level.resent)),
            ("followed_count", json!(level.followed)),
        ] {
            document.insert(key.to_owned(), value);
        }
    }
    if let Some(script) = &view.script {
        document.insert("script".to_owned(), of_script(&script.counts));
    }
    if let Some(mix) = &view.mix {
        let (key, value) = of_mix(mix);
        document.insert(key.to_owned(), value);
    }
    if !view.warnings.is_empty() {
        let plain: Vec<String> = view
            .warnings
            .iter()
            .map(|text| text.replace(crate::format::NBSP, " "))
            .collect();
        document.insert("warnings".to_owned(), json!(plain));
    }
    Value::Object(document)
}

/// What each request did; or what a workload did, and what was found stored.
fn of_mix(mix: &MixView) -> (&'static str, Value) {
    let operations = mix.operations.iter().map(|(operation, tally)| {
        let outcomes: Map<String, Value> = tally
            .occurred()
            .map(|(outcome, class)| (outcome.name().to_owned(), json!(class.count)))
            .collect();
        json!({
            "name": operation,
            "attempts_count": tally.attempts(),
            "outcomes": outcomes,
            "bytes": tally.bytes(),
            "response_time_ns": {
                "p50": tally.response_quantile(0.5),
                "p95": tally.response_quantile(0.95),
                "p99": tally.response_quantile(0.99),
            },
        })
    });
    let databases = mix.databases.iter().map(|row| {
        json!({
            "name": row.name,
            "acknowledged_per_s": row.acknowledged_per_s,
            "wire_mean": row.wire,
            "effects": row.effects,
        })
    });
    let operations: Vec<Value> = operations.collect();
    if !mix.is_store {
        return ("requests", json!(operations));
    }
    let store = json!({
        "operations": operations,
        "databases": databases.collect::<Vec<_>>(),
        "verified": mix.verified,
    });
    ("store", store)
}

/// What a script counted, without the counters that the record keeps for merging.
fn of_script(counts: &ScriptCounts) -> Value {
    let names = counts.names.iter().map(|row| {
        let tally = &row.tally;
        let outcomes: Map<String, Value> = tally
            .occurred()
            .map(|(outcome, class)| (outcome.name().to_owned(), json!(class.count)))
            .collect();
        json!({
            "name": row.name,
            "attempts_count": tally.attempts(),
            "outcomes": outcomes,
            "response_time_ns": {
                "p50": tally.response_quantile(0.5),
                "p95": tally.response_quantile(0.95),
                "p99": tally.response_quantile(0.99),
            },
        })
    });
    let mut document = json!({
        "is_final": counts.is_final,
        "elapsed_ns": counts.elapsed_ns,
        "iterations": counts.iterations,
        "thresholds": counts.thresholds,
        "checks": counts.checks,
        "names": names.collect::<Vec<_>>(),
    });
    if let (Some(vus), Value::Object(keys)) = (counts.vus, &mut document) {
        keys.insert("vus".to_owned(), json!(vus));
    }
    document
}

/// The document of a comparison: its own keys, and the answer as a sentence.
pub fn comparison(comparison: &Comparison) -> String {
    with_headline(comparison, &crate::view::comparison::headline(comparison))
}

/// The document of a history: its own keys, and the answer as a sentence.
pub fn history(history: &History) -> String {
    let headline = crate::view::comparison::headline_of_history(history);
    with_headline(history, &headline)
}

/// The document of a sweep: its own keys, and the answer as a sentence.
pub fn sweep(sweep: &Sweep) -> String {
    with_headline(sweep, &crate::view::sweep::headline(sweep))
}

fn with_headline(document: &impl serde::Serialize, headline: &str) -> String {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    if let Value::Object(keys) = &mut document {
        let plain = headline.replace(crate::format::NBSP, " ");
        keys.insert("headline".to_owned(), json!(plain));
    }
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

//! A test survives the wire, and every header that was ever written is still read.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::record::Record;

/// Records of every released version, and of real runs of all kinds.
const FOLDERS: [&str; 2] = [
    "../plimsoll-analysis/tests/fixtures",
    "../plimsoll-report/tests/fixtures",
];

#[test]
fn every_recorded_header_is_read_and_written_again_as_it_was() {
    let mut seen = 0;
    for folder in FOLDERS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.to_string_lossy().ends_with(".plimsoll.jsonl") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let first = text.lines().next().unwrap();
            let written: Value = serde_json::from_str(first).unwrap();
            let header: Header = serde_json::from_str(first).unwrap();
            let mut again = serde_json::to_value(&header).unwrap();
            again["kind"] = json!("header");
            assert_eq!(again, written, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} fixtures");
}

fn line(plan: &Value, command: &str) -> Value {
    json!({
        "kind": "header", "schema": "plimsoll.record/1", "command": command, "plan": plan,
        "started_at": "", "plimsoll_version": "", "title": "",
        "machine": {"host": "", "kernel": "", "cpu": "", "cores_count": 1, "memory_bytes": 1},
    })
}

fn plan(request: &Value, load: &Value) -> Value {
    json!({
        "request": request, "load": load, "until": null, "connections_max": 4, "workers": 1,
        "timeout_ns": 1000, "keepalive": true, "insecure": false, "seed": 7,
        "objectives": [{"clause": "errors", "ratio": 0.1}],
    })
}

fn request(method: &str, url: &str) -> Value {
    json!({"method": method, "url": url, "headers": []})
}

#[test]
fn what_and_how_are_told_apart_by_type() {
    let get = request("GET", "http://h/");
    let script = request("SCRIPT", "shop.js");
    let closed = json!({"model": "closed", "in_flight": 4});
    let vus = json!({"model": "search", "within_ns": 240_000_000_000_u64, "overshoot": false,
                     "goal_width_ratio": 0.1, "over": {"varies": "vus", "only_vus": 50}});
    let rate = json!({"model": "search",
                      "over": {"varies": "rate", "arrivals": "uniform", "max_per_s": 9.0, "only_per_s": 5.0}});
    for (request, load, command, is_script) in [
        (&get, &closed, "run", false),
        (&get, &json!({"model": "search"}), "find", false),
        (&get, &rate, "find", false),
        (&script, &closed, "run", true),
        (&script, &vus, "find", true),
    ] {
        let written = line(&plan(request, load), command);
        let header: Header = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(header.test.is_script(), is_script, "{written}");
        assert_eq!(header.test.is_search(), command == "find", "{written}");
        let mut again = serde_json::to_value(&header).unwrap();
        again["kind"] = json!("header");
        assert_eq!(again, written);
    }
}

#[test]
fn a_header_that_contradicts_itself_is_refused() {
    let get = request("GET", "http://h/");
    let mut aimless = plan(&get, &json!({"model": "search"}));
    aimless["objectives"] = Value::Null;
    let closed = plan(&get, &json!({"model": "closed", "in_flight": 4}));
    for (written, fragment) in [
        (line(&aimless, "find"), "needs objectives"),
        (line(&closed, "find"), "of a load that is set"),
    ] {
        let mut text = written.to_string();
        text.push('\n');
        let error = Record::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(fragment), "{error}");
    }
}

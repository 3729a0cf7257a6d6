//! The grammar, the kinds, and what is judged when there are no samples.

use serde_json::json;

use super::*;
use crate::metrics::{BuiltIn, Contains};

fn read(value: &Value) -> Thresholds {
    Thresholds::from_json("options.thresholds", value).unwrap()
}

fn requests(store: &mut Store, tags: &[(&str, &str)], millis: &[f64]) {
    let tags = store.tag_set(tags);
    for value in millis {
        store.record(BuiltIn::HttpReqDuration.into(), tags, Nanos::ZERO, *value);
        store.record(BuiltIn::HttpReqs.into(), tags, Nanos::ZERO, 1.0);
        store.record(BuiltIn::HttpReqFailed.into(), tags, Nanos::ZERO, 0.0);
    }
}

#[test]
fn what_is_read_is_printed_in_one_form() {
    for (text, printed) in [
        ("p(95)<500", "p(95)<500"),
        (" p(99.9) <= 1e3 ", "p(99.9)<=1000"),
        ("avg>=.5", "avg>=0.5"),
        ("count===0", "count==0"),
        ("rate!=-1", "rate!=-1"),
        ("value > 3", "value>3"),
        ("med==1", "med==1"),
    ] {
        let expression = Expression::parse(text).unwrap();
        assert_eq!(expression.to_string(), printed);
        assert_eq!(Expression::parse(printed).unwrap(), expression);
    }
}

#[test]
fn what_is_refused_says_what_to_write() {
    for (text, part) in [
        ("", "has no operator"),
        ("p(95)", "has no operator"),
        ("p(95)=500", "has no operator"),
        ("p95<500", "`p95` is no aggregation"),
        ("average<500", "is no aggregation"),
        ("mx<500", "did you mean `max`?"),
        ("p(101)<500", "between 0 and 100"),
        ("p(nan)<500", "between 0 and 100"),
        ("p()<500", "between 0 and 100"),
        ("p(95)<500ms", "`500ms` is not a number"),
        ("p(95)<inf", "`inf` is not a number"),
        ("p(95)<1e999", "is not a number"),
        ("p(95)<<5", "`<5` is not a number"),
        ("rate<1%", "rates 0 to 1"),
        ("avg<5 && max<6", "is not a number"),
    ] {
        let error = Expression::parse(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    for (value, part) in [
        (json!([]), "an object of metrics"),
        (
            json!({ "checks": [5] }),
            "[\"checks\"]: `5` is not an expression",
        ),
        (
            json!({ "checks": [{ "abortOnFail": true }] }),
            "with a `threshold`",
        ),
        (
            json!({ "checks": [{ "threshold": "rate>0", "abort": 1 }] }),
            "delayAbortEval",
        ),
        (
            json!({ "checks": [{ "threshold": "rate>0", "noData": true }] }),
            "\"pass\" or \"fail\"",
        ),
        (
            json!({ "checks": [{ "threshold": "rate>0", "abortOnFail": 1 }] }),
            "true or false",
        ),
        (
            json!({ "checks": [{ "threshold": "rate>0", "delayAbortEval": "x" }] }),
            "\"10s\"",
        ),
        (
            json!({ "checks": ["rte>0"] }),
            "options.thresholds[\"checks\"]: `rte`",
        ),
    ] {
        let error = Thresholds::from_json("options.thresholds", &value)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{value}: {error}");
    }
}

#[test]
fn metrics_and_their_kinds_are_checked_before_the_start() {
    for (key, expression, part) in [
        (
            "http_req_duraton",
            "avg<1",
            "did you mean `http_req_duration`?",
        ),
        ("http_req_duration", "rate<1", "a trend has avg, min"),
        ("http_reqs", "p(95)<1", "a counter has count and rate"),
        ("checks", "value<1", "a rate has rate"),
        ("vus", "max<1", "a gauge has value"),
        ("http_reqs{", "count<1", "write metric{tag:value}"),
        ("http_reqs{a}", "count<1", "write metric{tag:value}"),
        ("nope{a:b}", "count<1", "no metric `nope`"),
    ] {
        let thresholds = read(&json!({ key: [expression] }));
        let error = thresholds
            .bind(&mut Store::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{key} {expression}: {error}");
    }
}

#[test]
fn every_aggregation_is_judged_on_its_kind() {
    let mut store = Store::default();
    let thresholds = read(&json!({
        "http_req_duration": ["avg==2.5", "min==1", "med==2.5", "max==4", "p(90)<=3.7"],
        "http_req_duration{name:a}": ["max<3"],
        "http_reqs": ["count>=4", "rate==0.4"],
        "http_req_failed": ["rate<0.01"],
        "vus": "value===7",
    }));
    thresholds.bind(&mut store).unwrap();
    requests(&mut store, &[("name", "a")], &[1.0, 2.0]);
    requests(&mut store, &[("name", "b")], &[3.0, 4.0]);
    let none = store.tag_set(&[]);
    store.record(BuiltIn::Vus.into(), none, Nanos::ZERO, 7.0);
    let evaluation = thresholds.evaluate(&store, Nanos::from_secs(10), Phase::Final);
    assert_eq!(evaluation.results.len(), 10);
    for result in &evaluation.results {
        assert!(result.ok, "{result:?}");
    }
    assert!(evaluation.passed() && !evaluation.abort);
}

#[test]
fn an_abort_waits_for_its_delay() {
    let mut store = Store::default();
    let thresholds = read(&json!({ "http_req_duration": [
        { "threshold": "max<1", "abortOnFail": true, "delayAbortEval": "10s" }] }));
    thresholds.bind(&mut store).unwrap();
    requests(&mut store, &[], &[5.0]);
    for (seconds, abort) in [(2, false), (9, false), (10, true)] {
        let evaluation = thresholds.evaluate(&store, Nanos::from_secs(seconds), Phase::Running);
        assert_eq!(evaluation.abort, abort, "after {seconds} s");
        assert!(!evaluation.passed());
    }
}

#[test]
fn without_samples_nothing_is_judged_until_the_end() {
    let mut store = Store::default();
    let own = store.register("own", Kind::Counter, Contains::Default);
    assert!(own.is_ok());
    let thresholds = read(&json!({
        "own": ["count>0"], "http_req_duration": ["p(95)<500"], "checks": ["rate>0.9"],
        "ws_ping": [{ "threshold": "p(95)<500", "noData": "fail" }],
    }));
    thresholds.bind(&mut store).unwrap();
    let running = thresholds.evaluate(&store, EVALUATE_EVERY, Phase::Running);
    assert!(running.results.is_empty() && running.passed());
    let ended = thresholds.evaluate(&store, EVALUATE_EVERY, Phase::Final);
    let held = |key| {
        ended
            .results
            .iter()
            .find(|result| result.key == key)
            .map(|result| result.ok)
    };
    assert_eq!(
        held("own"),
        Some(false),
        "nothing counted is a count of zero"
    );
    assert_eq!(held("http_req_duration"), Some(true));
    assert_eq!(
        held("checks"),
        Some(true),
        "a rate of nothing breaks nothing"
    );
    assert_eq!(held("ws_ping"), Some(false), "as it was asked for");
}

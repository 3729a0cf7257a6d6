//! The results of a scripted test in k6's shapes, and against what its official binary wrote.
//!
//! `k6/observed.*` is one run of `k6/observed.js` by k6 2.2.0: its samples, its export, its text.

use std::collections::BTreeSet;

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{BUILT_IN, BuiltIn, Contains, Kind, Sample, Store, TagSetId};
use plimsoll_core::scenario::{Layer, Options, Origin, SYSTEM_TAGS, Strictness, TrendStat};
use plimsoll_core::threshold::{Judgement, Phase, Thresholds};
use plimsoll_report::k6::{
    Config, CsvRows, CsvTime, Detail, JsonLines, Results, State, export, handle_summary_data,
    junit, machine_readable, markdown, text,
};
use serde_json::{Value, json};

/// A finished test, owned.
struct Test {
    store: Store,
    thresholds: Thresholds,
    judgements: Vec<Judgement>,
    elapsed: Nanos,
    stats: Vec<TrendStat>,
    setup: Value,
}

impl Test {
    fn of(mut store: Store, thresholds: &Value, elapsed: Nanos) -> Self {
        let thresholds = Thresholds::from_json("options.thresholds", thresholds).unwrap();
        thresholds.bind(&mut store).unwrap();
        Self {
            store,
            thresholds,
            judgements: Vec::new(),
            elapsed,
            stats: ["avg", "min", "med", "max", "p(90)", "p(95)"]
                .map(|name| TrendStat::parse(name).unwrap())
                .to_vec(),
            setup: json!({ "token": "abc" }),
        }
    }

    fn judged(mut self) -> Self {
        let evaluation = self
            .thresholds
            .evaluate(&self.store, self.elapsed, Phase::Final);
        self.judgements = evaluation.results;
        self
    }

    fn results(&self) -> Results<'_> {
        Results {
            store: &self.store,
            judgements: &self.judgements,
            elapsed: self.elapsed,
            trend_stats: &self.stats,
            unit: None,
            setup_data: Some(&self.setup),
        }
    }
}

const OBSERVED: &str = include_str!("k6/observed.jsonl");

/// The observed run, its samples counted by our store.
fn observed() -> Test {
    let script = json!({
        "http_req_duration": ["p(95)<500", "avg<0.001"],
        "http_req_duration{group:::shop}": ["max<1000"],
        "checks": ["rate>0.9"],
        "logins": ["count>1"],
    });
    let lines: Vec<Value> = OBSERVED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut store = Store::default();
    for line in lines.iter().filter(|line| line["type"] == "Metric") {
        let data = &line["data"];
        let name = data["name"].as_str().unwrap();
        let kinds = [Kind::Counter, Kind::Gauge, Kind::Rate, Kind::Trend];
        let kind = kinds
            .into_iter()
            .find(|kind| data["type"] == kind.name())
            .unwrap();
        let contents = [Contains::Default, Contains::Time, Contains::Data];
        let contains = contents
            .into_iter()
            .find(|c| data["contains"] == c.name())
            .unwrap();
        let known = store.find(name).map(Ok);
        known
            .unwrap_or_else(|| store.register(name, kind, contains))
            .unwrap();
    }
    let export: Value = serde_json::from_str(include_str!("k6/observed-export.json")).unwrap();
    let iterations = &export["metrics"]["iterations"];
    let seconds = iterations["count"].as_f64().unwrap() / iterations["rate"].as_f64().unwrap();
    let mut test = Test::of(store, &script, Nanos::from_secs_f64(seconds));
    for (index, line) in lines
        .iter()
        .filter(|line| line["type"] == "Point")
        .enumerate()
    {
        let tags = line["data"]["tags"].as_object().unwrap();
        let tags: Vec<(&str, &str)> = tags
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let tags = test.store.tag_set(&tags);
        let metric = test.store.find(line["metric"].as_str().unwrap()).unwrap();
        let value = line["data"]["value"].as_f64().unwrap();
        test.store.record(metric, tags, Nanos(index as u64), value);
    }
    test.judged()
}

/// Numbers within a thousandth, everything else the same.
fn assert_close(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys =
                |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(a), keys(b), "{place}");
            for (key, value) in a {
                assert_close(value, &b[key], &format!("{place}.{key}"));
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= b.abs() * 1e-3, "{place}: {a} and {b}");
        }
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}

#[test]
fn the_export_of_an_observed_run_is_the_same() {
    let theirs: Value = serde_json::from_str(include_str!("k6/observed-export.json")).unwrap();
    assert_close(&export(&observed().results()), &theirs, "export");
}

/// What a word says besides its digits, and its digits as one number.
fn parts(word: &str) -> (String, f64) {
    let is_digit = |c: &char| c.is_ascii_digit() || *c == '.';
    let rest = word.chars().filter(|c| !is_digit(c)).collect();
    let digits: String = word.chars().filter(is_digit).collect();
    // Dots that fill up a line are no number.
    (rest, digits.trim_matches('.').parse().unwrap_or(0.0))
}

/// Word by word; blanks do not matter, and numbers agree within a thousandth.
#[test]
fn the_text_of_an_observed_run_is_the_same() {
    let ours = text(&observed().results(), Detail::Compact, false);
    let theirs = include_str!("k6/observed.txt");
    let (mine, yours) = (ours.split_whitespace(), theirs.split_whitespace());
    assert_eq!(mine.clone().count(), yours.clone().count(), "{ours}");
    for (mine, yours) in mine.zip(yours) {
        let (a, b) = (parts(mine), parts(yours));
        assert_eq!(a.0, b.0, "{mine} and {yours}");
        assert!((a.1 - b.1).abs() <= b.1 * 1e-3, "{mine} and {yours}");
    }
}

#[test]
fn points_and_declarations_are_the_same() {
    let test = observed();
    let lines: Vec<Value> = OBSERVED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let start = Nanos(1_795_277_116_000_000_000);
    let mut out = JsonLines::new(Vec::new(), start);
    let mut expected = Vec::new();
    for line in &lines {
        if line["type"] == "Metric" {
            continue;
        }
        let tags = line["data"]["tags"].as_object().unwrap();
        let tags: Vec<(&str, &str)> = tags
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let sample = Sample {
            metric: test.store.find(line["metric"].as_str().unwrap()).unwrap(),
            tags: test.store.tags().find(&tags).unwrap(),
            at: Nanos(414_652_365),
            value: line["data"]["value"].as_f64().unwrap(),
        };
        out.write(&test.store, &test.thresholds, &sample).unwrap();
        let mut line = line.clone();
        line["data"]["time"] = json!("2026-11-21T16:05:16.414652365Z");
        expected.push(line);
    }
    let written = String::from_utf8(out.into_inner()).unwrap();
    let written: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let points: Vec<&Value> = written
        .iter()
        .filter(|line| line["type"] == "Point")
        .collect();
    assert_eq!(points, expected.iter().collect::<Vec<_>>());
    let declared = |lines: &[Value], name: &str| {
        let found = lines
            .iter()
            .find(|line| line["type"] == "Metric" && line["metric"] == name);
        let mut data = found.unwrap()["data"].clone();
        if let Some(list) = data["submetrics"].as_array_mut() {
            list.sort_by_key(|inner| inner["name"].as_str().unwrap().to_owned());
        }
        data
    };
    for name in ["http_req_duration", "checks", "custom_wait", "logins"] {
        assert_eq!(declared(&written, name), declared(&lines, name));
    }
}

/// A test with everything in it, in round numbers.
fn shop() -> Test {
    let mut store = Store::default();
    let waits = store
        .register("cart_wait", Kind::Trend, Contains::Time)
        .unwrap();
    let sizes = store
        .register("cart_items", Kind::Trend, Contains::Default)
        .unwrap();
    let orders = store
        .register("orders", Kind::Counter, Contains::Default)
        .unwrap();
    let thresholds = json!({
        "http_req_duration": ["p(95)<250", { "threshold": "max<1000", "abortOnFail": true }],
        "http_req_duration{name:cart}": ["p(90)<30"],
        "checks": ["rate>0.99"],
        "orders": ["rate>1"],
        "never_seen": ["count==0"],
        "ws_sessions{url:x}": ["count<1"],
    });
    store
        .register("never_seen", Kind::Counter, Contains::Default)
        .unwrap();
    let mut test = Test::of(store, &thresholds, Nanos::from_secs(60));
    let store = &mut test.store;
    for index in 0..600_u32 {
        let (name, millis) = if index % 3 == 0 {
            ("cart", 40.0)
        } else {
            ("home", 10.0)
        };
        let ok = if index % 100 == 0 { "false" } else { "true" };
        let tags = store.tag_set(&[
            ("name", name),
            ("expected_response", ok),
            ("scenario", "buy"),
        ]);
        let mut add = |metric: BuiltIn, value: f64| {
            store.record(
                metric.into(),
                tags,
                Nanos::from_millis(u64::from(index)),
                value,
            );
        };
        add(BuiltIn::HttpReqs, 1.0);
        add(BuiltIn::HttpReqDuration, millis + f64::from(index) / 1000.0);
        add(BuiltIn::HttpReqWaiting, millis);
        add(BuiltIn::HttpReqFailed, f64::from(u32::from(ok == "false")));
        add(BuiltIn::DataReceived, 1_000.0);
        add(BuiltIn::DataSent, 86.0);
        add(BuiltIn::Iterations, 1.0);
        add(BuiltIn::IterationDuration, 1_000.0 + millis);
        add(BuiltIn::Vus, 10.0);
        add(BuiltIn::VusMax, 10.0);
    }
    let plain = store.tag_set(&[]);
    store.record(BuiltIn::DroppedIterations.into(), plain, Nanos::ZERO, 7.0);
    store.record(waits, plain, Nanos::ZERO, 1_234.5);
    store.record(sizes, plain, Nanos::ZERO, 1_500.0);
    store.record(sizes, plain, Nanos::ZERO, 3.25);
    store.record(orders, plain, Nanos::ZERO, 120.0);
    checks(
        store,
        &[
            ("", "status is 200", 594, 6),
            ("::cart", "has <items>", 200, 0),
        ],
    );
    checks(store, &[("::cart::pay", "paid | twice", 199, 1)]);
    test.judged()
}

fn checks(store: &mut Store, counts: &[(&str, &str, u32, u32)]) {
    for (group, name, passes, fails) in counts {
        let tags: TagSetId = store.tag_set(&[("group", group), ("check", name)]);
        for held in (0..*passes).map(|_| 1.0).chain((0..*fails).map(|_| 0.0)) {
            store.record(BuiltIn::Checks.into(), tags, Nanos::ZERO, held);
        }
    }
}

#[test]
fn the_compact_summary() {
    insta::assert_snapshot!(text(&shop().results(), Detail::Compact, false));
}

#[test]
fn the_full_summary() {
    insta::assert_snapshot!(text(&shop().results(), Detail::Full, false));
}

#[test]
fn a_test_of_nothing_has_a_summary() {
    let test = Test::of(Store::default(), &json!({}), Nanos::ZERO).judged();
    insta::assert_snapshot!(text(&test.results(), Detail::Compact, false));
}

#[test]
fn colours_are_only_colours() {
    let test = shop();
    let coloured = text(&test.results(), Detail::Full, true);
    let bare: String = coloured
        .split('\x1b')
        .map(|part| {
            part.strip_prefix('[')
                .map_or(part, |rest| rest.split_once('m').unwrap().1)
        })
        .collect();
    assert_eq!(bare, text(&test.results(), Detail::Full, false));
}

#[test]
fn the_argument_of_handle_summary() {
    let state = State {
        stdout_is_terminal: true,
        ..State::default()
    };
    let data = handle_summary_data(&shop().results(), state);
    insta::assert_snapshot!(serde_json::to_string_pretty(&data).unwrap());
}

#[test]
fn the_machine_readable_summary() {
    let config = Config {
        version: "0.1.0",
        script: "shop.js",
        generated_at: "2026-03-12T10:12:09Z",
    };
    let data = machine_readable(&shop().results(), &config);
    insta::assert_snapshot!(serde_json::to_string_pretty(&data).unwrap());
}

#[test]
fn thresholds_as_junit() {
    insta::assert_snapshot!(junit(&shop().results(), "shop.js"));
}

#[test]
fn a_summary_for_a_pull_request() {
    insta::assert_snapshot!(markdown(&shop().results(), "shop.js"));
}

#[test]
fn rows_of_samples() {
    let mut store = Store::default();
    let tags = store.tag_set(&[
        ("status", "200"),
        ("name", "a,\"b\""),
        ("team", "x"),
        ("zone", "1"),
    ]);
    let columns: BTreeSet<String> = SYSTEM_TAGS.split(',').map(str::to_owned).collect();
    let start = Nanos(1_795_277_116_000_000_000);
    let rows = |time: &str| {
        let time = CsvTime::parse(time).unwrap();
        let mut rows = CsvRows::new(Vec::new(), start, time, &columns).unwrap();
        let sample = Sample {
            metric: BuiltIn::HttpReqDuration.into(),
            tags,
            at: Nanos(1_500_000_000),
            value: 7.241_285,
        };
        rows.write(&store, &sample).unwrap();
        String::from_utf8(rows.into_inner()).unwrap()
    };
    insta::assert_snapshot!(rows("unix"));
    for (time, shown) in [
        ("unix_milli", "1795277117500"),
        ("rfc3339", "2026-11-21T16:05:17Z"),
        ("rfc3339_nano", "2026-11-21T16:05:17.5Z"),
    ] {
        assert!(
            rows(time).contains(&format!("http_req_duration,{shown},7.241285")),
            "{time}"
        );
    }
    assert_eq!(CsvTime::parse("iso"), None);
}

/// The default columns of the rows are the system tags that are on by default.
#[test]
fn default_tags_and_metrics_come_from_their_tables() {
    let layer = Layer::from_object(Origin::Script, &json!({}), Strictness::Normal).unwrap();
    let options = Options::from_layers(&[layer]).unwrap();
    let columns: BTreeSet<String> = SYSTEM_TAGS.split(',').map(str::to_owned).collect();
    assert_eq!(options.settings.system_tags, columns);
    assert!(BUILT_IN.iter().all(|spec| !spec.help.is_empty()));
}

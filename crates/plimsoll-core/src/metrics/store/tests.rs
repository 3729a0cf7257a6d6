//! What a store counts, and what merging gives.

#![expect(
    clippy::float_cmp,
    reason = "sums and whole numbers are exact by design"
)]

use proptest::prelude::*;

use super::*;

const AT: Nanos = Nanos::ZERO;

fn duration(store: &mut Store, tags: &[(&str, &str)], value: f64) {
    let tags = store.tag_set(tags);
    store.record(BuiltIn::HttpReqDuration.into(), tags, AT, value);
}

fn trend(sink: &Sink) -> &super::super::Trend {
    match sink {
        Sink::Trend(trend) => trend,
        other => panic!("{other:?} is no trend"),
    }
}

#[test]
fn built_in_metrics_have_the_number_of_their_row() {
    let store = Store::default();
    for (spec, (metric, sink)) in BUILT_IN.iter().zip(store.metrics()) {
        assert_eq!(spec.name, metric.name);
        assert_eq!(spec.kind, sink.kind());
    }
    let last = BuiltIn::DataReceived;
    assert_eq!(store.metric(last.into()).0.name, "data_received");
    assert_eq!(BUILT_IN.len(), last as usize + 1);
}

#[test]
fn submetrics_count_what_has_all_their_tags() {
    let mut store = Store::default();
    let both = store
        .submetric("http_req_duration{name:login, status:\"200\"}")
        .unwrap();
    duration(&mut store, &[("name", "login"), ("status", "200")], 1.0);
    duration(
        &mut store,
        &[("status", "200"), ("name", "login"), ("x", "y")],
        2.0,
    );
    duration(&mut store, &[("name", "login"), ("status", "500")], 4.0);
    let late = store.submetric("http_req_duration{status:500}").unwrap();
    duration(&mut store, &[("name", "login"), ("status", "500")], 8.0);
    let absent = store.submetric("http_req_duration{x:}").unwrap();
    duration(&mut store, &[("name", "login"), ("status", "500")], 16.0);
    let sum = |place: usize| trend(&store.submetrics()[place].sink).sum();
    assert_eq!(sum(both), 3.0);
    assert_eq!(sum(late), 24.0, "from when it was asked for");
    assert_eq!(sum(absent), 16.0);
    assert_eq!(trend(store.built_in(BuiltIn::HttpReqDuration)).sum(), 31.0);
    assert_eq!(
        store
            .clone()
            .submetric("http_req_duration{status:200,name:login}"),
        Ok(both),
        "the same one in another order"
    );
}

#[test]
fn the_order_of_tags_does_not_matter() {
    let mut store = Store::default();
    let one = store.tag_set(&[("a", "1"), ("b", "2")]);
    assert_eq!(store.tag_set(&[("b", "2"), ("a", "1")]), one);
    assert_ne!(store.tag_set(&[("a", "2"), ("b", "1")]), one);
    assert_ne!(store.tag_set(&[("a", "1")]), one);
    let shown: Vec<_> = store.tags().tags(one).collect();
    assert_eq!(shown, [("a", "1"), ("b", "2")]);
    assert_eq!(store.tags().value(one, "b"), Some("2"));
}

#[test]
fn checks_and_groups_are_kept_in_their_order() {
    let mut store = Store::default();
    for (group, name, held) in [
        ("", "status is 200", 1.0),
        ("::shop", "has cart", 0.0),
        ("", "status is 200", 0.0),
        ("::shop::pay", "paid", 1.0),
    ] {
        let tags = store.tag_set(&[("group", group), ("check", name)]);
        store.record(BuiltIn::Checks.into(), tags, AT, held);
    }
    let shown: Vec<_> = store
        .checks()
        .iter()
        .map(|check| (&*check.group, &*check.name, check.passes, check.fails))
        .collect();
    assert_eq!(
        shown,
        [
            ("", "status is 200", 1, 1),
            ("::shop", "has cart", 0, 1),
            ("::shop::pay", "paid", 1, 0),
        ]
    );
    assert_eq!(store.groups(), ["::shop", "::shop::pay"]);
}

#[test]
fn own_metrics_are_registered_once_and_checked() {
    let mut store = Store::default();
    let first = store
        .register("waits", Kind::Trend, Contains::Time)
        .unwrap();
    assert_eq!(
        store.register("waits", Kind::Trend, Contains::Time),
        Ok(first)
    );
    for (name, kind, contains, part) in [
        (
            "waits",
            Kind::Counter,
            Contains::Default,
            "cannot become a counter",
        ),
        ("waits", Kind::Trend, Contains::Default, "trend of time"),
        ("x", Kind::Counter, Contains::Default, "2 to 128"),
        ("my metric", Kind::Counter, Contains::Default, "underscores"),
        ("1st", Kind::Counter, Contains::Default, "no digit first"),
    ] {
        let error = store
            .register(name, kind, contains)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
    let unknown = store.known("http_req_durations").unwrap_err().to_string();
    assert!(
        unknown.contains("did you mean `http_req_duration`?"),
        "{unknown}"
    );
    for key in ["http_reqs", "http_reqs{", "http_reqs{a}", "http_reqs{:b}"] {
        assert!(
            matches!(store.submetric(key), Err(MetricError::Submetric(_))),
            "{key}"
        );
    }
}

#[test]
fn too_many_tag_sets_cost_tags_but_no_counts() {
    let mut store = Store::new(100);
    let login = store.submetric("http_req_duration{name:login}").unwrap();
    for index in 0..10_000 {
        let url = format!("http://shop.test/{index}");
        let name = if index % 2 == 0 { "login" } else { "other" };
        duration(&mut store, &[("url", &url), ("name", name)], 1.0);
    }
    // Outputs still know what failed, whatever it was.
    let failed = store.tag_set(&[("url", "http://shop.test/late"), ("status", "503")]);
    let kept: Vec<_> = store.tags().tags(failed).collect();
    assert_eq!(kept, [("status", "503")]);
    assert!(store.tags().len() <= 200, "{}", store.tags().len());
    assert_eq!(trend(&store.submetrics()[login].sink).count(), 5_000);
    assert_eq!(
        trend(store.built_in(BuiltIn::HttpReqDuration)).count(),
        10_000
    );
    let warning = store.lost_tags().unwrap();
    assert!(warning.contains("100 different tag sets"), "{warning}");
}

#[test]
fn endless_check_names_are_bounded_too() {
    let mut store = Store::new(10);
    for index in 0..1_000 {
        let tags = store.tag_set(&[("check", &index.to_string())]);
        store.record(BuiltIn::Checks.into(), tags, AT, 1.0);
    }
    assert!(store.tags().len() <= 21 && store.checks().len() <= 21);
    let Sink::Rate(rate) = store.built_in(BuiltIn::Checks) else {
        panic!("checks is a rate")
    };
    assert_eq!(rate.total, 1_000);
}

#[test]
fn what_is_not_finite_is_left_out_and_said() {
    let mut store = Store::default();
    duration(&mut store, &[], f64::NAN);
    assert!(store.built_in(BuiltIn::HttpReqDuration).is_empty());
    assert!(store.left_out().unwrap().contains("1 so far"));
}

/// 50 tag sets, times between 0.1 ms and 60 s: after the first minute nothing grows any more.
#[test]
fn a_long_test_is_flat_in_memory() {
    let mut store = Store::default();
    for name in 0..50 {
        let key = format!("http_req_duration{{name:page {name}}}");
        store.submetric(&key).unwrap();
    }
    let mut rng = plimsoll_base::random::Rng::new(4, 0);
    let mut minute = |store: &mut Store| {
        for index in 0..120_000 {
            let name = format!("page {}", index % 50);
            let millis = 0.1 * libm::exp(rng.unit() * 13.3);
            duration(
                store,
                &[("name", &name), ("expected_response", "true")],
                millis,
            );
        }
        (store.memory_bytes(), store.tags().len())
    };
    let after_one = minute(&mut store);
    for _ in 0..4 {
        // At the edges of the range a few pages come late.
        let (bytes, tag_sets) = minute(&mut store);
        assert!(
            bytes * 100 <= after_one.0 * 101,
            "{bytes} after {after_one:?}"
        );
        assert_eq!(tag_sets, after_one.1);
    }
    assert!(after_one.0 < 20_000_000, "{} bytes", after_one.0);
    assert_eq!(after_one.1, 50);
}

/// A sample: which metric, which tag set, when, and what.
fn samples() -> impl Strategy<Value = Vec<(usize, usize, u64, f64)>> {
    prop::collection::vec((0..4usize, 0..3usize, 0..100u64, -50.0f64..1e4), 0..60)
}

fn of(samples: &[(usize, usize, u64, f64)]) -> Store {
    let metrics = [
        BuiltIn::Vus,
        BuiltIn::HttpReqDuration,
        BuiltIn::Checks,
        BuiltIn::DataSent,
    ];
    let sets: [&[(&str, &str)]; 3] = [
        &[],
        &[("expected_response", "true")],
        &[("check", "ok"), ("group", "::a")],
    ];
    let mut store = Store::default();
    let own = store
        .register("own", Kind::Counter, Contains::Default)
        .unwrap();
    for (metric, tags, at, value) in samples {
        let tags = store.tag_set(sets[*tags]);
        store.record(metrics[*metric].into(), tags, Nanos(*at), *value);
        store.record(own, tags, Nanos(*at), 1.0);
    }
    store
}

fn sinks(store: &Store) -> Vec<(String, Sink)> {
    let metrics = store
        .metrics()
        .map(|(metric, sink)| (metric.name.clone(), sink.clone()));
    let submetrics = store.submetrics().iter();
    let submetrics = submetrics.map(|submetric| (submetric.key.clone(), submetric.sink.clone()));
    metrics.chain(submetrics).collect()
}

proptest! {
    #[test]
    fn stores_of_workers_merge_into_the_store_of_one(
        a in samples(), b in samples(), c in samples()
    ) {
        let all: Vec<_> = a.iter().chain(&b).chain(&c).copied().collect();
        let whole = of(&all);
        let (a, b, c) = (of(&a), of(&b), of(&c));
        let mut left = Store::default();
        for part in [&a, &b, &c] {
            left.merge(part);
        }
        let mut right = c.clone();
        right.merge(&a);
        right.merge(&b);
        prop_assert_eq!(sinks(&left), sinks(&whole));
        prop_assert_eq!(sinks(&right), sinks(&whole));
        let counted = |store: &Store| store.checks().iter().map(|c| (c.passes, c.fails)).max();
        prop_assert_eq!(counted(&left), counted(&whole));
        left.clear();
        left.merge(&whole);
        prop_assert_eq!(sinks(&left), sinks(&whole));
    }
}

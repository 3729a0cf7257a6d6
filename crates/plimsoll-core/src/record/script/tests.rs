//! A line holds what its store held, merges, and stays bounded.

use serde_json::json;

use super::*;
use crate::Outcome;
use crate::metrics::{Kind, MetricId};
use crate::record::Line;
use crate::threshold::{Phase, Thresholds};

/// A store with what scripts count, `n` times.
fn counted(n: u64) -> (Store, Names, Thresholds) {
    let mut store = Store::default();
    let price = store
        .register("price", Kind::Trend, Contains::Default)
        .unwrap();
    let orders = store
        .register("orders", Kind::Counter, Contains::Default)
        .unwrap();
    let asked = json!({
        "http_req_duration{name:login}": ["p(95)<2"],
        "price": ["avg<5"],
        "checks": ["rate>0.5"],
    });
    let thresholds = Thresholds::from_json("thresholds", &asked).unwrap();
    thresholds.bind(&mut store).unwrap();
    let login = store.tag_set(&[("name", "login"), ("group", "::shop")]);
    let check = store.tag_set(&[("check", "is 200"), ("group", "::shop")]);
    let mut names = Names::default();
    for i in 1..=n {
        let at = Nanos::from_millis(i);
        store.record(BuiltIn::HttpReqDuration.into(), login, at, i as f64);
        store.record(BuiltIn::Iterations.into(), login, at, 1.0);
        store.record(BuiltIn::Vus.into(), login, at, i as f64);
        store.record(price, login, at, -0.5 * i as f64);
        store.record(orders, login, at, 2.0);
        store.record(
            BuiltIn::Checks.into(),
            check,
            at,
            f64::from(u8::from(i % 4 != 0)),
        );
        let mut tally = Tally::default();
        tally.record(Outcome::Ok, at, Some(at), 10, &[]);
        names.add("login", &tally);
    }
    (store, names, thresholds)
}

fn line(n: u64) -> (ScriptCounts, Store, Thresholds) {
    let (store, names, thresholds) = counted(n);
    let scope = Scope {
        elapsed_ns: Nanos::from_secs(10),
        is_final: true,
        ..Scope::default()
    };
    let judged = thresholds.evaluate(&store, scope.elapsed_ns, Phase::Final);
    (
        ScriptCounts::new(scope, &store, &names, &judged.results),
        store,
        thresholds,
    )
}

#[test]
fn what_is_read_back_judges_and_counts_as_the_store_did() {
    let (written, store, thresholds) = line(8);
    let text = serde_json::to_string(&Line::Script(written.clone())).unwrap();
    let Line::Script(read) = serde_json::from_str(&text).unwrap() else {
        panic!("{text}");
    };
    assert!(read == written, "{text}");
    let again = read.store();
    let elapsed = read.elapsed_ns;
    assert_eq!(
        thresholds.evaluate(&again, elapsed, Phase::Final),
        thresholds.evaluate(&store, elapsed, Phase::Final)
    );
    assert!(read.has_crossed(), "the p95 of 1 to 8 ms is no 2 ms");
    assert_eq!(again.checks(), store.checks());
    assert_eq!(again.groups(), store.groups());
    assert_eq!(read.check_totals(), (6, 2));
    assert_eq!(read.iterations.completed_count, 8);
    assert_eq!(read.vus.map(|vus| (vus.min, vus.max)), Some((1, 8)));
    assert_eq!(read.custom().count(), 2);
    let id: MetricId = again.find("orders").unwrap();
    assert_eq!(
        again.metric(id).1,
        store.metric(store.find("orders").unwrap()).1
    );
}

#[test]
fn levels_are_pooled_and_judged_anew() {
    let ((one, ..), (other, ..)) = (line(2), line(8));
    let pooled = ScriptCounts::pooled([&one, &other]).unwrap();
    assert_eq!(pooled.iterations.completed_count, 10);
    assert_eq!(pooled.elapsed_ns, Nanos::from_secs(20));
    assert_eq!(pooled.names[0].tally.attempts(), 10);
    assert_eq!(pooled.check_totals(), (8, 2));
    assert!(
        !one.has_crossed() && pooled.has_crossed(),
        "{:?}",
        pooled.thresholds
    );
    assert_eq!(ScriptCounts::pooled([]), None);
}

#[test]
fn rows_without_end_are_summed_and_counted() {
    let mut store = Store::default();
    for n in 0..CHECKS_MAX + 5 {
        let tags = store.tag_set(&[("check", &format!("item {n}"))]);
        let held = f64::from(u8::from(n != CHECKS_MAX + 4));
        store.record(BuiltIn::Checks.into(), tags, Nanos(1), held);
    }
    let line = ScriptCounts::new(Scope::default(), &store, &Names::default(), &[]);
    let left = line.left_out.as_ref().unwrap();
    assert_eq!((line.checks.len(), left.checks_count), (CHECKS_MAX, 5));
    assert_eq!(line.check_totals(), (CHECKS_MAX as u64 + 4, 1));
    assert_eq!(line.checks[0].fails, 1, "what failed is among those kept");
}

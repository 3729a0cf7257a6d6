//! Differences of verdicts, by name, with their units.

use plimsoll_core::Nanos;
use plimsoll_core::tally::Quantile;
use plimsoll_core::verdict::{Bounds, Gate, GateState, Judgement};
use serde_json::json;

use super::*;

fn verdict() -> Verdict {
    serde_json::from_value(json!({
        "valid": true, "verdict": "pass", "level": 7, "duration_seconds": 10.0, "attempts_count": 4060,
        "offered_per_s": 406.0, "throughput_per_s": 406.0, "goodput_per_s": 406.0, "outcomes": {"ok": 4060},
        "response_time_ns": {}, "service_time_ns": {}, "in_flight_mean": 2.5, "bytes_received": 1000,
        "converged": true, "gates": [],
    }))
    .unwrap()
}

fn words(stored: &Verdict, computed: &Verdict) -> Vec<String> {
    let said = differences(stored, computed).into_iter();
    said.map(|said| format!("{} {} {}", said.what, said.stored, said.computed))
        .collect()
}

#[test]
fn every_figure_that_differs_is_named_with_its_unit() {
    let computed = verdict();
    assert_eq!(differences(&computed, &computed), []);
    let mut stored = verdict();
    stored.goodput_per_s = 812.0;
    stored.verdict = Judgement::Fail;
    stored.response_time_ns.p99 = Some(Quantile::At(Nanos::from_millis(12)));
    stored.found.capacity_per_s = Some(Bounds {
        estimate: 1350.0,
        lower: Some(1300.0),
        upper: None,
    });
    stored.gates.push(Gate {
        id: GateId::Steady,
        name: GateId::Steady.name().to_owned(),
        state: GateState::Pass,
        compared: "growth".to_owned(),
        left: None,
        right: None,
        tolerance: None,
        note: String::new(),
    });
    let words = words(&stored, &computed);
    assert_eq!(
        words[..5],
        [
            "the verdict fail pass",
            "the load line estimate 1350/s nothing",
            "the load line lower 1300/s nothing",
            "goodput 812/s 406/s",
            "response time p99 at 12.0 ms nothing",
        ]
    );
    assert!(
        words.contains(&"gate 5 (Steady state) state pass nothing".to_owned()),
        "{words:?}"
    );
}

#[test]
fn a_field_without_words_of_its_own_goes_by_its_key() {
    let (one, other) = (json!({"p50_ns": 1_000_000}), json!({"p50_ns": 2_000_000}));
    let mut said = Vec::new();
    differ("new_key", "new_key", (&one, &other), &mut said);
    assert_eq!(said[0].what, "new_key p50 ns");
    assert_eq!(
        (said[0].stored.as_str(), said[0].computed.as_str()),
        ("1.00 ms", "2.00 ms")
    );
}

//! Mistakes of the published tests that their own files show.

use plimsoll_core::verdict::GateState;
use serde_json::json;

use super::super::*;
use super::formats::dashboard;
use super::{databases, doubled, gate, of};

/// Both architectures of the published test, with what its files have beside the figures of the first test above.
fn published(
    count: u64,
    seconds: f64,
    failed: u64,
    p95: [f64; 2],
    slowest: f64,
    check: &str,
) -> Figures {
    let mut summary = doubled(count, seconds, failed, p95, 48_302_234);
    let metrics = &mut summary["metrics"];
    metrics["http_req_duration"]["values"]["max"] = json!(slowest);
    metrics["vus_max"] =
        json!({ "type": "gauge", "values": { "value": 2000, "min": 2000, "max": 2000 } });
    metrics["iterations"] = json!({ "values": { "count": count, "rate": count as f64 / seconds } });
    metrics["iteration_duration"] = json!({ "values": { "avg": 155.08 } });
    summary["root_group"] = json!({ "groups": [], "checks": [ { "name": check, "passes": count - failed, "fails": failed } ] });
    of(&summary)
}

#[test]
fn the_doubled_servers_are_a_closed_loop_with_maxima_of_a_limit_and_one_run_each() {
    let one = published(176_584, 80.49, 0, [796.8, 796.8], 903.9, "status is 200");
    let two = published(
        350_261,
        96.266,
        93_069,
        [492.8, 269.9],
        36_000.75,
        "status is 200",
    );
    let declared = Declared {
        changes: vec!["a second server".into(), "a proxy".into()],
        ..Declared::default()
    };
    let audit = audit(&two, Some(&one), &declared);
    let arrivals = gate(&audit, 6);
    assert_eq!(arrivals.state, GateState::Warning);
    assert!(arrivals.note.starts_with("closed loop"), "{arrivals:?}");
    let slowest = gate(&audit, 10);
    assert_eq!(slowest.left.as_deref(), Some("36.0 s"));
    assert!(
        slowest
            .note
            .contains("waited for something that is not the work"),
        "{slowest:?}"
    );
    let change = &gate(&audit, 13).note;
    for part in [
        "2 changes at once: a second server, a proxy",
        "one run of each",
        "+21.8 % has no interval",
    ] {
        assert!(change.contains(part), "{part}: {change}");
    }
    assert!(
        audit.gates.iter().all(|gate| gate.id.number() != 11),
        "no 202 in these files"
    );
    let alone = super::super::audit(&one, None, &Declared::default());
    assert!(
        alone.gates.iter().all(|gate| gate.id.number() != 10),
        "0.9 s is no limit"
    );
    assert_eq!(gate(&alone, 13).state, GateState::Unknown);
}

#[test]
fn a_queue_that_answers_202_has_done_nothing_yet() {
    let queued = published(
        203_284,
        93.73,
        1313,
        [517.3, 517.7],
        32_035.2,
        "status is 200 or 202",
    );
    let audit = audit(&queued, None, &Declared::default());
    let accepted = gate(&audit, 11);
    assert_eq!(accepted.state, GateState::Warning);
    for part in [
        "`status is 200 or 202` takes a 202 for a success",
        "compare what is stored",
    ] {
        assert!(accepted.note.contains(part), "{accepted:?}");
    }
    assert!(
        audit
            .headline
            .ends_with("if what was taken in was also done"),
        "{}",
        audit.headline
    );

    // Where statuses are counted, a 202 is no goodput.
    let oha = of(&json!({
        "summary": { "total": 10.0, "average": 0.02, "requestsPerSec": 100.0 },
        "statusCodeDistribution": { "200": 100, "202": 900 }, "errorDistribution": {},
    }));
    let audit = super::super::audit(&oha, None, &Declared::default());
    assert_eq!(
        audit.headline,
        "goodput 10/s; the reported 100/s count what was only taken in"
    );
    assert_eq!(gate(&audit, 2).state, GateState::Pass);
    assert_eq!(gate(&audit, 11).left.as_deref(), Some("900"));
}

#[test]
fn the_server_was_given_twice_the_users_with_the_change() {
    let [before, after] = [1000, 2000].map(|vus| read(dashboard(vus).as_bytes()).unwrap());
    let declared = Declared {
        changes: vec!["the string is made beforehand".into()],
        ..Declared::default()
    };
    let audit = audit(&after, Some(&before), &declared);
    let change = &gate(&audit, 13).note;
    assert!(
        change.contains("2 changes at once: the string is made beforehand, VUs 1000 → 2000"),
        "{change}"
    );
}

#[test]
fn the_databases_kept_what_earlier_runs_had_left() {
    let run = |workers: u64, begun: [u64; 6]| {
        let mut result = databases(workers, 188_280, 95.6);
        let names = ["db1", "db2", "db3", "d5", "d6", "d7"];
        for (name, begun) in names.into_iter().zip(begun) {
            result["Databases"][name]["WALGrowth"] =
                json!({ "InitialSizeBytes": begun, "FinalSizeBytes": begun + 8_472_600 });
        }
        of(&result)
    };
    let first = run(10, [78_108_424, 77_784_504, 78_047_878, 0, 0, 0]);
    let note = |figures: &Figures, baseline: Option<&Figures>| {
        let audit = audit(figures, baseline, &Declared::default());
        let change = gate(&audit, 13).clone();
        assert_eq!(change.state, GateState::Warning);
        change.note
    };
    let said = note(&first, None);
    assert!(said.contains("held 233.9 MB, beside"), "{said}");
    assert!(said.contains("that were empty"), "{said}");
    let second = run(
        1,
        [
            86_581_024, 86_257_104, 86_520_478, 8_472_600, 8_472_600, 8_472_600,
        ],
    );
    let said = note(&second, Some(&first));
    for part in [
        "workers per database 10 → 1",
        "which is where the baseline ended",
        "one run of each",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let clean = run(10, [0; 6]);
    let audit = audit(&clean, None, &Declared::default());
    assert!(
        !gate(&audit, 13).note.contains("state was carried over"),
        "{audit:?}"
    );
}

/// A slowest request is a limit's only far beyond the others, or just after a round one.
#[test]
fn a_long_request_among_long_ones_is_no_limit() {
    let slowest = |p99: f64, max: f64| {
        let figures = of(&json!({
            "latencies": { "mean": 1e6, "95th": p99 * 0.9e6, "99th": p99 * 1e6, "max": max * 1e6 },
            "duration": 10e9, "requests": 1000, "rate": 100.0, "status_codes": { "200": 1000 },
        }));
        let audit = audit(&figures, None, &Declared::default());
        let found = audit.gates.into_iter().find(|gate| gate.id.number() == 10);
        found.map(|gate| gate.note)
    };
    assert_eq!(slowest(4000.0, 7300.0), None);
    assert_eq!(slowest(20.0, 3000.0), None);
    assert!(
        slowest(20.0, 7300.0)
            .unwrap()
            .contains("No percentile shows it")
    );
    assert!(slowest(9000.0, 10_004.0).unwrap().contains("ended at 10 s"));
    assert_eq!(
        slowest(9000.0, 9_990.0),
        None,
        "a limit does not end what is in time"
    );
}

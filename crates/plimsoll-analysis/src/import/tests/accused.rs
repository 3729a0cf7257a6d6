//! Accusations that were wrong: each of these files is in order, and none of its gates may say otherwise.

use plimsoll_core::verdict::GateState;
use serde_json::{Value, json};

use super::super::*;
use super::formats::fixture;
use super::{gate, of};

fn gates(figures: &Figures) -> Audit {
    audit(figures, None, &Declared::default())
}

fn assert_accuses_nobody(figures: &Figures) -> Audit {
    let audit = gates(figures);
    let failed: Vec<_> = audit
        .gates
        .iter()
        .filter(|gate| gate.state == GateState::Fail)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    audit
}

/// wrk adds times of requests that a pause kept it from sending: 1,100/s × 260 ms are not its ten connections.
#[test]
fn wrks_corrected_mean_is_not_held_against_littles_law() {
    let text = "Running 10s test @ http://127.0.0.1:8080/\n  1 threads and 10 connections\n  Thread Stats   Avg      Stdev \
                Max   +/- Stdev\n    Latency   260.00ms  510.00ms   1.80s    81.00%\n    Req/Sec     1.10k     0.9k   \
                2.00k    60.00%\n  11000 requests in 10.00s, 1.00MB read\nRequests/sec:   1100.00\n";
    let audit = assert_accuses_nobody(&read(text.as_bytes()).unwrap());
    let little = gate(&audit, 1);
    assert_eq!(little.state, GateState::Unknown);
    assert!(little.note.contains("kept it from sending"), "{little:?}");
    assert_eq!(
        gate(&audit, 6).state,
        GateState::Warning,
        "but it is a closed loop"
    );
}

/// Of a hundred connections for ten requests a second most are idle, and wrk2 calls each of them late every two seconds.
#[test]
fn wrk2s_idle_connections_are_no_failures() {
    let text = "$ wrk2 -t2 -c100 -d60s -R2.5k http://127.0.0.1:8080/\n\
        Running 1m test @ http://127.0.0.1:8080/\n  2 threads and 100 connections\n\
        Thread calibration: mean lat.: 0.549ms, rate sampling interval: 10ms\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.15ms  361.00us   3.63ms   66.44%\n\
        600 requests in 1.00m, 125.39KB read\n  Socket errors: connect 0, read 1, write 0, timeout 2178\n\
        Requests/sec:     10.00\nTransfer/sec:      2.09KB\n";
    let figures = read(text.as_bytes()).unwrap();
    assert_eq!(figures.offered_per_s, Some(2_500.0));
    assert_eq!(
        (figures.attempts, figures.failures.total),
        (Some(601), Some(1))
    );
    assert_eq!(figures.goodput_per_s(), Some(10.0));
    let said = figures.remarks.iter().any(|remark| remark.contains("2178"));
    assert!(said, "{:?}", figures.remarks);
}

#[test]
fn wrk2_is_an_open_loop() {
    let figures = fixture!("wrk2.txt").unwrap();
    assert_eq!(
        (figures.arrivals, figures.offered_per_s),
        (Arrivals::Open, Some(2000.0))
    );
    assert_eq!(
        figures.all.percentile(99.0),
        Some(3.02),
        "the recorded, not the uncorrected"
    );
    let audit = assert_accuses_nobody(&figures);
    assert_eq!(gate(&audit, 1).state, GateState::NotApplicable);
    assert_eq!(gate(&audit, 6).state, GateState::Pass);

    let older = "  2 threads and 4 connections\n  Thread calibration: mean lat.: 0.549ms, rate sampling interval: 10ms\n  \
                 Thread Stats   Avg      Stdev     99%   +/- Stdev\n    Latency   540.95us   66.96us 729.00us   72.50%\n  \
                 3000 requests in 30.00s, 1.00MB read\n";
    let figures = read(older.as_bytes()).unwrap();
    assert_eq!((figures.tool, figures.all.max), (Tool::Wrk2, None));
    assert_eq!(figures.all.percentile(99.0), Some(0.729));
}

#[test]
fn what_oha_cuts_off_at_its_deadline_is_no_failure() {
    let result = |statuses: Value, errors: Value| {
        of(&json!({
            "summary": { "successRate": 1.0, "total": 10.0, "average": 0.007, "requestsPerSec": 2766.0 },
            "latencyPercentiles": { "p50": 0.006, "p95": 0.014 },
            "statusCodeDistribution": statuses, "errorDistribution": errors,
        }))
    };
    for figures in [
        result(
            json!({ "200": 27_653 }),
            json!({ "aborted due to deadline": 20 }),
        ),
        fixture!("oha.txt").unwrap(),
    ] {
        assert_eq!(
            (figures.attempts, figures.failures.total),
            (Some(27_653), Some(0))
        );
        let audit = assert_accuses_nobody(&figures);
        assert!(
            gate(&audit, 7)
                .note
                .contains("20 requests were on their way"),
            "{audit:?}"
        );
        assert_eq!(audit.headline, "goodput 2,765/s");
    }
    // Errors beside it are; and nothing that was answered is nothing that worked.
    let figures = result(
        json!({ "200": 10 }),
        json!({ "aborted due to deadline": 2, "connection error": 3 }),
    );
    assert_eq!(figures.failures.total, Some(3));
    let figures = result(json!({}), json!({ "aborted due to deadline": 16 }));
    let audit = gates(&figures);
    assert_eq!(gate(&audit, 2).state, GateState::Fail);
    assert!(
        gate(&audit, 2).note.contains("16 were still waiting"),
        "{audit:?}"
    );
}

/// A summary of k6 in which between `vus[0]` and `vus[1]` of `ready` were at work.
fn k6(vus: [f64; 2], ready: f64, iterations: u64, seconds: f64, round_ms: f64) -> Value {
    json!({ "root_group": {}, "metrics": {
        "http_reqs": { "count": iterations, "rate": iterations as f64 / seconds },
        "http_req_failed": { "passes": 0, "fails": iterations, "value": 0 },
        "http_req_duration": { "avg": round_ms, "med": round_ms, "p(95)": round_ms * 2.0 },
        "iterations": { "count": iterations, "rate": iterations as f64 / seconds },
        "iteration_duration": { "avg": round_ms },
        "vus": { "value": vus[0], "min": vus[0], "max": vus[1] },
        "vus_max": { "value": ready, "min": ready, "max": ready },
    } })
}

/// With `responseCallback: null` k6 counts a request in `http_reqs` and not in `http_req_failed`.
#[test]
fn what_k6_was_told_not_to_judge_is_not_lost() {
    let judged = |fails: u64| {
        let mut summary = k6([10.0, 10.0], 10.0, 1_000, 10.0, 90.0);
        summary["metrics"]["http_req_failed"] =
            json!({ "passes": 9, "fails": fails, "value": 0.01 });
        of(&summary)
    };
    let audit = assert_accuses_nobody(&judged(891));
    let accounting = gate(&audit, 2);
    assert_eq!(accounting.state, GateState::Unknown);
    assert!(
        accounting
            .note
            .contains("100 requests were not judged by k6"),
        "{accounting:?}"
    );
    assert_eq!(gate(&gates(&judged(991)), 2).state, GateState::Pass);
    // More that were judged than were sent is wrong whoever wrote it.
    assert_eq!(gate(&gates(&judged(1_001)), 2).state, GateState::Fail);
}

#[test]
fn a_constant_arrival_rate_of_k6_is_no_ramp() {
    let dropped = {
        let mut summary = k6([2.0, 50.0], 50.0, 2871, 30.2, 40.0);
        summary["metrics"]["dropped_iterations"] = json!({ "count": 129, "rate": 4.3 });
        summary
    };
    let some_idle = k6([1.0, 14.0], 50.0, 2987, 30.7, 21.0);
    let whole_rate = k6([0.0, 10.0], 10.0, 3001, 30.04, 21.0);
    for (summary, what) in [
        (dropped, "dropped"),
        (some_idle, "idle"),
        (whole_rate, "whole"),
    ] {
        let figures = of(&summary);
        assert_eq!(figures.arrivals, Arrivals::Open, "{what}");
        let audit = assert_accuses_nobody(&figures);
        assert_eq!(gate(&audit, 8).state, GateState::Pass, "{what}: {audit:?}");
    }
    let figures = fixture!("k6-arrival-rate.json").unwrap();
    assert_eq!(
        (figures.arrivals, figures.is_ramp()),
        (Arrivals::Open, false)
    );

    // VUs that are held and leave one after the other at the end are no ramp either.
    let figures = of(&k6([7.0, 50.0], 50.0, 7193, 30.8, 210.0));
    assert_eq!(
        (figures.arrivals, figures.is_ramp()),
        (Arrivals::Closed, false)
    );
    assert_eq!(
        gate(&assert_accuses_nobody(&figures), 1).state,
        GateState::Pass
    );
    // A ramp is one.
    let figures = of(&k6([1.0, 99.0], 100.0, 7193, 60.8, 412.0));
    assert_eq!(
        (figures.arrivals, figures.is_ramp()),
        (Arrivals::Closed, true)
    );
}

#[test]
fn arrivals_that_were_dropped_are_said() {
    let mut summary = k6([2.0, 50.0], 50.0, 2571, 30.0, 400.0);
    summary["metrics"]["dropped_iterations"] = json!({ "count": 429, "rate": 14.3 });
    let audit = assert_accuses_nobody(&of(&summary));
    let arrivals = gate(&audit, 6);
    assert_eq!(arrivals.state, GateState::Warning);
    assert!(
        arrivals.note.contains("the rate was not reached"),
        "{arrivals:?}"
    );
}

#[test]
fn a_counter_whose_name_holds_a_number_counts_no_status() {
    let mut summary = k6([10.0, 10.0], 10.0, 3000, 30.0, 100.0);
    for name in ["orders_500", "batch_500_errors", "status_503_total"] {
        summary["metrics"][name] = json!({ "count": 1500, "rate": 50.0 });
    }
    let figures = of(&summary);
    assert_eq!(
        figures.failures.answered(),
        0,
        "more than all failures are no failures"
    );
    let audit = assert_accuses_nobody(&figures);
    assert!(!gate(&audit, 7).note.contains("HTTP 50"), "{audit:?}");

    summary["metrics"]["http_req_failed"] = json!({ "passes": 600, "fails": 2400, "value": 0.2 });
    summary["metrics"]["status_503_total"] = json!({ "count": 580, "rate": 50.0 });
    assert_eq!(
        of(&summary)
            .failures
            .by_status
            .into_iter()
            .collect::<Vec<_>>(),
        [(503, 580)]
    );
}

#[test]
fn a_grpc_summary_is_not_said_to_count_failures_as_done() {
    let figures = fixture!("k6-grpc.json").unwrap();
    assert_eq!(figures.goodput_per_s(), None);
    let audit = assert_accuses_nobody(&figures);
    let accounting = gate(&audit, 2);
    assert_eq!(accounting.state, GateState::Unknown);
    assert!(accounting.note.contains("gRPC calls"), "{accounting:?}");
    assert!(
        gate(&audit, 7).note.contains("6000 of 6000 checks passed"),
        "{audit:?}"
    );
}

#[test]
fn a_mean_above_p95_is_a_warning_at_most() {
    let figures = of(&json!({
        "latencies": { "mean": 50e6, "50th": 2e6, "95th": 9e6, "99th": 14e8, "max": 3e9, "min": 1e5 },
        "bytes_in": { "total": 4200 }, "duration": 10e9, "wait": 2e9, "requests": 1000, "rate": 100.0,
        "throughput": 83.3, "success": 1.0, "status_codes": { "200": 1000 }, "errors": [],
    }));
    let audit = assert_accuses_nobody(&figures);
    assert_eq!(gate(&audit, 8).state, GateState::Warning);
    assert_eq!(
        gate(&audit, 6).state,
        GateState::Pass,
        "the wait at the end is no lower rate"
    );
}

/// Users think between their requests; that they are not always in flight is no fault.
#[test]
fn users_that_pause_are_not_missing() {
    for figures in [
        fixture!("locust_stats_history.csv"),
        fixture!("jmeter.csv"),
        fixture!("autocannon.txt"),
    ] {
        let little = gate(&gates(&figures.unwrap()), 1).clone();
        assert_eq!(little.state, GateState::Unknown, "{little:?}");
    }
}

/// With a rate autocannon times requests that it never made.
#[test]
fn autocannon_with_a_rate_is_not_held_against_its_connections() {
    let figures = fixture!("autocannon-rate.json").unwrap();
    let audit = assert_accuses_nobody(&figures);
    assert_eq!(gate(&audit, 1).state, GateState::NotApplicable);
    assert_eq!(gate(&audit, 6).state, GateState::Pass);
    // Without one, requests that were sent and never ended are missed.
    let audit = gates(&fixture!("autocannon-closed.json").unwrap());
    assert!(
        gate(&audit, 2).note.contains("2,153 requests were sent"),
        "{audit:?}"
    );
    assert_eq!(
        gate(&gates(&fixture!("autocannon.json").unwrap()), 2).state,
        GateState::Pass
    );
}

/// Four connections to a target that answers in a quarter of a millisecond, which autocannon calls none.
#[test]
fn times_in_whole_milliseconds_do_not_contradict_connections() {
    let result = |rate: u64, mean: f64| {
        of(&json!({
            "connections": 4, "pipelining": 1, "duration": 10.0, "errors": 0, "timeouts": 0, "non2xx": 0,
            "1xx": 0, "2xx": rate * 10, "3xx": 0, "4xx": 0, "5xx": 0,
            "latency": { "mean": mean, "max": 15, "p50": 0, "p99": 1, "totalCount": rate * 10 },
            "requests": { "average": rate, "total": rate * 10, "sent": rate * 10 + 4 },
            "throughput": { "total": 1000 },
        }))
    };
    let audit = assert_accuses_nobody(&result(16_000, 0.02));
    assert!(
        gate(&audit, 1).note.contains("whole milliseconds"),
        "{audit:?}"
    );
    // A number of requests is done within a second that it goes on to the end of.
    let audit = assert_accuses_nobody(&result(100, 4.2));
    assert_eq!(gate(&audit, 1).state, GateState::Unknown, "0.4 of 4");
}

/// What k6 cut off at the end, and the time of setup, are in no iteration.
#[test]
fn a_short_test_of_k6_is_not_said_to_have_idle_users() {
    let figures = of(&k6([10.0, 10.0], 10.0, 60, 12.0, 1000.0));
    let audit = assert_accuses_nobody(&figures);
    assert!(
        gate(&audit, 1).note.contains("cut off at the end"),
        "{audit:?}"
    );
}

/// Pages of errors are among the bytes, and so a success did not grow.
#[test]
fn bytes_of_failures_are_not_those_of_successes() {
    let summary = |failed: u64, bytes: u64| {
        let mut summary = k6([10.0, 10.0], 10.0, 3000, 30.0, 100.0);
        summary["metrics"]["http_req_failed"] = json!({ "passes": failed, "fails": 3000 - failed });
        summary["metrics"]["data_received"] = json!({ "count": bytes });
        of(&summary)
    };
    let baseline = summary(0, 600_000);
    let work = |figures: &Figures| {
        let audit = audit(figures, Some(&baseline), &Declared::default());
        gate(&audit, 3).state
    };
    assert_eq!(
        work(&summary(100, 780_000)),
        GateState::Unknown,
        "2 KB a failure"
    );
    assert_eq!(work(&summary(0, 780_000)), GateState::Fail);
    // And a success did not shrink because the failures are gone.
    let fixed = audit(
        &baseline,
        Some(&summary(100, 780_000)),
        &Declared::default(),
    );
    assert_eq!(gate(&fixed, 3).state, GateState::Unknown);
    assert_eq!(
        work(&summary(1, 780_000)),
        GateState::Fail,
        "no error page has 180 KB"
    );
}

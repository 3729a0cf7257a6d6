//! Results of every tool, and the published ones whose conclusions did not hold.

#![expect(
    clippy::float_cmp,
    reason = "what is read from text is compared as text"
)]

use plimsoll_core::verdict::{Gate, GateState};
use serde_json::{Value, json};

use super::*;

fn of(value: &Value) -> Figures {
    read(value.to_string().as_bytes()).unwrap()
}

fn gate(audit: &Audit, number: u8) -> &Gate {
    audit
        .gates
        .iter()
        .find(|gate| gate.id.number() == number)
        .unwrap()
}

/// The published test of one and two servers; its figures, in the shape of `handleSummary`.
fn doubled(count: u64, seconds: f64, failed: u64, p95: [f64; 2], bytes: u64) -> Value {
    let metric = |kind: &str, values: Value| json!({ "type": kind, "values": values });
    let mut metrics = json!({
        "http_reqs": metric("counter", json!({ "count": count, "rate": count as f64 / seconds })),
        "http_req_failed": metric("rate", json!({
            "passes": failed, "fails": count - failed, "rate": failed as f64 / count as f64 })),
        "http_req_duration": metric("trend", json!({ "avg": 140.5, "min": 0, "p(95)": p95[0] })),
        "http_req_duration{expected_response:true}":
            metric("trend", json!({ "avg": 100.0, "min": 3.1, "p(95)": p95[1] })),
        "data_received": metric("counter", json!({ "count": bytes, "rate": 1.0 })),
        "vus": metric("gauge", json!({ "value": 4, "min": 4, "max": 1990 })),
    });
    if failed > 0 {
        metrics["http_500_errors"] = metric("counter", json!({ "count": 21, "rate": 0.2 }));
    }
    json!({ "root_group": {}, "metrics": metrics, "state": { "testRunDurationMs": seconds * 1e3 } })
}

#[test]
fn the_published_doubled_servers() {
    let one = of(&doubled(176_584, 80.49, 0, [796.8, 796.8], 48_302_234));
    let two = of(&doubled(
        350_261,
        96.266,
        93_069,
        [492.8, 269.9],
        69_992_593,
    ));
    let audit = audit(&two, Some(&one), &Declared::default());
    assert_eq!(audit.goodput_per_s.unwrap().round(), 2672.0);
    assert_eq!((audit.goodput_change.unwrap() * 1000.0).round(), 218.0);
    assert_eq!(
        audit.headline,
        "goodput 2,672/s (+21.8 %); the reported 3,638/s count failures"
    );
    assert_eq!(gate(&audit, 7).state, GateState::Fail);
    let failures = &gate(&audit, 7).note;
    for part in [
        "93,048 of 93,069 failures without any HTTP response",
        "21 HTTP 500",
        "pool exhaustion, is unsupported",
    ] {
        assert!(failures.contains(part), "{failures}");
    }
    let percentiles = &gate(&audit, 8).note;
    for part in [
        "p95 of 492.8 ms is that of all requests",
        "269.9 ms",
        "p95 is never: 26.57 %",
    ] {
        assert!(percentiles.contains(part), "{percentiles}");
    }
    let work = gate(&audit, 3);
    assert_eq!(work.state, GateState::Pass);
    assert!(work.note.contains("failures brought none"));
    assert_eq!(gate(&audit, 2).state, GateState::Pass);
}

#[test]
fn a_test_without_failures_passes_what_can_be_said() {
    let one = of(&doubled(176_584, 80.49, 0, [796.8, 796.8], 48_302_234));
    let audit = audit(&one, None, &Declared::default());
    assert_eq!(gate(&audit, 7).state, GateState::Pass);
    assert_eq!(audit.headline, "goodput 2,194/s");
    assert_eq!(
        gate(&audit, 8).state,
        GateState::Warning,
        "a ramp has no single p95"
    );
    assert!(audit.gates.iter().all(|gate| gate.state != GateState::Fail));
}

/// The published test of "seven" databases and its sequel with one worker each.
fn databases(workers: u64, total: u64, mean: f64) -> Value {
    let names = ["db1", "db2", "db3", "d5", "d6", "d7"];
    let each = total / names.len() as u64;
    let share = |percent: u64| each * percent / 100;
    let operation = |percent: u64, p95: f64| {
        json!({ "P50": mean, "P95": p95, "P99": 300.0, "P999": 420.0, "Mean": mean,
                "Count": share(percent) })
    };
    let database = |p95: f64| {
        json!({
            "Latency": { "read": operation(40, p95), "create": operation(30, p95),
                         "update": operation(20, p95), "delete": operation(10, p95) },
            "WALGrowth": { "InitialSizeBytes": 0, "FinalSizeBytes": each * 270 },
            "OperationCounts": { "read": share(40), "create": share(30), "update": share(20),
                                 "delete": share(10) },
            "TotalOperations": each,
        })
    };
    let databases: serde_json::Map<_, _> = names
        .iter()
        .enumerate()
        .map(|(index, name)| ((*name).to_owned(), database(200.0 + 9.2 * index as f64)))
        .collect();
    let configured: Vec<_> = names
        .iter()
        .map(|name| json!({ "Name": name, "Workers": workers }))
        .collect();
    json!({
        "TestConfig": { "Workers": 10, "DocumentSize": 1024, "Databases": configured },
        "DurationSeconds": 300.0,
        "TotalOperations": total,
        "Databases": databases,
        "Global": { "Latency": { "read": operation(40, 223.0) } },
    })
}

#[test]
fn the_published_seven_databases() {
    let ten = of(&databases(10, 188_280, 95.6));
    let one = of(&databases(1, 222_840, 8.07));
    let declared = Declared {
        parts: Some(7),
        in_flight: Some(70.0),
        changes: Vec::new(),
    };
    let audit = audit(&ten, Some(&one), &declared);
    let little = gate(&audit, 1);
    assert_eq!(little.state, GateState::Fail);
    assert!(
        little.note.contains("60.0 in flight, not 70.0"),
        "{}",
        little.note
    );
    let wire = gate(&audit, 4);
    assert_eq!(wire.state, GateState::Fail);
    for part in [
        "6 databases, not 7",
        "at most 1 request per database on the wire",
        "queued inside the generator",
    ] {
        assert!(wire.note.contains(part), "{}", wire.note);
    }
    let work = gate(&audit, 3);
    assert_eq!(
        work.state,
        GateState::Fail,
        "270 bytes per operation of which half write 1 KiB"
    );
    assert_eq!(
        gate(&audit, 2).state,
        GateState::Fail,
        "the tool has no failures"
    );
    assert_eq!(
        gate(&audit, 9).state,
        GateState::Fail,
        "percentiles were averaged"
    );
    assert_eq!(audit.goodput_per_s, None);
}

#[test]
fn k6_export_and_points() {
    let export = json!({ "root_group": {}, "metrics": {
        "http_reqs": { "count": 100, "rate": 10.0 },
        "http_req_failed": { "passes": 5, "fails": 95, "value": 0.05 },
        "http_req_duration": { "avg": 20.0, "min": 1.0, "med": 18.0, "max": 90.0, "p(95)": 60.0 },
        "vus": { "value": 2, "min": 2, "max": 2 },
    } });
    let figures = of(&export);
    assert_eq!(figures.seconds, Some(10.0));
    assert_eq!(figures.successes(), Some(95));
    assert_eq!(figures.all.percentile(50.0), Some(18.0));
    assert_eq!((figures.is_ramp(), figures.in_flight), (false, Some(2.0)));

    let point = |metric: &str, second: u32, value: f64, status: &str| {
        let ok = if status == "200" { "true" } else { "false" };
        json!({ "metric": metric, "type": "Point", "data": {
            "time": format!("2026-11-21T16:05:{second:02}Z"), "value": value,
            "tags": { "status": status, "expected_response": ok, "error_code": "1212" } } })
        .to_string()
    };
    let mut lines =
        vec![json!({ "type": "Metric", "metric": "http_reqs", "data": {} }).to_string()];
    for (second, status) in [(0, "200"), (4, "500"), (10, "0")] {
        lines.push(point("http_reqs", second, 1.0, status));
        lines.push(point(
            "http_req_failed",
            second,
            f64::from(u8::from(status != "200")),
            status,
        ));
        lines.push(point(
            "http_req_duration",
            second,
            10.0 + f64::from(second),
            status,
        ));
    }
    let figures = read(lines.join("\n").as_bytes()).unwrap();
    assert_eq!(
        (figures.attempts, figures.failures.total),
        (Some(3), Some(2))
    );
    assert_eq!(figures.failures.by_status.get(&500), Some(&1));
    assert_eq!(figures.failures.unanswered.get("1212"), Some(&1));
    assert_eq!(figures.seconds, Some(10.0));
    assert_eq!(figures.all.percentile(50.0), Some(14.0));
    assert_eq!(figures.successes.max, Some(10.0));
    lines.push("{\"metric\":\"vus\",\"ty".to_owned());
    assert!(matches!(
        read(lines.join("\n").as_bytes()),
        Err(ImportError::Line { line: 11, .. })
    ));
}

#[test]
fn oha_and_vegeta_and_latte() {
    let figures = of(&json!({
        "summary": { "successRate": 0.9, "total": 10.0, "slowest": 0.5, "fastest": 0.001,
                     "average": 0.02, "requestsPerSec": 100.0, "totalData": 5000 },
        "latencyPercentiles": { "p50": 0.015, "p95": 0.09, "p99.9": 0.4 },
        "statusCodeDistribution": { "200": 900, "503": 60 },
        "errorDistribution": { "connection closed before message completed": 40 },
    }));
    assert_eq!(
        (figures.attempts, figures.failures.total),
        (Some(1000), Some(100))
    );
    assert_eq!(figures.failures.without_answer(), Some(40));
    assert_eq!(figures.all.percentile(99.9), Some(400.0));
    assert_eq!(figures.goodput_per_s(), Some(90.0));

    let figures = of(&json!({
        "latencies": { "mean": 2e6, "50th": 15e5, "95th": 9e6, "99th": 2e7, "max": 3e7, "min": 1e5 },
        "bytes_in": { "total": 4200, "mean": 42 }, "duration": 9e9, "wait": 1e9,
        "requests": 1000, "rate": 111.1, "throughput": 98.0, "success": 0.98,
        "status_codes": { "0": 15, "200": 980, "500": 5 }, "errors": ["connection refused"],
    }));
    assert_eq!(
        (figures.seconds, figures.failures.total),
        (Some(10.0), Some(20))
    );
    assert_eq!(figures.failures.by_status.get(&500), Some(&5));
    assert_eq!(figures.all.percentile(95.0), Some(9.0));

    let latencies: Vec<_> = (0..15)
        .map(|index| json!({ "n": 1, "value": f64::from(index) }))
        .collect();
    let figures = of(&json!({
        "conf": { "rate": null, "threads": 2, "concurrency": 64 },
        "result": { "elapsed_time_s": 60.0, "request_count": 6000, "error_count": 6,
                    "req_throughput": { "value": 100.0 },
                    "request_latency": { "mean": { "value": 12.8 }, "percentiles": latencies } },
    }));
    assert_eq!(
        (figures.in_flight, figures.attempts),
        (Some(128.0), Some(6000))
    );
    assert_eq!(figures.all.percentile(99.9), Some(12.0));
    let audit = audit(&figures, None, &Declared::default());
    let little = gate(&audit, 1);
    assert_eq!(
        little.state,
        GateState::Fail,
        "1.28 in flight of 128: {little:?}"
    );
}

#[test]
fn wrk_and_hey() {
    let text = "Running 10s test @ http://127.0.0.1:8080/\n  2 threads and 64 connections\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   640.00us    0.89ms  \
        12.92ms   93.69%\n    Req/Sec    50.20k     2.1k   55.00k   70.00%\n  Latency Distribution\n     \
        50%  600.00us\n     99%    2.10ms\n  1000000 requests in 10.00s, 1.00GB read\n  Socket errors: \
        connect 0, read 12, write 0, timeout 3\n  Non-2xx or 3xx responses: 100\nRequests/sec: 100000.00\n\
        Transfer/sec: 102.40MB\n";
    let figures = read(text.as_bytes()).unwrap();
    assert_eq!(figures.attempts, Some(1_000_012));
    assert_eq!(figures.failures.total, Some(115));
    assert_eq!(figures.failures.without_answer(), Some(15));
    assert_eq!(figures.all.percentile(99.0), Some(2.1));
    assert_eq!(
        (figures.all.mean, figures.all.max),
        (Some(0.64), Some(12.92))
    );
    assert_eq!(figures.bytes_received, Some(1_073_741_824.0));
    let audit = audit(&figures, None, &Declared::default());
    assert_eq!(
        gate(&audit, 1).state,
        GateState::Pass,
        "100,000/s × 0.64 ms is 64"
    );

    let text = "\nSummary:\n  Total:\t10.0000 secs\n  Slowest:\t0.5000 secs\n  Fastest:\t0.0010 secs\n  \
        Average:\t0.0200 secs\n  Requests/sec:\t100.0000\n  \n  Total data:\t5000 bytes\n\nLatency \
        distribution:\n  50%% in 0.0150 secs\n  95% in 0.0900 secs\n\nStatus code distribution:\n  \
        [200]\t900 responses\n  [500]\t60 responses\n\nError distribution:\n  [40]\tGet \
        \"http://127.0.0.1/\": connection refused\n";
    let figures = read(text.as_bytes()).unwrap();
    assert_eq!(
        (figures.attempts, figures.failures.total),
        (Some(1000), Some(100))
    );
    assert_eq!(figures.failures.without_answer(), Some(40));
    assert_eq!(figures.all.percentile(50.0), Some(15.0));
    assert_eq!(figures.all.percentile(95.0), Some(90.0));
    assert_eq!(figures.seconds, Some(10.0));
}

#[test]
fn what_is_no_result_is_refused() {
    for text in [
        "",
        "hello",
        "{}",
        "[1]",
        "{\"a\":1}",
        "{\"type\":\"header\"}\n{\"x\":2}",
    ] {
        assert_eq!(read(text.as_bytes()), Err(ImportError::Unknown), "{text}");
    }
    for (value, field) in [
        (json!({ "root_group": {}, "metrics": {} }), "http_reqs"),
        (json!({ "latencies": {}, "status_codes": {} }), "duration"),
        (json!({ "conf": {}, "result": {} }), "request_count"),
        (
            json!({ "Databases": {}, "TotalOperations": 1 }),
            "DurationSeconds",
        ),
        (
            json!({ "summary": {}, "statusCodeDistribution": {} }),
            "statusCodeDistribution",
        ),
    ] {
        let error = read(value.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}

mod accused;
mod formats;
mod named;

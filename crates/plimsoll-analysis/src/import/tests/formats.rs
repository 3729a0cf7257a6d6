//! What is read of the files of each tool; those in `tests/fixtures/results` are as the tools write them.

use plimsoll_core::verdict::GateState;

use super::super::*;
use super::gate;

macro_rules! fixture {
    ($name:literal) => {
        read(include_bytes!(concat!(
            "../../../tests/fixtures/results/",
            $name
        )))
    };
}
pub(super) use fixture;

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-3)
}

fn gates(figures: &Figures) -> Audit {
    audit(figures, None, &Declared::default())
}

/// A file, its tool, attempts, failures, and the 95th or else the 50th percentile.
type Row = (&'static [u8], &'static str, u64, Option<u64>, Option<f64>);

macro_rules! row {
    ($name:literal, $tool:literal, $attempts:literal, $failed:expr, $percentile:expr) => {
        (
            include_bytes!(concat!("../../../tests/fixtures/results/", $name)),
            $tool,
            $attempts,
            $failed,
            $percentile,
        )
    };
}

#[rustfmt::skip]
const ROWS: [Row; 24] = [
    row!("ab.txt", "ab", 500, Some(50), Some(7.0)),
    row!("autocannon.json", "autocannon", 1137, Some(0), Some(20.0)),
    row!("autocannon.txt", "autocannon", 35_400, Some(3540), Some(0.0)),
    row!("docdb-single.json", "DocDB load tool", 71_156, None, None),
    row!("fortio.json", "Fortio", 40_000, Some(100), Some(4.4)),
    row!("gatling-simulation.log", "Gatling", 4, Some(2), Some(262.5)),
    row!("gatling-2-simulation.log", "Gatling", 2, Some(1), Some(131.1)),
    row!("gatling-global_stats.json", "Gatling", 6329, Some(2147), Some(1114.0)),
    row!("gatling-stats.js", "Gatling", 388, Some(0), Some(1605.0)),
    row!("go-ycsb.txt", "YCSB", 38_204, Some(4), Some(3.0)),
    row!("hyperfoil-all.json", "Hyperfoil", 60_000, Some(130), Some(8.2)),
    row!("jmeter.csv", "JMeter", 5, Some(3), Some(1624.8)),
    row!("jmeter.xml", "JMeter", 3, Some(1), Some(117.5)),
    row!("k6-grpc.json", "k6", 6000, None, Some(6.26)),
    row!("k6-machine-readable.json", "k6", 3000, Some(50), Some(140.0)),
    row!("locust.json", "Locust", 416, Some(27), Some(25.0)),
    row!("locust_stats.csv", "Locust", 350, Some(24), Some(25.0)),
    row!("locust_stats_history.csv", "Locust", 350, Some(24), Some(21.0)),
    row!("nosqlbench-summary.txt", "NoSQLBench", 60_000, Some(60), Some(2.5)),
    row!("nosqlbench-timer.csv", "NoSQLBench", 60_000, None, Some(2.5)),
    row!("oha.txt", "oha", 27_653, Some(0), Some(14.1)),
    row!("wrk.txt", "wrk", 1135, Some(0), Some(20.97)),
    row!("wrk2.txt", "wrk2", 119_902, Some(0), Some(1.37)),
    row!("ycsb.txt", "YCSB", 267_319, Some(119), None),
];

#[test]
fn each_tools_file_is_read() {
    for (bytes, tool, attempts, failed, percentile) in ROWS {
        let figures = read(bytes).unwrap();
        assert_eq!(figures.tool.name(), tool);
        assert_eq!(figures.attempts, Some(attempts), "{tool}: {figures:?}");
        assert_eq!(figures.failures.total, failed, "{tool}: {figures:?}");
        let median = figures.all.percentile(50.0);
        let read = figures.all.percentile(95.0).or(median);
        let is_same = match percentile {
            Some(0.0) | None => read.unwrap_or(0.0).abs() < 1e-9,
            Some(expected) => close(read, expected),
        };
        assert!(is_same, "{tool}: {read:?} and not {percentile:?}");
        assert!(
            figures.seconds.is_some_and(|seconds| seconds > 0.0),
            "{tool}: {figures:?}"
        );
    }
}

#[test]
fn ab_calls_a_page_that_changes_failed() {
    let text = "Concurrency Level:      10\nTime taken for tests:   2.000 seconds\nComplete requests:      1000\n\
                Failed requests:        900\n   (Connect: 0, Receive: 2, Length: 895, Exceptions: 3)\n\
                Non-2xx responses:      5\nTime per request:       20.000 [ms] (mean)\n  95%     31\n";
    let figures = read(text.as_bytes()).unwrap();
    assert_eq!(figures.failures.total, Some(10), "{figures:?}");
    assert_eq!(figures.failures.without_answer(), Some(5));
    let audit = gates(&figures);
    assert!(
        gate(&audit, 7)
            .note
            .contains("890 answers had another length"),
        "{audit:?}"
    );
    assert_eq!(
        gate(&audit, 8).state,
        GateState::Pass,
        "a hundredth failed, not nine tenths"
    );
    assert_eq!(
        gate(&audit, 1).state,
        GateState::NotApplicable,
        "its mean is computed"
    );
}

#[test]
fn jmeter_counts_a_sample_once_and_says_how_each_failed() {
    let figures = fixture!("jmeter.csv").unwrap();
    assert_eq!(figures.failures.by_status.get(&503), Some(&1));
    assert_eq!(
        figures.failures.other_answers, 1,
        "an answer that an assertion refused"
    );
    assert_eq!(
        figures.failures.unanswered.get("SocketTimeoutException"),
        Some(&1)
    );
    assert!(
        close(figures.seconds, 4.001),
        "from the first start to the last end: {figures:?}"
    );

    let figures = fixture!("jmeter.xml").unwrap();
    assert_eq!(figures.accepted_count, 1, "one answer of 202");
    assert_eq!(figures.failures.by_status.get(&503), Some(&1));

    // No names of columns, as older versions write them; and others' separators.
    let bare = "1700000000000,120,Home,200,OK,Users 1-1,text,true,1256,1,1,118\n\
                1700000001000,80,Home,500,Error,Users 1-1,text,false,1256,1,1,79\n";
    assert_eq!(
        read(bare.as_bytes()).unwrap().failures.by_status.get(&500),
        Some(&1)
    );
    let other = "elapsed;timeStamp;success;responseCode\n12;1700000000000;true;200\n";
    assert_eq!(read(other.as_bytes()).unwrap().attempts, Some(1));
    let error = read(b"timeStamp,elapsed,success\n1,x,true\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "JMeter JTL, line 2: `elapsed` is no number: x"
    );
    let error = read(b"timeStamp,elapsed\n1,2\n").unwrap_err().to_string();
    assert!(error.contains("`success` is missing"), "{error}");
}

/// A transaction around its samples, one of which failed: a file of lines has the transaction alone.
#[test]
fn jmeters_transactions_hide_no_samples() {
    let sum = "Number of samples in transaction : 2, number of failing samples : 1";
    let parents = format!(
        "<testResults version=\"1.2\">\n\
         <sample t=\"215\" it=\"0\" ts=\"1700000000000\" s=\"false\" lb=\"Visit\" rc=\"503\" rm=\"{sum}\" tn=\"U 1-1\" by=\"1566\" na=\"1\">\n\
         <httpSample t=\"120\" it=\"0\" ts=\"1700000000000\" s=\"true\" lb=\"Home\" rc=\"200\" rm=\"OK\" tn=\"U 1-1\" by=\"1256\" na=\"1\">\n\
         <httpSample t=\"20\" it=\"0\" ts=\"1700000000090\" s=\"true\" lb=\"logo\" rc=\"200\" rm=\"OK\" tn=\"U 1-1\" by=\"400\" na=\"1\"/>\n\
         </httpSample>\n\
         <httpSample t=\"95\" it=\"0\" ts=\"1700000000120\" s=\"false\" lb=\"Cart\" rc=\"503\" rm=\"Busy\" tn=\"U 1-1\" by=\"310\" na=\"1\"/>\n\
         </sample>\n</testResults>\n"
    );
    let figures = read(parents.as_bytes()).unwrap();
    assert_eq!(figures.attempts, Some(2), "{figures:?}");
    assert_eq!(figures.failures.by_status.get(&503), Some(&1));

    let names = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,allThreads,IdleTime\n";
    let row = |began: u32, label: &str, message: &str| {
        format!("170000000{began:04},95,{label},200,\"{message}\",U 1-1,true,310,1,0\n")
    };
    let refused = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    let alone = format!("{names}{}{}", row(0, "Visit", sum), row(100, "Visit", sum));
    let said = refused(&alone);
    assert!(said.contains("4 samples are only in the sums"), "{said}");
    assert!(said.contains("save the results as XML, or switch off \"Generate parent sample\""));
    let beside = format!("{names}{}{}", row(0, "Ping", "OK"), row(100, "Visit", sum));
    assert!(refused(&beside).contains("2 samples"));
    let behind = format!("{names}{}{}", row(0, "Home", "OK"), row(0, "Visit", sum));
    assert_eq!(read(behind.as_bytes()).unwrap().attempts, Some(1));
    let childless = parents.replace("httpSample", "other");
    assert!(refused(&childless).contains("sub-results"));
}

#[test]
fn gatling_and_locust_say_which_file_to_give() {
    let mut binary = vec![0, 0, 0, 0, 6];
    binary.extend(b"3.13.1\0\0\x01\x9c");
    let error = read(&binary).unwrap_err().to_string();
    assert!(error.contains("js/global_stats.json"), "{error}");
    let error = fixture!("locust_failures.csv").unwrap_err().to_string();
    assert!(error.contains("_stats.csv"), "{error}");

    let figures = fixture!("gatling-simulation.log").unwrap();
    assert_eq!(figures.failures.by_status.get(&503), Some(&1));
    assert_eq!(figures.failures.without_answer(), Some(1), "{figures:?}");
}

/// A pool of a database that gave none in time, and a statement that it refused: neither is a silent server.
#[test]
fn a_code_of_a_database_is_an_answer() {
    let row = |code: &str| format!("1700000000000,12,q,{code},,t 1-1,text,false,,10,1,1\n");
    let names = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,grpThreads,allThreads\n";
    let text = format!(
        "{names}{}{}{}",
        row("null 0"),
        row("42P01 0"),
        row("Non HTTP response code: java.net.ConnectException")
    );
    let figures = read(text.as_bytes()).unwrap();
    assert_eq!(figures.failures.total, Some(3));
    assert_eq!(figures.failures.without_answer(), Some(1), "{figures:?}");
    // Seven columns are not the usual ones.
    let short = "1700000000000,12,q,200,OK,t 1-1,true\n";
    assert!(read(short.as_bytes()).is_err());
}

/// hey keeps the status of a million answers and counts the others in its rate alone.
#[test]
fn what_hey_does_not_list_is_not_taken_for_nothing() {
    let text = "\nSummary:\n  Total:\t10.0000 secs\n  Slowest:\t0.1000 secs\n  Fastest:\t0.0001 secs\n  \
        Average:\t0.0500 secs\n  Requests/sec:\t500000.0000\n\nStatus code distribution:\n  [200]\t1000000 responses\n";
    let figures = read(text.as_bytes()).unwrap();
    assert_eq!(figures.attempts, Some(5_000_000));
    assert_eq!((figures.goodput_per_s(), figures.all.mean), (None, None));
    let whole = text.replace("500000.0000", "100000.0000");
    assert_eq!(read(whole.as_bytes()).unwrap().goodput_per_s(), Some(1e5));
}

/// YCSB writes a failed read under two names, and what is read and updated as one is three operations in its list.
#[test]
fn ycsb_counts_no_operation_twice() {
    let counts = |rows: &str| {
        let text = format!("YCSB Client 0.17.0\n[OVERALL], RunTime(ms), 1000\n{rows}");
        let figures = read(text.as_bytes()).unwrap();
        (figures.attempts, figures.failures.total)
    };
    let failed = "[READ], Operations, 900\n[READ], Return=OK, 900\n[READ], Return=ERROR, 100\n[READ-FAILED], Operations, 100\n";
    assert_eq!(counts(failed), (Some(1000), Some(100)));
    let both = "[READ], Operations, 1000\n[READ], Return=OK, 1000\n[UPDATE], Operations, 500\n[UPDATE], Return=OK, 500\n\
        [READ-MODIFY-WRITE], Operations, 500\n";
    assert_eq!(counts(both), (Some(1000), Some(0)));
}

/// Percentiles of operations cannot be averaged, so there are none of everything.
#[test]
fn operations_apart_have_no_percentile_together() {
    let figures = fixture!("ycsb.txt").unwrap();
    assert_eq!(figures.all.percentile(95.0), None);
    assert!(close(figures.all.mean, 2.5503), "{:?}", figures.all.mean);
    let audit = gates(&figures);
    assert!(
        gate(&audit, 8).note.contains("of each operation"),
        "{audit:?}"
    );
    assert_eq!(
        gate(&audit, 1).state,
        GateState::Pass,
        "16 threads: {audit:?}"
    );
    assert!(
        audit.gates.iter().all(|gate| gate.state != GateState::Fail),
        "{audit:?}"
    );
    assert_eq!(fixture!("go-ycsb.txt").unwrap().in_flight, Some(64.0));

    let figures = fixture!("nosqlbench-summary.txt").unwrap();
    assert!(
        figures.scope.contains("of the longest of 2 activities"),
        "{}",
        figures.scope
    );
    assert_eq!(figures.seconds, Some(60.0));
}

#[test]
fn hyperfoil_is_read_in_each_shape() {
    let figures = fixture!("hyperfoil-all.json").unwrap();
    assert_eq!(figures.seconds, Some(60.0), "without the warm-up");
    assert_eq!(figures.failures.without_answer(), Some(10));
    let total = r#"{ "status": "TERMINATED", "statistics": [ { "phase": "main", "metric": "get", "summary": {
        "startTime": 1000, "endTime": 11000, "meanResponseTime": 2000000, "maxResponseTime": 9000000,
        "percentileResponseTime": { "50.0": 1900000, "99.0": 7000000 },
        "requestCount": 1000, "responseCount": 998, "status_2xx": 990, "status_5xx": 8, "resetCount": 2 } } ] }"#;
    let figures = read(total.as_bytes()).unwrap();
    assert_eq!(
        (figures.attempts, figures.failures.total),
        (Some(1000), Some(10))
    );
    assert_eq!(
        (figures.seconds, figures.all.percentile(99.0)),
        (Some(10.0), Some(7.0))
    );
}

#[test]
fn what_was_packed_is_unpacked() {
    use std::io::Write as _;
    let packed = |bytes: &[u8]| {
        let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packing.write_all(bytes).unwrap();
        packing.finish().unwrap()
    };
    let text = include_bytes!("../../../tests/fixtures/results/wrk.txt");
    assert_eq!(read(&packed(text)).unwrap(), read(text).unwrap());
    assert_eq!(
        read(&packed(text)[..40]),
        Err(ImportError::Unknown),
        "cut off"
    );
}

/// The page of k6's dashboard carries its events, packed.
#[test]
fn the_page_of_k6s_dashboard() {
    let page = dashboard(1000);
    let figures = read(page.as_bytes()).unwrap();
    assert_eq!(figures.tool, Tool::K6);
    assert_eq!(
        (figures.attempts, figures.failures.total),
        (Some(169_201), Some(597))
    );
    assert_eq!(figures.all.percentile(99.0), Some(1488.5));
    assert!(close(figures.seconds, 626.601));
    assert_eq!(figures.in_flight, Some(1000.0));
    let audit = gates(&figures);
    let percentiles = &gate(&audit, 8).note;
    for part in [
        "between 15 and 997 clients",
        "p95 lies between 28.2 ms and 60.0 s",
        "in 1 of 2 parts",
    ] {
        assert!(percentiles.contains(part), "{part}: {percentiles}");
    }
    assert!(
        gate(&audit, 10).note.contains("60 s, as a time limit"),
        "{audit:?}"
    );
    let cut = page.replace("</script>", "");
    assert_eq!(read(cut.as_bytes()), Err(ImportError::Unknown));
}

/// As the published test of a server wrote it, with two of its sixty parts.
pub(super) fn dashboard(vus_max: u32) -> String {
    use base64::Engine as _;
    use std::io::Write as _;
    let names = [
        ("data_received", "counter"),
        ("http_req_duration", "trend"),
        ("http_req_failed", "rate"),
        ("http_reqs", "counter"),
        ("iteration_duration", "trend"),
        ("iterations", "counter"),
        ("vus", "gauge"),
        ("vus_max", "gauge"),
    ];
    let metrics: serde_json::Map<_, _> = names
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), serde_json::json!({ "type": kind })))
        .collect();
    let events = [
        serde_json::json!({ "event": "config", "data": { "title": "k6 dashboard" } }).to_string(),
        "{\"event\":\"param\",\"data\":{\"scenarios\":[\"default\"],\"endOffset\":630000,\"period\":10000,\
         \"scriptPath\":\"file:///script.js\",\"aggregates\":{\"counter\":[\"count\",\"rate\"],\"gauge\":[\"value\"],\
         \"rate\":[\"rate\"],\"trend\":[\"avg\",\"max\",\"med\",\"min\",\"p(90)\",\"p(95)\",\"p(99)\"]}}}"
            .to_owned(),
        "{\"event\":\"metric\",\"data\":{\"time\":{\"type\":\"gauge\",\"contains\":\"time\"}}}".to_owned(),
        "{\"event\":\"start\",\"data\":[[1746610949468]]}".to_owned(),
        serde_json::json!({ "event": "metric", "data": metrics }).to_string(),
        format!(
            "{{\"event\":\"snapshot\",\"data\":[[2208791,220879],[24.9,39.9,24.7,17.6,27.5,28.2,32.8],[0],[86,8.6],\
             [1030.5,1064.9,1026,1020.9,1047.5,1050.6,1057.3],[70,7],[1746610959471],[15],[{vus_max}]]}}"
        ),
        format!(
            "{{\"event\":\"snapshot\",\"data\":[[1006937,100693],[60640,60001,56459,28775,60000,60001,60001],[0.45588],\
             [68,6.8],[51792.2,61011,57571.6,29011.7,61000,61001,61001],[68,6.8],[1746611566044],[997],[{vus_max}]]}}"
        ),
        "{\"event\":\"stop\",\"data\":[[1746611576069]]}".to_owned(),
        format!(
            "{{\"event\":\"cumulative\",\"data\":[[5223030262,8335817],[791.36,60006,570.8,11.454,817.16,1071.7,1488.5],\
             [0.00353],[169201,270.04],[1792.2,61011,1571.6,1011.7,1818,2072.7,2489.4],[169201,270.04],[1746611576044],\
             [2],[{vus_max}]]}}"
        ),
    ];
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packing.write_all(events.join("\n").as_bytes()).unwrap();
    let data = base64::prelude::BASE64_STANDARD.encode(packing.finish().unwrap());
    format!(
        "<!DOCTYPE html>\n<html><head><title>k6 report</title></head><body><div id=\"root\"></div>\n\
         <script id=\"data\" type=\"application/json; charset=utf-8; gzip; base64\">\n{data}\n    </script>\n</body></html>\n"
    )
}

/// Counts that no tool writes, and files that are cut off anywhere, are no reason to fall over.
#[test]
fn nothing_makes_the_readers_panic() {
    for (bytes, ..) in ROWS {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let part = |part: usize| text.chars().take(text.len() * part / 12).collect();
        let mut broken: Vec<String> = (1..12).map(part).collect();
        for (from, to) in [
            ("0", "9999999999999999"),
            ("1", "-1"),
            (",", ""),
            (":", " "),
            ("\"", "'"),
            (" ", "\t"),
        ] {
            broken.push(text.replace(from, to));
        }
        for text in broken {
            if let Ok(figures) = read(text.as_bytes()) {
                let audit = audit(&figures, Some(&figures), &Declared::default());
                assert!(!audit.gates.is_empty());
            }
        }
    }
}

/// What help and documentation say can be read is what the table has.
#[test]
fn the_documentation_names_every_format() {
    let page = include_str!("../../../../../docs/audit.md");
    for (name, files) in formats::tools() {
        assert!(
            page.contains(&format!("| {name} | {files} |")),
            "| {name} | {files} |"
        );
        assert!(known().contains(&format!("{name} ({files})")));
        assert!(ImportError::Unknown.to_string().contains(name));
    }
}

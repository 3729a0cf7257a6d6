//! `--csv`: every attempt by itself, as many of each kind as the summary counts, whatever becomes of the file.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Folder, closed_port, finished, plimsoll};
use crate::wire::{Asked, OK, Wire, ok};

const HEAD: &str = "start_s,response_ms,service_ms,outcome,status,bytes,level";

const NONE: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone";
const SHED: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
const BROKEN: &str = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1\r\n\r\n!";
const TORN: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\ntorn";

/// By the last digit of the number in the path.
fn mixed(asked: &Asked) -> &'static str {
    let number = asked.line.split(['/', ' ']).nth(2).unwrap();
    let number: u64 = number.parse().unwrap();
    match number % 10 {
        3 => NONE,
        5 => SHED,
        7 => BROKEN,
        9 => TORN,
        _ => OK,
    }
}

/// Twenty times a second at most, over one connection.
fn slow(_: &Asked) -> &'static str {
    std::thread::sleep(Duration::from_millis(50));
    OK
}

struct Row {
    start: f64,
    response: f64,
    service: Option<f64>,
    outcome: String,
    status: String,
    bytes: u64,
}

fn rows(folder: &Folder, name: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(folder.file(name)).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEAD));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), 7, "{line}");
        assert_eq!(cells[6], "0", "one level: {line}");
        Row {
            start: cells[0].parse().unwrap(),
            response: cells[1].parse().unwrap(),
            service: (!cells[2].is_empty()).then(|| cells[2].parse().unwrap()),
            outcome: cells[3].to_owned(),
            status: cells[4].to_owned(),
            bytes: cells[5].parse().unwrap(),
        }
    };
    lines.map(row).collect()
}

/// As the summary says them; kinds that did not come are left out.
fn counted(summary: &Value) -> BTreeMap<String, u64> {
    let outcomes = summary["outcomes"].as_object().unwrap().iter();
    let counts = outcomes.map(|(name, count)| (name.clone(), count.as_u64().unwrap()));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// Runs with a file of attempts; its rows, and the summary, whose counts they agree with.
fn listed(port: u16, path: &str, flags: &[&str]) -> (Vec<Row>, Value) {
    let folder = Folder::new();
    let url = format!("http://127.0.0.1:{port}/{path}");
    let all = ["run", &url, "--csv", "a.csv", "--no-record", "--format"];
    let (code, out, err) = plimsoll(&folder, &[&all[..], &["json"], flags].concat());
    assert!([0, 3].contains(&code), "{code}: {err}");
    let summary: Value = serde_json::from_str(&out).unwrap();
    let rows = rows(&folder, "a.csv");
    assert_eq!(
        rows.len() as u64,
        summary["attempts_count"].as_u64().unwrap()
    );
    let mut by_kind = BTreeMap::<String, u64>::new();
    for row in &rows {
        *by_kind.entry(row.outcome.clone()).or_default() += 1;
        assert!(row.start >= 0.0, "{}", row.start);
        // Both are rounded by themselves.
        assert!(row.service.is_none_or(|time| time <= row.response + 0.001));
    }
    assert_eq!(by_kind, counted(&summary));
    (rows, summary)
}

#[test]
fn every_attempt_has_a_row_with_what_became_of_it() {
    let server = Wire::start(mixed);
    let (rows, summary) = listed(server.port, "{{counter}}", &["-n", "500", "-c", "4"]);
    assert_eq!(rows.len(), 500, "and none for the one before the load");
    for (outcome, status, answer, count) in [
        ("ok", "200", OK, 300),
        ("http_4xx", "404", NONE, 50),
        ("shed", "503", SHED, 50),
        ("http_5xx", "500", BROKEN, 50),
    ] {
        let own: Vec<&Row> = rows.iter().filter(|row| row.outcome == outcome).collect();
        assert_eq!(own.len(), count, "{outcome}: {summary}");
        for row in own {
            assert_eq!(
                (&*row.status, row.bytes),
                (status, answer.len() as u64),
                "{outcome}"
            );
            assert!(row.service.is_some_and(|time| time > 0.0));
        }
    }
    let torn = rows.iter().filter(|row| row.outcome == "eof");
    assert_eq!(torn.count(), 50);
}

/// Those that were never sent, and those that nobody took, are attempts like all others.
#[test]
fn what_was_never_answered_has_its_rows_too() {
    let server = Wire::start(slow);
    let flags = ["-q", "200/s", "-z", "2s", "-c", "1", "--timeout", "300ms"];
    let (rows, summary) = listed(server.port, "", &flags);
    let of = |kind: &str| rows.iter().filter(|row| row.outcome == kind).count();
    assert!(of("ok") > 0 && of("ok") < rows.len() / 2, "{summary}");
    let unsent = rows.iter().filter(|row| row.outcome == "dropped");
    assert!(unsent.clone().count() > 0, "{summary}");
    assert!(
        unsent
            .clone()
            .all(|row| row.status.is_empty() && row.bytes == 0)
    );
    let flags = ["-n", "20", "-c", "2", "--no-preflight"];
    let (rows, _) = listed(closed_port(), "", &flags);
    assert!(
        rows.iter()
            .all(|row| row.outcome == "refused" && row.status.is_empty())
    );
}

#[test]
fn a_file_that_cannot_be_made_is_named_before_anything_is_sent() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("folder")).unwrap();
    for path in ["gone/a.csv", "folder"] {
        let server = Wire::start(ok);
        let url = format!("http://127.0.0.1:{}/", server.port);
        let args = ["run", &url, "-n", "5", "--no-record", "--csv", path];
        let (code, out, err) = plimsoll(&folder, &args);
        assert_eq!((code, &*out), (104, ""), "{path}: {err}");
        assert!(err.contains(path), "{err}");
        assert_eq!(server.all().len(), 0, "{path}: {err}");
    }
}

/// A disk that fills up costs rows, and neither the run nor what it says.
#[test]
fn a_file_that_ends_early_costs_its_rows_alone() {
    let folder = Folder::new();
    let server = Wire::start(ok);
    let run = format!(
        "run http://127.0.0.1:{}/ -n 3000 -c 2 --no-record --csv a.csv --format json",
        server.port
    );
    let plimsoll = env!("CARGO_BIN_EXE_plimsoll");
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {plimsoll} {run}");
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &script]).current_dir(&folder.0);
    let (code, out, err) = finished(&limited.output().unwrap());
    assert_eq!(code, 0, "{err}");
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["outcomes"]["ok"], 3000, "{out}");
    assert!(
        err.contains("write the attempts to a.csv: File too large"),
        "{err}"
    );
}

//! A script's own words in its record, and read back from it alone: report, explain, compare.

use serde_json::Value;

use super::write;
use crate::support::{Folder, Service, command, finished, plimsoll};

/// Two groups, three names, every kind of metric, a check that fails one time in four, a threshold that is crossed.
const SHOP: &str = r"
import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const price = new Trend('price');
const orders = new Counter('orders');
const happy = new Rate('happy');
const stock = new Gauge('stock');

export const options = {
  scenarios: { shop: { executor: 'per-vu-iterations', vus: 2, iterations: 20 } },
  thresholds: {
    orders: ['count>=40'],
    checks: ['rate>0.99'],
    'http_req_duration{name:pay}': ['p(95)<60000'],
  },
};

export function setup() { http.get(__ENV.TARGET, { tags: { name: 'before' } }); }

export default function () {
  group('browse', () => {
    const all = http.batch([
      ['GET', __ENV.TARGET, null, { tags: { name: 'front' } }],
      ['GET', __ENV.TARGET, null, { tags: { name: 'list' } }],
    ]);
    check(all[1], { 'is 200': (r) => r.status === 200 });
  });
  group('checkout', () => {
    const paid = http.get(__ENV.TARGET, { tags: { name: 'pay' } });
    sleep(0.001);
    check(paid, { 'is paid': () => __ITER % 4 !== 0 });
    price.add(__ITER - 5.5); orders.add(1); happy.add(__ITER % 2); stock.add(__ITER);
  });
}
";

/// Runs a script with a record; exit code and what it printed.
fn run(folder: &Folder, text: &str, record: &str) -> (i32, String) {
    let served = Service::start(&["echo"]);
    let script = write(folder, "shop.js", text);
    let env = format!("TARGET={}", served.url);
    let args = ["run", &script, "-e", &env, "--record", record, "--quiet"];
    let (code, out, err) = plimsoll(folder, &args);
    assert!(!err.contains("panicked"), "{err}");
    (code, out)
}

fn lines(record: &str, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(record).unwrap();
    let all = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    all.filter(|line: &Value| line["kind"] == kind).collect()
}

fn count(row: &Value, outcome: &str) -> u64 {
    row["tally"]["classes"][outcome]["count"]
        .as_u64()
        .unwrap_or(0)
}

#[test]
fn what_a_script_says_is_in_its_record_and_the_same_wherever_it_is_read() {
    let folder = Folder::new();
    let record = folder.file("shop.plimsoll.jsonl");
    let (code, out) = run(&folder, SHOP, &record);
    assert_eq!(code, 99, "{out}");
    let [line] = &lines(&record, "script")[..] else {
        panic!("one line of the script");
    };
    assert_eq!(line["is_final"], true);
    assert_eq!(line["iterations"]["completed_count"], 40);
    assert_eq!((&line["vus"]["existing_max"]), 2);
    let row = |name: &str| {
        let rows = line["names"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("{name} in {line}"))
    };
    // The check comes too late for the windows, and still fails the requests that it is about, and no others.
    assert_eq!(
        (count(row("pay"), "ok"), count(row("pay"), "check_failed")),
        (30, 10)
    );
    for name in ["front", "list"] {
        assert_eq!(
            (count(row(name), "ok"), count(row(name), "check_failed")),
            (40, 0)
        );
    }
    assert_eq!(
        line["names"].as_array().unwrap().len(),
        3,
        "setup() is no load"
    );
    let verdict = &lines(&record, "verdict")[0];
    assert_eq!(verdict["verdict"], "fail", "as the exit code says");
    assert_eq!(verdict["script_faults"][0]["fault"], "threshold");
    says_the_same(&folder, &record, &out);
}

/// The summary of the run, `out`, and what the record alone says.
fn says_the_same(folder: &Folder, record: &str, out: &str) {
    let (_, explained, _) = plimsoll(folder, &["explain", record]);
    let (_, _, err) = plimsoll(folder, &["report", record, "-o", &folder.file("r.html")]);
    let page = std::fs::read_to_string(folder.file("r.html")).unwrap_or_else(|_| panic!("{err}"));
    let judged = out.lines().filter(|line| line.contains('\'')).take(3);
    let observed: Vec<&str> = judged
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(observed.len(), 3, "{out}");
    for observed in observed
        .iter()
        .chain(&["price", "orders", "happy", "stock"])
    {
        assert!(page.contains(observed), "{observed} is not in the report");
    }
    for figures in out
        .lines()
        .filter(|line| line.trim_start().starts_with("price"))
    {
        for figure in figures.split_whitespace().skip(1) {
            assert!(page.contains(figure), "{figure} is not in the report");
        }
    }
    for words in [
        "check 'is paid' of group 'checkout' fails in 25",
        "threshold rate>0.99 of checks was crossed",
        "requests named pay",
        "rate=87.50%",
    ] {
        let text = explained.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{words} in {explained}");
    }
    assert!(
        page.contains("1 of 3\u{a0}thresholds of the script crossed"),
        "first screen"
    );
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}"));
    assert!(
        at("✕ crossed") < at("Every attempt has an outcome"),
        "first screen"
    );
}

#[test]
fn an_interrupted_run_keeps_what_its_script_counted() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let endless = SHOP.replace("iterations: 20 }", "iterations: 100000000 }");
    let script = write(&folder, "endless.js", &endless);
    let env = format!("TARGET={}", served.url);
    let record = folder.file("cut.plimsoll.jsonl");
    let args = ["run", &script, "-e", &env, "--record", &record];
    let mut command = command(&folder, &args);
    command.stdout(std::process::Stdio::piped());
    let child = command
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let has_windows = || {
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        text.matches("\"kind\":\"window\"").count() > 1
    };
    for _ in 0..1_000 {
        if has_windows() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (code, out, err) = finished(&child.wait_with_output().unwrap());
    assert_eq!(code, 105, "{out}{err}");
    let [line] = &lines(&record, "script")[..] else {
        panic!("one line of the script: {err}");
    };
    assert!(
        line["iterations"]["completed_count"].as_u64() > Some(0),
        "{err}"
    );
    assert!(count(&line["names"][0], "ok") + count(&line["names"][0], "check_failed") > 0);
    let (code, _, err) = plimsoll(&folder, &["report", &record, "-o", &folder.file("r.html")]);
    assert_eq!(code, 0, "{err}");
    let page = std::fs::read_to_string(folder.file("r.html")).unwrap();
    assert!(page.contains("is paid"), "the checks are shown");
}

#[test]
fn scripts_are_compared_by_their_checks_and_names() {
    let folder = Folder::new();
    let (a, b) = (folder.file("a.jsonl"), folder.file("b.jsonl"));
    run(&folder, SHOP, &a);
    let other = SHOP
        .replace("name: 'list'", "name: 'shelf'")
        .replace("% 4", "% 2");
    run(&folder, &other, &b);
    let (code, text, err) = plimsoll(&folder, &["compare", &a, &b]);
    assert!(!err.contains("panicked") && code != 104, "{text}{err}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "names of requests: ‘A’ list · ‘B’ shelf",
        "failed checks",
        "checkout › is paid failed checks: 25",
        "pay failed attempts: 25",
        "orders: per second",
    ] {
        assert!(words.contains(part), "{part} in {text}");
    }
    let json = ["compare", &a, &b, "--format", "json"];
    let (_, json, _) = plimsoll(&folder, &json);
    let json: Value = serde_json::from_str(&json).unwrap();
    let guarded = json["guarded"].as_array().unwrap();
    assert!(
        guarded.contains(&"checks_failed_ratio".into()),
        "{guarded:?}"
    );
    assert!(!json["named"].as_array().unwrap().is_empty());
}

#[test]
fn a_record_without_the_lines_is_read_as_before() {
    let folder = Folder::new();
    let record = folder.file("new.jsonl");
    run(&folder, SHOP, &record);
    let text = std::fs::read_to_string(&record).unwrap();
    let older = text
        .lines()
        .filter(|line| !line.contains("\"kind\":\"script\""));
    // Nor had they check sums.
    let older = older.map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for key in ["sum", "sums"] {
            line.as_object_mut().unwrap().remove(key);
        }
        line.to_string()
    });
    let older: Vec<String> = older.collect();
    let old = write(&folder, "old.jsonl", &(older.join("\n") + "\n"));
    let (code, _, err) = plimsoll(&folder, &["report", &old, "-o", &folder.file("r.html")]);
    assert_eq!(code, 0, "{err}");
    let page = std::fs::read_to_string(folder.file("r.html")).unwrap();
    assert!(!page.contains("Metrics of the script"));
    let (code, page, err) = plimsoll(&folder, &["audit", &old]);
    assert_eq!(code, 0, "{page}{err}");
}

//! Where the results of a script go: files for other programs, Prometheus, the live page.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread::JoinHandle;

use serde_json::Value;

use crate::support::{Folder, Service, command, finished, plimsoll};

const SCRIPT: &str = r"
import http from 'k6/http';
import { sleep } from 'k6';
export const options = {
  scenarios: { steady: { executor: 'constant-vus', vus: 2, duration: '2500ms' } },
  thresholds: { http_req_failed: ['rate<0.01'], http_reqs: ['count<1'] },
};
export default function () {
  http.get(__ENV.TARGET);
  sleep(0.05);
}
";

/// A service, a folder, the script in it, and the variable that names the service.
fn prepared() -> (Service, Folder, String, String) {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let script = folder.file("steady.js");
    std::fs::write(&script, SCRIPT).unwrap();
    let target = format!("TARGET={}", served.url);
    (served, folder, script, target)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn files_for_other_programs() {
    let (_served, folder, script, target) = prepared();
    let [junit, markdown, hlog, packed, step] =
        ["j.xml", "s.md", "run.hlog", "s.json.gz", "step.md"].map(|name| folder.file(name));
    std::fs::write(&step, "before\n").unwrap();
    let out = format!("json={packed}");
    let args = [
        "run",
        &script,
        "-e",
        &target,
        "-q",
        "--no-record",
        "--junit",
        &junit,
        "--markdown",
        &markdown,
        "--hlog",
        &hlog,
        "--out",
        &out,
    ];
    let done = command(&folder, &args)
        .env("GITHUB_STEP_SUMMARY", &step)
        .output();
    let (code, _, err) = finished(&done.unwrap());
    assert_eq!(code, 99, "{err}");
    let xml = read(&junit);
    assert!(
        xml.contains("tests=\"2\" failures=\"1\"") && xml.contains("http_reqs count&lt;1"),
        "{xml}"
    );
    let page = read(&markdown);
    assert!(
        page.contains("✗ failed") && page.contains("http_reqs"),
        "{page}"
    );
    assert_eq!(read(&step), format!("before\n{page}"));
    let log = read(&hlog);
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.starts_with("Tag="))
        .collect();
    let ok = |line: &&&str| line.starts_with("Tag=response.ok,") && line.contains(",HIST");
    assert!(lines.iter().filter(ok).count() >= 2, "{log}");
    let mut text = String::new();
    let mut gzip = flate2::read::GzDecoder::new(std::fs::File::open(&packed).unwrap());
    gzip.read_to_string(&mut text).unwrap();
    let points = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert!(
        points
            .filter(|point| point["metric"] == "http_reqs")
            .count()
            > 20
    );
}

#[test]
fn inspection_sends_nothing_and_says_what_would_follow() {
    let (_served, folder, script, _) = prepared();
    let (code, out, err) = plimsoll(&folder, &["inspect", &script]);
    let options: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert_eq!((code, &options["vus"]), (0, &Value::Null));
    assert_eq!(options["thresholds"]["http_reqs"][0], "count<1");
    assert!(options.get("totalDuration").is_none());
    let (_, out, _) = plimsoll(&folder, &["inspect", "--execution-requirements", &script]);
    let options: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&options["maxVUs"], &options["totalDuration"]),
        (&2.into(), &"32.5s".into())
    );
    let (_, out, _) = plimsoll(&folder, &["inspect", "-u", "5", "-d", "9s", &script]);
    let options: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&options["vus"], &options["duration"]),
        (&5.into(), &"9s".into())
    );
    assert_eq!(plimsoll(&folder, &["inspect", "gone.js"]).0, 255);
    assert_eq!(plimsoll(&folder, &["inspect"]).0, 104);
}

fn is_a_page_with_a_policy(page: &str) {
    for part in [
        "<title>plimsoll</title>",
        "\r\nContent-Security-Policy: frame-ancestors 'none'\r\n",
        "default-src 'none'",
        "script-src 'sha256-",
        "connect-src 'self'",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn the_live_page_tells_what_happens_and_ends_with_the_run() {
    let (_served, folder, script, target) = prepared();
    let export = folder.file("page.html");
    let args = [
        "run",
        &script,
        "-e",
        &target,
        "-q",
        "--no-record",
        "--out",
        "web-dashboard",
    ];
    let mut child = command(&folder, &args)
        .env("K6_WEB_DASHBOARD_PORT", "0")
        .env("K6_WEB_DASHBOARD_EXPORT", &export)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = said
        .find_map(|line| {
            Some(
                line.ok()?
                    .strip_prefix("live page  http://")?
                    .trim_end_matches('/')
                    .to_owned(),
            )
        })
        .expect("the address of the page");
    let ask = |path: &str| {
        let mut connection = TcpStream::connect(&address).unwrap();
        write!(connection, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    };
    is_a_page_with_a_policy(&ask("/"));
    let told: Vec<Value> = ask("/events")
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    assert_eq!(child.wait().unwrap().code(), Some(99));
    assert_eq!(
        (&told[0]["kind"], &told[1]["kind"]),
        (&"head".into(), &"level".into())
    );
    let seconds: Vec<&Value> = told
        .iter()
        .filter(|line| line["kind"] == "second")
        .collect();
    assert!(seconds.len() >= 2, "{told:?}");
    let goodput = |second: &&&Value| second["lanes"][0].as_f64().unwrap() > 10.0;
    assert!(
        seconds.iter().filter(goodput).count() >= 2 && seconds[1]["vus"] == 2,
        "{seconds:?}"
    );
    let judged = seconds
        .iter()
        .any(|second| second["thresholds"][1]["ok"] == false);
    assert!(judged, "{seconds:?}");
    assert_eq!(told.last().unwrap()["kind"], "end");
    assert!(read(&export).starts_with("<!doctype html>"));
}

#[test]
fn a_page_that_cannot_be_served_is_told_before_anything_is_sent() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = ["run", &served.url, "--no-record"];
    let done = command(&folder, &run)
        .env("K6_WEB_DASHBOARD", "true")
        .env("K6_WEB_DASHBOARD_PORT", port)
        .output();
    let (code, _, err) = finished(&done.unwrap());
    assert!(
        code != 0 && err.contains("K6_WEB_DASHBOARD_PORT"),
        "{code} {err}"
    );
}

/// As in k6: the disk is full, and the test has been measured all the same.
#[test]
fn what_cannot_be_written_costs_neither_summary_nor_exit_code() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let (_served, folder, script, target) = prepared();
    for (flag, place) in [
        ("--out", "json=/dev/full"),
        ("--out", "csv=/dev/full"),
        ("--summary-export", "/dev/full"),
        ("--summary-export", "/dev/null/summary.json"),
        ("--junit", "/dev/full"),
    ] {
        let mut args = vec!["run", &*script, "--no-record", "--quiet", "-e", &*target];
        args.extend([flag, place]);
        let (code, stdout, stderr) = plimsoll(&folder, &args);
        assert_eq!(
            code, 99,
            "its threshold is crossed: {flag} {place}: {stderr}"
        );
        assert!(stdout.contains("http_reqs"), "{flag} {place}: {stdout}");
        assert!(stderr.contains(flag), "{flag} {place}: {stderr}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_anything_is_sent() {
    let (_served, folder, script, target) = prepared();
    for flag in ["--junit", "--markdown", "--hlog"] {
        let args = [
            "run",
            &script,
            "-e",
            &target,
            "-q",
            flag,
            "no/such/folder/x",
        ];
        let (code, out, err) = plimsoll(&folder, &args);
        assert!(
            code != 0 && out.is_empty() && err.contains("no/such/folder"),
            "{flag}: {code} {out}{err}"
        );
    }
    let records = std::fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(records, 1, "nothing but the script is there");
}

/// A receiver of pushes: the head of each in small letters, and its body.
fn receiver(listener: TcpListener, pushes: usize) -> JoinHandle<Vec<(String, Vec<u8>)>> {
    std::thread::spawn(move || {
        let mut seen = Vec::new();
        while seen.len() < pushes {
            let (connection, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(connection);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            let head = head.to_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.lines().next());
            let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
            reader.get_mut().write_all(answer).unwrap();
            seen.push((head, body));
        }
        seen
    })
}

#[test]
fn series_are_pushed_to_prometheus_while_the_test_runs() {
    let (_served, folder, script, target) = prepared();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let out = format!(
        "experimental-prometheus-rw=http://{}/api/v1/write",
        listener.local_addr().unwrap()
    );
    let receiver = receiver(listener, 2);
    let done = command(
        &folder,
        &[
            "run",
            &script,
            "-e",
            &target,
            "-q",
            "--no-record",
            "--out",
            &out,
        ],
    )
    .env("K6_PROMETHEUS_RW_PUSH_INTERVAL", "1s")
    .env("K6_PROMETHEUS_RW_HTTP_HEADERS", "X-Scope:team a")
    .output();
    let (code, _, err) = finished(&done.unwrap());
    assert_eq!(code, 99, "{err}");
    for (head, body) in receiver.join().unwrap() {
        for part in [
            "post /api/v1/write",
            "content-encoding: snappy",
            "x-scope: team a",
            "0.1.0",
        ] {
            assert!(head.contains(part), "{part} in {head}");
        }
        assert!(body.len() > 200, "{}", body.len());
    }
}

/// Runs the script with one more output to a receiver of so many pushes; the heads and bodies that came.
fn pushed(
    kind: &str,
    path: &str,
    variables: &[(&str, &str)],
    pushes: usize,
) -> Vec<(String, Vec<u8>)> {
    let (_served, folder, script, target) = prepared();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let out = format!("{kind}=http://{}{path}", listener.local_addr().unwrap());
    let receiver = receiver(listener, pushes);
    let all = ["run", &script, "-e", &target, "-q", "--no-record"];
    let args = [&all[..], &["--out", &out]].concat();
    let mut run = command(&folder, &args);
    let done = run.envs(variables.iter().copied()).output();
    let (code, _, err) = finished(&done.unwrap());
    assert_eq!(code, 99, "{err}");
    receiver.join().unwrap()
}

#[test]
fn samples_go_to_influxdb_of_either_version() {
    let seen = pushed("influxdb", "/load", &[("K6_INFLUXDB_USERNAME", "me")], 3);
    assert!(
        seen[0]
            .0
            .starts_with("post /query?q=create%20database%20%22load%22"),
        "{}",
        seen[0].0
    );
    for (head, body) in &seen[1..] {
        assert!(
            head.starts_with("post /write?db=load&precision=ns "),
            "{head}"
        );
        assert!(head.contains("authorization: basic "), "{head}");
        let text = String::from_utf8_lossy(body);
        let line = text
            .lines()
            .find(|line| line.starts_with("http_req_duration,"));
        let line = line.unwrap_or_else(|| panic!("{text}"));
        for part in [",method=GET", ",status=200", " url=\"http", ",value="] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
    let v2 = [
        ("K6_INFLUXDB_ORGANIZATION", "org"),
        ("K6_INFLUXDB_BUCKET", "load"),
        ("K6_INFLUXDB_TOKEN", "word"),
    ];
    let seen = pushed("influxdb", "", &v2, 2);
    for (head, _) in &seen {
        let path = "post /api/v2/write?org=org&bucket=load&precision=ns ";
        assert!(
            head.starts_with(path) && head.contains("authorization: token word"),
            "{head}"
        );
    }
}

#[test]
fn metrics_go_to_a_collector_of_opentelemetry() {
    let variables = [
        ("K6_OTEL_EXPORT_INTERVAL", "1s"),
        ("K6_OTEL_SERVICE_NAME", "shop"),
        ("K6_OTEL_METRIC_PREFIX", "k6_"),
        ("K6_OTEL_HEADERS", "X-Scope=team"),
    ];
    for (head, body) in pushed("opentelemetry", "", &variables, 2) {
        assert!(head.starts_with("post /v1/metrics "), "{head}");
        assert!(
            head.contains("content-type: application/x-protobuf"),
            "{head}"
        );
        assert!(head.contains("x-scope: team"), "{head}");
        for part in [
            "shop",
            "k6_http_req_duration",
            "k6_http_req_failed",
            "condition",
        ] {
            let has = body
                .windows(part.len())
                .any(|window| window == part.as_bytes());
            assert!(has, "{part} is not in the body");
        }
    }
}

#[test]
fn what_stands_behind_web_dashboard_is_obeyed() {
    let (_served, folder, script, target) = prepared();
    let page = folder.file("page.html");
    let out = format!("web-dashboard=port=0&export={page}&record=x");
    let all = ["run", &script, "-e", &target, "-q", "--no-record"];
    let (code, _, err) = plimsoll(&folder, &[&all[..], &["--out", &out]].concat());
    assert_eq!(code, 99, "{err}");
    assert!(err.contains("`record` is not followed"), "{err}");
    assert!(
        err.contains("live page  http://127.0.0.1:") && !err.contains(":5665"),
        "{err}"
    );
    assert!(read(&page).contains("<html"));
    let (code, _, err) = plimsoll(&folder, &["run", &script, "--out", "web-dashboard=prot=0"]);
    assert_eq!(code, 104, "{err}");
    assert!(err.contains("did you mean `port`?"), "{err}");
}

/// The points of a metric in the file of an output.
fn points(path: &str, metric: &str) -> Vec<Value> {
    let text = read(path);
    let lines = text.lines().filter(|line| line.contains("\"Point\""));
    let points = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    points.filter(|point| point["metric"] == metric).collect()
}

/// From the 10,000th tag set of a worker on they had hardly any tags.
#[test]
fn outputs_get_the_tags_of_many_tag_sets() {
    let folder = Folder::new();
    let text = "import { Counter } from 'k6/metrics';
        const seen = new Counter('seen');
        export default () => { for (let i = 0; i < 12000; i++) seen.add(1, { order: String(i) }); }";
    let script = folder.file("orders.js");
    std::fs::write(&script, text).unwrap();
    let (file, out) = (folder.file("points.json"), folder.file("points.json"));
    let out = format!("json={out}");
    let (code, _, err) = plimsoll(
        &folder,
        &["run", &script, "--no-record", "-q", "--out", &out],
    );
    assert_eq!(code, 0, "{err}");
    assert!(!err.contains("tag sets"), "{err}");
    let seen = points(&file, "seen");
    assert_eq!(seen.len(), 12_000);
    for (index, point) in seen.iter().enumerate() {
        let tags = &point["data"]["tags"];
        assert_eq!(tags["order"], index.to_string(), "{point}");
        assert_eq!(tags["scenario"], "default", "{point}");
    }
}

/// Nobody said it.
#[test]
fn tags_that_outputs_lose_are_told_once() {
    let folder = Folder::new();
    let text = "import { check, sleep } from 'k6'; import { Trend } from 'k6/metrics';
        const took = new Trend('took');
        export const options = { iterations: 3 };
        export default () => {
          took.add(Infinity);
          for (let i = 0; i < 17000; i++) check(i, { [`${__ITER} ${i}`]: true });
          if (__ITER === 2) sleep(1.5);
        }";
    let script = folder.file("checks.js");
    std::fs::write(&script, text).unwrap();
    let out = format!("json={}", folder.file("points.json"));
    let args = [
        "run",
        &script,
        "--no-record",
        "-q",
        "--summary-mode=disabled",
    ];
    let (_, _, with_output) = plimsoll(&folder, &[&args[..], &["--out", &out]].concat());
    let (_, _, without) = plimsoll(&folder, &args);
    let told = |err: &str, words: &str| err.matches(words).count();
    let lost = "outputs lose most tags of further ones";
    assert_eq!(
        (told(&with_output, lost), told(&without, lost)),
        (1, 0),
        "{with_output}"
    );
    let left_out = "samples that are no finite numbers are left out";
    assert_eq!(told(&without, left_out), 1, "{without}");
}

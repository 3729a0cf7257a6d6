//! Scripts of k6 against a service of our own, through the product: summary, exports, exit codes.

mod edges;
mod record;

use crate::support::{Folder, Service, closed_port, plimsoll};

const BROWSE: &str = r"
import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Counter } from 'k6/metrics';

const seen = new Counter('seen');

export const options = {
  scenarios: { shop: { executor: 'per-vu-iterations', vus: 3, iterations: 4 } },
  thresholds: { http_req_failed: ['rate<0.01'], 'http_req_duration{name:front}': ['p(95)<5000'] },
};

export function setup() {
  return { url: __ENV.TARGET };
}

export default function (data) {
  group('front', () => {
    const answer = http.get(data.url, { tags: { name: 'front' } });
    check(answer, { 'is 200': (r) => r.status === 200, 'has a body': (r) => r.body.length > 0 });
    seen.add(1);
  });
  sleep(0.01);
}
";

fn write(folder: &Folder, name: &str, text: &str) -> String {
    let path = folder.file(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_script_runs_as_it_is_and_its_summary_is_the_known_one() {
    let served = Service::start(&["echo"]);
    let folder = Folder::new();
    let script = write(&folder, "browse.js", BROWSE);
    let (env, export) = (format!("TARGET={}", served.url), folder.file("export.json"));
    let (json, csv) = (folder.file("samples.json"), folder.file("samples.csv"));
    let (json_out, csv_out) = (format!("json={json}"), format!("csv={csv}"));
    let record = folder.file("run.plimsoll.jsonl");
    let args = [
        "run",
        &script,
        "-e",
        &env,
        "--summary-export",
        &export,
        "--out",
        &json_out,
    ];
    let more = ["--out", &csv_out, "--record", &record, "--quiet"];
    let (code, out, err) = plimsoll(&folder, &[&args[..], &more[..]].concat());
    assert_eq!(code, 0, "{out}{err}");
    for part in ["✓ is 200", "http_req_duration", "iterations", "run valid"] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let export: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(export).unwrap()).unwrap();
    let metrics = &export["metrics"];
    assert_eq!(metrics["http_reqs"]["count"], 12);
    assert_eq!(metrics["iterations"]["count"], 12);
    assert_eq!(metrics["seen"]["count"], 12);
    assert_eq!(metrics["checks"]["passes"], 24);
    let points = std::fs::read_to_string(json).unwrap();
    let requests = points
        .lines()
        .filter(|line| line.contains(r#""metric":"http_reqs""#));
    assert_eq!(requests.filter(|line| line.contains("Point")).count(), 12);
    let rows = std::fs::read_to_string(csv).unwrap();
    assert_eq!(
        rows.lines()
            .filter(|row| row.starts_with("http_reqs,"))
            .count(),
        12
    );
    // The same attempts, by the same rules as in URL mode.
    let (code, page, _) = plimsoll(&folder, &["audit", &record]);
    assert_eq!(code, 0, "{page}");
    let lines = std::fs::read_to_string(record).unwrap();
    let verdict: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(verdict["attempts_count"], 12);
    assert_eq!(verdict["valid"], true);
}

#[test]
fn exit_codes_are_those_of_k6() {
    let folder = Folder::new();
    let port = closed_port();
    let failing = format!(
        "import http from 'k6/http';
         export const options = {{ thresholds: {{ http_req_failed: ['rate<0.1'] }} }};
         export default () => {{ const r = http.get('http://127.0.0.1:{port}/');
           if (r.status !== 0 || r.error_code !== 1212) throw new Error(`got ${{r.error_code}}`); }}"
    );
    for (name, text, wanted) in [
        ("threshold.js", failing.as_str(), 99),
        ("syntax.js", "export default function ( {", 107),
        (
            "init.js",
            "throw new Error('no'); export default () => {}",
            107,
        ),
        (
            "missing.js",
            "import x from './not-there.js'; export default () => {}",
            107,
        ),
        ("none.js", "export const a = 1;", 104),
        (
            "option.js",
            "export const options = { scenarios: { a: { executor: 'none' } } }; export default () => {}",
            104,
        ),
        (
            "setup.js",
            "export function setup() { throw new Error('no'); } export default () => {}",
            107,
        ),
        (
            "abort.js",
            "import exec from 'k6/execution'; export default () => { exec.test.abort('enough'); }",
            108,
        ),
        (
            "fail.js",
            "import exec from 'k6/execution'; export default () => { exec.test.fail('bad'); }",
            110,
        ),
        (
            "throws.js",
            "export default () => { throw new Error('in an iteration'); }",
            0,
        ),
    ] {
        let script = write(&folder, name, text);
        let (code, out, err) = plimsoll(&folder, &["run", &script, "--no-record", "--quiet"]);
        assert_eq!(code, wanted, "{name}: {out}{err}");
        assert!(!err.contains("panicked"), "{name}: {err}");
    }
    let (code, _, err) = plimsoll(&folder, &["run", "not-there.js", "--no-record"]);
    assert_eq!(code, 255, "{err}");
}

/// Otherwise this test would not end.
#[test]
fn code_that_never_waits_ends_with_the_test() {
    let folder = Folder::new();
    let script = write(
        &folder,
        "endless.js",
        "export const options = { scenarios: { spin: { executor: 'constant-vus', vus: 2, duration: '1s',
           gracefulStop: '0s' } } };
         export default () => { for (;;) {} }",
    );
    let (code, out, err) = plimsoll(&folder, &["run", &script, "-q", "--no-record"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn what_setup_made_is_torn_down_when_a_search_cannot_begin() {
    let folder = Folder::new();
    let text = "export function setup() { return 'made'; }
        export default function () {}
        export function teardown(data) { console.log('torn down', data); }";
    let script = write(&folder, "none.js", text);
    let (code, _, err) = plimsoll(
        &folder,
        &["find", &script, "--slo", "p99<1s", "--no-record"],
    );
    assert_eq!(code, 104, "{err}");
    for part in ["torn down made", "sent no request in"] {
        assert!(err.contains(part), "{part} in {err}");
    }
}

#[test]
fn a_search_where_nothing_listens_ends_after_the_trial() {
    let folder = Folder::new();
    let url = format!("http://127.0.0.1:{}/", closed_port());
    let text = "import http from 'k6/http';
        export default () => { http.get(__ENV.TARGET); }";
    let script = write(&folder, "shop.js", text);
    let env = format!("TARGET={url}");
    let args = [
        "find",
        &script,
        "-e",
        &env,
        "--slo",
        "p99<1s",
        "--no-record",
    ];
    let (code, _, err) = plimsoll(&folder, &args);
    assert_eq!(code, 7, "{err}");
    assert!(
        err.contains("no request of the trial got an answer"),
        "{err}"
    );
    assert!(err.contains(" refused"), "{err}");
    assert!(!err.contains("bracket"), "{err}");
}

/// A script whose check failed 40 of 40 times reported "100 % of attempts correctly", and `find` certified its answers.
#[test]
fn an_answer_that_fails_its_check_is_no_correct_one() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let outcomes = |body: &str| {
        let text = format!(
            "import http from 'k6/http'; import {{ check, sleep }} from 'k6';
            export const options = {{ scenarios: {{ one: {{ executor: 'per-vu-iterations', vus: 2, iterations: 20 }} }} }};
            const wrong = {{ 'is right': (r) => r.body === 'right' }};
            export default function () {{ {body} }}"
        );
        let script = write(&folder, "checked.js", &text);
        let env = format!("TARGET={}", served.url);
        let record = folder.file("checked.plimsoll.jsonl");
        let args = ["run", &script, "-e", &env, "--record", &record];
        let args = [&args[..], &["--force", "--quiet"]].concat();
        let (code, out, err) = plimsoll(&folder, &args);
        let lines = std::fs::read_to_string(&record).unwrap_or_else(|_| panic!("{out}{err}"));
        let summary: serde_json::Value =
            serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        let count = |outcome| summary["outcomes"][outcome].as_u64().unwrap_or(0);
        (code, count("ok"), count("check_failed"), count("http_4xx"))
    };
    let plain = "check(http.get(__ENV.TARGET), wrong);";
    assert_eq!(outcomes(plain), (0, 0, 40, 0));
    // Two checks of one answer fail one call; what passes fails none.
    let twice = "const r = http.get(__ENV.TARGET); check(r, wrong); check(r, wrong); check(r, { ok: (r) => r.status === 200 });
        http.get(__ENV.TARGET);";
    assert_eq!(outcomes(twice), (0, 40, 40, 0));
    // A value that is no answer: the call before it.
    assert_eq!(
        outcomes("check(http.get(__ENV.TARGET).body, { is: (b) => b === 'right' });"),
        (0, 0, 40, 0)
    );
    // Of a batch and after a pause they come late, and count in a later call's place: all but those of the last iterations.
    let batch =
        "const all = http.batch([__ENV.TARGET, __ENV.TARGET, __ENV.TARGET]); check(all[0], wrong);";
    let (_, ok, failed, _) = outcomes(batch);
    assert!(ok + failed == 120 && failed == 40, "{ok} {failed}");
    let late = "const r = http.get(__ENV.TARGET); sleep(0.01); check(r, wrong);";
    let (_, ok, failed, _) = outcomes(late);
    assert!(ok + failed == 40 && failed == 38, "{ok} {failed}");
}

/// They were counted as timeouts, which are failures of the service.
#[test]
fn requests_under_way_when_the_test_ends_are_interrupted_not_failed() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let folder = Folder::new();
    let text = format!(
        "import http from 'k6/http';
         export const options = {{ scenarios: {{ cut: {{ executor: 'constant-vus', vus: 3, duration: '1s',
           gracefulStop: '0s' }} }} }};
         export default () => {{ http.get('http://127.0.0.1:{port}/'); }}"
    );
    let script = write(&folder, "cut.js", &text);
    let record = folder.file("cut.plimsoll.jsonl");
    let (code, out, err) = plimsoll(&folder, &["run", &script, "--record", &record]);
    assert_eq!(code, 0, "{out}{err}");
    let record = std::fs::read_to_string(record).unwrap();
    let verdict = record
        .lines()
        .find(|line| line.contains("\"kind\":\"verdict\""));
    let verdict: serde_json::Value = serde_json::from_str(verdict.unwrap()).unwrap();
    assert_eq!(verdict["outcomes"], serde_json::json!({ "interrupted": 3 }));
    drop(silent);
}

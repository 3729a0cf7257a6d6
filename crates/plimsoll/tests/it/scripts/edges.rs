//! What a user of k6 does by the way: variables of the shell, flags of CI scripts, ends that must say why.

use std::process::Command;

use super::write;
use crate::support::{Folder, Service, command, finished, plimsoll};

const ENV: &str = "export default function () { console.log(`[${__ENV.BASE_URL}]`); }";

/// `run SCRIPT` without a record, in a home of its own; what is set goes on top.
fn run(folder: &Folder, script: &str, args: &[&str]) -> Command {
    let all = ["run", script, "--no-record", "--quiet"];
    let mut run = command(folder, &[&all[..], args].concat());
    run.env("HOME", &folder.0).env_remove("XDG_CONFIG_HOME");
    run
}

fn said(run: &mut Command) -> (i32, String, String) {
    finished(&run.output().unwrap())
}

/// `BASE_URL=… plimsoll run x.js` loaded the script's default host without a word.
#[test]
fn variables_of_the_shell_reach_the_script() {
    let folder = Folder::new();
    let script = write(&folder, "env.js", ENV);
    let lines = |run: &mut Command| said(run.env("BASE_URL", "http://staging")).2;
    let plain = lines(&mut run(&folder, &script, &[]));
    assert!(plain.contains("[http://staging]"), "{plain}");
    let given = lines(&mut run(&folder, &script, &["-e", "BASE_URL=http://given"]));
    assert!(given.contains("[http://given]"), "{given}");
    let off = ["--include-system-env-vars=false"];
    let mut by_variable = run(&folder, &script, &[]);
    by_variable.env("K6_INCLUDE_SYSTEM_ENV_VARS", "false");
    for mut off in [run(&folder, &script, &off), by_variable] {
        let without = lines(&mut off);
        assert!(without.contains("[undefined]"), "{without}");
    }
    // Also where the names are not written out.
    let all = "export default () => { const { BASE_URL } = __ENV; console.log(`[${BASE_URL}]`); }";
    let script = write(&folder, "all.js", all);
    let any = lines(&mut run(&folder, &script, &[]));
    assert!(any.contains("[http://staging]"), "{any}");
}

/// Of the surroundings, the record has what the script names: two runs against different hosts are told apart.
#[test]
fn the_record_says_what_the_shell_gave() {
    let folder = Folder::new();
    let script = write(&folder, "env.js", ENV);
    let record = folder.file("run.plimsoll.jsonl");
    let mut run = command(&folder, &["run", &script, "-q", "--record", &record]);
    run.env("HOME", &folder.0).env("SECRET_OF_MINE", "hunter2");
    let (code, _, err) = said(run.env("BASE_URL", "http://staging"));
    assert_eq!(code, 0, "{err}");
    let text = std::fs::read_to_string(&record).unwrap();
    assert!(text.contains("http://staging"), "{text}");
    assert!(!text.contains("SECRET_OF_MINE"), "{text}");
}

#[test]
fn variables_of_k6_are_obeyed_or_named() {
    let folder = Folder::new();
    let script = write(
        &folder,
        "log.js",
        "export default () => { console.log('a line'); }",
    );
    let (points, log) = (folder.file("points.json"), folder.file("out.log"));
    let mut asked = run(&folder, &script, &[]);
    asked
        .env("K6_OUT", format!("json={points}"))
        .env("K6_LOG_OUTPUT", format!("file={log}"))
        .env("K6_LOG_FORMAT", "json")
        .env("K6_CLOUD_TOKEN", "x")
        .env("K6_ITERATOINS", "5");
    let (code, _, err) = said(&mut asked);
    assert_eq!(code, 0, "{err}");
    assert!(!err.contains("a line"), "{err}");
    assert!(
        std::fs::read_to_string(points)
            .unwrap()
            .contains("\"iterations\"")
    );
    let lines = std::fs::read_to_string(log).unwrap();
    let line = lines.lines().find(|line| line.contains("a line")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        (&line["level"], &line["source"]),
        (&"info".into(), &"console".into())
    );
    for part in ["K6_CLOUD_TOKEN is not followed", "K6_ITERATIONS is meant"] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
    let mut searched = command(&folder, &["find", &script, "--slo", "p99<1s"]);
    searched
        .env("K6_OUT", "json=none.json")
        .env("K6_SUMMARY_EXPORT", "none.json");
    let (_, _, err) = said(&mut searched);
    for name in ["K6_OUT", "K6_SUMMARY_EXPORT"] {
        let words = format!("{name} is not followed: plimsoll find has no --");
        assert!(err.contains(&words), "{words} in {err}");
    }
    let summary = folder.file("summary.json");
    let mut newer = run(&folder, &script, &["--summary-export", &summary]);
    let (code, _, err) = said(newer.env("K6_NEW_MACHINE_READABLE_SUMMARY", "true"));
    assert_eq!(code, 0, "{err}");
    let summary = std::fs::read_to_string(summary).unwrap();
    assert!(
        summary.contains("\"results\"") || summary.contains("\"version\""),
        "{summary}"
    );
}

#[test]
fn the_configuration_of_the_user_counts_and_the_one_that_is_named_wins() {
    let folder = Folder::new();
    let script = write(
        &folder,
        "x.js",
        "export default () => { console.log('once'); }",
    );
    let home = folder.0.join(".config").join("k6");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.json"), "{ \"iterations\": 3 }").unwrap();
    let own = write(&folder, "own.json", "{ \"iterations\": 2 }");
    let count = |run: &mut Command| said(run).2.matches("once").count();
    assert_eq!(count(&mut run(&folder, &script, &[])), 3);
    assert_eq!(count(run(&folder, &script, &[]).env("K6_CONFIG", &own)), 2);
    assert_eq!(count(&mut run(&folder, &script, &["--config", &own])), 2);
    let xdg = folder.0.join(".config");
    let mut elsewhere = run(&folder, &script, &[]);
    elsewhere
        .env("HOME", "/nowhere")
        .env("XDG_CONFIG_HOME", xdg);
    assert_eq!(count(&mut elsewhere), 3);
}

#[test]
fn an_exit_other_than_0_says_why() {
    let folder = Folder::new();
    let summary = "export function handleSummary() { return { stdout: 'mine\\n' }; }";
    for (name, text, code, words) in [
        (
            "crossed.js",
            format!(
                "export const options = {{ thresholds: {{ iterations: ['count>5'], checks: ['rate>0.5'] }} }};
                 export default () => {{}}; {summary}"
            ),
            99,
            "thresholds on metrics 'iterations' have been crossed: iterations count>5 (was 1)",
        ),
        (
            "abort.js",
            format!(
                "import exec from 'k6/execution'; export default () => {{ exec.test.abort('no stock'); }}; {summary}"
            ),
            108,
            "no stock",
        ),
        (
            "setup.js",
            "import exec from 'k6/execution'; export function setup() { exec.test.abort('no users'); }
             export default () => {}"
                .to_owned(),
            108,
            "no users",
        ),
        (
            "teardown.js",
            "import exec from 'k6/execution'; export function teardown() { exec.test.fail('left over'); }
             export default () => {}"
                .to_owned(),
            110,
            "left over",
        ),
        (
            "html.js",
            "import http from 'k6/http'; export default () => { try { http.get('http://127.0.0.1:1/').html(); } catch {} }"
                .to_owned(),
            107,
            "res.html() is not there yet",
        ),
        (
            "ntlm.js",
            "import http from 'k6/http'; export function setup() { http.get('http://127.0.0.1:1/', { auth: 'ntlm' }); }
             export default () => {}"
                .to_owned(),
            107,
            "auth \\\"ntlm\\\" is not there yet",
        ),
    ] {
        let script = write(&folder, name, &text);
        let (found, out, err) = said(&mut run(&folder, &script, &[]));
        assert_eq!(found, code, "{name}: {out}{err}");
        assert!(err.contains("level=error"), "{name}: {err}");
        assert!(err.contains(words), "{name}: {err}");
    }
    let text = "export default () => {}; export function handleSummary() { return 'a text'; }";
    let script = write(&folder, "text.js", text);
    let (_, out, err) = said(&mut run(&folder, &script, &[]));
    assert!(
        err.contains("handleSummary returned a text; return an object"),
        "{err}"
    );
    assert!(out.contains("iterations"), "{out}");
}

/// k6 would fetch it: a script that went on without it tested something else, and passed.
#[test]
fn a_module_of_the_network_ends_the_test_though_its_refusal_is_caught() {
    let folder = Folder::new();
    for (name, text) in [
        (
            "lodash.js",
            "let _; try { _ = require('https://cdn.test/lodash.js'); } catch (e) {} export default () => {}",
        ),
        (
            "late.js",
            "export default async () => { await import('https://cdn.test/late.js').catch(() => {}); }",
        ),
        (
            "unawaited.js",
            "import('https://cdn.test/unawaited.js').catch(() => {}); export default () => {}",
        ),
        (
            "named.js",
            "import 'https://cdn.test/named.js'; export default () => {}",
        ),
    ] {
        let script = write(&folder, name, text);
        let (code, out, err) = said(&mut run(&folder, &script, &[]));
        assert_eq!(code, 107, "{name}: {out}{err}");
        let url = format!("https://cdn.test/{name}");
        for part in [&*url, "imports from the network are not fetched"] {
            assert!(err.contains(part), "{name}: {part} in {err}");
        }
    }
}

#[test]
fn flags_of_ci_scripts_are_taken() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let text = "import http from 'k6/http'; export default () => { http.get(__ENV.TARGET); console.warn('a line'); }";
    let script = write(&folder, "ci.js", text);
    let target = format!("TARGET={}", served.url);
    let args = [
        "-e",
        &target,
        "--no-color",
        "--log-format",
        "raw",
        "--http-debug",
        "--address",
        "127.0.0.1:6565",
        "--compatibility-mode=extended",
        "--type=js",
    ];
    let (code, _, err) = said(&mut run(&folder, &script, &args));
    assert_eq!(code, 0, "{err}");
    for part in [
        "\na line\n",
        "GET / HTTP/1.1",
        "--address 127.0.0.1:6565 is not followed",
    ] {
        assert!(err.contains(part), "{part} in {err}");
    }
    let (code, out, err) = said(&mut run(
        &folder,
        &script,
        &["-e", &target, "--log-output", "stdout"],
    ));
    assert!(code == 0 && out.contains("msg=\"a line\""), "{out}{err}");
    let (code, out, err) = said(&mut run(
        &folder,
        &script,
        &["-e", &target, "--log-output=none"],
    ));
    assert!(
        code == 0 && !format!("{out}{err}").contains("a line"),
        "{out}{err}"
    );
    let (code, _, err) = said(&mut run(
        &folder,
        &script,
        &["-e", &target, "--log-output=loki"],
    ));
    assert!(code == 0 && err.contains("loki is not followed"), "{err}");
}

#[test]
fn commands_of_k6_get_a_sentence() {
    let folder = Folder::new();
    for (word, part) in [
        ("archive", "no archive is made"),
        ("cloud", "no cloud"),
        ("new", "no script is written for you"),
        ("status", "no REST API"),
        ("pause", "no REST API"),
        ("resume", "no REST API"),
        ("scale", "stages of a scenario"),
    ] {
        let (code, out, err) = plimsoll(&folder, &[word, "x.js"]);
        assert_eq!(code, 104, "{word}: {out}{err}");
        assert!(
            err.contains(part) && err.lines().count() == 1,
            "{word}: {err}"
        );
    }
    let (code, out, _) = plimsoll(&folder, &["version"]);
    assert!(code == 0 && out.starts_with("plimsoll "), "{out}");
}

#[test]
fn what_k6_only_warns_about_runs() {
    let folder = Folder::new();
    for (options, part) in [
        (
            "executor: 'constant-vus', rate: 5",
            "`executor` is ignored here",
        ),
        (
            "tlsCipherSuites: ['TLS_RSA_WITH_RC4_128_SHA']",
            "TLS_RSA_WITH_RC4_128_SHA cannot be offered here; known are TLS_",
        ),
    ] {
        let text = format!("export const options = {{ {options} }}; export default () => {{}}");
        let script = write(&folder, "odd.js", &text);
        let (code, _, err) = said(&mut run(&folder, &script, &[]));
        assert_eq!(code, 0, "{options}: {err}");
        assert!(err.contains("level=warning") && err.contains(part), "{err}");
        let (code, _, err) = said(&mut run(&folder, &script, &["--strict"]));
        assert_eq!(code, 104, "{options}: {err}");
    }
}

/// A read-only volume is where CI runs scripts; the test was asked for, the record was not.
#[test]
fn an_unwritable_working_folder_costs_the_record_and_not_the_test() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let text = "import http from 'k6/http'; export default () => { http.get(__ENV.TARGET); }";
    let script = write(&folder, "x.js", text);
    // Nobody, also not root, makes a folder there.
    let mut started = command(&folder, &["run", &script, "-q"]);
    let target = format!("TARGET={}", served.url);
    started.args(["-e", &target]).current_dir("/proc/self");
    let (code, out, err) = finished(&started.output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("no record is kept") && out.contains("http_reqs"),
        "{out}{err}"
    );
    let args = [
        "run",
        &script,
        "-e",
        &target,
        "--record",
        "/proc/self/x/run.jsonl",
    ];
    let (code, _, err) = plimsoll(&folder, &args);
    assert_eq!(code, 104, "one that was asked for is another matter: {err}");
}

#[test]
fn a_run_says_what_it_plays_and_what_came_of_it() {
    let folder = Folder::new();
    let text = "import { sleep } from 'k6';
        export const options = { scenarios: { rush: { executor: 'constant-arrival-rate', rate: 20, timeUnit: '1s',
          duration: '2s', preAllocatedVUs: 1, maxVUs: 2 } } };
        export default () => { sleep(1); }";
    let script = write(&folder, "rush.js", text);
    let points = format!("json={}", folder.file("points.json"));
    let (code, _, err) = plimsoll(&folder, &["run", &script, "--no-record", "--out", &points]);
    assert_eq!(code, 0, "{err}");
    for part in [
        "script: ",
        "output: json (",
        "scenarios: (100.00%) 1 scenario, 2 max VUs, 32s max duration",
        "* rush: ",
        "running (01.",
        "complete and 0 interrupted iterations",
        "Insufficient VUs, reached 2 active VUs and cannot initialize more",
        "maxVUs 2 of rush",
    ] {
        assert!(err.contains(part), "{part} in {err}");
    }
    let (_, _, err) = plimsoll(&folder, &["run", &script, "--no-record", "-q", "-i", "1"]);
    assert!(
        !err.contains("running (") && !err.contains("max duration"),
        "{err}"
    );
}

/// A reader of the old one saw half of the new one; a link was left to lead to its file.
#[test]
fn what_handle_summary_writes_is_whole_or_not_there() {
    use std::io::Read as _;
    let folder = Folder::new();
    let text = "export default () => {};
        export function handleSummary() { return { 'sum.txt': 'new', 'link.txt': 'linked' }; }";
    let script = write(&folder, "sum.js", text);
    let file = |name: &str| folder.file(name);
    std::fs::write(file("sum.txt"), "old and longer").unwrap();
    std::fs::write(file("target.txt"), "old").unwrap();
    std::os::unix::fs::symlink(file("target.txt"), file("link.txt")).unwrap();
    let mut before = std::fs::File::open(file("sum.txt")).unwrap();
    let (code, _, err) = said(&mut run(&folder, &script, &[]));
    assert_eq!(code, 0, "{err}");
    let mut old = String::new();
    before.read_to_string(&mut old).unwrap();
    assert_eq!(old, "old and longer");
    for (name, written) in [("sum.txt", "new"), ("target.txt", "linked")] {
        assert_eq!(std::fs::read_to_string(file(name)).unwrap(), written);
    }
    assert!(
        std::fs::symlink_metadata(file("link.txt"))
            .unwrap()
            .is_symlink()
    );
}

/// k6's dashboards add connecting and the handshake to nothing: they are in `blocked` already.
#[test]
fn blocked_holds_the_time_of_connecting() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let text = "import http from 'k6/http';
        export default () => { const { blocked, connecting } = http.get(__ENV.TARGET).timings;
          console.log(connecting > 0 && blocked >= connecting); }";
    let script = write(&folder, "blocked.js", text);
    let target = format!("TARGET={}", served.url);
    let (code, _, err) = said(&mut run(&folder, &script, &["-e", &target]));
    assert!(code == 0 && err.contains("msg=true"), "{err}");
}

/// Their promises settle together.
#[test]
fn asynchronous_requests_run_side_by_side() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let text = "import http from 'k6/http';
        export default async () => {
          const urls = [__ENV.TARGET, __ENV.TARGET + 'b', __ENV.TARGET + 'c'];
          const all = await Promise.all(urls.map((url) => http.asyncRequest('GET', url)));
          console.log(all.map((res) => res.status).join(' ')); }";
    let script = write(&folder, "async.js", text);
    let target = format!("TARGET={}", served.url);
    let (code, _, err) = said(&mut run(&folder, &script, &["-e", &target]));
    assert!(code == 0 && err.contains("msg=\"200 200 200\""), "{err}");
}

/// It was what it had been when the last second was over.
#[test]
fn a_scenario_knows_how_far_it_is() {
    let folder = Folder::new();
    let text = "import exec from 'k6/execution'; import { sleep } from 'k6';
        export const options = { scenarios: {
          timed: { executor: 'constant-vus', vus: 1, duration: '1s' },
          counted: { executor: 'per-vu-iterations', vus: 1, iterations: 10 } } };
        export default () => { const { name, progress } = exec.scenario; console.log(`${name}=${progress}!`); sleep(0.05); }";
    let script = write(&folder, "far.js", text);
    let (code, _, err) = said(&mut run(&folder, &script, &["--workers", "1"]));
    assert_eq!(code, 0, "{err}");
    let far = |scenario: &str| -> Vec<f64> {
        let start = format!("{scenario}=");
        let told = err.lines().filter_map(|line| line.split_once(&start));
        let numbers = told.map(|(_, rest)| rest.split('!').next().unwrap());
        numbers.map(|number| number.parse().unwrap()).collect()
    };
    let counted: Vec<f64> = (0..10).map(|done| f64::from(done) / 10.0).collect();
    assert_eq!(far("counted"), counted);
    let timed = far("timed");
    assert!(timed.len() > 2, "{err}");
    // Between two iterations lie 50 ms of a second at least.
    let steps = timed.windows(2).map(|pair| pair[1] - pair[0]);
    for step in steps {
        assert!(step >= 0.049, "{timed:?}");
    }
    assert!(
        timed.iter().all(|far| (0.0..=1.0).contains(far)),
        "{timed:?}"
    );
}

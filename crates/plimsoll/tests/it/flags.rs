//! The command line as a person types it: forms of the test, variables, help, completions, man page, exit codes.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;

use crate::support::{Folder, Service, closed_port, command, finished, interrupted_at, plimsoll};

const IDLE: &str = "export default function () {}";

fn write(folder: &Folder, name: &str, text: &str) -> String {
    let path = folder.file(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// They were taken for scripts, because words were looked at before they were parsed.
#[test]
fn what_belongs_to_a_flag_of_a_url_is_no_script() {
    let (served, folder) = (Service::start(&["echo"]), Folder::new());
    let common = ["run", &served.url, "-n", "5", "--no-record", "--quiet"];
    let name = folder.file("record.js");
    for more in [
        ["-d", "body.js"],
        ["-H", "X-File: a.js"],
        ["--data", "a/b.ts"],
        ["--hlog", &name],
    ] {
        let (code, out, err) = plimsoll(&folder, &[&common[..], &more[..]].concat());
        assert_eq!(code, 0, "{more:?}: {out}{err}");
        assert!(out.contains("run valid"), "{more:?}: {out}");
    }
}

#[test]
fn variables_hold_for_scripts_too() {
    let folder = Folder::new();
    let script = write(&folder, "idle.js", IDLE);
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = command(&folder, &[&["run", &script], args].concat());
        command.envs(variables.iter().copied());
        let (code, out, err) = finished(&command.output().unwrap());
        assert_eq!(code, 0, "{out}{err}");
        (out, err)
    };
    run(&[], &[("PLIMSOLL_NO_RECORD", "true")]);
    let left = std::fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(left, 1, "only the script is there");
    let record = folder.file("run.plimsoll.jsonl");
    let variables = [("PLIMSOLL_SEED", "7"), ("PLIMSOLL_RECORD", record.as_str())];
    run(&["-q"], &variables);
    let header = std::fs::read_to_string(&record).unwrap();
    assert!(header.contains("\"seed\":7"), "{header}");
}

#[test]
fn every_value_says_its_origin_for_both_forms() {
    let folder = Folder::new();
    let text = "export const options = { rps: 9, batch: 3 }; export default function () {}";
    let script = write(&folder, "idle.js", text);
    for (test, rows) in [
        (
            "http://a.test/",
            [
                "--seed 7 environment",
                "--workers 3 flag",
                "--timeout 10s default",
            ],
        ),
        (
            &*script,
            ["--seed 7 environment", "--workers 3 flag", "batch 3 script"],
        ),
    ] {
        let args = ["run", test, "--workers", "3", "--explain-config"];
        let mut command = command(&folder, &args);
        command.env("PLIMSOLL_SEED", "7").env("PLIMSOLL_RPS", "5");
        let (code, out, err) = finished(&command.output().unwrap());
        assert_eq!(code, 0, "{err}");
        let rows = rows
            .into_iter()
            .chain(test.ends_with("js").then_some("rps 5 environment"));
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in rows {
            assert!(words.contains(row), "{row} is missing in {out}");
        }
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

/// `UPDATE_DOCS=1` writes the pages anew.
#[test]
fn help_reads_well_on_a_narrow_terminal() {
    let folder = Folder::new();
    for (name, args) in [
        ("plimsoll", &["--help"][..]),
        ("run", &["run", "-h"]),
        ("run-long", &["run", "--help"]),
        ("find", &["find", "-h"]),
        ("find-long", &["find", "--help"]),
    ] {
        let mut command = command(&folder, args);
        command.env("COLUMNS", "80");
        let (code, out, err) = finished(&command.output().unwrap());
        assert_eq!((code, &*err), (0, ""));
        let widest = out.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{out}");
        let path = format!("{}/tests/it/help/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
            std::fs::write(&path, &out).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, out, "{path} is not the help");
    }
}

#[test]
fn completions_are_scripts_that_their_shells_read() {
    let folder = Folder::new();
    for (shell, check, fragment) in [
        ("bash", &["-n"][..], "--connections"),
        ("zsh", &["-n"], "--connections"),
        ("fish", &["--no-execute"], "-l connections"),
    ] {
        let (code, out, err) = plimsoll(&folder, &["completions", shell]);
        assert_eq!((code, &*err), (0, ""), "{shell}");
        for part in [fragment, "docdb", "user-agent"] {
            assert!(out.contains(part), "{shell}: {part}");
        }
        let script = write(&folder, shell, &out);
        // Only a shell that is installed can read it.
        if let Ok(read) = Command::new(shell).args(check).arg(&script).output() {
            assert!(read.status.success(), "{shell}: {:?}", finished(&read));
        }
    }
    let (code, _, err) = plimsoll(&folder, &["completions", "tcsh"]);
    assert_eq!(code, 104);
    assert!(err.contains("bash, zsh, fish"), "{err}");
}

#[test]
fn the_manual_page_is_one() {
    let (code, page, err) = plimsoll(&Folder::new(), &["man"]);
    assert_eq!((code, &*err), (0, ""));
    for part in [
        ".TH PLIMSOLL 1",
        ".SH RUN",
        "\\-\\-connections COUNT",
        ".B 109",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for (program, args) in [
        ("groff", &["-man", "-ww", "-Tutf8"][..]),
        ("mandoc", &["-Tlint"]),
    ] {
        let child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else { continue };
        let mut input = child.stdin.take().unwrap();
        let text = page.clone();
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
        let (code, out, err) = finished(&child.wait_with_output().unwrap());
        writer.join().unwrap().unwrap();
        assert_eq!((code, &*err), (0, ""), "{program}: {out}");
    }
}

/// The other rows need a whole comparison, search or lab: `compare.rs`, `fixtures.rs`, `lab.rs`.
#[test]
fn what_leaves_the_program_is_a_row_of_the_table() {
    let folder = Folder::new();
    let with = |name: &str, text: &str| write(&folder, name, text);
    let refused = format!("http://127.0.0.1:{}/", closed_port());
    let hook = |name: &str, body: &str| {
        let head = format!(
            "import {{ sleep }} from 'k6'; export const options = {{ {name}Timeout: '200ms' }};"
        );
        let text = format!("{head} {IDLE} export function {name}() {{ {body} }}");
        with(&format!("{name}.js"), &text)
    };
    let call = |what: &str| {
        format!("import exec from 'k6/execution'; export default () => exec.test.{what}('x');")
    };
    let args_of = |test: &str| vec!["run".to_owned(), test.to_owned(), "--no-record".to_owned()];
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let page = include_str!("../../../../docs/exit-codes.md");
    for (args, wanted) in [
        (words("--version"), 0),
        (words("help run"), 0),
        (words("completions fish"), 0),
        (args_of(&with("idle.js", IDLE)), 0),
        (args_of(&refused), 7),
        (args_of(&hook("setup", "while (true) {}")), 100),
        // It was 101, which is Rust's own code for a panic.
        (args_of(&hook("teardown", "sleep(9);")), 102),
        (args_of(&hook("handleSummary", "sleep(9);")), 102),
        (words("run"), 104),
        (words("--bogus"), 104),
        (words("nonsense"), 104),
        (words("run --bogus"), 104),
        (words("find http://127.0.0.1:9/"), 104),
        (words("audit /does/not/exist"), 104),
        (args_of(&with("init.js", "throw new Error('no')")), 107),
        (args_of(&with("abort.js", &call("abort"))), 108),
        (args_of(&with("fail.js", &call("fail"))), 110),
        (words("lab-launch nonsense"), 127),
        (words("run gone.js"), 255),
        (words("find gone.js --slo p99<1s"), 255),
        (words("inspect gone.js"), 255),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (code, out, err) = plimsoll(&folder, &args);
        assert_eq!(code, wanted, "{args:?}: {out}{err}");
        assert!(
            page.contains(&format!("\n| {code} | ")),
            "{code} is not documented"
        );
    }
    let (code, out, err) = plimsoll(&folder, &[]);
    assert_eq!((code, &*out), (104, ""));
    assert!(err.contains("Commands:"), "{err}");
}

/// Also where nobody waits for it: while a script is read from a pipe, and in its setup.
#[test]
fn a_signal_is_an_interruption_wherever_it_comes() {
    let folder = Folder::new();
    let text =
        format!("import {{ sleep }} from 'k6'; {IDLE} export function setup() {{ sleep(30); }}");
    let script = write(&folder, "setup.js", &text);
    for test in ["-", &script] {
        let mut child = command(&folder, &["run", test, "--no-record"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let clock = Clock::start();
        assert_eq!(child.wait().unwrap().code(), Some(105), "{test}");
        let took = clock.now();
        assert!(took < Nanos::from_secs(5), "{test}: {took}");
    }
}

/// They were cut off as soon as they did anything after a pause.
#[test]
fn teardown_and_summary_run_to_their_end_after_a_signal() {
    let folder = Folder::new();
    let text = "import { sleep } from 'k6';
        export function setup() { return 'made'; }
        export default function () { console.log('begun'); sleep(60); }
        const work = () => { sleep(0.2); for (let i = 0; i < 1e5; i++) Math.sqrt(i); };
        export function teardown(data) { work(); console.log('torn down', data); }
        export function handleSummary() { work(); return { 'summed.txt': 'up' }; }";
    let script = write(&folder, "down.js", text);
    let args = ["run", &script, "--no-record"];
    let (code, rest) = interrupted_at(&folder, &args, |line| line.contains("begun"));
    assert_eq!(code, Some(105), "{rest:?}");
    assert!(
        rest.iter().any(|line| line.contains("torn down made")),
        "{rest:?}"
    );
    assert_eq!(
        std::fs::read_to_string(folder.file("summed.txt")).unwrap(),
        "up"
    );
}

//! Whatever is wrong is said with its place and its fix, under a documented exit code.

use std::io::{Read as _, Write as _};

use crate::support::{Folder, closed_port, listener, plimsoll};

const USAGE: i32 = 104;
const UNREACHABLE: i32 = 7;

#[test]
fn what_was_typed_wrong_is_named() {
    let folder = Folder::new();
    let url = "http://127.0.0.1:9/";
    for (args, fragment) in [
        (vec!["run"], "URL"),
        (
            vec!["run", "127.0.0.1:9/"],
            "did you mean http://127.0.0.1:9/",
        ),
        (vec!["run", "ftp://x/"], "scheme `ftp`"),
        (vec!["run", url, "-q", "0"], "-q: `0` is not a rate"),
        (vec!["run", url, "-q=-5"], "not a rate"),
        (vec!["run", url, "-n", "0"], "not a count"),
        (vec!["run", url, "-c", "0"], "not a count"),
        (vec!["run", url, "-z", "10"], "not a duration"),
        (vec!["run", url, "-z", "0s"], "-z: the time is zero"),
        (vec!["run", url, "-z", "1s", "-n", "5"], "together"),
        (vec!["run", url, "--ramp", "5"], "FROM..TO"),
        (
            vec!["run", url, "--ramp", "5..10", "-n", "5"],
            "needs a time",
        ),
        (vec!["run", url, "--slo", "p99"], "has no `<`"),
        (vec!["run", url, "--slo", "latency<1s"], "not known"),
        (vec!["run", url, "-H", "nonsense"], "Name: value"),
        (vec!["run", url, "-m", "GE T"], "not a token"),
        (
            vec!["run", url, "-d", "@/does/not/exist"],
            "-d: @/does/not/exist",
        ),
        (vec!["run", url, "--timeout", "0s"], "below 1ms"),
        (
            vec!["run", url, "--h2", "--streams", "4", "--no-keepalive"],
            "--no-keepalive makes a new one for each",
        ),
        (vec!["run", url, "--conections", "5"], "--connections"),
        (vec!["find", url], "--slo"),
        (
            vec!["find", url, "--slo", "p99<1s", "--within", "10s"],
            "too short",
        ),
        (
            vec!["find", url, "--slo", "p99<1s", "--goal-width", "500%"],
            "--goal-width",
        ),
        (
            vec!["find", url, "--slo", "p99<1s", "--reuse", "/does/not/exist"],
            "/does/not/exist",
        ),
        (vec!["run", url, "--watch", "pod:7"], "--watch"),
        (vec!["audit", "/does/not/exist"], "/does/not/exist"),
        (vec!["fnid", url], "find"),
    ] {
        let (code, stdout, stderr) = plimsoll(&folder, &args);
        assert!(stderr.contains(fragment), "{args:?} said: {stderr}");
        assert_eq!((code, stdout.as_str()), (USAGE, ""), "{args:?}: {stderr}");
    }
    assert_eq!(
        std::fs::read_dir(&folder.0).unwrap().count(),
        0,
        "nothing was written"
    );
}

/// The parser's own errors began with `error:`.
#[test]
fn every_error_begins_with_the_name_of_the_program() {
    let folder = Folder::new();
    for (line, code, fragment) in [
        ("--bogus", USAGE, "'--bogus'"),
        ("fnid", USAGE, "tip: a similar subcommand exists: 'find'"),
        (
            "run http://h/ --conections 5",
            USAGE,
            "tip: a similar argument exists: '--connections'",
        ),
        ("run http://h/ -n", USAGE, "a value is required"),
        ("run http://h/ --h2=yes", USAGE, "'yes'"),
        ("find http://h/ --over x", USAGE, "rate, vus"),
        ("completions", USAGE, "bash, zsh or fish"),
        ("completions tcsh", USAGE, "bash, zsh, fish"),
        ("help run find", USAGE, "'find'"),
        ("compare http://h/ http://h/ --pairs 0", USAGE, "--pairs"),
        ("audit /does/not/exist", USAGE, "/does/not/exist"),
        ("lab-launch nonsense", 127, "start that instead"),
        ("run gone.js", 255, "gone.js"),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let (left_with, out, err) = plimsoll(&folder, &args);
        assert_eq!((left_with, &*out), (code, ""), "{line}: {err}");
        assert!(err.starts_with("plimsoll: "), "{line}: {err}");
        assert!(!err.contains("error:"), "{line}: {err}");
        assert!(err.contains(fragment), "{line}: {err}");
    }
}

#[test]
fn what_does_not_fit_a_search_with_a_script_is_named() {
    let folder = Folder::new();
    let text = "import http from 'k6/http';
        const load = { executor: 'constant-vus', vus: 1, duration: '1s' };
        export const options = { scenarios: { buy: load, browse: load } };
        export default function () {}";
    let (script, lost) = (folder.file("two.js"), folder.file("lost.js"));
    std::fs::write(&script, text).unwrap();
    let url = "http://127.0.0.1:9/";
    for (args, fragment) in [
        (vec!["find", &script], "--scenario browse or --scenario buy"),
        (
            vec!["find", &script, "--scenario", "sell"],
            "the script has browse, buy",
        ),
        (vec!["find", &script, "-H", "A: b"], "-H is for URLs"),
        (vec!["find", &script, "-d", "body"], "-d is for URLs"),
        (
            vec![
                "find",
                &script,
                "--scenario",
                "buy",
                "--vus",
                "9",
                "-q",
                "5/s",
            ],
            "say --vus",
        ),
        (
            vec![
                "find",
                &script,
                "--scenario",
                "buy",
                "--over",
                "vus",
                "--max-rate",
                "9/s",
            ],
            "bound them with -c",
        ),
        (
            vec![
                "find",
                &script,
                "--scenario",
                "buy",
                "--vus",
                "20",
                "-c",
                "10",
            ],
            "more than the 10 allowed",
        ),
        (
            vec!["find", url, "--over", "vus"],
            "virtual users run a script",
        ),
        (vec!["find", url, "-e", "A=b"], "-e is for scripts"),
    ] {
        let (code, _, err) = plimsoll(&folder, &[&args[..], &["--slo", "p99<1s"]].concat());
        assert_eq!(code, USAGE, "{args:?}: {err}");
        assert!(err.contains(fragment), "{args:?}: {err}");
    }
    let (code, _, err) = plimsoll(&folder, &["find", &lost, "--slo", "p99<1s"]);
    assert_eq!(code, 255, "as for every command: {err}");
    assert!(err.contains("lost.js"), "{err}");
}

#[test]
fn targets_that_cannot_be_loaded_are_described() {
    let folder = Folder::new();
    let slams = listener(drop);
    let greets = listener(|mut stream| {
        let _gone = stream.write_all(b"220 mail.example ESMTP\r\n\r\n");
        let _gone = stream.read(&mut [0; 500]);
    });
    let mute = listener(|stream| {
        std::thread::spawn(move || {
            let _until_gone = (&stream).read_to_end(&mut Vec::new());
        });
    });
    for (url, code, fragment) in [
        (
            format!("http://127.0.0.1:{}/", closed_port()),
            UNREACHABLE,
            "is the service running",
        ),
        (
            "http://no-such-name.invalid/".to_owned(),
            UNREACHABLE,
            "does not resolve",
        ),
        (
            format!("http://127.0.0.1:{slams}/"),
            UNREACHABLE,
            "HTTP/1.1 on this port",
        ),
        (
            format!("http://127.0.0.1:{greets}/"),
            UNREACHABLE,
            "does it speak HTTP/1.1",
        ),
        (
            format!("https://127.0.0.1:{greets}/"),
            UNREACHABLE,
            "-k accepts any",
        ),
    ] {
        let (got, stdout, stderr) = plimsoll(&folder, &["run", &url, "-z", "1s"]);
        assert!(stderr.contains(fragment), "{url}: {stderr}");
        assert_eq!((got, stdout.as_str()), (code, ""), "{url}: {stderr}");
    }
    let url = format!("http://127.0.0.1:{mute}/");
    let (code, _, stderr) = plimsoll(&folder, &["run", &url, "-z", "1s", "--timeout", "300ms"]);
    assert!(
        stderr.contains("no complete answer within 300 ms"),
        "{stderr}"
    );
    assert_eq!(code, UNREACHABLE);
}

#[test]
fn output_that_cannot_be_written_costs_no_load() {
    let folder = Folder::new();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counter = std::sync::Arc::clone(&asked);
    let port = listener(move |mut stream| {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let _gone = stream.read(&mut [0; 500]);
        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let url = format!("http://127.0.0.1:{port}/");
    let (code, _, stderr) = plimsoll(
        &folder,
        &["run", &url, "-z", "1s", "-o", "/proc/no/such/place.jsonl"],
    );
    assert!(stderr.contains("/proc/no/such"), "{stderr}");
    assert_eq!(code, USAGE);
    assert_eq!(
        asked.load(std::sync::atomic::Ordering::Relaxed),
        1,
        "only the preflight"
    );
}

//! What runs leave behind: files that are not written over, folders that are read whole, runs that were stopped.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Folder, Service, command, finished, interrupted_at, plimsoll, started};

const SCRIPT: &str = "import http from 'k6/http';\nexport const options = { vus: 1, duration: '60s' };\n\
                      export default () => { http.get(__ENV.URL); };\n";

#[test]
fn a_file_that_is_there_is_written_over_only_where_that_is_asked_for() {
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    std::fs::write(folder.file("a.js"), SCRIPT).unwrap();
    let url = served.url.as_str();
    let short = ["-e", &format!("URL={url}"), "-i", "1", "-u", "1", "-q"].map(str::to_owned);
    let script: Vec<&str> = short.iter().map(String::as_str).collect();
    std::fs::write(folder.file("kept.jsonl"), "mine").unwrap();
    std::fs::create_dir(folder.file("kept")).unwrap();
    std::fs::write(folder.file("kept/mine"), "mine").unwrap();
    let find = ["find", url, "--slo", "p99<1s"];
    for (args, out) in [
        (&["run", url, "-n", "1"][..], ["-o", "kept.jsonl"]),
        (&["run", url, "-n", "1"], ["--hlog", "kept.jsonl"]),
        (&find, ["-o", "kept.jsonl"]),
        (
            &["compare", "--aa", url, "-c", "1"],
            ["--report", "kept.jsonl"],
        ),
        (&["report", "x.jsonl"], ["-o", "kept.jsonl"]),
        (
            &[&["run", "a.js"][..], &script].concat(),
            ["--record", "kept.jsonl"],
        ),
        (&["compare", "--aa", url, "-c", "1"], ["-o", "kept"]),
    ] {
        let all = [args, &out].concat();
        let (code, stdout, stderr) = plimsoll(&folder, &all);
        assert_eq!(code, 104, "{all:?}: {stdout}{stderr}");
        assert!(
            (stderr.contains("is there already") || stderr.contains("is not empty"))
                && stderr.contains("--force"),
            "{all:?}: {stderr}"
        );
    }
    assert_eq!(std::fs::read(folder.file("kept.jsonl")).unwrap(), b"mine");
    let run = ["run", url, "-n", "1", "-o", "kept.jsonl"];
    let (code, _, stderr) = plimsoll(&folder, &[&run[..], &["--force"]].concat());
    assert_eq!(code, 0, "{stderr}");
    // The report beside a record is a file of an earlier run, too.
    std::fs::remove_file(folder.file("kept.jsonl")).unwrap();
    let (code, _, stderr) = plimsoll(&folder, &run);
    assert!(
        code == 104 && stderr.contains("kept.html is there already"),
        "{stderr}"
    );
    // A device keeps nothing that could be lost.
    let (code, _, stderr) = plimsoll(&folder, &["run", url, "-n", "1", "--hlog", "/dev/null"]);
    assert_eq!(code, 0, "{stderr}");
}

/// Runs without `-o` that begin in one second are kept beside each other.
#[test]
fn the_folders_of_runs_are_new_ones() {
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    for _ in 0..3 {
        let (code, _, stderr) = plimsoll(&folder, &["run", &served.url, "-n", "1"]);
        assert_eq!(code, 0, "{stderr}");
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 3);
}

#[test]
fn explain_audit_and_report_take_a_folder() {
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    for out in ["all/one/run.plimsoll.jsonl", "all/two.jsonl"] {
        let (code, _, stderr) = plimsoll(&folder, &["run", &served.url, "-n", "300", "-o", out]);
        assert_eq!(code, 0, "{stderr}");
    }
    std::fs::write(folder.file("all/notes.txt"), "what I saw").unwrap();
    let export = "{\"root_group\":{},\"metrics\":{\"http_reqs\":{\"count\":100,\"rate\":100},\
                  \"http_req_failed\":{\"passes\":0}}}";
    std::fs::write(folder.file("all/k6.json"), export).unwrap();
    // Locust writes it beside its results.
    let failures = "Method,Name,Error,Occurrences,First Seen,Last Seen\nGET,/,boom,3,,\n";
    std::fs::write(folder.file("all/locust_failures.csv"), failures).unwrap();
    let (_, stdout, stderr) = plimsoll(&folder, &["explain", "all"]);
    for part in [
        "== all/two.jsonl",
        "== all/one/run.plimsoll.jsonl",
        "gives way first",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}{stderr}");
    }
    let (_, stdout, _) = plimsoll(&folder, &["explain", "all", "--format", "json"]);
    let documents: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(documents.as_array().map(Vec::len), Some(2), "{stdout}");
    assert_eq!(documents[0]["record"], "all/two.jsonl");
    let (_, stdout, stderr) = plimsoll(&folder, &["audit", "all"]);
    for part in [
        "== all/two.jsonl",
        "== all/one/run.plimsoll.jsonl",
        "== all/k6.json",
        "a result of k6",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}{stderr}");
    }
    assert!(
        stderr.contains("locust_failures.csv is left out"),
        "{stderr}"
    );
    assert!(
        !stdout.contains("notes.txt") && !stdout.contains(".html"),
        "{stdout}"
    );
    let (code, _, stderr) = plimsoll(&folder, &["report", "all", "-o", "page.html"]);
    assert_eq!(code, 0, "{stderr}");
    // It says itself how it was played: what is declared of other tools' results would not be heard.
    let declared = ["audit", "all/two.jsonl", "--declared-databases", "3"];
    let (code, _, stderr) = plimsoll(&folder, &declared);
    assert!(
        code == 104 && stderr.contains("--declared-databases is for other tools' results"),
        "{code} {stderr}"
    );
    // One record in it is that record.
    let (_, folded, _) = plimsoll(&folder, &["explain", "all/one"]);
    let (_, named, _) = plimsoll(&folder, &["explain", "all/one/run.plimsoll.jsonl"]);
    assert_eq!(folded, named);
    std::fs::create_dir(folder.file("empty")).unwrap();
    for verb in ["explain", "audit", "report"] {
        let (code, _, stderr) = plimsoll(&folder, &[verb, "empty"]);
        assert!(
            code == 104 && stderr.contains("empty has n"),
            "{verb}: {stderr}"
        );
    }
}

/// The figures are there, and so is the code: what cannot be written is said beside them.
#[test]
fn a_page_that_cannot_be_written_costs_neither_the_comparison_nor_its_code() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    for out in ["a.jsonl", "b.jsonl"] {
        let (code, _, stderr) = plimsoll(&folder, &["run", &served.url, "-n", "300", "-o", out]);
        assert_eq!(code, 0, "{stderr}");
    }
    let compare = ["compare", "a.jsonl", "b.jsonl", "--format", "json"];
    let (plain, said, _) = plimsoll(&folder, &compare);
    let full = [&compare[..], &["--report", "/dev/full"]].concat();
    let (code, stdout, stderr) = plimsoll(&folder, &full);
    assert_eq!((code, stdout), (plain, said), "{stderr}");
    assert!(stderr.contains("the report is not written"), "{stderr}");
    // Where it would take time to find out, it is found out first.
    let live = ["compare", "--aa", &served.url, "-c", "1", "-o", "kept"];
    let nowhere = [&live[..], &["--report", "no/such/folder/x.html"]].concat();
    let (code, _, stderr) = plimsoll(&folder, &nowhere);
    assert!(
        code == 104 && stderr.contains("no/such/folder/x.html"),
        "{code} {stderr}"
    );
    assert!(!folder.0.join("kept").exists(), "nothing was played");
}

/// Nobody reads what is not there: no pass. A reader that has seen enough is another matter.
#[test]
fn what_cannot_be_printed_is_no_pass() {
    let folder = Folder::new();
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        let done = command(&folder, &["man"]).stdout(full).output();
        let (code, _, stderr) = finished(&done.unwrap());
        assert_eq!(code, 104, "{stderr}");
        assert!(
            stderr.contains("write to stdout: No space left"),
            "{stderr}"
        );
    }
    let mut child = command(&folder, &["man"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// The address of the live page, and what else it says on the way.
fn page_of(child: &mut Child) -> String {
    let said = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = said.map_while(Result::ok);
    let address = said.find_map(|line| {
        let address = line.strip_prefix("live page  http://")?;
        Some(address.trim_end_matches('/').to_owned())
    });
    // Whoever writes to a pipe that nobody reads is stopped.
    std::thread::spawn(move || said.for_each(drop));
    address.expect("the address of the page")
}

fn told(address: &str) -> Vec<Value> {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(
        connection,
        "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let lines = answer
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// One page for all runs of a comparison: each begins anew, and the end comes after the last.
#[test]
fn a_comparison_shows_its_runs_on_one_live_page() {
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    let args = [
        "compare",
        "--aa",
        &served.url,
        "-c",
        "1",
        "-z",
        "2s",
        "--pairs",
        "1",
        "--live",
    ];
    let mut child = started(command(&folder, &args).env("K6_WEB_DASHBOARD_PORT", "0"));
    let told = told(&page_of(&mut child));
    let _whatever_it_says = child.wait().unwrap();
    let of = |kind: &str| told.iter().filter(|line| line["kind"] == kind).count();
    assert!(of("head") >= 2 && of("second") >= 2, "{told:#?}");
    assert_eq!(of("end"), 1, "{told:#?}");
    assert!(
        told.last().unwrap()["report"]
            .as_str()
            .unwrap()
            .ends_with("report.html")
    );
}

#[test]
fn the_live_page_is_asked_for_by_a_flag() {
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    let args = ["run", &served.url, "-z", "1s", "--no-record", "--live"];
    let mut child = started(command(&folder, &args).env("K6_WEB_DASHBOARD_PORT", "0"));
    let told = told(&page_of(&mut child));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(told.last().unwrap()["kind"], "end");
}

/// Runs until its record has windows, then gets a Ctrl-C; code, stdout, stderr.
fn stopped(folder: &Folder, args: &[&str], record: &str) -> (i32, String, String) {
    let child = command(folder, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let path = folder.0.join(record);
    for _ in 0..400 {
        std::thread::sleep(Duration::from_millis(50));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.matches(r#""kind":"window""#).count() >= 2 {
            break;
        }
    }
    let pid = rustix::process::Pid::from_child(&child);
    // As `timeout` does it: to the process, and again to its group.
    for _ in 0..2 {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    finished(&child.wait_with_output().unwrap())
}

/// Nobody knows what the rest would have shown: it says when it was stopped, and claims nothing; so does whoever reads it later.
#[test]
fn a_run_that_was_stopped_says_so_and_claims_nothing() {
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    std::fs::write(folder.file("a.js"), SCRIPT).unwrap();
    let url = format!("URL={}", served.url);
    let slo = "p99<10s,errors<50%";
    for (args, record) in [
        (
            &[
                "run",
                &served.url,
                "-q",
                "200",
                "-z",
                "60s",
                "--slo",
                slo,
                "-o",
                "r.jsonl",
            ][..],
            "r.jsonl",
        ),
        (
            &["run", "a.js", "-e", &url, "--record", "s.jsonl"],
            "s.jsonl",
        ),
        (
            &["find", &served.url, "--slo", slo, "-o", "f.jsonl"],
            "f.jsonl",
        ),
    ] {
        let (code, stdout, stderr) = stopped(&folder, args, record);
        assert_eq!(code, 105, "{stderr}");
        let said = stdout.to_lowercase().replace('\u{a0}', " ");
        assert!(
            said.contains("no verdict: the run was interrupted after "),
            "{stdout}"
        );
        for (verb, claims) in [("explain", "no verdict"), ("report", "report")] {
            let (_, stdout, stderr) = plimsoll(&folder, &[verb, record]);
            let said = (stdout + &stderr).to_lowercase();
            assert!(said.contains(claims), "{verb}: {said}");
            for claim in ["holds its objective", "passed p99", "gives way first"] {
                assert!(!said.contains(claim), "{verb}, {claim}: {said}");
            }
        }
        let page = std::fs::read_to_string(folder.file("report.html")).unwrap();
        assert!(page.contains("No verdict: the run was interrupted"));
        std::fs::remove_file(folder.file("report.html")).unwrap();
        let (_, json, _) = plimsoll(&folder, &["audit", record, "--format", "json"]);
        assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
    }
}

/// A process that was killed leaves no word of it; its record has no verdict, and none is made up.
#[test]
fn a_record_without_its_end_is_of_an_interrupted_run() {
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    let args = [
        "run",
        &served.url,
        "-q",
        "200",
        "-z",
        "2s",
        "--slo",
        "p99<10s",
        "-o",
        "r.jsonl",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(matches!(code, 0 | 3 | 5), "{stdout}{stderr}");
    let text = std::fs::read_to_string(folder.file("r.jsonl")).unwrap();
    let cut: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("\"kind\":\"verdict\""))
        .collect();
    std::fs::write(folder.file("cut.jsonl"), cut.join("\n") + "\n").unwrap();
    let (_, stdout, _) = plimsoll(&folder, &["explain", "cut.jsonl"]);
    assert!(
        stdout.contains("No verdict: the run was interrupted after"),
        "{stdout}"
    );
    assert!(!stdout.contains("holds"), "{stdout}");
}

/// Before anything is measured, too.
#[test]
fn a_search_that_is_stopped_in_its_self_check_leaves_with_the_code_of_an_interruption() {
    let (folder, served) = (Folder::new(), Service::start(&["echo"]));
    let args = ["find", &served.url, "--slo", "p99<1s", "--no-record"];
    let (code, rest) = interrupted_at(&folder, &args, |line| line.starts_with("self-check"));
    assert_eq!(code, Some(105), "{rest:?}");
    assert!(
        rest.iter()
            .any(|line| line.contains("interrupted during the self-check")),
        "{rest:?}"
    );
}

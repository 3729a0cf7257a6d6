//! What a signal does to a run: one that ends it, one that kills it, and one that stops it for a while.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_core::record::{EventKind, Record};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Folder, Service, command, finished, plimsoll};

const SCRIPT: &str = "import http from 'k6/http'; import { sleep } from 'k6';
export const options = { vus: 2, duration: '60s' };
export default () => { http.get(__ENV.TARGET); sleep(0.05); };
export function teardown() { console.log('torn down'); }";

/// Started, with its output kept to be read.
fn started(command: &mut Command) -> Child {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().unwrap()
}

/// Waits until the record has so many windows: the load is on.
fn see_windows(record: &str, count: usize) {
    let is_window = |line: &&str| line.contains(r#""kind":"window""#);
    for _ in 0..1200 {
        let text = std::fs::read_to_string(record).unwrap_or_default();
        if text.lines().filter(is_window).count() >= count {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("{record} has no {count} windows");
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn read(path: impl AsRef<Path>) -> Record {
    let file = std::fs::File::open(path).unwrap();
    Record::read(std::io::BufReader::new(file)).unwrap()
}

/// Of this process, and so of those that it starts: the first bit of `SigIgn`.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & 1 == 1
}

/// A terminal that goes away sends it, and so does a lost connection of ssh.
#[test]
fn a_terminal_that_goes_away_ends_a_run_as_a_termination_does() {
    let (service, folder) = (Service::start(&["echo"]), Folder::new());
    std::fs::write(folder.file("x.js"), SCRIPT).unwrap();
    let target = format!("TARGET={}", service.url);
    let url = ["run", &service.url, "-q", "200/s", "-z", "60s", "-o"];
    let script = ["run", "x.js", "-e", &target, "--record"];
    for (what, said) in [(&url[..], "goodput"), (&script, "iterations")] {
        // Tests that run under `nohup` start programs that outlive their terminal.
        let hangs_up = (!is_hangup_ignored()).then_some(Signal::HUP);
        for signal in hangs_up.into_iter().chain([Signal::TERM]) {
            let record = folder.file("run.plimsoll.jsonl");
            let args = [what, &[&record, "--force"]].concat();
            let _not_there = std::fs::remove_file(&record);
            let child = started(&mut command(&folder, &args));
            see_windows(&record, 2);
            send(&child, signal);
            let (code, out, err) = finished(&child.wait_with_output().unwrap());
            assert_eq!(code, 105, "{what:?} {signal:?}: {err}");
            assert!(out.contains(said), "{what:?} {signal:?}: {out}");
            let is_script = what[1] == "x.js";
            assert_eq!(err.contains("torn down"), is_script, "{signal:?}: {err}");
            let record = read(&record);
            assert!(record.interrupted_at().is_some(), "{signal:?}");
            let mut events = record.events.iter();
            assert!(events.any(|event| event.what == EventKind::Interrupted));
            assert!(record.verdict.is_some(), "{signal:?}");
        }
    }
}

/// `nohup` means what it says.
#[test]
fn whoever_was_told_to_outlive_the_terminal_does() {
    let (service, folder) = (Service::start(&["echo"]), Folder::new());
    let plimsoll = env!("CARGO_BIN_EXE_plimsoll");
    let script = "trap '' HUP; exec \"$@\"";
    let mut outliving = Command::new("sh");
    outliving.args(["-c", script, "sh", plimsoll, "run", &service.url]);
    outliving.args([
        "-q", "100/s", "-z", "3s", "-o", "n.jsonl", "--format", "json",
    ]);
    let child = started(outliving.current_dir(&folder.0));
    see_windows(&folder.file("n.jsonl"), 1);
    send(&child, Signal::HUP);
    let (code, out, err) = finished(&child.wait_with_output().unwrap());
    assert!([0, 3].contains(&code), "{code}: {err}");
    assert!(out.contains("attempts_count"), "{out}");
    let record = read(folder.file("n.jsonl"));
    assert_eq!(record.interrupted_at(), None, "it came to its end");
}

#[test]
fn the_record_of_a_run_that_was_killed_says_that_its_end_is_missing() {
    let (service, folder) = (Service::start(&["echo"]), Folder::new());
    let record = folder.file("k.plimsoll.jsonl");
    let args = [
        "run",
        &service.url,
        "-q",
        "200/s",
        "-z",
        "60s",
        "-o",
        &record,
    ];
    let child = started(&mut command(&folder, &args));
    see_windows(&record, 2);
    send(&child, Signal::KILL);
    let (code, out, _) = finished(&child.wait_with_output().unwrap());
    assert_eq!((code, &*out), (-1, ""), "nothing could be said any more");
    let whole = std::fs::read(&record).unwrap();
    let lines = whole.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    // Killed between two lines, and within one.
    for cut in [0, 7] {
        std::fs::write(&record, &whole[..lines - cut]).unwrap();
        let (code, out, err) = plimsoll(&folder, &["audit", &record]);
        assert_eq!(code, 0, "{out}{err}");
        for said in [&out, &err] {
            assert!(said.contains("end is missing"), "{cut}: {out}{err}");
        }
        assert_eq!(err.contains("is cut off"), cut > 0, "{err}");
        let (_, out, err) = plimsoll(&folder, &["explain", &record]);
        assert!(out.contains("No verdict"), "{out}{err}");
        assert!(err.contains("end is missing"), "{out}{err}");
    }
    let (_, json, _) = plimsoll(&folder, &["audit", &record, "--format", "json"]);
    assert!(serde_json::from_str::<Value>(&json).unwrap().is_array());
}

/// A run of six seconds in which `disturb` is done to the generator so often; its verdict.
fn disturbed(
    folder: &Folder,
    (url, slo): (&str, &str),
    load: &[&str],
    times: usize,
    disturb: impl Fn(&Child),
) -> (i32, Value, String) {
    let record = folder.file("s.plimsoll.jsonl");
    let _not_there = std::fs::remove_file(&record);
    let all = ["run", url, "-z", "6s", "--slo", slo, "-o", &record];
    let args = [&all[..], &["--format", "json", "--quiet", "--force"], load].concat();
    let child = started(&mut command(folder, &args));
    for window in 1..=times {
        see_windows(&record, window);
        disturb(&child);
    }
    let (code, out, err) = finished(&child.wait_with_output().unwrap());
    let summary = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    (code, summary, err)
}

/// Stopped for so long.
fn stop(child: &Child, millis: u64) {
    send(child, Signal::STOP);
    std::thread::sleep(Duration::from_millis(millis));
    send(child, Signal::CONT);
}

/// Of a hundred attempts more than one was late, and none because of the service.
#[test]
fn a_generator_that_was_stopped_does_not_blame_the_service() {
    let folder = Folder::new();
    // Quick, and so slow that what was in flight when the generator stopped is more than one of a hundred.
    let quick = Service::start(&["echo"]);
    let slower = Service::start(&["downstream", "--set", "answer=40", "--set", "cpu=0.1"]);
    for (service, load) in [(&quick, ["-q", "300/s"]), (&slower, ["-c", "16"])] {
        let of = (service.url.as_str(), "p99<100ms,errors<1%");
        let (code, summary, err) = disturbed(&folder, of, &load, 3, |child| stop(child, 350));
        assert!(
            [0, 3, 5].contains(&code),
            "{load:?}: {code}: {summary} {err}"
        );
        assert_ne!(summary["verdict"], "fail", "{load:?}: {summary}");
        let objectives = summary["objectives"].as_array().unwrap();
        let met = |name: &str| {
            let counts = objectives.iter().filter_map(|one| one[name].as_u64());
            counts.sum::<u64>()
        };
        assert!(
            met("left_out_count") + met("turned_count") > 0,
            "{load:?}: what it met is counted: {summary}"
        );
    }
}

/// It stood still for longer than the generator did, once: what was left out of the verdict was its own.
#[test]
fn a_standstill_of_the_service_is_not_taken_for_one_of_the_generator() {
    let folder = Folder::new();
    let service = Service::start(&["echo"]);
    let of = (service.url.as_str(), "p99<50ms,errors<1%");
    let both = |child: &Child| {
        send(service.child(), Signal::STOP);
        std::thread::sleep(Duration::from_millis(60));
        stop(child, 200);
        std::thread::sleep(Duration::from_millis(150));
        send(service.child(), Signal::CONT);
    };
    let (code, summary, err) = disturbed(&folder, of, &["-q", "300/s"], 1, both);
    assert_ne!(code, 0, "it passed: {summary} {err}");
}

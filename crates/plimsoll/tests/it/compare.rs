//! `plimsoll compare` as a person uses it: saved records, live targets, histories, and what it refuses.

mod scripts;

use std::num::NonZeroU32;
use std::path::Path;

use plimsoll_core::record::{Header, LevelStart, Line, Record, Writer};
use plimsoll_core::step::{Phase, Step};
use plimsoll_core::test::{How, Load};
use plimsoll_core::window::Health;
use plimsoll_core::{Nanos, Outcome, Tally, Window};

use crate::support::{Folder, Service, interrupted_at, plimsoll};

/// Records of one second each of a run like this, whose goodput is 1,000/s times `scale`: what is measured cannot be chosen.
fn records(folder: &Folder, url: &str, slo: &str, scales: &[(&str, f64)]) {
    let args = [
        "run",
        url,
        "-c",
        "2",
        "-z",
        "1s",
        "--slo",
        slo,
        "-o",
        "source.jsonl",
        "--force",
        "--quiet",
    ];
    let (code, _, stderr) = plimsoll(folder, &args);
    assert!(matches!(code, 0 | 5), "{stderr}");
    let source = header_of(&folder.0.join("source.jsonl"));
    for (index, (name, scale)) in scales.iter().enumerate() {
        let started_at = format!("2026-03-{:02}T10:00:00Z", index + 1);
        let header = Header {
            started_at,
            ..source.clone()
        };
        write(&folder.0.join(name), header, (1000.0 * scale) as u64);
    }
}

fn header_of(path: &Path) -> Header {
    let file = std::fs::File::open(path).unwrap();
    Record::read(std::io::BufReader::new(file)).unwrap().header
}

/// A second of a closed loop in which so many requests were answered, one after the other.
fn write(path: &Path, header: Header, answers: u64) {
    let How::Set { load, .. } = header.test.how else {
        panic!("a load that is set");
    };
    let Load::Closed { in_flight } = load else {
        panic!("a closed loop");
    };
    let in_flight = u64::from(in_flight.get());
    let second = Nanos::from_secs(1);
    let time = Nanos(second.0 * in_flight / answers);
    let bounds = header.test.objectives().unwrap().bounds();
    let mut tally = Tally::default();
    for _ in 0..answers {
        tally.record(Outcome::Ok, time, Some(time), 100, &bounds);
    }
    let workers = header.test.generator.workers.get() as usize;
    let window = Window {
        length_ns: second,
        due_count: answers,
        sent_count: answers,
        in_flight_mean: in_flight as f64,
        in_flight_max: in_flight,
        wire_max: in_flight,
        operations: vec![tally],
        health: Health {
            worker_run_ns: vec![Nanos::from_millis(10); workers],
            worker_wait_ns: vec![Nanos::ZERO; workers],
            ..Health::default()
        },
        ..Window::default()
    };
    let step = Step {
        level: 0,
        phase: Phase::Run,
        load: load.into(),
        windows_max: 1,
    };
    let mut record = Record::new(header);
    let lines = [
        Line::Level(LevelStart {
            start_ns: Nanos::ZERO,
            step,
        }),
        Line::Window(window),
    ];
    let file = std::fs::File::create(path).unwrap();
    let mut writer = Writer::start(file, record.header.clone()).unwrap();
    for line in lines {
        writer.append(&line).unwrap();
        record.push(line);
    }
    let verdict = plimsoll_analysis::summary::of_run(&record);
    writer.append(&Line::Verdict(verdict)).unwrap();
}

/// Names of so many runs around `level`, each off by a little.
fn around(side: &str, count: usize, level: f64) -> Vec<(String, f64)> {
    (0..count)
        .map(|index| {
            (
                format!("{side}{index}.jsonl"),
                level * (1.0 + 0.01 * (index as f64 - 2.0)),
            )
        })
        .collect()
}

fn written(folder: &Folder, url: &str, sets: &[Vec<(String, f64)>]) {
    let all: Vec<(&str, f64)> = sets
        .iter()
        .flatten()
        .map(|(name, at)| (name.as_str(), *at))
        .collect();
    records(folder, url, "p99<1s", &all);
}

fn call(
    folder: &Folder,
    before: &[&str],
    a: &[(String, f64)],
    b: &[(String, f64)],
) -> (i32, String, String) {
    let mut args = vec!["compare"];
    args.extend(before);
    args.push("--a");
    args.extend(a.iter().map(|(name, _)| name.as_str()));
    args.push("--b");
    args.extend(b.iter().map(|(name, _)| name.as_str()));
    plimsoll(folder, &args)
}

#[test]
fn saved_records_come_to_one_of_four_words_and_an_exit_code() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let (a, less, same) = (
        around("a", 6, 1.0),
        around("less", 6, 0.8),
        around("same", 6, 1.001),
    );
    written(
        &folder,
        &service.url,
        &[a.clone(), less.clone(), same.clone()],
    );
    let (code, stdout, stderr) = call(&folder, &[], &a, &less);
    assert_eq!(code, 4, "{stdout}{stderr}");
    assert!(
        stdout.contains("‘B’ is worse than ‘A’: goodput −20 %"),
        "{stdout}"
    );
    assert!(stdout.contains("6 + 6 runs"), "{stdout}");
    let (code, ..) = call(&folder, &["--fail-on", "never"], &a, &less);
    assert_eq!(code, 0);
    let (code, stdout, _) = call(&folder, &[], &less, &a);
    assert_eq!(code, 0);
    assert!(
        stdout.contains("‘B’ is better than ‘A’: goodput +25 %"),
        "{stdout}"
    );
    let (code, stdout, _) = call(&folder, &["--format", "json", "--paired"], &a, &same);
    assert_eq!(code, 0);
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["schema"], "plimsoll.comparison/1");
    assert_eq!(document["standing"], "equivalent");
    assert_eq!(document["design"], "paired");
    let (_, stdout, _) = call(
        &folder,
        &["--format", "markdown", "--report", "c.html"],
        &a,
        &less,
    );
    assert!(stdout.contains("### ‘B’ is worse than ‘A’"), "{stdout}");
    let page = std::fs::read_to_string(folder.0.join("c.html")).unwrap();
    assert!(page.contains("‘B’ is worse than ‘A’") && page.contains("Every comparison"));
}

#[test]
fn three_and_three_say_that_they_cannot_be_significant() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let (a, b) = (around("a", 3, 1.0), around("b", 3, 2.0));
    written(&folder, &service.url, &[a.clone(), b.clone()]);
    let (code, stdout, _) = call(&folder, &["--fail-on", "inconclusive"], &a, &b);
    assert_eq!(code, 5, "{stdout}");
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("3 + 3 runs cannot be significant at 5 %"),
        "{stdout}"
    );
    assert!(words.contains("it takes 4 + 4"), "{stdout}");
    // Two records by name are one run each.
    let (code, stdout, _) = plimsoll(&folder, &["compare", "a0.jsonl", "b0.jsonl"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("Inconclusive, ‘B’ against ‘A’"), "{stdout}");
}

#[test]
fn an_invalid_run_is_named_and_never_a_figure() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let (a, b) = (around("a", 4, 1.0), around("b", 4, 2.0));
    written(&folder, &service.url, &[a.clone(), b.clone()]);
    let path = folder.0.join("b1.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    // Edited by hand.
    std::fs::write(&path, text.replace("\"bytes\":", "\"bytes\":9")).unwrap();
    let (code, stdout, stderr) = call(&folder, &[], &a, &b);
    assert_eq!(code, 3, "{stdout}{stderr}");
    assert!(
        stdout.contains("No verdict: too few valid runs are left."),
        "{stdout}"
    );
    assert!(stdout.contains("b1.jsonl (‘B’): not valid"), "{stdout}");
}

#[test]
fn what_differs_is_said_before_any_number() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let (a, b) = (around("a", 4, 1.0), around("b", 4, 2.0));
    written(&folder, &service.url, &[a.clone(), b.clone()]);
    for (name, _) in &b {
        let path = folder.0.join(name);
        let mut header = header_of(&path);
        header.machine.kernel = "another".to_owned();
        if let How::Set { load, .. } = &mut header.test.how {
            *load = Load::Closed {
                in_flight: NonZeroU32::new(4).unwrap(),
            };
        }
        write(&path, header, 2_000);
    }
    let (_, stdout, _) = call(&folder, &[], &a, &b);
    let (kernel, answer) = (
        stdout.find("kernel:").unwrap(),
        stdout.find("goodput").unwrap(),
    );
    assert!(kernel < stdout.find("‘B’ is better").unwrap(), "{stdout}");
    assert!(stdout.find("closed loop, 4 in flight").unwrap() < answer + stdout.len());
    assert!(
        stdout.contains("not compared: failed attempts, p50"),
        "{stdout}"
    );
}

#[test]
fn another_tools_results_are_compared_as_far_as_they_go() {
    let folder = Folder::new();
    let export = |requests: u64, failed: u64| {
        format!(
            "{{\"root_group\":{{}},\"metrics\":{{\"http_reqs\":{{\"count\":{requests},\"rate\":{}}},\
             \"http_req_failed\":{{\"passes\":{failed}}}}}}}",
            requests as f64 / 100.0
        )
    };
    for index in 0..4 {
        let name = |side: &str| folder.0.join(format!("{side}{index}.json"));
        std::fs::write(name("a"), export(10_000 + index, 0)).unwrap();
        std::fs::write(name("b"), export(20_000 + index, 15_000)).unwrap();
    }
    let (code, stdout, stderr) = call(&folder, &[], &files("a"), &files("b"));
    assert_eq!(code, 4, "{stdout}{stderr}");
    // Twice the answers, and half the good ones.
    assert!(
        stdout.contains("‘B’ is worse than ‘A’: goodput −50 %"),
        "{stdout}"
    );
    assert!(stdout.contains("throughput"), "{stdout}");
}

fn files(side: &str) -> Vec<(String, f64)> {
    (0..4)
        .map(|index| (format!("{side}{index}.json"), 0.0))
        .collect()
}

#[test]
fn a_history_names_the_runs_between_which_it_changed() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let mut runs = around("r", 7, 1.0);
    runs.extend(around("s", 6, 0.8));
    written(&folder, &service.url, std::slice::from_ref(&runs));
    let mut args = vec!["compare", "--history"];
    // Any order: the records say when they were.
    args.extend(runs.iter().rev().map(|(name, _)| name.as_str()));
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert_eq!(code, 4, "{stdout}{stderr}");
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("1 change in goodput over 13 runs"),
        "{stdout}"
    );
    assert!(words.contains("between r6.jsonl and s0.jsonl"), "{stdout}");
    // Seven runs show no change, however large: that is not clean where it is asked.
    let mut few = vec!["compare", "--history"];
    few.extend(runs[..7].iter().map(|(name, _)| name.as_str()));
    assert_eq!(plimsoll(&folder, &few).0, 0);
    few.extend(["--fail-on", "inconclusive"]);
    assert_eq!(plimsoll(&folder, &few).0, 5);
    let (code, _, stderr) = plimsoll(&folder, &["compare", "--history", "r0.jsonl", "r1.jsonl"]);
    assert_eq!(code, 104);
    assert!(
        stderr.contains("at least 6 usable runs, and there are 2"),
        "{stderr}"
    );
}

#[test]
fn what_says_how_to_play_is_refused_beside_records() {
    let folder = Folder::new();
    for (given, fragment) in [
        (["--pairs", "3"], "--pairs is for targets"),
        (["--timeout", "3s"], "--timeout is for targets"),
        (["--watch", "pid:1"], "--watch is for targets"),
        (["-k", "--quiet"], "-k is for targets"),
        (["-m", "POST"], "-m is for targets"),
        (["-o", "kept"], "-o is for targets"),
    ] {
        let records = ["compare", "--a", "a.jsonl", "--b", "b.jsonl"];
        let args = [records.as_slice(), given.as_slice()].concat();
        let (code, stdout, stderr) = plimsoll(&folder, &args);
        assert_eq!((code, stdout.as_str()), (104, ""), "{given:?}: {stderr}");
        assert!(stderr.contains(fragment), "{given:?}: {stderr}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_fix() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    records(
        &folder,
        &service.url,
        "p99<1s",
        &[("a.jsonl", 1.0), ("c.jsonl", 1.0)],
    );
    records(&folder, &service.url, "p99<2s", &[("b.jsonl", 1.0)]);
    let (url, other) = ("http://127.0.0.1:9/", "http://127.0.0.1:9/other");
    for (args, fragment) in [
        (vec![], "nothing to compare"),
        (vec!["a.jsonl"], "is the only record"),
        (vec!["a.jsonl", "missing.jsonl"], "missing.jsonl"),
        (vec!["a.jsonl", "./a.jsonl"], "given twice"),
        (vec!["a.jsonl", "."], ". is a folder"),
        (
            vec!["a.jsonl", "b.jsonl"],
            "objective: ‘A’ p99 < 1 s · ‘B’ p99 < 2 s",
        ),
        (vec!["a.jsonl", url], "URLs and records together"),
        (vec!["--a", "a.jsonl"], "--b"),
        (
            vec!["--paired", "--a", "a.jsonl", "--b", "b.jsonl", "c.jsonl"],
            "as many records in --a as in --b",
        ),
        (
            vec!["a.jsonl", "c.jsonl", "--primary", "speed"],
            "is no figure",
        ),
        (vec!["a.jsonl", "c.jsonl", "--margin", "0%"], "--margin"),
        (vec![url], "--aa"),
        (vec![url, url, "--rate", "5"], "given twice"),
        (vec![url, other], "say the load"),
        (vec![url, other, "--rate", "5", "--pairs", "0"], "--pairs"),
        (
            vec![url, other, "--rate", "5", "--find"],
            "give one of them",
        ),
        (vec![url, other, "--find"], "--slo"),
        (
            vec![url, other, "--find", "--slo", "p99<1s", "--within", "10s"],
            "too short",
        ),
        (vec![url, other, "--aa", "--rate", "5"], "give one URL"),
        (
            vec![url, other, "--rate", "5", "--margin", "200%"],
            "--margin",
        ),
        (
            vec![url, other, "--rate", "5", "-e", "A=1"],
            "-e is for scripts",
        ),
    ] {
        let (code, stdout, stderr) = plimsoll(&folder, &[&["compare"], &args[..]].concat());
        assert!(stderr.contains(fragment), "{args:?} said: {stderr}");
        assert_eq!((code, stdout.as_str()), (104, ""), "{args:?}: {stderr}");
    }
    let (code, _, stderr) = plimsoll(&folder, &["compare", &service.url, url, "--rate", "5"]);
    assert_eq!(code, 7, "{stderr}");
    assert!(stderr.contains("is the service running"), "{stderr}");
    let left = std::fs::read_dir(&folder.0).unwrap().flatten();
    assert!(
        left.map(|at| at.path()).all(|path| path.is_file()),
        "no folder was made"
    );
}

#[test]
fn live_targets_are_played_in_turns_and_every_run_is_kept() {
    let folder = Folder::new();
    let (one, other) = (Service::start(&["echo"]), Service::start(&["echo"]));
    let load = [
        "-c", "2", "-z", "1s", "--pairs", "2", "--seed", "7", "-o", "kept",
    ];
    let args = [&["compare", &one.url, &other.url], &load[..]].concat();
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(matches!(code, 0 | 3), "{code} {stdout}{stderr}");
    assert!(
        stderr.contains("2 pairs of 2 variants, 4 runs of 1"),
        "{stderr}"
    );
    // Drawn for each pair.
    let orders = ["A B · A B", "A B · B A", "B A · A B", "B A · B A"];
    assert!(
        orders.iter().any(|order| stderr.contains(order)),
        "{stderr}"
    );
    assert!(stderr.contains("run 4 of 4: pair 2"), "{stderr}");
    if code == 0 {
        assert!(stdout.contains("cannot be significant"), "{stdout}");
    }
    let kept = folder.0.join("kept");
    let document = std::fs::read_to_string(kept.join("comparison.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    // On a busy machine pairs scatter, and the reserve is played too.
    let runs_count = document["variants"][1]["runs"].as_array().unwrap().len();
    assert!((2..=3).contains(&runs_count), "{stderr}");
    assert!(kept.join("report.html").exists());
    let seeds = ["A", "B"].map(|side| seeds_of(&kept, side));
    assert_eq!(seeds[0], seeds[1], "the runs of a pair have one seed");
    assert_eq!(seeds[0], [7, 8, 9][..runs_count]);
}

/// Seeds of a variant's records, in order.
fn seeds_of(folder: &Path, side: &str) -> Vec<u64> {
    let ends = format!("-{side}.plimsoll.jsonl");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.display().to_string().ends_with(&ends))
        .collect();
    paths.sort();
    let seed = |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        header["plan"]["seed"].as_u64().unwrap()
    };
    paths.into_iter().map(seed).collect()
}

#[test]
fn a_target_against_itself_says_what_shows_here() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    let args = [
        "compare",
        "--aa",
        &service.url,
        "--rate",
        "200",
        "-z",
        "1s",
        "--pairs",
        "6",
        "-o",
        "aa",
        "--quiet",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(matches!(code, 0 | 3), "{code} {stdout}{stderr}");
    assert!(stdout.contains("A again"), "{stdout}");
    if code == 0 {
        let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("this environment shows changes in p99")
                || words.contains("differs from itself")
                || words.contains("they would show a change of"),
            "{stdout}"
        );
    }
}

#[test]
fn an_interrupted_series_keeps_what_was_played() {
    let (folder, one, other) = (
        Folder::new(),
        Service::start(&["echo"]),
        Service::start(&["echo"]),
    );
    let args = [
        "compare", &one.url, &other.url, "-c", "1", "-z", "60s", "-o", "kept",
    ];
    // What will be played is said after signals are caught, and before the warm-up.
    let (code, rest) = interrupted_at(&folder, &args, |line| line.contains("records"));
    assert_eq!(code, Some(105), "{rest:?}");
    assert!(folder.0.join("kept").join("report.html").exists());
}

//! Scripts as variants of `plimsoll compare`.

use std::path::Path;

use super::{records, seeds_of};
use crate::support::{Folder, Service, plimsoll};

/// Two scripts and a copy of the first. Their threshold would end them at once.
fn scripts(folder: &Folder) {
    let script = "import http from 'k6/http';\nimport { path } from './lib.js';\n\
        export const options = { vus: 2, duration: '1s',\n\
          thresholds: { http_reqs: [{ threshold: 'count<1', abortOnFail: true }] } };\n\
        export default function () { console.log('an iteration'); http.get(__ENV.BASE + path); }\n";
    let write = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    write("lib.js", "export const path = '';\n");
    write("before.js", script);
    write("copy.js", script);
    write(
        "after.js",
        &script.replace("http.get(", "http.get(__ENV.BASE); http.get("),
    );
}

/// The facts that differ, by name, from the document beside the records.
fn differing(kept: &Path) -> Vec<String> {
    let document = std::fs::read_to_string(kept.join("comparison.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let found = document["mismatches"].as_array().unwrap().iter();
    found
        .map(|one| one["fact"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn scripts_are_played_in_turns_and_told_apart_by_their_content() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    scripts(&folder);
    let base = format!("BASE={}", service.url);
    let args = [
        "compare",
        "before.js",
        "after.js",
        "-e",
        &base,
        "--pairs",
        "1",
        "--seed",
        "7",
        "-o",
        "kept",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(matches!(code, 0 | 3), "{code} {stdout}{stderr}");
    assert!(
        stderr.contains("1 pair of 2 variants, 2 runs of at most 31.0 s;"),
        "{stderr}"
    );
    assert!(stderr.contains("B        after.js"), "{stderr}");
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("script: ‘A’ before.js, SHA-256 "),
        "{stdout}"
    );
    assert!(!stderr.contains("an iteration"), "{stderr}");
    let kept = folder.0.join("kept");
    assert_eq!(differing(&kept), ["script"]);
    assert_eq!(["A", "B"].map(|side| seeds_of(&kept, side)), [[7], [7]]);
    let mut records = std::fs::read_dir(&kept)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let first = records.find(|path| path.display().to_string().ends_with("-A.plimsoll.jsonl"));
    let text = std::fs::read_to_string(first.unwrap()).unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["script"]["files_count"], 2);
    assert_eq!(header["script"]["environment"]["BASE"], service.url);
    assert!(
        !text.contains("\"event\":\"interrupted\""),
        "thresholds end no run"
    );
}

#[test]
fn one_script_is_compared_in_two_places() {
    let folder = Folder::new();
    let (one, other) = (Service::start(&["echo"]), Service::start(&["echo"]));
    scripts(&folder);
    let side = |service: &Service| format!("before.js -e BASE={} --vus 1", service.url);
    let (a, b) = (side(&one), side(&other));
    let args = [
        "compare", &a, &b, "--pairs", "1", "-o", "kept", "--slo", "p99<1s",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(matches!(code, 0 | 3), "{code} {stdout}{stderr}");
    assert_eq!(differing(&folder.0.join("kept")), ["script environment"]);
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(&format!("‘A’ BASE={} · ‘B’ BASE={}", one.url, other.url)),
        "{stdout}"
    );
    assert!(stdout.contains("closed loop, 1 in flight"), "{stdout}");
    // Kept records of two scripts are told apart as well.
    for (script, record) in [("before.js", "a.jsonl"), ("after.js", "b.jsonl")] {
        let base = format!("BASE={}", one.url);
        let args = [
            "run",
            script,
            "-e",
            &base,
            "--no-thresholds",
            "--record",
            record,
            "--quiet",
        ];
        let (code, _, stderr) = plimsoll(&folder, &args);
        assert_eq!(code, 0, "{stderr}");
    }
    let (_, stdout, stderr) = plimsoll(&folder, &["compare", "a.jsonl", "b.jsonl"]);
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("script: ‘A’ before.js, SHA-256 "),
        "{stdout}{stderr}"
    );
    assert!(
        words.contains("however many an iteration sends"),
        "{stdout}"
    );
}

#[test]
fn a_script_whose_address_does_not_answer_is_told_after_its_warm_up() {
    let folder = Folder::new();
    scripts(&folder);
    let base = "BASE=http://127.0.0.1:9/";
    let args = ["compare", "before.js", "after.js", "-e", base, "--quiet"];
    let (code, _, stderr) = plimsoll(&folder, &args);
    assert_eq!(code, 7, "{stderr}");
    assert!(
        stderr.contains("no request of the script got an answer"),
        "{stderr}"
    );
}

#[test]
fn what_scripts_cannot_be_asked_is_refused_with_the_fix() {
    let (folder, service) = (Folder::new(), Service::start(&["echo"]));
    records(&folder, &service.url, "p99<1s", &[("a.jsonl", 1.0)]);
    scripts(&folder);
    let url = "http://127.0.0.1:9/";
    for (args, fragment) in [
        (vec!["before.js"], "before.js is the only target"),
        (vec!["before.js", "copy.js"], "are the same script"),
        (vec!["before.js", url], "URLs and scripts together"),
        (vec!["before.js", "a.jsonl"], "scripts and records together"),
        (
            vec!["before.js", "after.js", "--rate", "5"],
            "--rate is for URLs; a script sets its own load",
        ),
        (
            vec!["before.js", "after.js", "-H", "A: b"],
            "-H is for URLs",
        ),
        (vec!["before.js --vuss 3", "after.js"], "'--vuss'"),
        (vec!["before.js -e 'A=1", "after.js"], "quotation mark"),
        (
            vec!["before.js --seed 3", "after.js"],
            "--seed in `before.js",
        ),
        (
            vec!["before.js", "after.js --vus 3", "--find", "--slo", "p99<1s"],
            "--find decides the load",
        ),
        (vec!["before.js", "after.js", "--find"], "--slo"),
    ] {
        let (code, stdout, stderr) = plimsoll(&folder, &[&["compare"], &args[..]].concat());
        assert!(stderr.contains(fragment), "{args:?} said: {stderr}");
        assert_eq!((code, stdout.as_str()), (104, ""), "{args:?}: {stderr}");
    }
    let (code, _, stderr) = plimsoll(&folder, &["compare", "before.js", "missing.js"]);
    assert_eq!(code, 255, "as for every command: {stderr}");
    assert!(stderr.contains("missing.js"), "{stderr}");
    let left = std::fs::read_dir(&folder.0).unwrap().flatten();
    assert!(
        left.map(|at| at.path()).all(|path| path.is_file()),
        "no folder was made"
    );
}

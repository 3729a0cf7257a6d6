//! The lab from end to end: embedded tiers, records and the table; mistakes; and no process left behind.

mod after;
mod faults;
mod guarded;
mod kill;
mod mistakes;
mod processes;
mod real;

use std::process::Stdio;
use std::time::Duration;

use crate::support::{Folder, command, finished, plimsoll};

/// Two variants of an embedded tier and a proxy before it, a second of load each.
const TINY: &str = r#"
title = "tiny"

[tiers.app]
embedded = "downstream"
set = { answer = 1 }
cpu = 0.3

[tiers.proxy]
embedded = "proxy"
args = ["--upstream", "${app.address}"]
set = { slots = 64 }
limits = { slots = 64, per_request = 2 }

[test]
url = "http://${proxy.address}/"
rate = "60/s"
duration = "2s"
warm_up = 20
cpu = 0.5

[objectives]
slo = "p99<2s"

[variants.A]
about = "as it is"

[variants.B.tiers.app]
set.answer = 30
"#;

fn experiment(folder: &Folder, text: &str) -> String {
    let path = folder.file("experiment.toml");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn variants_stand_side_by_side_and_every_run_leaves_a_record() {
    let folder = Folder::new();
    let path = experiment(&folder, TINY);
    let args = ["lab", &path, "--repeat", "2", "-o", "out", "--quiet"];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    // A busy machine may fail a gate; that is said and changes nothing here.
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    for row in [
        "goodput",
        "throughput",
        "failed",
        "p99",
        "gives way first",
        "gates",
        "differs in",
    ] {
        assert!(
            stdout.contains(&format!("\n  {row}")),
            "{row} is missing in\n{stdout}"
        );
    }
    assert!(stdout.contains("tiers.app.set.answer: 1 → 30"), "{stdout}");
    assert!(stdout.contains("median of 2"), "{stdout}");
    for run in ["A-1", "A-2", "B-1", "B-2"] {
        let record = folder.file(&format!("out/{run}/run.plimsoll.jsonl"));
        let (code, _, stderr) = plimsoll(&folder, &["explain", &record]);
        assert!(code == 0 || code == 3, "{stderr}");
        assert!(std::fs::metadata(folder.file(&format!("out/{run}/report.html"))).is_ok());
        assert!(std::fs::metadata(folder.file(&format!("out/{run}/app.log"))).is_ok());
        header_says_the_set_up(&std::fs::read_to_string(&record).unwrap(), run);
    }
    the_page_is_there_and_made_again_of_the_records(&folder, &stdout);
    let document = std::fs::read_to_string(folder.file("out/lab.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["variants"][1]["runs"].as_array().unwrap().len(), 2);
    processes::assert_none_mention(&folder);
}

/// The table is there all the same, and so is the code.
#[test]
fn a_page_that_cannot_be_written_costs_neither_the_table_nor_the_code() {
    let folder = Folder::new();
    let path = experiment(&folder, TINY);
    let args = [
        "lab", &path, "--quick", "--only", "A", "-o", "out", "--quiet",
    ];
    let mut lab = command(&folder, &args);
    lab.stdout(Stdio::piped()).stderr(Stdio::piped());
    let lab = lab.spawn().unwrap();
    for _ in 0..1_500 {
        if folder.0.join("out/A-1").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    for page in ["out/report.html", "out/lab.json"] {
        std::fs::create_dir(folder.file(page)).unwrap();
    }
    let (code, stdout, stderr) = finished(&lab.wait_with_output().unwrap());
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    assert!(stdout.contains("\n  goodput"), "{stdout}");
    assert_eq!(stderr.matches(" is not written").count(), 2, "{stderr}");
}

/// Named last of all by the lab; `plimsoll report` on its records says the same.
fn the_page_is_there_and_made_again_of_the_records(folder: &Folder, stdout: &str) {
    assert!(stdout.contains("  report   out/report.html\n"), "{stdout}");
    let headline = |page: &str| -> String {
        let text = std::fs::read_to_string(folder.file(page)).unwrap();
        let rest = text.split_once("<h1>").unwrap().1;
        rest.split_once("</h1>").unwrap().0.to_owned()
    };
    let as_played = headline("out/report.html");
    std::fs::remove_file(folder.file("out/report.html")).unwrap();
    let (code, _, stderr) = plimsoll(folder, &["report", "out"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(headline("out/report.html"), as_played);
    let elsewhere = plimsoll(folder, &["report", "-o", "again.html", "out"]);
    assert_eq!((elsewhere.0, headline("again.html")), (0, as_played));
    let record = "out/A-1/run.plimsoll.jsonl";
    assert_eq!(plimsoll(folder, &["report", record]).0, 0);
    assert!(!headline("report.html").is_empty(), "of a file: here");
    let nothing = plimsoll(folder, &["report", "out/A-1/app"]);
    assert!(
        nothing.0 == 104 && nothing.2.contains("has no record, nor has a folder in it"),
        "{nothing:?}"
    );
}

fn header_says_the_set_up(record: &str, run: &str) {
    let header: serde_json::Value = serde_json::from_str(record.lines().next().unwrap()).unwrap();
    let lab = &header["lab"];
    let name = format!("{}-{}", lab["variant"].as_str().unwrap(), lab["run"]);
    assert_eq!(name, run);
    assert_eq!(
        lab["tiers"][0]["tier"], "app",
        "the tier that others need starts first"
    );
    let isolation = lab["tiers"][0]["isolation"].as_str().unwrap();
    assert!(
        isolation.starts_with("quota of 0.3 core") || isolation.starts_with("affinity to core"),
        "{isolation}"
    );
    assert_eq!(lab["tiers"][1]["limits"]["slots"], 64.0);
    assert!(
        record.contains("\"tier\":\"proxy\""),
        "the proxy was observed under its name"
    );
}

/// Plays the experiment once with `--confirm`, and holds its first limit against `cause`; `None` where a gate failed on a busy
/// machine, which withholds the cause, and so there is nothing to confirm.
fn confirmed(folder: &Folder, path: &str, cause: &str) -> Option<serde_json::Value> {
    let args = [
        "lab",
        path,
        "--repeat",
        "1",
        "--confirm",
        "-o",
        "out",
        "--format",
        "json",
    ];
    let (code, stdout, stderr) = plimsoll(folder, &args);
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let limit = &document["variants"][0]["first_limit"]["limit"];
    if code == 3 {
        assert!(limit.is_null(), "{limit}");
        return None;
    }
    assert!(stderr.contains("--confirm adds one run"), "{stderr}");
    assert_eq!(limit["cause"], cause, "{limit}");
    assert_eq!(limit["confidence"], "confirmed", "{limit}");
    Some(document)
}

/// Forty-eight virtual users whose connections each take two of 64 slots, after a second of few for whom there is room: with a variant that lifts them, or a run that
/// `--confirm` adds, the slots are confirmed.
#[test]
fn a_suspected_limit_is_moved_and_confirmed() {
    let folder = Folder::new();
    let text = TINY
        .replace("answer = 1", "answer = 20")
        .replace("{ slots = 64 }", "{ slots = \"${limits.slots}\" }")
        .replace(
            "rate = \"60/s\"",
            "stages = [{ target = 16, duration = \"1s\" }, { target = 48, duration = \"500ms\" }, { target = 48, duration = \"5s\" }]",
        )
        // Whoever is turned away comes again after a while: at once, it would fill the proxy's thread.
        .replace("duration = \"2s\"", "think = \"20ms\"");
    let (shared, _) = text.split_once("[variants.A]").unwrap();
    let path = experiment(&folder, shared);
    let Some(document) = confirmed(&folder, &path, "connection_slots") else {
        return;
    };
    let added = &document["variants"][1];
    assert_eq!(added["name"], "base-confirm");
    assert_eq!(added["changes"][0], "tiers.proxy.limits.slots: 64 → 1024");
    assert!(
        added["failed_ratio"]["median"].as_f64().unwrap() < 0.001,
        "{added}"
    );
}

/// A page that awaits a stock service with a fifth of a core, which is full at 40 pages a second: a stub of it lets more
/// pass.
#[test]
fn a_slow_downstream_is_confirmed_by_its_stub() {
    const SHOP: &str = r#"
[tiers.stock]
embedded = "downstream"
set = { cpu = 5, answer = 1 }
cpu = 0.2
stub = { set = { cpu = 0.05 } }

[tiers.shop]
embedded = "shop-app"
args = ["--upstream", "${stock.address}"]
set = { cpu = 0.5 }
cpu = 0.5

[test]
url = "http://${shop.address}/items/1"
stages = [{ target = 20, duration = "3s" }, { target = 160, duration = "12s" }]
think = "500ms"

[objectives]
slo = "p99<250ms"

[variants.shop]
"#;
    let folder = Folder::new();
    let path = experiment(&folder, SHOP);
    let Some(document) = confirmed(&folder, &path, "downstream") else {
        return;
    };
    let added = &document["variants"][1];
    assert_eq!(added["changes"][0], "tiers.stock.stubbed: not set → true");
}

#[test]
fn a_dry_run_prints_the_plan_and_starts_nothing() {
    let folder = Folder::new();
    let path = experiment(&folder, TINY);
    let (code, stdout, _) = plimsoll(&folder, &["lab", &path, "--dry-run", "--repeat", "2"]);
    assert_eq!(code, 0);
    let orders = ["A B A B", "A B B A", "B A A B", "B A B A"];
    let drawn = |order: &&str| stdout.contains(&format!("order  {order}"));
    assert!(orders.iter().any(drawn), "{stdout}");
    assert!(stdout.contains("takes  about "), "{stdout}");
    assert!(
        stdout.contains("other than ‘A’: tiers.app.set.answer: 1 → 30"),
        "{stdout}"
    );
    let faults = "cpu = 0.3\nstop_at = \"1s\"\ncontinue_at = \"1500ms\"";
    let path = experiment(&folder, &TINY.replacen("cpu = 0.3", faults, 1));
    let (code, stdout, stderr) = plimsoll(&folder, &["lab", &path, "--dry-run"]);
    assert_eq!(code, 0, "{stderr}");
    let told = "stopped at 1.00 s, continued at 1.50 s";
    assert!(stdout.contains(told), "{stdout}");
    let (code, stdout, _) = plimsoll(&folder, &["lab", &path, "--check", "--only", "B"]);
    assert_eq!(code, 0);
    assert!(
        stdout.starts_with("tiny: 1\u{a0}variant is in order"),
        "{stdout}"
    );
    assert!(stdout.contains("which is not played"), "{stdout}");
    let entries = std::fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(entries, 1, "nothing but the file");
}

#[test]
fn stages_are_played_by_virtual_users_and_quick_has_no_interval() {
    let folder = Folder::new();
    let text = TINY
        .replace("rate = \"60/s\"\nduration = \"2s\"", "stages = [{ target = 4, duration = \"1s\" }, { target = 4, duration = \"1s\" }]\nthink = \"20ms\"");
    let path = experiment(&folder, &text);
    let args = [
        "lab", &path, "--quick", "--only", "A", "-o", "out", "--format", "json",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    assert!(stderr.contains("run 1 of 1 · A · about "), "{stderr}");
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["replication"], "single run, no interval");
    let summary = &document["variants"][0]["runs"][0]["summary"];
    assert!(
        summary["attempts_count"].as_u64().unwrap() > 20,
        "{summary}"
    );
    let objective = summary["objective"]
        .as_str()
        .unwrap()
        .replace('\u{a0}', " ");
    assert_eq!(objective, "p99 < 2 s");
    assert!(
        folder.0.join("out/A-1/test.js").is_file(),
        "the script that was played is kept"
    );
}

#[test]
fn a_search_per_variant_leaves_the_record_of_a_search() {
    let folder = Folder::new();
    let text = TINY
        .replace(
            "rate = \"60/s\"\nduration = \"2s\"",
            "find = true\nwithin = \"150s\"",
        )
        .replace("slo = \"p99<2s\"", "slo = \"p99<250ms,errors<1%\"");
    let path = experiment(&folder, &text);
    let (code, stdout, stderr) = plimsoll(&folder, &["lab", &path, "--dry-run"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("test capacity of http://"), "{stdout}");
    // Whole searches take minutes: this one is ended when its record shows that it is one.
    let args = ["lab", &path, "--only", "A", "-o", "out", "--quiet"];
    let mut lab = command(&folder, &args).spawn().unwrap();
    let record = folder.file("out/A-1/run.plimsoll.jsonl");
    let mut text = String::new();
    for _ in 0..600 {
        text = std::fs::read_to_string(&record).unwrap_or_default();
        if text.contains("\"phase\":\"anchor\"") {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let pid = lab.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-s", "INT", &pid])
        .status();
    assert!(killed.unwrap().success());
    assert_eq!(lab.wait().unwrap().code(), Some(105));
    assert!(text.contains("\"command\":\"find\""), "{text}");
    for phase in ["warm_up", "anchor"] {
        let said = format!("\"phase\":\"{phase}\"");
        assert!(text.contains(&said), "{phase} is missing in\n{text}");
    }
    processes::assert_none_mention(&folder);
}

#[test]
fn every_experiment_that_ships_is_in_order() {
    let folder = Folder::new();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
    let mut checked = 0;
    for entry in std::fs::read_dir(shipped).unwrap().flatten() {
        if entry.path().join("experiment.toml").is_file() {
            let path = entry.path().display().to_string();
            let (code, stdout, stderr) = plimsoll(&folder, &["lab", &path, "--check"]);
            assert_eq!(code, 0, "{path}\n{stdout}\n{stderr}");
            let args = ["lab", &path, "--quick", "--dry-run"];
            let (code, stdout, stderr) = plimsoll(&folder, &args);
            assert_eq!(code, 0, "{path}\n{stdout}\n{stderr}");
            assert!(
                !stdout.contains("shortened"),
                "8 minutes are enough: {stdout}"
            );
            checked += 1;
        }
        if entry.path().join("real.toml").is_file() {
            real_is_in_order(&folder, &entry.path().display().to_string());
        }
    }
    assert!(checked > 0, "there are experiments in {shipped}");
}

/// `make test` installs what they need; elsewhere the only thing that may be wrong is that it is missing.
fn real_is_in_order(folder: &Folder, path: &str) {
    let args = ["lab", path, "--real", "--quick", "--dry-run"];
    let (code, stdout, stderr) = plimsoll(folder, &args);
    let is_missing = code == 104 && stderr.contains("; it is installed with: make -C ");
    assert!(code == 0 || is_missing, "{path}\n{stdout}\n{stderr}");
    assert!(
        !stdout.contains("shortened"),
        "8 minutes are enough: {stdout}"
    );
}

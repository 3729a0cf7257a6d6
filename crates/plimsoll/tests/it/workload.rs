//! Workloads as a user plays them, against DocDB in a process of its own.

mod given_up;

use std::path::Path;

use serde_json::Value;

use crate::docdb::Server;
use crate::support::{Folder, Service, plimsoll};

/// A database with nothing in it, and where its folder is.
fn server() -> (Server, Folder) {
    let folder = Folder::new();
    let server = Server::start(&folder.0.join("data"), &[]);
    (server, folder)
}

fn summary(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap()
}

fn gate(summary: &Value, number: u64) -> String {
    let gates = summary["gates"].as_array().unwrap();
    let gate = gates.iter().find(|gate| gate["number"] == number);
    let gate = gate.unwrap_or_else(|| panic!("no gate {number}"));
    gate["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_store_is_loaded_and_every_document_is_accounted_for() {
    let (server, folder) = server();
    let store = format!("mongodb://{}", server.address);
    let (code, stdout, stderr) = plimsoll(
        &folder,
        &[
            "run",
            &store,
            "--databases",
            "3",
            "-c",
            "4",
            "--workers",
            "4",
            "-z",
            "3s",
            "--documents",
            "300",
            "--format",
            "json",
            "-o",
            "w.plimsoll.jsonl",
        ],
    );
    assert!(code == 0 || code == 3, "{code}: {stderr}");
    let summary = summary(&stdout);
    assert_eq!(gate(&summary, 12), "pass", "{summary}");
    assert_eq!(gate(&summary, 3), "pass", "{summary}");
    assert_eq!(gate(&summary, 2), "pass", "{summary}");
    assert_eq!(gate(&summary, 1), "pass", "{summary}");
    let databases = summary["store"]["databases"].as_array().unwrap();
    assert_eq!(databases.len(), 3);
    for database in databases {
        assert_eq!(database["effects"]["wire_max"], 4, "{database}");
        assert!(database["effects"]["acknowledged_count"].as_u64().unwrap() > 0);
    }
    let operations = summary["store"]["operations"].as_array().unwrap();
    let names: Vec<&str> = operations
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["read", "insert", "update", "delete"]);
    assert_eq!(
        summary["outcomes"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["ok"]
    );
    let verified = &summary["store"]["verified"];
    assert_eq!(verified["expected_count"], verified["intact_count"]);
    for (args, fragment) in [
        (&["audit", "w.plimsoll.jsonl"], "Stored"),
        (&["explain", "w.plimsoll.jsonl"], ""),
    ] {
        let (_, stdout, stderr) = plimsoll(&folder, args);
        assert!(
            stdout.contains(fragment) && !stderr.contains("panicked"),
            "{stdout}{stderr}"
        );
    }
    let page = std::fs::read_to_string(folder.0.join("w.html")).unwrap();
    assert!(page.contains("plimsoll_2") && page.contains("The store"));
}

#[test]
fn the_examples_run() {
    let (server, folder) = server();
    let shop = Service::start(&["shop"]);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut played = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text
            .replace("127.0.0.1:27017", &server.address)
            .replace("http://127.0.0.1:8080", shop.url.trim_end_matches('/'));
        std::fs::write(folder.0.join(name), &text).unwrap();
        played += usize::from(
            path.extension()
                .is_some_and(|extension| extension == "toml"),
        );
    }
    assert_eq!(played, 4);
    for name in ["mixed.toml", "shift.toml", "tenants.toml"] {
        let summary = three_hundred(&folder, &[name, "--documents", "50"]);
        assert_eq!(gate(&summary, 12), "pass", "{name}: {summary}");
    }
    let summary = three_hundred(&folder, &["shop.toml", "--rate", "100/s"]);
    let requests = summary["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 3, "{summary}");
    // A service that has fallen behind may turn some away; none is one that it does not understand.
    for request in requests {
        let outcomes = request["outcomes"].as_object().unwrap();
        assert!(outcomes.contains_key("ok"), "{summary}");
        assert!(!outcomes.contains_key("http_4xx"), "{summary}");
    }
}

/// The summary of a run of 300 attempts.
fn three_hundred(folder: &Folder, args: &[&str]) -> Value {
    let rest = ["-n", "300", "--no-record", "--format", "json"];
    let (code, stdout, stderr) = plimsoll(folder, &[&["run"], args, &rest].concat());
    assert_ne!(code, 104, "{args:?}: {stderr}");
    let summary = summary(&stdout);
    assert_eq!(summary["attempts_count"], 300, "{args:?}: {summary}");
    summary
}

#[test]
fn what_cannot_be_played_is_refused_with_its_place() {
    let folder = Folder::new();
    let store = "mongodb://127.0.0.1:1";
    for (text, expected) in [
        (
            "databses = 2",
            "w.toml:2: unknown key `databses`; did you mean `databases`?",
        ),
        ("mix = { read = 50 }", "w.toml:2: `mix`: 50 = 50 is not 100"),
        ("documents = 0", "w.toml:2: `documents`: no documents"),
        (
            "connections = 900000",
            "w.toml:2: `connections`: 900000 connections for each of 1 databases need",
        ),
    ] {
        std::fs::write(
            folder.0.join("w.toml"),
            format!("store = \"{store}\"\n{text}\n"),
        )
        .unwrap();
        let (code, _, stderr) = plimsoll(&folder, &["run", "w.toml"]);
        assert_eq!(code, 104, "{text}: {stderr}");
        assert!(stderr.contains(expected), "{text}: {stderr}");
    }
    for (args, code, expected) in [
        (&["run", store][..], 7, "mongodb://127.0.0.1:1"),
        (
            &["run", store, "--mix", "read=40,insrt=60"],
            104,
            "--mix: `insrt` is no operation; did you mean `insert`?",
        ),
        (&["run", store, "--h2"], 104, "--h2 is for URLs"),
        (
            &["run", "http://127.0.0.1:1", "--databases", "3"],
            104,
            "--databases is for workloads",
        ),
        (
            &["run", store, "--slo", "p99<1s,status=200"],
            104,
            "status=200 is for URLs and scripts",
        ),
        (
            &["find", store, "--slo", "p99<1s,status=200"],
            104,
            "status=200 is for URLs and scripts",
        ),
        (&["run", store, "--keys", "zipfian"], 104, "no distribution"),
        (&["run", "mongodb+srv://h/"], 104, "no store"),
        (&["run", "missing.toml"], 104, "missing.toml"),
        (
            &["compare", store, "mongodb://127.0.0.1:2"],
            104,
            "take turns",
        ),
        (
            &["sweep", store, "--vary", "conections=1,2"],
            104,
            "did you mean `connections`?",
        ),
    ] {
        let (found, _, stderr) = plimsoll(&folder, args);
        assert_eq!(found, code, "{args:?}: {stderr}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    }
}

#[test]
fn a_name_without_its_password_is_told_so_and_no_password_is_kept() {
    let folder = Folder::new();
    let server = Server::start(&folder.0.join("data"), &["--auth"]);
    let store = format!("mongodb://me:s3cret@{}", server.address);
    let (code, _, stderr) = plimsoll(&folder, &["run", &store, "-z", "1s"]);
    assert_eq!(code, 7, "{stderr}");
    assert!(
        stderr.contains("me:***@") && !stderr.contains("s3cret"),
        "{stderr}"
    );
    assert!(stderr.contains("authentication refused"), "{stderr}");
}

#[test]
fn a_store_that_goes_away_costs_its_verification_and_not_the_record() {
    let (server, folder) = server();
    let store = format!("mongodb://{}", server.address);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(3));
        server.kill();
    });
    let (code, stdout, stderr) = plimsoll(
        &folder,
        &[
            "run",
            &store,
            "-z",
            "5s",
            "--timeout",
            "500ms",
            "-o",
            "gone.plimsoll.jsonl",
            "--format",
            "json",
        ],
    );
    killer.join().unwrap();
    assert!(code != 109 && code != 104, "{code}: {stderr}");
    let summary = summary(&stdout);
    let outcomes = summary["outcomes"].as_object().unwrap();
    let failures = outcomes.keys().filter(|kind| *kind != "ok").count();
    assert!(outcomes.contains_key("ok") && failures > 0, "{summary}");
    assert_eq!(gate(&summary, 12), "unknown", "{summary}");
    assert!(folder.0.join("gone.plimsoll.jsonl").exists());
}

#[test]
fn a_sweep_varies_the_three_numbers_with_clean_databases_at_each_point() {
    let (server, folder) = server();
    let store = format!("mongodb://{}", server.address);
    let (code, stdout, stderr) = plimsoll(
        &folder,
        &[
            "sweep",
            &store,
            "--vary",
            "databases=1,2",
            "--vary",
            "workers=1,2",
            "-c",
            "2",
            "-z",
            "1s",
            "--repeat",
            "1",
            "--documents",
            "100",
            "--format",
            "json",
            "-o",
            "sweep",
        ],
    );
    assert!([0, 3, 5].contains(&code), "{code}: {stderr}");
    let sweep = summary(&stdout);
    assert_eq!(sweep["points"].as_array().unwrap().len(), 4, "{sweep}");
    let records = std::fs::read_dir(folder.0.join("sweep")).unwrap();
    let records = records.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .path()
            .to_string_lossy()
            .ends_with(".plimsoll.jsonl")
    });
    assert_eq!(records.count(), 5, "each point, and the first once more");
}

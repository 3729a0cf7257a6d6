//! What a load leaves behind: work that was taken in and not done, a worker killed with items in hand, what is stored.

use serde_json::Value;

use super::experiment;
use super::processes::assert_none_mention;
use crate::support::{Folder, plimsoll};

/// The queue architecture, with a slow disk and a pool of one: most of what the worker has popped waits for it. What it
/// has sent to the database is stored, whoever dies.
const QUEUE: &str = r#"
[tiers.db]
embedded = "docdb"
args = ["--slow-fsync=80ms"]

[tiers.list]
embedded = "list"

[tiers.app]
embedded = "article-queue"
args = ["--upstream=${list.address}"]
set = { cpu = 0 }

[tiers.worker]
embedded = "article-worker"
args = ["--upstream=${list.address}", "--upstream=${db.address}"]
set = { loops = 8, pool = "${limits.pool}" }
limits = { pool = 1 }
kill_at = "1s"

[test]
url = "http://${app.address}/"
stages = [{ target = 3, duration = "1s" }, { target = 3, duration = "1s" }]
think = "20ms"
warm_up = 5
stored = ["mongodb://${db.*.address}/article.numbers"]
backlog = ["http://${list.address}/metrics#list_queue_length", "http://${worker.address}/metrics#worker_pending"]
taken = ["http://${list.address}/metrics#list_pushed_total"]
drain_within = "40s"
"#;

#[test]
fn accepted_is_told_from_stored_and_what_a_killed_worker_had_popped_is_lost() {
    let folder = Folder::new();
    let path = experiment(&folder, QUEUE);
    let args = [
        "lab", &path, "--quick", "--quiet", "-o", "out", "--format", "json",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let run = &document["variants"][0]["runs"][0];
    let after = &run["after"];
    let count = |name: &str| {
        after[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {after}"))
    };
    assert_eq!(
        after["killed"],
        serde_json::json!(["worker at 1 s"]),
        "{after}"
    );
    assert_eq!(count("ok_count"), 0, "nothing was said to be done");
    assert!(count("accepted_count") > 20, "{after}");
    assert!(
        count("backlog_count") > 0,
        "a slow disk leaves work: {after}"
    );
    assert_eq!(count("backlog_left_count"), 0, "{after}");
    assert!(count("drained_ns") > 0, "{after}");
    let lost = count("taken_count") - count("stored_count");
    assert_eq!(count("lost_count"), lost);
    assert!(
        (1..=8).contains(&lost),
        "at most what eight loops had in hand: {after}"
    );
    let gates = run["summary"]["gates"].as_array().unwrap();
    let gate = |number: u64| gates.iter().find(|gate| gate["number"] == number).unwrap();
    assert_eq!(gate(11)["state"], "pass", "{}", gate(11));
    assert_eq!(gate(12)["state"], "warning", "{}", gate(12));
    let (code, stdout, stderr) = plimsoll(&folder, &["audit", "out/base-1/run.plimsoll.jsonl"]);
    assert!(code == 0 || code == 3, "{stderr}");
    assert!(stdout.contains("Stored is acknowledged"), "{stdout}");
    assert_none_mention(&folder);
}

/// A database that the experiment kills is there again when the load has ended; one that it stops answers nobody.
const DATABASE: &str = r#"
[tiers.db]
embedded = "docdb"

[tiers.app]
embedded = "echo"

[test]
url = "http://${app.address}/"
rate = "50/s"
duration = "4s"
warm_up = 0
stored = ["mongodb://${db.address}/shop.orders"]

[variants.killed.tiers.db]
kill_at = "1s"
"#;

#[test]
fn what_is_done_to_the_database_costs_no_run() {
    let folder = Folder::new();
    // That nobody answers takes its time to find out.
    let is_soak = std::env::var_os("PLIMSOLL_SOAK").is_some();
    let stopped = "\n[variants.stopped.tiers.db]\nstop_at = \"1s\"\n";
    let text = DATABASE.to_owned() + if is_soak { stopped } else { "" };
    let path = experiment(&folder, &text);
    let args = [
        "lab", &path, "--quick", "--quiet", "-o", "out", "--format", "json",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let after = |place: usize| &document["variants"][place]["runs"][0]["after"];
    assert_eq!(
        after(0)["stored_count"],
        0,
        "nobody stores anything: {}\n{stderr}",
        after(0)
    );
    assert_eq!(after(0)["killed"], serde_json::json!(["db at 1 s"]));
    if is_soak {
        assert!(after(1)["stored_count"].is_null(), "{}", after(1));
        let gates = &document["variants"][1]["runs"][0]["summary"]["gates"];
        let gates = gates.as_array().unwrap();
        let stored = gates.iter().find(|gate| gate["number"] == 12).unwrap();
        assert_eq!(stored["state"], "unknown", "{stored}");
        assert!(stderr.contains("test.stored: "), "{stderr}");
        assert!(stderr.contains("that is not counted"), "{stderr}");
    }
    assert_none_mention(&folder);
}

#[test]
fn a_gauge_that_is_not_there_is_said_with_its_key() {
    let folder = Folder::new();
    let path = experiment(
        &folder,
        &QUEUE.replace("#worker_pending", "#worker_waiting"),
    );
    let (code, stdout, stderr) =
        plimsoll(&folder, &["lab", &path, "--quick", "--quiet", "-o", "out"]);
    assert_eq!(code, 104, "{stderr}");
    assert_eq!(stdout, "");
    assert!(
        stderr.contains("test.backlog: http://127.0.0.1:")
            && stderr.contains("has no series `worker_waiting`"),
        "{stderr}"
    );
    assert_none_mention(&folder);
}

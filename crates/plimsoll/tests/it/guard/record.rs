//! A guard that begins with what a search found.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use super::Guard;
use super::settings::refused;
use crate::support::Folder;

/// The record of a search, whose service is 127.0.0.1:18519.
fn search() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/search.jsonl").to_owned()
}

/// The record of a run of the lab's fixtures.
fn fixture(name: &str) -> String {
    format!(
        "{}/../plimsoll-analysis/tests/fixtures/{name}.plimsoll.jsonl",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// A guard that was told to begin with the record, and what it said of that.
fn begun(arguments: &[&str]) -> (Guard, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let own = ["guard", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut guard = Guard::of(command.args(own).args(arguments).stderr(Stdio::piped()));
    let mut said = String::new();
    let mut errors = BufReader::new(guard.child.stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    (guard, said)
}

/// A service that is there, and asked nothing.
fn service() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// Where the limit begins without a record: so many requests in flight.
const UNMEASURED: f64 = 4.0;
/// Where it begins with the record: a little less than so many were in flight at its load line.
const MEASURED: u32 = 2;

#[test]
fn the_limit_begins_with_what_the_search_found() {
    let (_listener, url) = service();
    let (guard, said) = begun(&["--from", &search(), "--upstream", &url]);
    let told = format!("held 119/s; the limit begins with the {MEASURED} requests in flight");
    assert!(said.contains(&told), "{said}");
    for name in ["limit", "limit_level"] {
        assert!(
            (guard.metric(name) - f64::from(MEASURED)).abs() < 0.01,
            "{name}"
        );
    }
    let explained = guard.page("/explain");
    for line in [
        format!("\"limit\": {MEASURED},"),
        format!("\"limit_level\": {MEASURED}.0,"),
    ] {
        assert!(explained.contains(&line), "{explained}");
    }
    let without = Guard::start(&["--upstream", &url, "--admin", "127.0.0.1:0"]);
    assert!((without.metric("limit") - UNMEASURED).abs() < 0.01);
}

/// The record names the service, and a file may have it among others.
#[test]
fn the_record_says_which_service_it_is_for() {
    let (guard, _) = begun(&["--from", &search()]);
    assert!(
        guard.said.contains("before http://127.0.0.1:18519,"),
        "{}",
        guard.said
    );
    let folder = Folder::new();
    let file = folder.file("guard.toml");
    let groups = "[groups.other]\nupstreams = [\"http://127.0.0.1:1\"]\n\
                  [groups.shop]\nupstreams = [\"http://127.0.0.1:18519\"]\n\
                  [[routes]]\npath = \"/other\"\ngroup = \"other\"\n\
                  [[routes]]\ngroup = \"shop\"\n";
    std::fs::write(&file, groups).unwrap();
    let (guard, _) = begun(&["--from", &search(), "--config", &file]);
    let text = guard.page("/metrics");
    for (upstream, limit) in [
        ("127.0.0.1:18519", f64::from(MEASURED)),
        ("127.0.0.1:1", UNMEASURED),
    ] {
        let name = format!("plimsoll_guard_limit{{upstream=\"{upstream}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        assert_eq!(line.unwrap().parse(), Ok(limit), "{upstream}");
    }
}

#[test]
fn a_record_that_carries_nothing_is_refused_with_the_way_to_one_that_does() {
    let (no_line, not_valid) = (fixture("lock-healthy"), fixture("lock"));
    refused(&["--from", &no_line, "--check"], &["plimsoll find"]);
    refused(&["--from", &not_valid, "--check"], &["measure again"]);
}

/// Neither is taken for a record, and a guard does not start without what it was told to begin with.
#[test]
fn what_is_no_record_is_refused_by_its_name() {
    let folder = Folder::new();
    let (settings, cut, empty) = (
        folder.file("guard.toml"),
        folder.file("cut.jsonl"),
        folder.file("empty.jsonl"),
    );
    std::fs::write(&settings, "upstream = \"http://127.0.0.1:1\"\n").unwrap();
    let whole = std::fs::read_to_string(search()).unwrap();
    let lines: Vec<&str> = whole.lines().take(3).collect();
    std::fs::write(&cut, lines.join("\n")).unwrap();
    std::fs::write(&empty, "").unwrap();
    let none = folder.file("none.jsonl");
    for (file, says) in [
        (&none, &["none.jsonl", "No such file"][..]),
        (&settings, &["guard.toml", "not a record header"]),
        (&empty, &["empty.jsonl", "the record is empty"]),
        (&cut, &["cut.jsonl", "plimsoll find"]),
    ] {
        let up = [
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            "http://127.0.0.1:1",
        ];
        refused(&[&["--from", file.as_str()][..], &up].concat(), says);
    }
}

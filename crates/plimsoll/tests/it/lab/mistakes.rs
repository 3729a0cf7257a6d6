//! What is wrong with an experiment is said with the tier, the key and the fix; nothing is left behind.

use std::net::TcpListener;

use super::processes::assert_none_mention;
use super::{TINY, experiment};
use crate::support::{Folder, plimsoll};

const USAGE: i32 = 104;
const TIER_FAILED: i32 = 7;

/// One tier that is a shell script, and a load that nothing answers.
fn shell(script: &str, keys: &str) -> String {
    format!(
        "[tiers.app]\ncommand = \"sh\"\nargs = [\"-c\", '''{script}''']\n{keys}\n\
         [test]\nurl = \"http://${{app.address}}/\"\nduration = \"5s\"\nrate = \"20/s\"\nwarm_up = 0\n"
    )
}

fn refused(text: &str, code: i32, parts: &[&str]) {
    let folder = Folder::new();
    let path = experiment(&folder, text);
    let (found, stdout, stderr) =
        plimsoll(&folder, &["lab", &path, "--quick", "--quiet", "-o", "out"]);
    assert_eq!(found, code, "{text}\n{stdout}\n{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{part} is missing in\n{stderr}");
    }
    assert_eq!(stdout, "", "no table");
    assert!(
        !folder.0.join("out/lab.json").exists(),
        "no half-written result"
    );
    assert!(
        !folder.0.join("out/base-1/report.html").exists()
            && !folder.0.join("out/report.html").exists(),
        "no half-written report"
    );
    assert_none_mention(&folder);
}

#[test]
fn mistakes_in_the_file_are_found_before_anything_starts() {
    for (from, to, parts) in [
        (
            "title",
            "titel",
            [
                "experiment.toml:2: unknown key `titel`",
                "did you mean `title`?",
            ],
        ),
        (
            "embedded = \"downstream\"\nset = { answer = 1 }",
            "command = \"no-such-program\"",
            ["tiers.app.command: `no-such-program`", "not on the PATH"],
        ),
        (
            "cpu = 0.3",
            "cpu = 900",
            [
                "variant `A` asks for 900.5 cores (app 900, load generator 0.5)",
                "lower `cpu`",
            ],
        ),
        ("60/s", "often", ["test.rate: ", "`often` is not a rate"]),
        (
            "${proxy.address}/",
            "${proxi.address}/",
            [
                "test.url: variant `A` has no tier `proxi`",
                "did you mean `proxy`?",
            ],
        ),
    ] {
        refused(&TINY.replace(from, to), USAGE, &parts);
    }
    let folder = Folder::new();
    let (code, _, stderr) = plimsoll(&folder, &["lab", "no-such-file.toml"]);
    assert!(
        code == USAGE && stderr.contains("read the experiment no-such-file.toml"),
        "{stderr}"
    );
    let path = experiment(&folder, TINY);
    let (code, _, stderr) = plimsoll(&folder, &["lab", &path, "--only", "C"]);
    assert!(
        code == USAGE && stderr.contains("--only C: there is no such variant"),
        "{stderr}"
    );
    let (code, _, stderr) = plimsoll(&folder, &["lab", &path, "-o", "."]);
    assert!(code == USAGE && stderr.contains("is not empty"), "{stderr}");
}

#[test]
fn a_port_in_use_is_named_with_its_tier() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let text = shell("sleep 9", &format!("port = {port}"));
    refused(
        &text,
        USAGE,
        &[
            &format!("tiers.app.port: {port} on 127.0.0.1 cannot be had"),
            "leave `port` out",
        ],
    );
}

#[test]
fn a_tier_that_dies_at_start_is_shown_with_its_last_words() {
    let text = shell("echo one; echo cannot open the store >&2; exit 3", "");
    refused(
        &text,
        TIER_FAILED,
        &[
            "tier app ended with exit code 3 before it was ready",
            "    cannot open the store",
            "app.log",
        ],
    );
}

#[test]
fn a_tier_that_never_gets_ready_is_shown_with_what_was_waited_for() {
    let text = shell(
        "echo still thinking; exec sleep 60",
        "ready_within = \"300ms\"",
    );
    refused(
        &text,
        TIER_FAILED,
        &[
            "tier app was not ready within 300 ms",
            "nothing accepts connections",
            "still thinking",
            "ready_within",
        ],
    );
    let text = shell(
        "exec sleep 60",
        "ready_within = \"300ms\"\nready = \"line listening\"",
    );
    refused(&text, TIER_FAILED, &["it never printed `listening`"]);
}

#[test]
fn a_tier_that_dies_during_the_run_ends_it() {
    let text = TINY.replace(
        "[variants.A]",
        "[tiers.bomb]\ncommand = \"sh\"\nargs = [\"-c\", \"echo ready; sleep 3; echo out of memory; kill -9 $$$$\"]\nready = \"line ready\"\nneeds = [\"proxy\"]\n[variants.A]",
    );
    refused(
        &text
            .replace("\"2s\"\nwarm", "\"30s\"\nwarm")
            .replace("$$$$", "$$"),
        TIER_FAILED,
        &[
            "tier bomb was ended by signal 9 (SIGKILL) during the run",
            "    out of memory",
        ],
    );
}

#[test]
fn two_changes_at_once_are_warned_about_and_the_verdict_says_so() {
    let folder = Folder::new();
    let text = TINY.replace("set.answer = 30", "set.answer = 30\ncpu = 0.2");
    let path = experiment(&folder, &text);
    let (code, stdout, _) = plimsoll(&folder, &["lab", &path, "--check"]);
    assert_eq!(code, 0);
    assert!(
        stdout.contains("! variants ‘A’ and ‘B’ differ in 2 things"),
        "{stdout}"
    );
    let (code, stdout, _) = plimsoll(&folder, &["lab", &path, "--quick", "--quiet", "-o", "out"]);
    assert!(code == 0 || code == 3, "{stdout}");
    assert!(
        stdout.contains("! ‘B’ differs from ‘A’ in 2 things"),
        "{stdout}"
    );
}

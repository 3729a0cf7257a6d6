//! The lab is killed at any moment: none of its tiers, nor what they put into the background, outlives it.

use std::time::Duration;

use plimsoll_base::random::Rng;
use rustix::process::{Pid, Signal, kill_process};

use super::processes::{assert_none_mention, mentioning};
use super::{TINY, experiment};
use crate::support::{Folder, command, finished};

const SEED: u64 = 0x1ab;

/// A tier that leaves a process behind on purpose: in a session of its own, its parent gone, deaf to SIGTERM.
const STRAY: &str = r#"
[tiers.stray]
command = "sh"
args = ["-c", "(trap '' TERM; setsid sleep 600) & exec sleep 600"]
ready = "line never printed"
needs = ["proxy"]
"#;

fn rounds() -> u32 {
    if std::env::var_os("PLIMSOLL_SOAK").is_some() {
        100
    } else {
        6
    }
}

#[test]
fn a_killed_lab_leaves_no_process() {
    let mut rng = Rng::new(SEED, 0);
    let mut seen = 0;
    for round in 0..rounds() {
        let folder = Folder::new();
        // Every second round with a tier that puts a process into the background and never gets ready.
        let text = if round % 2 == 0 {
            format!("{TINY}{STRAY}")
        } else {
            TINY.to_owned()
        };
        let path = experiment(&folder, &text);
        let mut lab = command(&folder, &["lab", &path, "--quiet", "--quick", "-o", "out"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(rng.below(2_500)));
        // The test counts only if there was something to end.
        seen += mentioning(&folder.0.display().to_string())
            .len()
            .saturating_sub(1);
        lab.kill().unwrap();
        lab.wait().unwrap();
        assert_none_mention(&folder);
    }
    assert!(seen > 0, "no lab had started a tier when it was killed");
}

#[test]
fn an_interrupted_lab_ends_its_tiers_and_says_where_the_records_are() {
    let folder = Folder::new();
    let path = experiment(&folder, &TINY.replace("\"2s\"\nwarm", "\"60s\"\nwarm"));
    let mut lab = command(&folder, &["lab", &path, "--quick", "-o", "out"]);
    lab.stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let lab = lab.spawn().unwrap();
    let record = folder.0.join("out/A-1/run.plimsoll.jsonl");
    for _ in 0..1_500 {
        if std::fs::read_to_string(&record).is_ok_and(|text| text.contains("\"kind\":\"window\"")) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&lab), Signal::INT).unwrap();
    let (code, stdout, stderr) = finished(&lab.wait_with_output().unwrap());
    assert_eq!(code, 105, "{stderr}");
    assert!(
        stderr.contains(
            "interrupted during run 1 of 2: there is no verdict; the records so far are in out"
        ),
        "{stderr}"
    );
    assert_eq!(stdout, "", "no table of half an experiment");
    assert!(
        !folder.0.join("out/A-1/report.html").exists() && !folder.0.join("out/lab.json").exists()
    );
    assert_none_mention(&folder);
}

//! A guard before a tier, at a multiple of what the tier carries: refusals in time, and the limit as it moved.

use super::experiment;
use crate::support::{Folder, plimsoll};

const GUARDED: &str = r#"
title = "guarded"

[tiers.app]
embedded = "pinned-loop"
set = { cpu = 5 }

[test]
url = "http://${app.address}/"
rate = "3x"
times_of = "bare"
duration = "12s"
timeout = "1s"
warm_up = 0
cpu = 0.3

[objectives]
slo = "p99<1s"

[variants.bare]

[variants.guarded]
test.url = "http://${guard.address}/"

[variants.guarded.tiers.guard]
embedded = "guard"
args = ["--upstream=http://${app.address}"]
"#;

#[test]
fn a_guard_before_a_tier_refuses_what_is_too_much_and_shows_its_limit() {
    let folder = Folder::new();
    let path = experiment(&folder, GUARDED);
    let args = [
        "lab", &path, "--quick", "--only", "guarded", "-o", "out", "--format", "json",
    ];
    let (code, stdout, stderr) = plimsoll(&folder, &args);
    assert!(code == 0 || code == 3, "{code}\n{stdout}\n{stderr}");
    assert!(stderr.contains("the capacity of ‘bare’ is"), "{stderr}");
    assert!(
        folder
            .0
            .join("out/capacity-bare/run.plimsoll.jsonl")
            .exists()
    );
    let record = folder.file("out/guarded-1/run.plimsoll.jsonl");
    let text = std::fs::read_to_string(&record).unwrap();
    assert!(
        text.contains("plimsoll_guard_limit"),
        "the guard was not sampled"
    );
    assert!(text.contains("\"shed\""), "nothing was refused");
    for page in ["out/guarded-1/report.html", "out/report.html"] {
        let page = std::fs::read_to_string(folder.file(page)).unwrap();
        assert!(page.contains("The limit as it moved"));
    }
}

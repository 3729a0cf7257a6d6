//! The Node middleware's own tests, which load real servers, played one after another with the other loads.

use std::path::{Path, PathBuf};
use std::process::Command;

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../npm/plimsoll")
}

#[test]
fn the_middleware_passes_its_tests() {
    let is_ready = ["node_modules/express", "dist/index.js"]
        .iter()
        .all(|path| package().join(path).exists());
    assert!(
        is_ready,
        "the middleware is not built; run: scripts/real.sh"
    );
    let files: Vec<PathBuf> = std::fs::read_dir(package().join("test"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    let play = || {
        Command::new("node")
            .args(["--test", "--test-concurrency=1", "--test-reporter=tap"])
            .args(&files)
            .current_dir(package())
            .output()
            .unwrap()
    };
    // Some look at the lag of a real event loop, which other tests that run beside it disturb: what fails three times is no
    // disturbance.
    let mut output = play();
    for _ in 0..2 {
        if !output.status.success() {
            output = play();
        }
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let passed = text.lines().find_map(|line| line.strip_prefix("# pass "));
    let count: usize = passed.and_then(|count| count.parse().ok()).unwrap_or(0);
    assert!(count > files.len(), "no tests ran: {text}");
}

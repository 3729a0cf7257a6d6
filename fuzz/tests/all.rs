//! Every target for a few seconds, as `plimsoll-fuzz all` plays them.

use std::process::Command;

/// Long enough for a target to play its corpus and some thousands of mutants.
const SECONDS: &str = "5";

#[test]
fn every_target_survives_its_corpus_and_seconds_of_mutants() {
    let status = Command::new(env!("CARGO_BIN_EXE_plimsoll-fuzz"))
        .args(["all", "--seconds", SECONDS])
        .status()
        .unwrap();
    assert!(status.success(), "what failed is printed above");
}

//! Nothing half-done is left behind.

use super::Finding;
use super::source::Source;
use super::tree::File;

/// Written in two halves so that this file passes its own check.
const WORDS: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];
const CODE: [&str; 4] = ["todo!", "unimplemented!", "dbg!", "#[ignore"];

const FINISH: &str = "finish it, or write down in words what is missing and why it may wait";
const RUN_IT: &str =
    "make it work and run, or take it out; a test that does not run proves nothing";

pub(crate) fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for word in WORDS {
            if has_word(line, word) {
                findings.push(Finding::at_line(
                    &file.path,
                    index,
                    format!("{word} left"),
                    FINISH,
                ));
            }
        }
    }
    let Some(source) = Source::of(file) else {
        return findings;
    };
    for (index, line) in source.lines.iter().enumerate() {
        for code in CODE.iter().filter(|code| line.contains(**code)) {
            findings.push(Finding::at_line(
                &file.path,
                index,
                format!("{code} left"),
                RUN_IT,
            ));
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric())
        .any(|part| part == word)
}

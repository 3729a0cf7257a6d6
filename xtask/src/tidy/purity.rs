//! The pure middle takes time, randomness and output as arguments and reads nothing by itself.

use super::Finding;
use super::source::Source;
use super::tree::File;

const PURE_CRATES: [&str; 5] = ["core", "control", "analysis", "sim", "report"];

/// What a pure crate may not name, and what it does instead.
const FORBIDDEN: [(&str, &str, &str); 8] = [
    (
        "std",
        "fs",
        "take a `Read` or `Write` that the caller opened",
    ),
    (
        "std",
        "net",
        "take bytes or a record; sockets belong to plimsoll-net",
    ),
    (
        "std",
        "env",
        "take the value as an argument; the binary reads the environment",
    ),
    (
        "std",
        "thread",
        "return the work; the engine owns the threads",
    ),
    (
        "std",
        "process",
        "return a value; the binary sets the exit code and starts processes",
    ),
    (
        "std",
        "os",
        "take what the operating system said as an argument",
    ),
    ("plimsoll_base", "clock", TAKE_TIME),
    ("plimsoll_base", "poll", "sockets belong to plimsoll-net"),
];
const CLOCKS: [&str; 2] = ["Instant::now", "SystemTime"];
const TAKE_TIME: &str = "take `now` as an argument";

pub(crate) fn check(file: &File, source: &Source) -> Vec<Finding> {
    if !is_pure(&file.path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        if source.in_test[index] {
            continue;
        }
        for clock in CLOCKS {
            if line.contains(clock) {
                let problem = format!("{clock} in a pure crate");
                findings.push(Finding::at_line(&file.path, index, problem, TAKE_TIME));
            }
        }
        for (parent, module, fix) in FORBIDDEN {
            if names_module(line, parent, module) {
                let problem = format!("{parent}::{module} in a pure crate");
                findings.push(Finding::at_line(&file.path, index, problem, fix));
            }
        }
    }
    findings
}

fn is_pure(path: &str) -> bool {
    PURE_CRATES
        .iter()
        .any(|name| path.starts_with(&format!("crates/plimsoll-{name}/src/")))
}

/// `std::fs`, and `std::{…, fs, …}` on one line.
fn names_module(line: &str, parent: &str, module: &str) -> bool {
    line.match_indices(&format!("{parent}::"))
        .any(|(at, prefix)| {
            let after = line.get(at + prefix.len()..).unwrap_or_default();
            let mut names = match after.strip_prefix('{') {
                Some(group) => group.split([',', '}']).map(first_word).collect(),
                None => vec![first_word(after)],
            };
            names.retain(|name| *name == module);
            !names.is_empty()
        })
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()
        .unwrap_or_default()
}

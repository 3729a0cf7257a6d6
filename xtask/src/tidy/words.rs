//! Help text and documents use the words of the glossary.
//!
//! The list is the last column of the table in `docs/GLOSSARY.md`: what stands there in backquotes
//! is refused everywhere else; the rest of that column is advice, because it has other meanings too.

use super::Finding;
use super::tree::File;

const GLOSSARY: &str = "docs/GLOSSARY.md";

/// A refused phrase in lower case, and what to say instead.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Banned {
    phrase: String,
    instead: String,
}

pub(crate) fn banned_in_glossary(files: &[File]) -> Vec<Banned> {
    let glossary = files.iter().find(|file| file.path == GLOSSARY);
    glossary
        .map(|file| banned_in(&file.text))
        .unwrap_or_default()
}

pub(crate) fn banned_in(glossary: &str) -> Vec<Banned> {
    let mut banned = Vec::new();
    for row in glossary.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row
            .trim()
            .trim_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        let (Some(instead), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        for phrase in last.split('`').skip(1).step_by(2) {
            let (phrase, instead) = (phrase.to_lowercase(), (*instead).to_owned());
            banned.push(Banned { phrase, instead });
        }
    }
    banned
}

pub(crate) fn check(file: &File, banned: &[Banned]) -> Vec<Finding> {
    if !is_read_by_users(file) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let line = line.to_lowercase();
        for word in banned.iter().filter(|word| says(&line, &word.phrase)) {
            let problem = format!("says “{}”", word.phrase);
            let fix = format!("say “{}” ({GLOSSARY})", word.instead);
            findings.push(Finding::at_line(&file.path, index, problem, &fix));
        }
    }
    findings
}

/// Documents, and the binary's sources, whose doc comments and strings are the help text.
fn is_read_by_users(file: &File) -> bool {
    let is_document = file.has_extension("md") && file.path != GLOSSARY;
    is_document || file.path.starts_with("crates/plimsoll/src/")
}

fn says(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + phrase.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

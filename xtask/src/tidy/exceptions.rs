//! A list of what a check lets pass for now: one name a line, and it may only get shorter.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::File;

const STRIKE: &str = "strike the line";
const MEND: &str = "mend what is new instead of listing it";

/// The lines of a list, each with its number and whether the check met it.
pub(crate) struct Exceptions {
    path: &'static str,
    lines: BTreeMap<String, (usize, bool)>,
}

impl Exceptions {
    /// Reads the list out of the tree; without the file it is empty. `#` begins a comment.
    pub(crate) fn read(files: &[File], path: &'static str) -> Self {
        let text = files.iter().find(|file| file.path == path);
        let lines = text.map_or("", |file| file.text.as_str()).lines();
        let entries = lines.enumerate().filter_map(|(number, line)| {
            let entry = line.trim();
            let is_entry = !entry.is_empty() && !entry.starts_with('#');
            is_entry.then(|| (entry.to_owned(), (number, false)))
        });
        Self {
            path,
            lines: entries.collect(),
        }
    }

    /// Whether `entry` is listed; notes that it is needed.
    pub(crate) fn take(&mut self, entry: &str) -> bool {
        let found = self.lines.get_mut(entry);
        found.map(|(_, is_needed)| *is_needed = true).is_some()
    }

    /// What is wrong with the list itself: lines that no longer say anything, and more of them than `most`.
    pub(crate) fn unneeded(self, most: usize) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.lines.len() > most {
            let problem = format!("{} exceptions; there were {most}", self.lines.len());
            findings.push(Finding::at(self.path, problem, MEND));
        }
        for (entry, (number, is_needed)) in self.lines {
            if !is_needed {
                let problem = format!("`{entry}` is no exception any more");
                findings.push(Finding::at_line(self.path, number, problem, STRIKE));
            }
        }
        findings
    }
}

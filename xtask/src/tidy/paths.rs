//! No file names a place that exists on one person's machine only.

use std::path::Path;

use super::Finding;
use super::tree::File;

const FIX: &str = "say it relative to the repository, or take it as an argument";

/// Folders that are the same everywhere, so naming them gives nothing away.
const SHARED_FOLDERS: [&str; 7] = ["/", "/tmp", "/home", "/srv", "/opt", "/mnt", "/var/tmp"];

/// Prefixes of paths that mean something here and nowhere else.
#[derive(Debug)]
pub(crate) struct LocalPaths(Vec<String>);

impl LocalPaths {
    /// The home folder, this checkout, and the folder that it lives in.
    pub(crate) fn of_checkout(root: &Path, home: Option<&Path>) -> Self {
        let candidates = [home, Some(root), root.parent()];
        let mut prefixes: Vec<String> = candidates
            .into_iter()
            .flatten()
            .map(|path| path.to_string_lossy().into_owned())
            .filter(|path| !SHARED_FOLDERS.contains(&path.as_str()))
            .collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        Self(prefixes)
    }
}

pub(crate) fn check(file: &File, local: &LocalPaths) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let named = local.0.iter().find(|prefix| names_path(line, prefix));
        if let Some(prefix) = named {
            let problem = format!("names {prefix}, which exists on this machine only");
            findings.push(Finding::at_line(&file.path, index, problem, FIX));
        }
    }
    findings
}

/// The prefix as whole path components: neither `/rooted` nor `/a/root` is `/root`.
fn names_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + prefix.len()..)
            .and_then(|text| text.chars().next());
        let starts = before.is_none_or(|c| !is_path_character(c));
        starts && after == Some('/')
    })
}

fn is_path_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '}')
}

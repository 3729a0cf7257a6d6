//! Reads the tree once, runs every check over it and collects what they found.

mod circles;
mod exceptions;
mod header;
mod imports;
mod layers;
mod length;
mod manifests;
mod markers;
mod pages;
mod paths;
mod public;
mod purity;
mod source;
mod thresholds;
mod tree;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

pub(crate) use length::FUNCTION_LINES_AIM;

/// One breach: where it is, what is wrong, and what to do about it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Finding {
    place: String,
    problem: String,
    fix: String,
}

impl Finding {
    fn at_line(path: &str, line_index: usize, problem: impl Into<String>, fix: &str) -> Self {
        Self::at(&format!("{path}:{}", line_index + 1), problem, fix)
    }

    fn at(place: &str, problem: impl Into<String>, fix: &str) -> Self {
        Self {
            place: place.to_owned(),
            problem: problem.into(),
            fix: fix.to_owned(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}: {}\n    fix: {}",
            self.place, self.problem, self.fix
        )
    }
}

/// What one pass over the tree found.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
    pub(crate) files_read: usize,
    pub(crate) long_functions: usize,
}

/// Runs every check over the workspace at `root`.
pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    let files = tree::read(root)?;
    let glossary = words::banned_in_glossary(&files);
    let local = paths::LocalPaths::of_checkout(root, std::env::home_dir().as_deref());
    let mut findings = layers::check(root)?;
    let mut long_functions = 0;
    findings.extend(manifests::check(&files));
    findings.extend(pages::check(&files));
    for file in &files {
        findings.extend(markers::check(file));
        findings.extend(paths::check(file, &local));
        findings.extend(words::check(file, &glossary));
    }
    let sources: Vec<_> = files
        .iter()
        .filter_map(|file| Some((file, source::Source::of(file)?)))
        .collect();
    for (file, source) in &sources {
        findings.extend(header::check(file, source));
        findings.extend(length::check(file, source));
        findings.extend(purity::check(file, source));
        findings.extend(thresholds::check(file, source));
        long_functions += length::functions_over_aim(source);
    }
    let read: Vec<_> = sources
        .iter()
        .map(|(file, source)| (*file, source))
        .collect();
    findings.extend(circles::check(&imports::uses(&read)));
    findings.extend(public::check(&files, &read));
    findings.sort();
    Ok(Report {
        findings,
        files_read: files.len(),
        long_functions,
    })
}

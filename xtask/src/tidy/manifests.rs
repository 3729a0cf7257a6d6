//! Every crate inherits the lint table and has a short README.

use super::Finding;
use super::tree::File;

const README_LINES_MAX: usize = 30;

const INHERIT: &str = "add `[lints]` with `workspace = true`";
const WRITE_README: &str = "write ten lines: its job, what it must never do, where it starts";
const SHORTEN: &str = "keep the README to job, limits and where to start; move the rest to docs/";

pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
    {
        if !inherits_lints(&manifest.text) {
            findings.push(Finding::at(
                &manifest.path,
                "does not inherit the lint table",
                INHERIT,
            ));
        }
        let readme = manifest.path.replace("Cargo.toml", "README.md");
        match files.iter().find(|file| file.path == readme) {
            None => findings.push(Finding::at(&readme, "missing", WRITE_README)),
            Some(file) if file.text.lines().count() > README_LINES_MAX => {
                let problem = format!("longer than {README_LINES_MAX} lines");
                findings.push(Finding::at(&readme, problem, SHORTEN));
            }
            Some(_) => {}
        }
    }
    findings
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[lints]")
        .skip(1);
    lines.next() == Some("workspace = true")
}

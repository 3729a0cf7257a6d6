//! What a page of architecture names exists, and each of its invariants names what holds it or says "review".

use super::Finding;
use super::tree::File;

const PAGE: &str = "ARCHITECTURE.md";

pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let pages = files.iter().filter(|file| file.path.ends_with(PAGE));
    pages.flat_map(|page| check_page(page, files)).collect()
}

fn check_page(page: &File, files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_among_invariants = false;
    for (index, line) in page.text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            is_among_invariants = heading == "Invariants";
        }
        for name in quoted(line).filter(|name| !exists(name, files)) {
            let problem = format!("names `{name}`, which does not exist");
            let fix = "name what is there now, or take the sentence out";
            findings.push(Finding::at_line(&page.path, index, problem, fix));
        }
        if is_among_invariants
            && held_by(line).is_some_and(|held| !held.contains('`') && !held.contains("review"))
        {
            let problem = "an invariant without what holds it";
            let fix = "name the check or test in backquotes, or say \"review\"";
            findings.push(Finding::at_line(&page.path, index, problem, fix));
        }
    }
    findings
}

/// What stands in backquotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The last cell of a table's row; none for its heading and for other lines.
fn held_by(line: &str) -> Option<&str> {
    let row = line.strip_prefix("| ")?.strip_suffix('|')?;
    let held = row.rsplit('|').next()?.trim();
    (held != "held by").then_some(held)
}

/// Only paths and names of tests can be looked up; all else is taken as it is.
fn exists(name: &str, files: &[File]) -> bool {
    if let Some(folder) = name.strip_suffix('/') {
        return files.iter().any(|file| is_below(&file.path, folder));
    }
    if is_path(name) {
        return files
            .iter()
            .any(|file| ends_with(&file.path, name) || is_below(&file.path, name));
    }
    if is_sentence(name) {
        let definition = format!("fn {name}(");
        return files.iter().any(|file| file.text.contains(&definition));
    }
    true
}

fn is_path(name: &str) -> bool {
    let is_plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
    let has_ending = [".rs", ".toml", ".md", ".txt", ".sh", ".py"]
        .iter()
        .any(|ending| name.ends_with(ending));
    is_plain && !name.starts_with('/') && (has_ending || name.contains('/'))
}

/// Tests are named by sentences; four words are no variable.
fn is_sentence(name: &str) -> bool {
    let is_snake = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    is_snake && name.matches('_').count() >= 3
}

/// `engine/src/worker.rs` stands for `crates/plimsoll-engine/src/worker.rs`.
fn ends_with(path: &str, name: &str) -> bool {
    path.strip_suffix(name)
        .is_some_and(|before| before.is_empty() || before.ends_with(['/', '-']))
}

fn is_below(path: &str, folder: &str) -> bool {
    let mut at = path.match_indices(folder);
    at.any(|(at, _)| {
        let (before, after) = (path.get(..at), path.get(at + folder.len()..));
        before.is_some_and(|text| text.is_empty() || text.ends_with(['/', '-']))
            && after.is_some_and(|text| text.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_page_names_what_is_there() {
        let tree = |page: &str| {
            let code = "fn a_failure_is_infinitely_late() {}";
            [
                file("docs/ARCHITECTURE.md", page),
                file("crates/plimsoll-core/src/judge.rs", code),
            ]
        };
        let fine = "`core/src/judge.rs` `judge.rs` `crates/plimsoll-core/src` `core/src/` `a_failure_is_infinitely_late` `Worker`\n\
                    ## Invariants\n| what | held by |\n|---|---|\n| a | `judge.rs` |\n| b | review |\n";
        assert_eq!(check(&tree(fine)), []);
        for wrong in [
            "`core/judge.rs`",
            "`dge.rs`",
            "`core/tests/`",
            "`a_failure_is_a_bit_late`",
            "## Invariants\n| a | the types |\n",
        ] {
            assert_eq!(check(&tree(wrong)).len(), 1, "{wrong}");
        }
    }
}

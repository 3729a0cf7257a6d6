//! Reads the text files of the checkout that people write by hand.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// One file: its path from the workspace root, with `/`, and its text.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn has_extension(&self, wanted: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|extension| extension == wanted)
    }

    /// Whether the file is only ever compiled into tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path
            .split('/')
            .any(|part| matches!(part, "tests" | "tests.rs" | "benches"))
    }
}

/// Folders that hold what tools or runs wrote.
const SKIPPED_FOLDERS: [&str; 9] = [
    "target",
    ".git",
    "node_modules",
    "dist",
    ".tools",
    "corpus",
    "fixtures",
    "results",
    "demo-out",
];
const EXTENSIONS: [&str; 14] = [
    "rs", "md", "toml", "py", "sh", "c", "mjs", "js", "ts", "html", "css", "yml", "json", "txt",
];
const NAMES: [&str; 2] = ["Makefile", "run"];

pub(crate) fn read(root: &Path) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    read_folder(root, "", &mut files)?;
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("list {}", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry
            .file_type()
            .with_context(|| format!("look at {name}"))?;
        let path = format!("{prefix}{name}");
        if kind.is_dir() && !is_skipped(&name) {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() && is_read(&name) {
            let bytes = fs::read(entry.path()).with_context(|| format!("read {path}"))?;
            files.push(File {
                path,
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
    }
    Ok(())
}

/// A run leaves its report in a folder named `plimsoll-` and a time of day, the lab in one named `plimsoll-lab-` and a date.
fn is_skipped(folder: &str) -> bool {
    let is_run = folder
        .strip_prefix("plimsoll-")
        .map(|rest| rest.strip_prefix("lab-").unwrap_or(rest))
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    is_run || SKIPPED_FOLDERS.contains(&folder)
}

fn is_read(name: &str) -> bool {
    let extension = Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str());
    NAMES.contains(&name) || extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

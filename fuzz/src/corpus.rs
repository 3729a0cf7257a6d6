//! The inputs that a run starts from: `corpus/TARGET/`, read in the order of their names.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

pub(crate) fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target)
}

/// Every file of the target's folder; none is a mistake.
pub(crate) fn read(target: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    let folder = folder(target);
    let listed = || format!("list {}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(&folder).with_context(listed)? {
        paths.push(entry.with_context(listed)?.path());
    }
    ensure!(
        !paths.is_empty(),
        "{} holds no input to start from",
        folder.display()
    );
    paths.sort();
    let read = |path: &PathBuf| fs::read(path).with_context(|| format!("read {}", path.display()));
    paths.iter().map(read).collect()
}

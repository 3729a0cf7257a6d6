//! What a sweep is, kept beside its records, so that it can go on after an interruption.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_core::sweep::Dimension;
use serde_json::{Value, json};

const SCHEMA: &str = "plimsoll.sweep-plan/1";

/// What makes a sweep the same.
pub(super) struct Kept<'p> {
    pub(super) test: String,
    /// The same with its secrets and without: whether they are shown does not make it another sweep.
    pub(super) spellings: [String; 2],
    pub(super) dimensions: &'p [Dimension],
    pub(super) repeat: u32,
    pub(super) seed: u64,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("plan.json")
}

/// In a new folder, or an empty one: records of two sweeps never mix.
pub(super) fn write(folder: &Path, kept: &Kept<'_>) -> Result<()> {
    let shown = folder.display();
    std::fs::create_dir_all(folder).with_context(|| format!("create folder {shown}"))?;
    let inside = std::fs::read_dir(folder);
    let mut inside = inside.with_context(|| format!("look into {shown}"))?;
    ensure!(
        inside.next().is_none(),
        "{shown} is not empty: name another folder with -o, or go on with the sweep in it by --resume"
    );
    let document = json!({
        "schema": SCHEMA,
        "test": kept.test,
        "dimensions": kept.dimensions,
        "repeat": kept.repeat,
        "seed": kept.seed,
    });
    let path = path(folder);
    let text = serde_json::to_string_pretty(&document)? + "\n";
    std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

fn read(folder: &Path) -> Result<Value> {
    let path = path(folder);
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "--resume: {} holds no sweep that could go on",
            folder.display()
        )
    })?;
    let plan: Value =
        serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))?;
    let schema = plan["schema"].as_str().unwrap_or_default();
    ensure!(
        schema == SCHEMA,
        "{}: schema `{schema}` is not {SCHEMA}",
        path.display()
    );
    Ok(plan)
}

/// The seed that the sweep began with, which decides its order.
pub(super) fn seed(folder: &Path, said: Option<u64>) -> Result<u64> {
    let seed = read(folder)?["seed"].as_u64();
    let seed = seed.with_context(|| format!("{} has no seed", path(folder).display()))?;
    match said {
        Some(said) if said != seed => {
            bail!("--seed {said}: the sweep began with {seed}; leave it out")
        }
        _ => Ok(seed),
    }
}

/// Refuses to go on with another sweep than the one that is there.
pub(super) fn check(folder: &Path, wanted: &Kept<'_>) -> Result<()> {
    let kept = read(folder)?;
    let here = folder.display();
    ensure!(
        wanted.spellings.iter().any(|test| kept["test"] == *test),
        "{here} is a sweep of {}, not of {}",
        kept["test"],
        wanted.test
    );
    ensure!(
        kept["repeat"] == wanted.repeat,
        "{here} is a sweep with --repeat {}, not {}",
        kept["repeat"],
        wanted.repeat
    );
    if kept["dimensions"] != serde_json::to_value(wanted.dimensions)? {
        let each = wanted.dimensions.iter();
        let each = each.map(|it| format!("--vary {}={}", it.name, it.values.join(",")));
        bail!(
            "{here} is a sweep of other values than {}: see its plan.json",
            each.collect::<Vec<_>>().join(" ")
        );
    }
    Ok(())
}

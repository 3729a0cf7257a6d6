//! Comparison of records that were kept, and of other tools' results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use plimsoll_analysis::compare::{self, Fingerprint};
use plimsoll_core::comparison::{Design, Effect, Standing};
use plimsoll_report::view::comparison as words;
use plimsoll_report::{json, markdown, terminal};

use super::{Loaded, Pairing, conclude, judged, order, style};
use crate::args::{Args, FailOn, Format};
use crate::commands::audit;
use crate::exit::Exit;
use crate::{output, records};

/// `--a FILES --b FILES`.
pub(super) fn sides(args: &Args) -> Result<Exit> {
    let saved = &args.compare;
    refuse_twice(saved.a.iter().chain(&saved.b))?;
    if saved.paired && saved.a.len() != saved.b.len() {
        bail!(
            "--paired needs as many records in --a as in --b, and there are {} and {}",
            saved.a.len(),
            saved.b.len()
        );
    }
    let sides = [("A", &saved.a), ("B", &saved.b)]
        .into_iter()
        .map(|(name, paths)| Ok((name.to_owned(), load_all(paths)?)))
        .collect::<Result<_>>()?;
    finish(args, sides, saved.paired)
}

/// One record of each variant.
pub(super) fn singles(args: &Args) -> Result<Exit> {
    let paths: Vec<PathBuf> = args.words.iter().map(PathBuf::from).collect();
    if paths.len() < 2 {
        bail!(
            "{} is the only record: give another to compare it with",
            paths[0].display()
        );
    }
    refuse_twice(paths.iter())?;
    let mut sides = Vec::new();
    for (index, loaded) in load_all(&paths)?.into_iter().enumerate() {
        sides.push((order::letter(index), vec![loaded]));
    }
    finish(args, sides, false)
}

fn finish(args: &Args, sides: Vec<(String, Vec<Loaded>)>, is_paired: bool) -> Result<Exit> {
    let asked = Pairing {
        design: if is_paired {
            Design::Paired
        } else {
            Design::Unpaired
        },
        is_calibration: false,
        seed: args.seed.unwrap_or(1),
        pairs: None,
    };
    let asked_of = &args.compare;
    let comparison = judged(sides, asked_of.primary, asked_of.margin, &asked)?;
    Ok(conclude(&comparison, args, asked_of.report.as_deref()))
}

/// `--history FILES`.
pub(super) fn history(args: &Args) -> Result<Exit> {
    let paths = &args.compare.history;
    refuse_twice(paths.iter())?;
    if args.compare.report.is_some() {
        bail!(
            "--report is for variants beside each other; --history prints text, JSON or Markdown"
        );
    }
    let (mut runs, mut prints) = (Vec::new(), Vec::new());
    for loaded in load_all(paths)? {
        if loaded.run.started_at.is_empty() {
            bail!(
                "{} does not say when it was run, so it has no place in a history",
                loaded.run.name
            );
        }
        runs.push(loaded.run);
        prints.push(loaded.fingerprint);
    }
    let mismatches = compare::mismatches(&[("the runs".to_owned(), prints)]);
    let refused = |effect| effect >= Effect::Withholds;
    if let Some(mismatch) = mismatches.iter().find(|mismatch| refused(mismatch.effect)) {
        bail!(
            "these runs were not measured alike: {}; a history needs runs that were",
            words::mismatch(mismatch)
        );
    }
    let seed = args.seed.unwrap_or(1);
    let history =
        compare::history(runs, mismatches, args.compare.primary, seed).context("--history")?;
    output::data(&match args.output.format {
        Format::Json => json::history(&history),
        Format::Markdown => markdown::history(&history),
        Format::Text => terminal::history(&history, &style(None)),
    });
    let last = history.changes.last().map(|change| change.standing);
    let is_undecided = history.changes.is_empty() && history.detectable.is_none();
    Ok(match (last, args.compare.fail_on) {
        (Some(Standing::Worse), FailOn::Worse | FailOn::Inconclusive) => Exit::Worse,
        // So few runs show no change, however large.
        _ if is_undecided && args.compare.fail_on == FailOn::Inconclusive => Exit::Inconclusive,
        _ => Exit::Passed,
    })
}

/// A run counts once, under whatever name it is given.
fn refuse_twice<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for path in paths {
        // What does not exist is named when it is opened.
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if !seen.insert(real) {
            bail!("{} is given twice: a run counts once", path.display());
        }
    }
    Ok(())
}

fn load_all(paths: &[PathBuf]) -> Result<Vec<Loaded>> {
    paths.iter().map(|path| load(path)).collect()
}

fn load(path: &Path) -> Result<Loaded> {
    let name = path.display().to_string();
    if path.is_dir() {
        bail!("{name} is a folder; give the records in it, such as {name}/*.plimsoll.jsonl");
    }
    if let Some(result) = audit::foreign(path)? {
        return Ok(Loaded {
            run: compare::of_result(&name, &result),
            fingerprint: Fingerprint::from_result(&result),
            objectives: None,
        });
    }
    let record = records::read(path)?;
    let verdict = record
        .verdict
        .as_ref()
        .context("a record that was read has a verdict")?;
    Ok(Loaded::new(&name, &record, verdict))
}

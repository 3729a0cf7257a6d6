//! Comparison of records that were kept, and of other tools' results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use plimsoll_analysis::compare::{self, Fingerprint};
use plimsoll_core::comparison::{Design, Effect, Standing};
use plimsoll_report::view::comparison as words;
use plimsoll_report::{json, markdown, terminal};

use super::{Asked, Loaded, compared, conclude, order, primary, style};
use crate::args::{ArrivalsArg, CompareArgs, FailOnArg, Format};
use crate::commands::audit;
use crate::exit::Exit;
use crate::from_args::flags_of_urls;
use crate::{output, records, verdicts};

/// `--a FILES --b FILES`.
pub(super) fn sides(args: &CompareArgs) -> Result<Exit> {
    let saved = &args.saved;
    refuse_live(args)?;
    refuse_twice(saved.a.iter().chain(&saved.b))?;
    if saved.paired && saved.a.len() != saved.b.len() {
        bail!(
            "--paired takes the n-th of --a beside the n-th of --b: {} and {} are not as many",
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
pub(super) fn singles(args: &CompareArgs) -> Result<Exit> {
    refuse_live(args)?;
    let paths: Vec<PathBuf> = args.targets.iter().map(PathBuf::from).collect();
    if paths.len() < 2 {
        bail!(
            "{} alone is nothing to compare: give another record",
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

fn finish(args: &CompareArgs, sides: Vec<(String, Vec<Loaded>)>, is_paired: bool) -> Result<Exit> {
    let asked = Asked {
        design: if is_paired {
            Design::Paired
        } else {
            Design::Unpaired
        },
        is_calibration: false,
        seed: args.with.seed.unwrap_or(1),
        pairs: None,
    };
    let comparison = compared(sides, &args.judge, &asked)?;
    conclude(&comparison, args, args.judge.report.as_deref())
}

/// `--history FILES`.
pub(super) fn history(args: &CompareArgs) -> Result<Exit> {
    refuse_live(args)?;
    let paths = &args.saved.history;
    refuse_twice(paths.iter())?;
    if args.judge.report.is_some() {
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
            "these runs are no history, {}; keep those that were measured alike",
            words::mismatch(mismatch)
        );
    }
    let seed = args.with.seed.unwrap_or(1);
    let history =
        compare::history(runs, mismatches, primary(&args.judge)?, seed).context("--history")?;
    output::data(&match args.judge.format {
        Format::Json => json::history(&history),
        Format::Markdown => markdown::history(&history),
        Format::Text => terminal::history(&history, &style(None)),
    });
    let last = history.changes.last().map(|change| change.standing);
    Ok(match (last, args.judge.fail_on) {
        (Some(Standing::Worse), FailOnArg::Worse | FailOnArg::Inconclusive) => Exit::Worse,
        _ => Exit::Passed,
    })
}

/// Flags of live runs say nothing about records.
fn refuse_live(args: &CompareArgs) -> Result<()> {
    let (live, with) = (&args.live, &args.with);
    let of_runs = [
        ("--aa", live.aa),
        ("--find", live.find),
        ("--pairs", live.pairs.is_some()),
        ("--rate", live.rate.is_some()),
        ("-c", live.connections.is_some()),
        ("-z", live.duration.is_some()),
        ("--within", live.within != "3m"),
        ("--max-rate", live.max_rate.is_some()),
        ("--arrivals", live.arrivals != ArrivalsArg::Poisson),
        ("--timeout", live.timeout != "10s"),
        ("--slo", live.slo.is_some()),
        ("-e", !live.env.is_empty()),
        ("-k", with.insecure),
        ("--workers", with.workers.is_some()),
        ("--watch", !args.watch.watch.is_empty()),
        ("--yes", live.yes),
        ("-o", live.out.is_some()),
    ];
    for (flag, is_given) in of_runs.into_iter().chain(flags_of_urls(with)) {
        if is_given {
            bail!("{flag} is for targets that are played now; records say how they were made");
        }
    }
    Ok(())
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
            fingerprint: Fingerprint::of_result(&result),
            objectives: None,
        });
    }
    let record = records::read(path)?;
    let verdict = verdicts::of(&record);
    Ok(Loaded {
        run: compare::of_record(&name, &record, &verdict),
        fingerprint: Fingerprint::of_record(&record.header),
        objectives: record.header.test.objectives().cloned(),
    })
}

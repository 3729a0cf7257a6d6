//! `plimsoll report RECORD…`: one self-contained HTML file.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use plimsoll_analysis::experiment::judged;
use plimsoll_core::experiment::Run;
use plimsoll_core::record::Record;
use plimsoll_report::html;
use plimsoll_report::variants::Shown;

use crate::args::Args;
use crate::exit::Exit;
use crate::session::DEFAULT_NAME;
use crate::{output, records, side_by_side, verdicts};

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let asked: Vec<PathBuf> = args.words.iter().map(PathBuf::from).collect();
    let paths = found(&asked)?;
    let mut read: Vec<Record> = paths
        .iter()
        .map(|path| records::read(path))
        .collect::<Result<_>>()?;
    read.iter_mut().for_each(verdicts::complete);
    let runs = paths.iter().zip(&read).map(|(path, record)| Run {
        path: path.display().to_string(),
        record,
    });
    let experiment = side_by_side::experiment(runs.collect(), "the records that were given".into());
    let html = match experiment.filter(|experiment| experiment.variants.len() > 1) {
        Some(experiment) => {
            html::experiment(&Shown::new(&judged(experiment)), env!("CARGO_PKG_VERSION"))
        }
        None => html::render(&read),
    };
    let out = args.output.out.clone().unwrap_or_else(|| beside(&asked));
    std::fs::write(&out, html).with_context(|| format!("write report {}", out.display()))?;
    output::progress(&format!("report  {}", out.display()));
    Ok(Exit::Passed)
}

/// Where the lab and a run write theirs, too.
fn beside(records: &[PathBuf]) -> PathBuf {
    match records {
        [folder] if folder.is_dir() => folder.join("report.html"),
        _ => PathBuf::from("report.html"),
    }
}

/// The records themselves: of a folder the one in it, or those in its folders by their names.
fn found(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let inside =
            std::fs::read_dir(path).with_context(|| format!("look into {}", path.display()))?;
        let mut folders = vec![path.clone()];
        for entry in inside {
            folders.push(entry.context("look into a folder of records")?.path());
        }
        folders.sort();
        let records = folders.into_iter().map(|folder| folder.join(DEFAULT_NAME));
        let before = found.len();
        found.extend(records.filter(|record| record.is_file()));
        if found.len() == before {
            bail!(
                "{} has no {DEFAULT_NAME}, nor has a folder in it: name a record, or the folder of a run or a lab",
                path.display()
            );
        }
    }
    Ok(found)
}

//! `plimsoll report RECORD…`: one self-contained HTML file.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use plimsoll_analysis::experiment::judged;
use plimsoll_core::experiment::Run;
use plimsoll_core::record::Record;
use plimsoll_report::html;
use plimsoll_report::variants::Shown;

use crate::args::Args;
use crate::exit::Exit;
use crate::{output, records, side_by_side};

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    if let Some(path) = &args.output.out {
        output::refuse_existing(path, args.output.force)?;
    }
    let asked: Vec<PathBuf> = args.words.iter().map(PathBuf::from).collect();
    let paths = records::found(&asked)?;
    let read: Vec<Record> = paths
        .iter()
        .map(|path| records::read(path))
        .collect::<Result<_>>()?;
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

//! The end of an experiment: its variants side by side, on stdout and as `lab.json` beside the records.

use std::path::Path;

use anyhow::{Context as _, Result};
use plimsoll_analysis::experiment::judged;
use plimsoll_core::experiment::Run;
use plimsoll_report::html;
use plimsoll_report::variants::{self, Shown};

use super::foresee::Foresight;
use super::play::Played;
use crate::args::{Format, LabArgs};
use crate::exit::Exit;
use crate::{output, side_by_side};

pub(super) fn show(
    warnings: &[String],
    played: &[Played],
    foresight: &Foresight,
    folder: &Path,
    args: &LabArgs,
) -> Result<Exit> {
    let runs = played.iter().map(|run| Run {
        path: run.path.clone(),
        record: &run.record,
    });
    let experiment = side_by_side::experiment(runs.collect(), folder.display().to_string());
    let mut experiment = experiment.context("no run was played")?;
    for variant in &mut experiment.variants {
        variant.predicted = foresight.of(variant.name);
    }
    experiment.warnings.splice(0..0, warnings.iter().cloned());
    let page = folder.join("report.html");
    experiment.report = Some(page.display().to_string());
    let judged = judged(experiment);
    let shown = Shown::new(&judged);
    write_whole(&page, &html::experiment(&shown, env!("CARGO_PKG_VERSION")))?;
    let text = serde_json::to_string_pretty(&variants::document(&shown))? + "\n";
    write_whole(&folder.join("lab.json"), &text)?;
    output::data(&match args.format {
        Format::Json => text,
        Format::Markdown => variants::markdown(&shown),
        Format::Text => variants::text(&shown, output::terminal_columns()),
    });
    let mut runs = judged.experiment.variants.iter().flat_map(|one| &one.runs);
    Ok(if runs.all(Run::is_valid) {
        Exit::Passed
    } else {
        Exit::RunInvalid
    })
}

/// There at once and whole, or not at all.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let part = path.with_extension("part");
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, path))
        .with_context(|| format!("write {}", path.display()))
}

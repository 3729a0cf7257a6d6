//! The end of an experiment: its variants side by side, on stdout and as `lab.json` beside the records.

use std::path::Path;

use anyhow::{Context as _, Result};
use plimsoll_analysis::experiment;
use plimsoll_core::experiment::{Judged, Run};
use plimsoll_report::html;
use plimsoll_report::variants::{self, Shown};

use super::Series;
use crate::args::Format;
use crate::exit::Exit;
use crate::{output, side_by_side};

/// The page, beside the records.
const PAGE: &str = "report.html";

/// What was played so far, put together and judged.
pub(super) fn judged<'s>(
    series: &'s Series,
    warnings: &[String],
    folder: &Path,
) -> Result<Judged<'s>> {
    let runs = series.played.iter().map(|run| Run {
        path: run.path.clone(),
        record: &run.record,
    });
    let together = side_by_side::experiment(runs.collect(), folder.display().to_string());
    let mut together = together.context("no run was played")?;
    series.foresight.tell(&mut together);
    together.warnings.splice(0..0, warnings.iter().cloned());
    together.report = Some(folder.join(PAGE).display().to_string());
    Ok(experiment::judged(together))
}

/// Shows it in every form; the exit code says whether every run is valid.
pub(super) fn show(judged: &Judged<'_>, folder: &Path, format: Format) -> Result<Exit> {
    let shown = Shown::new(judged);
    let document = serde_json::to_string_pretty(&variants::document(&shown))? + "\n";
    write_whole(&folder.join("lab.json"), &document)?;
    let page = html::experiment(&shown, env!("CARGO_PKG_VERSION"));
    write_whole(&folder.join(PAGE), &page)?;
    output::data(&match format {
        Format::Json => document,
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

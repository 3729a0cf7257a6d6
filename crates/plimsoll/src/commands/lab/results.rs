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
    output::data(&match format {
        Format::Json => document.clone(),
        Format::Markdown => variants::markdown(&shown),
        Format::Text => variants::text(&shown, output::terminal_columns()),
    });
    // Whatever becomes of the files, the result has been said.
    output::keep("the result", &folder.join("lab.json"), document.as_bytes());
    let page = html::experiment(&shown, env!("CARGO_PKG_VERSION"));
    output::keep("the report", &folder.join(PAGE), page.as_bytes());
    let mut runs = judged.experiment.variants.iter().flat_map(|one| &one.runs);
    Ok(if runs.all(Run::is_valid) {
        Exit::Passed
    } else {
        Exit::RunInvalid
    })
}

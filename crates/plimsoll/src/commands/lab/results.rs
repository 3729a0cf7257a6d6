//! The end of an experiment: its variants side by side, on stdout and as `lab.json` beside the records.

use std::path::Path;

use anyhow::{Context as _, Result};
use plimsoll_analysis::experiment::judged;
use plimsoll_core::experiment::{Experiment, Run, Variant};
use plimsoll_report::{html, variants};

use super::confirm;
use super::foresee::Foresight;
use super::plan::Plan;
use super::play::Played;
use crate::against_bases::{self, Side};
use crate::args::{Format, LabArgs};
use crate::exit::Exit;
use crate::output;

pub(super) fn show(
    plan: &Plan,
    played: &[Played],
    foresight: &Foresight,
    folder: &Path,
    args: &LabArgs,
) -> Result<Exit> {
    let page = folder.join("report.html");
    let mut experiment = side_by_side(plan, played, foresight, folder);
    experiment.report = Some(page.display().to_string());
    let experiment = judged(experiment);
    let page_text = html::experiment(&experiment, env!("CARGO_PKG_VERSION"));
    write_whole(&page, &page_text)?;
    let document = variants::document(&experiment);
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    let path = folder.join("lab.json");
    write_whole(&path, &text)?;
    output::data(&match args.format {
        Format::Json => text,
        Format::Markdown => variants::markdown(&experiment),
        Format::Text => variants::text(&experiment, output::terminal_columns()),
    });
    let all_valid = played.iter().all(|run| {
        run.record
            .verdict
            .as_ref()
            .is_some_and(|verdict| verdict.valid)
    });
    Ok(if all_valid {
        Exit::Passed
    } else {
        Exit::RunInvalid
    })
}

fn side_by_side<'a>(
    plan: &'a Plan,
    played: &'a [Played],
    foresight: &Foresight,
    folder: &Path,
) -> Experiment<'a> {
    let ran = confirm::ran(played);
    let of = |variant: &'a plimsoll_lab::experiment::Variant| Variant {
        name: &variant.name,
        about: &variant.about,
        base: variant.base.as_deref(),
        changes: &variant.changes,
        runs: played
            .iter()
            .filter(|run| run.variant == variant.name)
            .map(|run| Run {
                path: run.path.clone(),
                record: &run.record,
            })
            .collect(),
        limit: confirm::limit_of(&variant.name, &ran),
        predicted: foresight.of(&variant.name),
        probe: variant.probe,
    };
    let mut warnings = plan.warnings.clone();
    let sides = plan.experiment.variants.iter().map(|variant| Side {
        name: variant.name.clone(),
        base: variant.base.clone(),
        runs: played
            .iter()
            .filter(|run| run.variant == variant.name)
            .map(|run| (run.path.as_str(), &run.record))
            .collect(),
    });
    let comparison = against_bases::compared(sides.collect(), &mut warnings);
    Experiment {
        title: &plan.experiment.title,
        variants: plan.experiment.variants.iter().map(of).collect(),
        warnings,
        folder: folder.display().to_string(),
        comparison,
        report: None,
    }
}

/// There at once and whole, or not at all.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let part = path.with_extension("part");
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, path))
        .with_context(|| format!("write {}", path.display()))
}

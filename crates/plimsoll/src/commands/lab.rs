//! `plimsoll lab EXPERIMENT`: starts the tiers of each variant in turn, puts the same load on each, and shows them side by side.

mod capacity;
mod confirm;
mod foresee;
mod plan;
mod play;
mod results;
mod stages;
mod test;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_core::Nanos;
use plimsoll_core::record::SelfCheck;
use plimsoll_lab::LabError;
use plimsoll_lab::experiment::Experiment;
use plimsoll_lab::tiers::Ports;

use crate::args::LabArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::page::Page;
use crate::session::interrupt_flag;
use foresee::Foresight;
use play::Played;

/// How often a signal is looked for during a pause.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn execute(args: &LabArgs) -> Result<Exit> {
    let experiment = chosen(args)?;
    let ports = Ports::reserve(&experiment)?;
    let mut plan = plan::of(experiment.clone(), &ports, args)?;
    if args.check || args.dry_run {
        let asked = if args.dry_run {
            &plan.text
        } else {
            &plan.checked
        };
        output::data(asked);
        return Ok(Exit::Passed);
    }
    if !args.quiet {
        output::progress(plan.text.trim_end());
    }
    let folder = folder(args)?;
    let stop = interrupt_flag()?;
    let mut series = Series {
        page: Page::of_series(args.live)?,
        ..Series::default()
    };
    if !experiment.yardsticks().is_empty() {
        let Some(experiment) = capacity::set(experiment, args, &folder, &series, &stop)? else {
            let text = interrupted(0, plan.runs.len(), &folder);
            output::progress(&text);
            series.end_page(&text, false, None);
            return Ok(Exit::Interrupted);
        };
        plan = plan::of(experiment, &ports, args)?;
    }
    let mut confirms = args.confirm;
    loop {
        if !play(&plan, &ports, &folder, args, &stop, &mut series)? {
            let text = interrupted(series.played.len(), plan.runs.len(), &folder);
            output::progress(&text);
            series.end_page(&text, false, None);
            return Ok(Exit::Interrupted);
        }
        let judged = results::judged(&series, &plan.warnings, &folder)?;
        if !std::mem::take(&mut confirms) {
            let exit = results::show(&judged, &folder, args.format)?;
            let report = judged.experiment.report.as_deref();
            series.end_page("The experiment is over.", exit == Exit::Passed, report);
            return Ok(exit);
        }
        let (runs, notes) = confirm::runs(&plan, &judged);
        plan.confirm(runs, notes);
    }
}

/// When it was stopped, and what there is of it.
fn interrupted(played: usize, planned: usize, folder: &Path) -> String {
    format!(
        "interrupted during run {} of {planned}: there is no verdict; the records so far are in {}",
        planned.min(played + 1),
        folder.display()
    )
}

/// The experiment as the flags want it: some variants, another number of runs, a short form.
fn chosen(args: &LabArgs) -> Result<Experiment> {
    let experiment = Experiment::load(&args.experiment, args.real)?.scaled(args.scale)?;
    let mut experiment = match args.only.as_slice() {
        [] if args.quick => experiment.short()?,
        [] => experiment,
        names => experiment.only(names)?,
    };
    let runs = args.repeat.unwrap_or(experiment.runs);
    experiment.runs = if args.quick { 1 } else { runs };
    Ok(experiment)
}

/// What grows with the runs.
#[derive(Default)]
struct Series {
    played: Vec<Played>,
    foresight: Foresight,
    /// Of the generator, before the first search.
    self_check: OnceCell<SelfCheck>,
    /// Shows each run while it runs, if that is asked for.
    page: Option<Arc<Page>>,
}

impl Series {
    fn end_page(&self, headline: &str, is_well: bool, report: Option<&str>) {
        if let Some(page) = &self.page {
            page.end(headline, is_well, report);
        }
    }
}

/// Every run of the plan that was not played yet, in its order; false if a signal ended it.
fn play(
    plan: &plan::Plan,
    ports: &Ports,
    folder: &Path,
    args: &LabArgs,
    stop: &Arc<AtomicBool>,
    series: &mut Series,
) -> Result<bool> {
    for (index, run) in plan.runs.iter().enumerate().skip(series.played.len()) {
        if index > 0 {
            pause(plan.experiment.pause, stop);
        }
        if !args.quiet {
            output::progress(&run.heading);
        }
        let prediction = series.foresight.look(&run.variant, &series.played);
        if let Some(text) = prediction.filter(|_| !args.quiet) {
            output::progress(&text);
        }
        let run_folder = folder.join(format!("{}-{}", run.variant.name, run.number));
        let one = play::Play {
            plan,
            run,
            ports,
            folder: &run_folder,
            quiet: args.quiet,
            page: series.page.as_ref(),
            self_check: &series.self_check,
            stop,
        };
        match one.play().map_err(with_exit)? {
            Some(one) => series.played.push(one),
            None => return Ok(false),
        }
    }
    Ok(true)
}

fn pause(length: Nanos, stop: &AtomicBool) {
    let mut left = Duration::from_nanos(length.0);
    while left > Duration::ZERO && !stop.load(Ordering::Relaxed) {
        let step = left.min(LOOK);
        std::thread::sleep(step);
        left -= step;
    }
}

/// A tier that failed is a target that cannot be loaded; the rest is a mistake in the file.
fn with_exit(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<LabError>() {
        Some(tier) if tier.is_of_running_tier() => {
            Failure::new(Exit::Unreachable, error.to_string()).into()
        }
        _ => error,
    }
}

/// A new folder; one that exists is not written into, so that records of two labs never mix.
fn folder(args: &LabArgs) -> Result<PathBuf> {
    let path = args
        .out
        .clone()
        .unwrap_or_else(|| output::fresh_folder("plimsoll-lab"));
    std::fs::create_dir_all(&path).with_context(|| format!("create folder {}", path.display()))?;
    let mut inside =
        std::fs::read_dir(&path).with_context(|| format!("look into {}", path.display()))?;
    anyhow::ensure!(
        inside.next().is_none(),
        "{} is not empty; name another folder with -o",
        path.display()
    );
    Ok(path)
}

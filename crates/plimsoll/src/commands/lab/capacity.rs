//! The capacities that loads are multiples of: measured before the first run, each by a closed load on fresh tiers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use plimsoll_analysis::compare;
use plimsoll_lab::experiment::Experiment;
use plimsoll_lab::tiers::Ports;
use plimsoll_report::format::{self, quoted};

use super::{Series, plan, play};
use crate::args::LabArgs;
use crate::output;

/// The experiment with its loads in requests per second; `None` if a signal ended the measurement.
pub(super) fn set(
    mut experiment: Experiment,
    args: &LabArgs,
    folder: &Path,
    series: &Series,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Experiment>> {
    let yardsticks = experiment.yardsticks();
    for (times, alone) in &yardsticks {
        let ports = Ports::reserve(alone)?;
        let plan = plan::of(alone.clone(), &ports, args)?;
        let run = plan
            .runs
            .first()
            .context("a capacity is measured in a run")?;
        if !args.quiet {
            output::progress(&format!("the capacity of {} first", quoted(&times.of)));
        }
        let one = play::Play {
            plan: &plan,
            run,
            ports: &ports,
            folder: &folder.join(times.folder(yardsticks.iter().map(|(times, _)| times))),
            quiet: args.quiet,
            page: series.page.as_ref(),
            self_check: &series.self_check,
            stop,
        };
        let Some(played) = one.play().map_err(super::with_exit)? else {
            return Ok(None);
        };
        let verdict = played.record.verdict.as_ref();
        let per_s = verdict.map_or(0.0, |verdict| verdict.goodput_per_s);
        if per_s <= 0.0 {
            bail!(
                "the capacity of {} is zero: no attempt was good; see {}",
                quoted(&times.of),
                played.path
            );
        }
        if !args.quiet {
            let found = format::rate(per_s);
            output::progress(&format!("the capacity of {} is {found}", quoted(&times.of)));
        }
        // The runs may still be worth their time; what they are multiples of is said to be in doubt, there and in the result.
        let doubt = doubt(&played);
        if let Some(why) = &doubt {
            output::progress(&format!(
                "plimsoll: the run that measured it is {why}; see {}",
                played.path
            ));
        }
        experiment.set_capacity(times, per_s, doubt.as_deref());
    }
    Ok(Some(experiment))
}

/// Why its figures are not to be relied on.
fn doubt(played: &play::Played) -> Option<String> {
    let record = &played.record;
    let verdict = record.verdict.as_ref()?;
    compare::of_record(&played.path, record, verdict).excluded
}

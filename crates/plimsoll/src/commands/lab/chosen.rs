//! The experiment as the flags want it: some variants, another number of runs, a short form.

use anyhow::{Result, bail};
use plimsoll_core::nearest::hint;
use plimsoll_lab::experiment::Experiment;

use crate::args::LabArgs;

pub(super) fn experiment(args: &LabArgs) -> Result<Experiment> {
    let mut experiment = Experiment::load(&args.experiment)?;
    for name in &args.only {
        if experiment.variant(name).is_none() {
            let known: Vec<&str> = experiment
                .variants
                .iter()
                .map(|v| v.name.as_str())
                .collect();
            let near = hint(name, known.iter().copied());
            bail!(
                "--only {name}: there is no such variant{near} (there are {})",
                known.join(", ")
            );
        }
    }
    if !args.only.is_empty() {
        experiment
            .variants
            .retain(|variant| args.only.contains(&variant.name));
    }
    if let Some(runs) = args.repeat {
        experiment.runs = runs;
    }
    if args.quick {
        experiment.runs = 1;
    }
    Ok(experiment)
}

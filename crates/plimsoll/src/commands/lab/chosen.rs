//! The experiment as the flags want it: some variants, another number of runs, a short form.

use anyhow::{Result, bail};
use plimsoll_core::nearest::hint;
use plimsoll_lab::experiment::Experiment;

use crate::args::LabArgs;

pub(super) fn experiment(args: &LabArgs) -> Result<Experiment> {
    let mut experiment = Experiment::load(&args.experiment, args.real)?.scaled(args.scale)?;
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
        experiment = experiment.only(&args.only);
    } else if args.quick && !experiment.quick.is_empty() {
        experiment = quick(experiment);
    }
    if let Some(runs) = args.repeat {
        experiment.runs = runs;
    }
    if args.quick {
        experiment.runs = 1;
    }
    Ok(experiment)
}

/// The variants of the short form, and a word on those that it leaves out.
fn quick(experiment: Experiment) -> Experiment {
    let chosen = experiment.quick.clone();
    let left_out: Vec<&str> = experiment
        .variants
        .iter()
        .map(|variant| variant.name.as_str())
        .filter(|name| !chosen.iter().any(|chosen| chosen == name))
        .collect();
    let remark = format!(
        "--quick leaves out {}; --only plays them, too",
        left_out.join(", ")
    );
    let any = !left_out.is_empty();
    let mut experiment = experiment.only(&chosen);
    experiment.remarks.extend(any.then_some(remark));
    experiment
}

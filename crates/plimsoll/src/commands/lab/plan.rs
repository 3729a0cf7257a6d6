//! What will be done and how long it takes, worked out before anything starts.

mod text;

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use plimsoll_core::Nanos;
use plimsoll_lab::experiment::{Experiment, Load, Variant};
use plimsoll_lab::tiers::{self, Ports};
use plimsoll_report::format::{self, quoted};

use super::test;
use crate::args::LabArgs;
use crate::machine;

/// `--quick` takes no longer (DESIGN section 11).
const QUICK: Nanos = Nanos::from_secs(8 * 60);
/// A warm-up ends after this time even if the requests are not all done (DESIGN section 7).
pub(super) const WARM_UP_LONGEST: Nanos = Nanos::from_secs(10);
/// Databases of a workload are filled before each load, and read after it.
const DATABASES_ESTIMATE: Nanos = Nanos::from_secs(3);
/// Users finish what they have begun when their time is over; measured in server-limits: 3 to 21 s.
const USERS_END_ESTIMATE: Nanos = Nanos::from_secs(10);
/// From the order to end until every process is gone.
const END_ESTIMATE: Nanos = Nanos::from_millis(500);

/// Everything that will be played, and the words for it.
pub(super) struct Plan {
    pub(super) experiment: Experiment,
    pub(super) runs: Vec<Run>,
    /// In a file's or a flag's words, what the reader must know.
    pub(super) warnings: Vec<String>,
    /// All of it for people.
    pub(super) text: String,
    /// For `--check`: that it is in order, and what to know of it.
    pub(super) checked: String,
}

/// One run of one variant.
pub(super) struct Run {
    pub(super) variant: Arc<Variant>,
    /// Of this variant, from 1.
    pub(super) number: u32,
    pub(super) seed: u64,
    /// With start, warm-up and end; an estimate but for the load itself.
    takes: Nanos,
    /// `run 2 of 6 · 2A · about 3 min left`
    pub(super) heading: String,
}

impl Plan {
    /// Adds runs that confirm what was found; what cannot be confirmed becomes a warning.
    pub(super) fn confirm(&mut self, runs: Vec<Run>, notes: Vec<String>) {
        let played = self.runs.len();
        self.runs.extend(runs);
        head(&mut self.runs, played, self.experiment.pause);
        self.warnings.extend(notes);
    }
}

impl Run {
    /// A first run of another variant, in the time and with the seed of this one.
    pub(super) fn of(&self, variant: Variant) -> Self {
        Self {
            variant: Arc::new(variant),
            number: 1,
            seed: self.seed,
            takes: self.takes,
            heading: String::new(),
        }
    }
}

/// Of this experiment, whose loads `--quick` may make shorter.
pub(super) fn of(mut experiment: Experiment, ports: &Ports, args: &LabArgs) -> Result<Plan> {
    let mut loads = loads(&experiment, ports)?;
    let mut warnings = warnings(&experiment);
    if args.quick {
        warnings.extend(fit(&mut experiment, &mut loads)?);
    }
    let mut runs = runs(&experiment, &loads);
    let takes = head(&mut runs, 0, experiment.pause);
    let confirming = args.confirm.then(|| {
        let firsts = runs.iter().filter(|run| run.number == 1);
        firsts.fold(Nanos::ZERO, |sum, run| sum + run.takes)
    });
    let remarks = text::remarks(&experiment, &warnings);
    Ok(Plan {
        checked: text::checked(&experiment, &remarks),
        text: text::whole(&experiment, &runs, takes, confirming, &remarks),
        experiment,
        runs,
        warnings,
    })
}

/// How long each variant is loaded; what cannot be played is refused.
fn loads(experiment: &Experiment, ports: &Ports) -> Result<Vec<Nanos>> {
    let cores = tiers::machine_cores()?.len();
    let load = |variant: &Variant| {
        tiers::check_shares(variant, cores)?;
        duration(experiment, variant, ports)
            .with_context(|| format!("test of variant `{}`", variant.name))
    };
    experiment.variants.iter().map(load).collect()
}

/// Checks the test as far as that goes without tiers, and says how long it lasts.
fn duration(experiment: &Experiment, variant: &Variant, ports: &Ports) -> Result<Nanos> {
    let place = std::env::temp_dir().join(format!("plimsoll-lab-check-{}", std::process::id()));
    let filler = ports.filler(experiment, variant, &place)?;
    let prepared = test::recipe(variant, &filler, &place).and_then(|recipe| recipe.prepare(1));
    // Only a script that was made of stages is in it.
    drop(std::fs::remove_dir_all(&place));
    Ok(prepared?.test.length().unwrap_or_default())
}

/// In their order.
fn runs(experiment: &Experiment, loads: &[Nanos]) -> Vec<Run> {
    let base = machine::fresh_seed();
    let each = experiment.variants.iter().zip(loads);
    let each: Vec<(Arc<Variant>, Nanos)> = each
        .map(|(variant, load)| (Arc::new(variant.clone()), around(variant) + *load))
        .collect();
    let order = experiment.order(base).into_iter().enumerate();
    let run = |(place, index): (usize, usize)| {
        let (variant, takes) = each[index].clone();
        let number = (place / each.len()) as u32 + 1;
        Run {
            number,
            // The same for every variant of a repetition: pairs see the same arrivals.
            seed: variant.test.seed.unwrap_or(base + u64::from(number)),
            takes,
            variant,
            heading: String::new(),
        }
    };
    order.map(run).collect()
}

/// Heads the runs from this place on; gives the time until the last of them is over.
fn head(runs: &mut [Run], from: usize, pause: Nanos) -> Nanos {
    let count = runs.len();
    let mut left = Nanos::ZERO;
    for (place, run) in runs.iter_mut().enumerate().skip(from).rev() {
        let pause = if place + 1 < count {
            pause
        } else {
            Nanos::ZERO
        };
        left += pause + run.takes;
        run.heading = format!(
            "run {} of {count} · {} · about {} left",
            place + 1,
            run.variant.name,
            format::duration(left)
        );
    }
    left
}

/// What a run takes beside its load.
fn around(variant: &Variant) -> Nanos {
    let warm_up = if variant.test.warm_up > 0 {
        Nanos::from_secs(2)
    } else {
        Nanos::ZERO
    };
    let after = variant.test.after.as_ref();
    let drain = after.filter(|after| !after.backlog.is_empty());
    let drain = drain.map_or(Nanos::ZERO, |after| after.within);
    let users = match variant.test.load {
        Load::Stages { .. } | Load::Script(_) => USERS_END_ESTIMATE,
        Load::Url { .. } | Load::Find { .. } => Nanos::ZERO,
        Load::Workload { .. } => DATABASES_ESTIMATE,
    };
    tiers::start_estimate(variant) + warm_up + users + drain + END_ESTIMATE
}

/// Shortens loads so that all runs together take no longer than `--quick` may.
fn fit(experiment: &mut Experiment, loads: &mut [Nanos]) -> Result<Option<String>> {
    let sum = |times: &mut dyn Iterator<Item = Nanos>| times.fold(Nanos::ZERO, |a, b| a + b);
    let beside = sum(&mut experiment.variants.iter().map(around));
    let all = sum(&mut loads.iter().copied());
    if beside + all <= QUICK {
        return Ok(None);
    }
    let scripted: Vec<&str> = experiment
        .variants
        .iter()
        .filter(|variant| matches!(variant.test.load, Load::Script(_)))
        .map(|variant| variant.name.as_str())
        .collect();
    let asked = format::duration(beside + all);
    if !scripted.is_empty() {
        bail!(
            "--quick takes 8 minutes at most, and this takes {asked}: shorten the script of {}, or choose variants with --only",
            scripted.join(", ")
        );
    }
    let factor = (QUICK - beside).as_secs_f64() / all.as_secs_f64();
    if factor < 0.1 {
        bail!(
            "--quick takes 8 minutes at most, and this takes {asked}: choose variants with --only"
        );
    }
    for (variant, load) in experiment.variants.iter_mut().zip(&mut *loads) {
        variant.shorten(factor);
        *load = variant.test.load.duration().unwrap_or(*load);
    }
    if beside + sum(&mut loads.iter().copied()) > QUICK {
        bail!(
            "--quick takes 8 minutes at most, this takes {asked}, and a search needs 150 s: choose variants with --only"
        );
    }
    Ok(Some(format!(
        "--quick: every load is shortened to {} of its length, to stay within 8 minutes",
        format::percent(factor)
    )))
}

fn warnings(experiment: &Experiment) -> Vec<String> {
    let mut warnings = experiment.remarks.clone();
    for variant in &experiment.variants {
        let base = variant.base.as_deref();
        if let Some(base) = base.filter(|base| experiment.variant(base).is_none()) {
            warnings.push(format!(
                "{} is made to be compared with {}, which is not played",
                quoted(&variant.name),
                quoted(base)
            ));
        }
    }
    warnings
}

//! What will be done and how long it takes, worked out and shown before anything starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use plimsoll_core::Nanos;
use plimsoll_lab::experiment::{Experiment, Filler, Load, Program, Tier, Variant};
use plimsoll_lab::tiers::{self, Ports};
use plimsoll_report::format::{self, quoted};

use super::test;
use crate::args::LabArgs;
use crate::machine;

/// `--quick` takes no longer (DESIGN section 11).
const QUICK: Nanos = Nanos::from_secs(8 * 60);
/// A warm-up ends after this time even if the requests are not all done (DESIGN section 7).
pub(super) const WARM_UP_LONGEST: Nanos = Nanos::from_secs(10);
/// Users finish what they have begun when their time is over; measured in server-limits: 3 to 21 s.
const USERS_END_ESTIMATE: Nanos = Nanos::from_secs(10);
/// From the order to end until every process is gone.
const END_ESTIMATE: Nanos = Nanos::from_millis(500);

/// Everything that will be played.
pub(super) struct Plan {
    pub(super) experiment: Experiment,
    pub(super) runs: Vec<Run>,
    /// In a file's or a flag's words, what the reader must know.
    pub(super) warnings: Vec<String>,
    /// Runs that confirm what was found may follow.
    pub(super) confirms: bool,
}

/// One run of one variant.
pub(super) struct Run {
    pub(super) variant: Arc<Variant>,
    /// Of this variant, from 1.
    pub(super) number: u32,
    pub(super) seed: u64,
    /// With start, warm-up and end; an estimate but for the load itself.
    pub(super) takes: Nanos,
}

impl Plan {
    /// Adds runs that confirm what was found; what cannot be confirmed becomes a warning.
    pub(super) fn confirm(&mut self, runs: Vec<Run>, notes: Vec<String>) {
        let variants = runs.iter().map(|run| (*run.variant).clone());
        self.experiment.variants.extend(variants);
        self.runs.extend(runs);
        let notes = notes
            .into_iter()
            .map(|note| format!("not confirmed: {note}"));
        self.warnings.extend(notes);
    }
}

pub(super) fn of(experiment: &Experiment, ports: &Ports, args: &LabArgs) -> Result<Plan> {
    let mut experiment = experiment.clone();
    let cores = tiers::machine_cores()?.len();
    let mut loads = Vec::new();
    for variant in &experiment.variants {
        tiers::check_shares(variant, cores)?;
        let duration = duration(&experiment, variant, ports)
            .with_context(|| format!("test of variant `{}`", variant.name))?;
        loads.push(duration);
    }
    let mut warnings = warnings(&experiment);
    if args.quick {
        warnings.extend(fit(&mut experiment, &mut loads)?);
    }
    let base = machine::fresh_seed();
    let mut counts = vec![0; experiment.variants.len()];
    let variants: Vec<Arc<Variant>> = experiment.variants.iter().cloned().map(Arc::new).collect();
    let mut runs = Vec::new();
    for index in experiment.order() {
        counts[index] += 1;
        let number = counts[index];
        let variant = Arc::clone(&variants[index]);
        runs.push(Run {
            number,
            // The same for every variant of a repetition: pairs see the same arrivals.
            seed: variant.test.seed.unwrap_or(base + u64::from(number)),
            takes: around(&variant) + loads[index],
            variant,
        });
    }
    Ok(Plan {
        experiment,
        runs,
        warnings,
        confirms: args.confirm,
    })
}

/// Checks the test as far as that goes without tiers, and says how long it lasts.
fn duration(experiment: &Experiment, variant: &Variant, ports: &Ports) -> Result<Nanos> {
    let place = std::env::temp_dir().join(format!("plimsoll-lab-check-{}", std::process::id()));
    let peers = tiers::peers(variant, ports, &place)?;
    let filler = Filler::new(peers, experiment.folder.clone());
    let prepared = test::recipe(variant, &filler, &place).and_then(|recipe| recipe.prepare(1));
    // Only a script that was made of stages is in it.
    drop(std::fs::remove_dir_all(&place));
    Ok(prepared?.test.length().unwrap_or_default())
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

/// The plan in a line, for `--check`, and what a reader must know of it.
pub(super) fn checked(plan: &Plan) -> String {
    let count = plan.experiment.variants.len() as u64;
    let variants = format::plural(count, "variant is", "variants are");
    let mut lines = vec![format!("{}: {variants} in order", plan.experiment.title)];
    lines.extend(all_warnings(plan).map(|warning| format!("! {warning}")));
    lines.join("\n") + "\n"
}

/// The plan for people.
pub(super) fn text(plan: &Plan) -> String {
    let experiment = &plan.experiment;
    let mut lines = vec![experiment.title.clone()];
    for variant in &experiment.variants {
        let named = format!("  {}  {}", variant.name, variant.about);
        lines.push(named.trim_end().to_owned());
        lines.extend(variant.tiers.iter().map(tier_line));
        lines.push(test_line(variant));
        let base = quoted(variant.base.as_deref().unwrap_or_default());
        let changes = variant.changes.iter();
        lines.extend(changes.map(|change| format!("    other than {base}: {change}")));
    }
    let order: Vec<&str> = plan
        .runs
        .iter()
        .map(|run| run.variant.name.as_str())
        .collect();
    lines.push(format!("  order  {}", order.join(" ")));
    lines.push(format!(
        "  takes  about {}",
        format::duration(left(plan, 0))
    ));
    if plan.confirms {
        let runs = plan.runs.iter();
        let each = runs.map(|run| (run.variant.name.as_str(), run.takes));
        let each: BTreeMap<&str, Nanos> = each.collect();
        let most = each
            .into_values()
            .fold(Nanos::ZERO, |sum, takes| sum + takes);
        lines.push(format!(
            "  --confirm adds one run for each variant whose limit no other variant moves: at most {} more",
            format::duration(most)
        ));
    }
    if experiment.runs == 1 {
        lines.push("  single run, no interval".to_owned());
    }
    lines.extend(all_warnings(plan).map(|warning| format!("  ! {warning}")));
    lines.join("\n") + "\n"
}

fn all_warnings(plan: &Plan) -> impl Iterator<Item = String> {
    let several = |variant: &Variant| {
        let base = variant
            .base
            .as_deref()
            .filter(|_| variant.changes.len() > 1)?;
        Some(format!(
            "variants {} and {} differ in {} things: a difference cannot be put down to one of them; \
             a variant in between with `base` would tell",
            quoted(base),
            quoted(&variant.name),
            variant.changes.len()
        ))
    };
    let several = plan.experiment.variants.iter().filter_map(several);
    plan.warnings.iter().cloned().chain(several)
}

fn tier_line(tier: &Tier) -> String {
    let program = match &tier.program {
        Program::Command(path) => path.display().to_string(),
        Program::Embedded { name, .. } => format!("embedded {name}"),
    };
    let times = match tier.instances {
        1 => String::new(),
        several => format!("{several} × "),
    };
    let cores = tier.cpu.map(|cpu| match cpu {
        whole if whole.fract() == 0.0 => format::plural(whole as u64, "core", "cores"),
        part => format!("{part} of a core"),
    });
    let memory = tier
        .memory_bytes
        .map(|bytes| format!("{} MiB", bytes >> 20));
    let limits = tier
        .limits
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    let shares: Vec<String> = cores.into_iter().chain(memory).chain(limits).collect();
    let line = format!(
        "    tier {}: {times}{program}  {}",
        tier.name,
        shares.join(", ")
    );
    line.trim_end().to_owned()
}

fn test_line(variant: &Variant) -> String {
    let load = match &variant.test.load {
        Load::Script(path) => format!("script {}", path.display()),
        Load::Url { request, .. } | Load::Stages { request, .. } => request.url.clone(),
        Load::Find { request, .. } => format!("capacity of {}", request.url),
    };
    let protocol = match (variant.test.h2, variant.test.streams) {
        (None, _) => String::new(),
        (Some(false), _) => " over HTTP/1.1".to_owned(),
        (Some(true), None) => " over HTTP/2".to_owned(),
        (Some(true), Some(streams)) => format!(" over HTTP/2, {streams} streams a connection"),
    };
    let length = variant.test.load.duration();
    let length = length.map_or(String::new(), |length| {
        format!(" for {}", format::duration(length))
    });
    let warm_up = format::plural(variant.test.warm_up, "request", "requests");
    format!("    test {load}{protocol}{length}, after {warm_up}")
}

/// Time from the start of a run to the end of the last.
fn left(plan: &Plan, from: usize) -> Nanos {
    let runs = plan.runs.iter().skip(from);
    let pauses = plan.runs.len().saturating_sub(from + 1) as u64;
    runs.fold(plan.experiment.pause.saturating_mul(pauses), |sum, run| {
        sum + run.takes
    })
}

/// `run 2 of 6 · 2A · about 3 min left`
pub(super) fn progress(plan: &Plan, index: usize) -> String {
    let name = plan.runs.get(index).map_or("", |run| &run.variant.name);
    let (number, all) = (index + 1, plan.runs.len());
    let left = format::duration(left(plan, index));
    format!("run {number} of {all} · {name} · about {left} left")
}

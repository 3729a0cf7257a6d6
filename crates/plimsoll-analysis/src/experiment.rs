//! What an experiment means: who carries most, what fails, what gives way first, and what a difference is worth.
//!
//! Every threshold of an experiment is a constant of these files; renderings have none.

mod after;
mod capacity;
mod lead;
mod limits;
mod load_line;
mod recovery;
mod spread;
mod tiers;
mod trouble;

use std::collections::BTreeSet;

use plimsoll_core::Outcome;
use plimsoll_core::comparison::Scale;
use plimsoll_core::experiment::{
    Difference, Experiment, Foreseen, InvalidRuns, Judged, LoadLines, Meaning, Replication, Spread,
    Tested, Variant, VariantMeaning,
};
use plimsoll_core::verdict::{GateId, GateState, Verdict};

use crate::facts::level::FAILING;
use spread::{spread, times};

/// The experiment with all that can be claimed of it.
pub fn judged(experiment: Experiment<'_>) -> Judged<'_> {
    let meaning = meaning(&experiment);
    Judged {
        experiment,
        meaning,
    }
}

fn meaning(experiment: &Experiment<'_>) -> Meaning {
    let lines = load_line::lines(experiment);
    let failures = failures(experiment);
    let variants: Vec<VariantMeaning> = (0..experiment.variants.len())
        .filter_map(|index| of_variant(experiment, index, &failures, lines.as_ref()))
        .collect();
    let measure = lead::measure(&variants);
    let ranking = lead::ranking(&variants, measure);
    let lead = lead::lead(experiment, &variants, &ranking);
    Meaning {
        lead,
        measure,
        ranking: ranking.iter().map(|carrier| carrier.variant).collect(),
        variants,
        failures,
        replication: replication(experiment),
        lines,
    }
}

/// Failures that occurred anywhere.
fn failures(experiment: &Experiment<'_>) -> Vec<Outcome> {
    let occurred = |outcome: &Outcome| {
        let mut verdicts = experiment.variants.iter().flat_map(Variant::verdicts);
        verdicts.any(|verdict| verdict.share(*outcome) > 0.0)
    };
    let failures = Outcome::ALL
        .into_iter()
        .filter(|outcome| outcome.is_failure());
    failures.filter(occurred).collect()
}

fn of_variant(
    experiment: &Experiment<'_>,
    index: usize,
    failures: &[Outcome],
    lines: Option<&LoadLines>,
) -> Option<VariantMeaning> {
    let variant = experiment.variants.get(index)?;
    let base = variant.base.and_then(|base| experiment.place_of(base));
    let figure = |of: fn(&Verdict) -> f64| figures(variant, of);
    let time = |of: fn(&Verdict) -> _| times(variant.verdicts().filter_map(of));
    let classes = failures.iter();
    let classes = classes.map(|class| (*class, figures(variant, |f| f.share(*class))));
    let (goodput_per_s, failed_ratio) =
        (figure(|f| f.goodput_per_s), figure(Verdict::failed_ratio));
    let failed = failed_ratio.median;
    let mut gates = variant.verdicts().flat_map(|verdict| &verdict.gates);
    let capacity = capacity::of_variant(variant, index, lines);
    let tiers = tiers::of_variant(variant);
    let goodput_per_core = goodput_per_s.median.zip(tiers.cores_given);
    Some(VariantMeaning {
        base,
        is_valid: variant.is_valid(),
        goodput_per_s,
        throughput_per_s: figure(|f| f.throughput_per_s),
        offered_per_s: figure(|f| f.offered_per_s),
        failed_ratio,
        classes: classes.collect(),
        p50: time(|f| f.response_time_ns.p50),
        p95: time(|f| f.response_time_ns.p95),
        p99: time(|f| f.response_time_ns.p99),
        is_failing: failed.is_some_and(|failed| failed >= FAILING),
        generator_warns: gates
            .any(|gate| gate.id == GateId::Generator && gate.state == GateState::Warning),
        has_several_changes: variant.base.is_some() && variant.changes.len() > 1,
        wire_max: wire_max(variant),
        invalid: invalid(variant),
        on_base: base.and_then(|base| on_base(experiment, variant, base)),
        ratio_to_base: base.and_then(|base| ratio(variant, experiment.variants.get(base)?)),
        foreseen: foreseen(variant, capacity.per_s()),
        capacity,
        trouble: trouble::of_variant(variant),
        limits: limits::of_variant(variant, &experiment.variants),
        tiers,
        goodput_per_core: goodput_per_core.map(|(goodput, cores)| goodput / cores),
        after: after::of_variant(variant),
        recovery: recovery::of_variant(variant),
    })
}

fn figures(variant: &Variant<'_>, of: impl Fn(&Verdict) -> f64) -> Spread {
    spread(variant.verdicts().map(of))
}

/// Most requests on the wire at once in any run.
fn wire_max(variant: &Variant<'_>) -> u64 {
    let windows = variant.shown().flat_map(|run| &run.record.windows);
    windows.map(|window| window.wire_max).max().unwrap_or(0)
}

/// Goodput against the base: what repeated runs say, else the ratio of the medians. None where a run is missing or
/// not valid.
fn on_base(experiment: &Experiment<'_>, variant: &Variant<'_>, over: usize) -> Option<Difference> {
    let base = experiment.variants.get(over)?;
    if !variant.is_valid() || !base.is_valid() {
        return None;
    }
    if let Some(contrast) = experiment.contrast(variant) {
        return Some(Difference {
            over,
            scale: contrast.scale,
            estimate: contrast.estimate,
            tested: Some(Tested {
                interval: contrast.interval,
                standing: contrast.standing,
                pairs_count: contrast.baseline_count,
            }),
        });
    }
    Some(Difference {
        over,
        scale: Scale::Ratio,
        estimate: ratio(variant, base)?,
        tested: None,
    })
}

/// Of the medians of goodput; none where a run is missing or not valid.
fn ratio(variant: &Variant<'_>, base: &Variant<'_>) -> Option<f64> {
    let goodput = |variant: &Variant<'_>| {
        let median = figures(variant, |f| f.goodput_per_s).median;
        median.filter(|_| variant.is_valid())
    };
    let least = goodput(base).filter(|base| *base > 0.0)?;
    Some(goodput(variant)? / least)
}

fn foreseen(variant: &Variant<'_>, measured: Option<f64>) -> Option<Foreseen> {
    let predicted = variant.predicted.as_ref()?;
    let off = measured.map(|measured| measured / predicted.per_s - 1.0);
    Some(Foreseen {
        per_s: predicted.per_s,
        from: predicted.from.clone(),
        measured_off_ratio: off.filter(|off| off.is_finite()),
    })
}

/// How many runs carry no verdict, and which gates failed in them.
fn invalid(variant: &Variant<'_>) -> Option<InvalidRuns> {
    let invalid = || variant.runs.iter().filter(|run| !run.is_valid());
    let verdicts = invalid().filter_map(|run| run.record.verdict.as_ref());
    let gates = verdicts.flat_map(|verdict| &verdict.gates);
    let failed = gates.filter(|gate| gate.state == GateState::Fail);
    let gates: BTreeSet<(u8, String, String)> = failed
        .map(|gate| (gate.id.number(), gate.name.clone(), gate.note.clone()))
        .collect();
    let invalid_count = invalid().count() as u64;
    (invalid_count > 0).then(|| InvalidRuns {
        invalid_count,
        runs_count: variant.runs.len() as u64,
        gates: gates.into_iter().collect(),
    })
}

fn replication(experiment: &Experiment<'_>) -> Replication {
    let variants = || experiment.variants.iter();
    Replication {
        runs_count: variants().map(|v| v.runs.len() as u64).max().unwrap_or(0),
        runs_needed: variants()
            .filter_map(|variant| experiment.contrast(variant)?.runs_needed)
            .max(),
    }
}

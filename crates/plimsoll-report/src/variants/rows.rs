//! The rows of the table: a name, and a cell for each variant.

use plimsoll_core::verdict::Verdict;

use super::cell::{spread, times};
use super::{Capacity, Experiment, LoadLines, Variant, after, failed_ratio, limits, share};
use crate::format;
use crate::view::{GateTally, comparison as words};

/// What is said of every variant, in the order of reading.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: Vec<String>,
}

struct Rows<'e> {
    experiment: &'e Experiment<'e>,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn add(&mut self, name: &str, cell: impl Fn(&Variant<'_>) -> String) {
        self.rows.push(Row {
            name: name.to_owned(),
            cells: self.experiment.variants.iter().map(cell).collect(),
        });
    }

    fn spread(&mut self, name: &str, of: impl Fn(&Verdict) -> f64, show: fn(f64) -> String) {
        self.add(name, |variant| spread(&variant.figures(&of)).text(show));
    }

    /// A row that is left out where it says nothing of any variant.
    fn add_some(&mut self, name: &str, cell: impl Fn(&Variant<'_>) -> Option<String>) {
        if self.experiment.variants.iter().any(|v| cell(v).is_some()) {
            self.add(name, |v| cell(v).unwrap_or(format::ABSENT.to_owned()));
        }
    }
}

pub(crate) fn all(experiment: &Experiment<'_>, lines: Option<&LoadLines>) -> Vec<Row> {
    let mut rows = Rows {
        experiment,
        rows: Vec::new(),
    };
    figures(&mut rows, experiment, lines);
    tiers(&mut rows, experiment);
    judgement(&mut rows, experiment);
    rows.rows
}

fn figures(rows: &mut Rows<'_>, experiment: &Experiment<'_>, lines: Option<&LoadLines>) {
    rows.spread("goodput", |f| f.goodput_per_s, format::rate);
    rows.add_some("  against its base", |v| against_base(experiment, v));
    rows.spread("throughput", |f| f.throughput_per_s, format::rate);
    rows.spread("offered", |f| f.offered_per_s, format::rate);
    rows.spread("failed", failed_ratio, format::percent);
    for outcome in experiment.failures() {
        let name = format!("  {}", outcome.name());
        rows.spread(&name, |f| share(f, outcome), format::percent);
    }
    rows.rows.extend(after::rows(experiment));
    rows.add("capacity at the objective", |v| {
        Capacity::of(experiment, v, lines).text()
    });
    rows.add_some("  predicted", |v| prediction(experiment, v, lines));
    for (name, of) in [
        ("p50", (|f| f.response_time_ns.p50) as fn(&Verdict) -> _),
        ("p95", |f| f.response_time_ns.p95),
        ("p99", |f| f.response_time_ns.p99),
    ] {
        rows.add(name, |v| times(v.verdicts().map(of)));
    }
}

/// `+80 % on 2A (+71 to +88 %), ▲ better`, `+80 % on 2A, no interval`
pub(crate) fn against_base(experiment: &Experiment<'_>, variant: &Variant<'_>) -> Option<String> {
    let base = experiment.base_of(variant)?;
    if let Some(contrast) = experiment.contrast(variant) {
        let change = words::change(contrast.scale, contrast.estimate);
        let interval = contrast.interval.map_or("no interval".to_owned(), |_| {
            words::range(contrast.scale, contrast.interval)
        });
        let sign = words::sign(contrast.standing);
        let word = contrast.standing.word();
        return Some(format!(
            "{change} on {} ({interval}), {sign} {word}",
            base.name
        ));
    }
    let ratio = ratio_to(variant, base)?;
    let change = words::change(plimsoll_core::comparison::Scale::Ratio, ratio);
    Some(format!("{change} on {}, no interval", base.name))
}

/// Of the medians of goodput; none where a run is missing or not valid.
pub(crate) fn ratio_to(variant: &Variant<'_>, base: &Variant<'_>) -> Option<f64> {
    if !variant.is_valid() || !base.is_valid() {
        return None;
    }
    let of = |variant: &Variant<'_>| variant.median(|f| f.goodput_per_s);
    let base = of(base).filter(|base| *base > 0.0)?;
    Some(of(variant)? / base)
}

/// `640/s from 1, measured 2.3 % above`
pub(crate) fn prediction(
    experiment: &Experiment<'_>,
    variant: &Variant<'_>,
    lines: Option<&LoadLines>,
) -> Option<String> {
    let predicted = variant.predicted.as_ref()?;
    let text = format!("{} from {}", format::rate(predicted.per_s), predicted.from);
    let capacity = Capacity::of(experiment, variant, lines).per_s();
    let off = capacity.map(|measured| measured / predicted.per_s - 1.0);
    Some(
        off.filter(|off| off.is_finite())
            .map_or(text.clone(), |off| {
                let side = if off < 0.0 { "below" } else { "above" };
                format!("{text}, measured {} {side}", format::percent(off.abs()))
            }),
    )
}

fn tiers(rows: &mut Rows<'_>, experiment: &Experiment<'_>) {
    rows.add_some("CPU per 1,000 good answers", |v| {
        v.cost_seconds().map(|cost| format::seconds(cost * 1e3))
    });
    rows.add_some("goodput per core given", |v| {
        let cores = v.cores_given()?;
        Some(format::rate(v.median(|f| f.goodput_per_s)? / cores))
    });
    for tier in tier_names(experiment) {
        let of = |v: &Variant<'_>| v.tiers().into_iter().find(|one| one.tier == tier);
        rows.add_some(&format!("CPU of {tier}"), |v| {
            of(v).map(|tier| {
                let times = match tier.instances {
                    1 => String::new(),
                    n => format!("{n} instances: "),
                };
                format!("{times}{}", tier.busy_text())
            })
        });
    }
    rows.add_some("most in flight", |v| {
        let bounds: Vec<String> = v
            .tiers()
            .into_iter()
            .filter_map(|tier| Some((tier.tier, tier.takes?)))
            .map(|(tier, (limit, count))| {
                format!("{tier} takes {} ({limit})", format::number(count))
            })
            .collect();
        let most = format::count(v.wire_max());
        (v.wire_max() > 0).then(|| {
            let lead = [most];
            lead.into_iter()
                .chain(bounds)
                .collect::<Vec<_>>()
                .join("; ")
        })
    });
    rows.add_some("pools in use", |v| {
        let first = v.verdicts().next()?;
        let pools = first.resources.iter();
        let pools: Vec<String> = pools
            .filter(|resource| resource.resource.starts_with("pool "))
            .map(|pool| {
                let used = format::percent(pool.run_ratio);
                let size = pool.resource.trim_start_matches("pool of ");
                let size = size.parse().map_or(size.to_owned(), format::number);
                format!("{used} of {size} in {}", pool.tier)
            })
            .collect();
        (!pools.is_empty()).then(|| pools.join("; "))
    });
}

/// Tiers of all variants in the order of their first start.
pub(crate) fn tier_names(experiment: &Experiment<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for tier in experiment.variants.iter().flat_map(Variant::tiers) {
        if !names.contains(&tier.tier) {
            names.push(tier.tier);
        }
    }
    names
}

fn judgement(rows: &mut Rows<'_>, experiment: &Experiment<'_>) {
    let asked = |v: &Variant<'_>| v.verdicts().any(|f| !f.objectives.is_empty());
    if experiment.variants.iter().any(asked) {
        rows.add("objectives", |v| {
            v.said(|_, verdict| {
                let parts: Vec<String> = verdict
                    .objectives
                    .iter()
                    .map(|o| format!("{}: {:?}", o.clause, o.judgement).to_lowercase())
                    .collect();
                parts.join(", ")
            })
        });
    }
    rows.add("gives way first", limits::first_words);
    rows.add("then", limits::next_words);
    rows.add("gates", |v| {
        v.said(|_, verdict| GateTally::of(&verdict.gates).words())
    });
    rows.add_some("confined by", confined);
    rows.add("differs in", |v| match (v.base, v.changes) {
        (None, _) => format::ABSENT.to_owned(),
        (Some(base), []) => format!("nothing from {base}"),
        (Some(_), changes) => changes.join("; "),
    });
}

/// `app: quota of 0.35 core; db: quota of 0.3 core`
fn confined(variant: &Variant<'_>) -> Option<String> {
    let tiers = variant.tiers();
    let words: Vec<String> = tiers
        .iter()
        .map(|tier| format!("{}: {}", tier.tier, tier.isolation.join(", ")))
        .collect();
    (!words.is_empty()).then(|| words.join("; "))
}

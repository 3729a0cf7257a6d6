//! The rows of scripts held against each other by the rules of all figures, and corrected together.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::comparison::{
    Contrast, Counted, Effect, Figure, MetricFigure, MetricRow, Mismatch, Named, NamedContrast,
    NamedFigures, NamedKind, Run, Variant,
};
use plimsoll_core::metrics::Sink;
use plimsoll_core::record::ScriptCounts;
use plimsoll_core::statistics::median;
use plimsoll_core::tally::Quantile;

use super::contrast::contrast;
use super::family::{Family, correct};
use super::permutation::holm;
use super::turns::Places;
use super::{Question, words};

/// Names that a mismatch spells out.
const SPELLED: usize = 8;

/// What a script counted in a run with a load of its own.
pub(super) fn figures(counts: &ScriptCounts) -> NamedFigures {
    let mut named = NamedFigures::default();
    let origin = origin(counts);
    for row in &counts.names {
        let mut figures = BTreeMap::new();
        figures.extend(row.tally.failed_ratio().map(|at| (Figure::Failures, at)));
        for (figure, q) in [(Figure::P50, 0.5), (Figure::P95, 0.95)] {
            let seconds = row
                .tally
                .response_quantile(q)
                .map(|quantile| match quantile {
                    Quantile::At(at) => at.as_secs_f64(),
                    Quantile::Never => f64::INFINITY,
                });
            figures.extend(seconds.map(|seconds| (figure, seconds)));
        }
        let key = Named {
            kind: NamedKind::Requests,
            name: placeless(&row.name, origin).to_owned(),
        };
        let counted = Counted {
            failed_count: row.tally.failures(),
            attempts_count: row.tally.decided(),
        };
        named.counts.insert(key.clone(), counted);
        named.rows.insert(key, figures);
    }
    for check in &counts.checks {
        let group = check.group.trim_start_matches("::");
        let name = match group {
            "" => check.name.clone(),
            group => format!("{group} › {}", check.name),
        };
        let all = (check.passes + check.fails).max(1);
        let share = check.fails as f64 / all as f64;
        let key = Named {
            kind: NamedKind::Check,
            name,
        };
        let counted = Counted {
            failed_count: check.fails,
            attempts_count: check.passes + check.fails,
        };
        named.counts.insert(key.clone(), counted);
        named
            .rows
            .insert(key, BTreeMap::from([(Figure::ChecksFailed, share)]));
    }
    let metrics = counts.custom().map(|metric| {
        let (figure, value) = match &metric.sink {
            Sink::Counter(counter) => ("per second", counter.per_s(counts.elapsed_ns)),
            Sink::Gauge(gauge) => ("value", gauge.value()),
            Sink::Rate(rate) => ("share", rate.ratio()),
            Sink::Trend(trend) => ("p95", trend.quantile(0.95)),
        };
        (metric.name.clone(), MetricFigure { figure, value })
    });
    named.metrics = metrics.collect();
    named
}

/// Of `http://127.0.0.1:3001/cart` all before the path.
fn origin_of(name: &str) -> Option<&str> {
    let start = name.find("://")? + 3;
    let end = name.get(start..)?.find('/').map(|at| start + at);
    name.get(..end.unwrap_or(name.len()))
}

/// Where all requests go that the script gives no name: they are named by their URL, and one script may be played in two
/// places.
fn origin(counts: &ScriptCounts) -> Option<&str> {
    let mut origins = counts.names.iter().filter_map(|row| origin_of(&row.name));
    let first = origins.next()?;
    origins.all(|other| other == first).then_some(first)
}

fn placeless<'n>(name: &'n str, origin: Option<&str>) -> &'n str {
    match origin.and_then(|origin| name.strip_prefix(origin)) {
        Some("") => "/",
        Some(path) if path.starts_with('/') => path,
        _ => name,
    }
}

/// Every name that all variants have, in the figures that can be compared.
pub(super) fn contrasts(
    variants: &[Variant],
    withheld: &BTreeSet<Figure>,
    asked: &Question,
) -> Vec<NamedContrast> {
    let mut found = Vec::new();
    let places = Places::of(variants);
    for key in keys(variants)
        .into_iter()
        .filter(|key| has_all(variants, key))
    {
        let rows: Vec<Variant> = variants.iter().map(|variant| row(variant, &key)).collect();
        let figures: BTreeSet<Figure> = super::figures_of(&rows);
        let sides = asked.sides(&rows);
        for figure in figures.difference(withheld) {
            for sides in &sides {
                let contrast = contrast(*figure, *sides, &places, asked);
                found.extend(contrast.map(|contrast| NamedContrast {
                    kind: key.kind,
                    name: key.name.clone(),
                    contrast,
                }));
            }
        }
    }
    corrected(&mut found, asked);
    found
}

/// Holm's rule over all rows: with many names a difference must be plain.
fn corrected(found: &mut [NamedContrast], asked: &Question) {
    let p: Vec<f64> = found.iter().map(|named| named.contrast.p).collect();
    let family = Family {
        count: found.len(),
        guards: 0,
    };
    for (named, adjusted) in found.iter_mut().zip(holm(&p)) {
        let contrast: &mut Contrast = &mut named.contrast;
        correct(contrast, adjusted, family, asked.design);
        contrast.because = words::because(contrast, asked.design, family);
    }
}

fn keys(variants: &[Variant]) -> BTreeSet<Named> {
    let runs = variants.iter().flat_map(Variant::usable);
    runs.flat_map(|run| run.named.rows.keys().cloned())
        .collect()
}

fn has_all(variants: &[Variant], key: &Named) -> bool {
    let has = |variant: &Variant| variant.usable().any(|run| run.named.rows.contains_key(key));
    variants.iter().all(has)
}

/// A variant as this one name sees it.
fn row(variant: &Variant, key: &Named) -> Variant {
    let share = match key.kind {
        NamedKind::Requests => Figure::Failures,
        NamedKind::Check => Figure::ChecksFailed,
    };
    let of = |run: &Run| Run {
        name: run.name.clone(),
        started_at: run.started_at.clone(),
        excluded: run.excluded.clone(),
        figures: run.named.rows.get(key).cloned().unwrap_or_default(),
        counts: run
            .named
            .counts
            .get(key)
            .map(|counted| (share, *counted))
            .into_iter()
            .collect(),
        ..Run::default()
    };
    Variant {
        name: variant.name.clone(),
        runs: variant.runs.iter().map(of).collect(),
    }
}

/// Metrics that scripts declare, beside each other.
pub(super) fn metrics(variants: &[Variant], is_withheld: bool) -> Vec<MetricRow> {
    if is_withheld {
        return Vec::new();
    }
    let runs = || variants.iter().flat_map(Variant::usable);
    let all: BTreeMap<&str, &'static str> = runs()
        .flat_map(|run| &run.named.metrics)
        .map(|(name, figure)| (name.as_str(), figure.figure))
        .collect();
    let rows = all.into_iter().map(|(metric, figure)| {
        let median_of = |variant: &Variant| {
            let values = variant.usable().filter_map(|run| {
                let found = run.named.metrics.get(metric)?;
                (found.figure == figure).then_some(found.value)
            });
            median(values.collect())
        };
        MetricRow {
            metric: metric.to_owned(),
            figure,
            medians: variants.iter().map(median_of).collect(),
        }
    });
    rows.collect()
}

/// Names that not every variant has: a difference by itself, and no figures to compare.
pub(super) fn mismatches(variants: &[Variant]) -> Vec<Mismatch> {
    let played = variants
        .iter()
        .all(|variant| variant.usable().next().is_some());
    if !played {
        return Vec::new();
    }
    let kinds = [
        (NamedKind::Requests, "names of requests"),
        (NamedKind::Check, "checks"),
    ];
    let of_rows = kinds.into_iter().filter_map(|(kind, fact)| {
        let of = |variant: &Variant| -> BTreeSet<String> {
            let rows = variant.usable().flat_map(|run| run.named.rows.keys());
            let rows = rows.filter(|key| key.kind == kind);
            rows.map(|key| key.name.clone()).collect()
        };
        one_sided(fact, variants, of)
    });
    let of_metrics = one_sided("metrics of the script", variants, |variant| {
        let rows = variant.usable().flat_map(|run| run.named.metrics.keys());
        rows.cloned().collect()
    });
    of_rows.chain(of_metrics).collect()
}

fn one_sided(
    fact: &str,
    variants: &[Variant],
    of: impl Fn(&Variant) -> BTreeSet<String>,
) -> Option<Mismatch> {
    let all: Vec<BTreeSet<String>> = variants.iter().map(of).collect();
    let mut common = all.first()?.clone();
    for names in &all {
        common.retain(|name| names.contains(name));
    }
    if all.iter().all(|names| names.len() == common.len()) {
        return None;
    }
    let own = |names: &BTreeSet<String>| {
        let own: Vec<String> = names.difference(&common).cloned().collect();
        spelled(&own)
    };
    let values = variants.iter().zip(&all);
    Some(Mismatch {
        fact: fact.to_owned(),
        effect: Effect::Noted,
        values: values
            .map(|(variant, names)| (variant.name.clone(), vec![own(names)]))
            .collect(),
        says: "not on every side, so there is nothing to compare them with".to_owned(),
    })
}

fn spelled(names: &[String]) -> String {
    if names.is_empty() {
        return "none of its own".to_owned();
    }
    let shown = names.iter().take(SPELLED).cloned().collect::<Vec<_>>();
    match names.len().saturating_sub(SPELLED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

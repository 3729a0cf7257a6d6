//! The comparison of variants as one JSON document.

use plimsoll_core::verdict::Verdict;
use serde_json::{Map, Value, json};

use super::cell::{Spread, spread};
use super::tiers::TierUse;
use super::{Answer, Capacity, Experiment, LoadLines, Variant, failed_ratio, rows};
use crate::format::NBSP;
use crate::json;
use crate::view::confidence_word;

pub(super) fn of(experiment: &Experiment<'_>) -> Value {
    let lines = LoadLines::of(experiment);
    let lines = lines.as_ref();
    let answer = Answer::of(experiment, lines);
    let variants: Vec<Value> = experiment
        .variants
        .iter()
        .map(|one| variant(experiment, one, lines))
        .collect();
    let mut document = json!({
        "schema": "plimsoll.lab/1",
        "title": experiment.title,
        "verdict": plain(&answer.paragraph()),
        "replication": plain(&experiment.replication()),
        "warnings": experiment.remarks(),
        "variants": variants,
    });
    if let (Some(comparison), Some(fields)) = (&experiment.comparison, document.as_object_mut()) {
        fields.insert("contrasts".to_owned(), json!(comparison.contrasts));
    }
    document
}

/// Data has ordinary spaces.
fn plain(text: &str) -> String {
    text.replace(NBSP, " ")
}

fn variant(experiment: &Experiment<'_>, variant: &Variant<'_>, lines: Option<&LoadLines>) -> Value {
    let runs: Vec<Value> = variant
        .runs
        .iter()
        .map(|run| json!({ "record": run.path, "summary": json::document(run.record) }))
        .collect();
    let of = |figure: fn(&Verdict) -> f64| {
        let Spread { median, low, high } = spread(&variant.figures(figure));
        json!({ "median": median, "lowest": low, "highest": high })
    };
    let mut fields = json!({
        "name": variant.name,
        "about": variant.about,
        "base": variant.base,
        "changes": variant.changes,
        "valid_runs_count": variant.runs.iter().filter(|run| run.is_valid()).count(),
        "goodput_per_s": of(|f| f.goodput_per_s),
        "throughput_per_s": of(|f| f.throughput_per_s),
        "failed_ratio": of(failed_ratio),
        "capacity": plain(&Capacity::of(experiment, variant, lines).text()),
        "tiers": variant.tiers().iter().map(tier).collect::<Vec<_>>(),
        "runs": runs,
    });
    if let Some(fields) = fields.as_object_mut() {
        optional(fields, experiment, variant, lines);
    }
    fields
}

/// What was not measured is absent.
fn optional(
    fields: &mut Map<String, Value>,
    experiment: &Experiment<'_>,
    variant: &Variant<'_>,
    lines: Option<&LoadLines>,
) {
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(key.to_owned(), value);
        }
    };
    let capacity = Capacity::of(experiment, variant, lines).per_s();
    add("capacity_per_s", capacity.map(|at| json!(at)));
    let base = experiment.base_of(variant);
    let ratio = base.and_then(|base| rows::ratio_to(variant, base));
    add("goodput_ratio_to_base", ratio.map(|at| json!(at)));
    let cost = variant.cost_seconds();
    add("processor_seconds_per_good", cost.map(|at| json!(at)));
    add("cores_given", variant.cores_given().map(|at| json!(at)));
    add("first_limit", first_limit(variant));
    let predicted = variant.predicted.as_ref().map(|predicted| {
        json!({ "per_s": predicted.per_s, "from": predicted.from, "why": predicted.why })
    });
    add("predicted", predicted);
}

fn first_limit(variant: &Variant<'_>) -> Option<Value> {
    let said = variant.first()?;
    Some(json!({
        "limit": said.limit,
        "confidence": confidence_word(said.confidence),
        "runs_count": said.runs,
        "of_runs_count": said.of,
    }))
}

fn tier(tier: &TierUse) -> Value {
    let mut value = json!({
        "tier": tier.tier,
        "instances_count": tier.instances,
        "confined_by": tier.isolation,
    });
    let figures = [
        ("cores_given", tier.cores_given),
        ("cores_used", tier.cores_used),
        ("throttled_ratio", tier.throttled_ratio),
        ("processor_seconds_per_good", tier.cost_seconds),
        (
            "in_flight_max",
            tier.takes.as_ref().map(|(_, count)| *count),
        ),
    ];
    if let Some(fields) = value.as_object_mut() {
        for (key, figure) in figures {
            if let Some(figure) = figure {
                fields.insert(key.to_owned(), json!(figure));
            }
        }
    }
    value
}

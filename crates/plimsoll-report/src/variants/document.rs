//! The comparison of variants as one JSON document.

use plimsoll_core::experiment::{LimitClaim, Run, Spread, TierUse, Variant, VariantMeaning};
use plimsoll_core::record::Record;
use serde_json::{Map, Value, json};

use super::Shown;
use crate::format::NBSP;
use crate::json;

/// The verdict, for each variant the spread of its figures, and the summary of every run.
pub fn document(shown: &Shown<'_>) -> Value {
    let judged = shown.judged;
    let variants = judged.variants().zip(&shown.words);
    let variants: Vec<Value> = variants
        .map(|((one, meaning), words)| variant(one, meaning, &words.capacity))
        .collect();
    let mut document = json!({
        "schema": "plimsoll.lab/1",
        "title": judged.experiment.title,
        "verdict": plain(&shown.answer.paragraph()),
        "replication": plain(&shown.replication),
        "warnings": shown.remarks,
        "notes": shown.notes.iter().map(|note| plain(note)).collect::<Vec<_>>(),
        "variants": variants,
    });
    let comparison = judged.experiment.comparison.as_ref();
    if let (Some(comparison), Some(fields)) = (comparison, document.as_object_mut()) {
        fields.insert("contrasts".to_owned(), json!(comparison.contrasts));
    }
    document
}

/// Data has ordinary spaces.
fn plain(text: &str) -> String {
    text.replace(NBSP, " ")
}

fn variant(variant: &Variant<'_>, meaning: &VariantMeaning, capacity: &str) -> Value {
    let mut document = json!({
        "name": variant.name,
        "about": variant.about,
        "base": variant.base,
        "changes": variant.changes,
        "valid_runs_count": variant.runs.iter().filter(|run| run.is_valid()).count(),
        "goodput_per_s": spread(meaning.goodput_per_s),
        "throughput_per_s": spread(meaning.throughput_per_s),
        "failed_ratio": spread(meaning.failed_ratio),
        "capacity": plain(capacity),
        "tiers": meaning.tiers.each.iter().map(tier).collect::<Vec<_>>(),
        "runs": variant.runs.iter().map(run).collect::<Vec<_>>(),
    });
    if let Some(fields) = document.as_object_mut() {
        let mut add = |key: &str, value: Option<Value>| add(fields, key, value);
        let figure = |value: Option<f64>| value.map(|value| json!(value));
        add("capacity_per_s", figure(meaning.capacity.per_s()));
        add("goodput_ratio_to_base", figure(meaning.ratio_to_base));
        add(
            "processor_seconds_per_good",
            figure(meaning.tiers.cost_seconds),
        );
        add("cores_given", figure(meaning.tiers.cores_given));
        add(
            "first_limit",
            meaning.limits.first.as_ref().map(first_limit),
        );
        add(
            "recovery",
            meaning.recovery.map(|recovery| {
                json!({
                    "seconds": spread(recovery.seconds),
                    "lost_count": recovery.lost_count,
                    "runs_count": recovery.runs_count,
                    "watched_seconds": recovery.watched_seconds,
                })
            }),
        );
        let predicted = variant.predicted.as_ref().map(|predicted| {
            json!({ "per_s": predicted.per_s, "from": predicted.from, "why": predicted.why })
        });
        add("predicted", predicted);
    }
    document
}

/// What was not measured is absent.
fn add(fields: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        fields.insert(key.to_owned(), value);
    }
}

fn spread(Spread { median, low, high }: Spread) -> Value {
    json!({ "median": median, "lowest": low, "highest": high })
}

fn run(run: &Run<'_>) -> Value {
    let mut document = json!({ "record": run.path, "summary": json::document(run.record) });
    if let Some(fields) = document.as_object_mut() {
        add(fields, "after", after(run.record));
    }
    document
}

/// What the load left behind, under the record's own names.
fn after(record: &Record) -> Option<Value> {
    let after = record.after.as_ref()?;
    let (ok, accepted) = record.acknowledged();
    Some(json!({
        "ok_count": ok,
        "accepted_count": accepted,
        "taken_count": after.taken_count,
        "backlog_count": after.backlog_count,
        "backlog_left_count": after.backlog_left_count,
        "drained_ns": after.drained_ns,
        "stored_at_end_count": after.stored_at_end_count,
        "stored_count": after.stored_count,
        "lost_count": after.lost_count(ok + accepted),
        "killed": after.killed,
        "uncounted": after.uncounted,
    }))
}

fn first_limit(claim: &LimitClaim) -> Value {
    json!({
        "limit": claim.limit,
        "confidence": claim.confidence.word(),
        "runs_count": claim.runs_count,
        "of_runs_count": claim.of_runs_count,
    })
}

fn tier(tier: &TierUse) -> Value {
    let mut value = json!({
        "tier": tier.tier,
        "instances_count": tier.instances,
        "confined_by": tier.isolation,
    });
    let takes = tier.takes.as_ref();
    let figures = [
        ("cores_given", tier.cores_given),
        ("cores_used", tier.cores_used),
        ("throttled_ratio", tier.throttled_ratio),
        ("processor_seconds_per_good", tier.cost_seconds),
        ("in_flight_max", takes.map(|(_, count)| *count)),
    ];
    if let Some(fields) = value.as_object_mut() {
        for (key, figure) in figures {
            add(fields, key, figure.map(|figure| json!(figure)));
        }
    }
    value
}

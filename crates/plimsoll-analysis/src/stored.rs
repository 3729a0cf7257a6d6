//! What the stored verdict of a record says otherwise than its windows come to: named, never believed.

use plimsoll_core::Nanos;
use plimsoll_core::record::Said;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{GateId, Verdict};
use serde_json::{Map, Value};

/// Top-level keys of a verdict in words, in the order in which a reader wants to hear of them. Others are named by their key.
const NAMES: [(&str, &str); 34] = [
    ("verdict", "the verdict"),
    ("valid", "whether it is valid"),
    ("capacity_per_s", "the load line"),
    ("capacity_vus", "the load line"),
    ("reached_per_s", "what was reached"),
    ("goodput_per_s", "goodput"),
    ("throughput_per_s", "answers"),
    ("offered_per_s", "arrivals"),
    ("attempts_count", "attempts"),
    ("outcomes", "outcomes:"),
    ("response_time_ns", "response time"),
    ("service_time_ns", "service time"),
    ("objectives", "objective"),
    ("peak_goodput_per_s", "the peak"),
    ("knee_per_s", "the knee"),
    ("knee_vus", "the knee"),
    ("knee_in_flight", "requests in flight at the knee"),
    ("collapse_per_s", "the collapse"),
    ("collapse_vus", "the collapse"),
    ("recovery_seconds", "the recovery"),
    ("binding_clause", "the clause that binds"),
    ("soak_seconds", "how long it was held"),
    ("converged", "whether the search converged"),
    ("remarks", "remark"),
    ("limit", "what gives way first:"),
    ("next_limit", "what gives way next:"),
    ("advice", "advice"),
    ("resources", "resource"),
    ("script_faults", "what the script calls wrong:"),
    ("in_flight_mean", "requests in flight"),
    ("bytes_received", "bytes received"),
    ("duration_seconds", "its length"),
    ("level", "the level that it describes"),
    ("gates", "gate"),
];

/// Every figure that differs, by name.
pub fn differences(stored: &Verdict, computed: &Verdict) -> Vec<Said> {
    if stored == computed {
        return Vec::new();
    }
    let object = |verdict: &Verdict| match serde_json::to_value(verdict) {
        Ok(Value::Object(keys)) => keys,
        _ => Map::new(),
    };
    let (stored, computed) = (object(stored), object(computed));
    let mut said = Vec::new();
    let known = NAMES.iter().map(|(key, name)| (*key, *name));
    let is_named = |key: &str| NAMES.iter().any(|(known, _)| *known == key);
    let keys = stored.keys().chain(computed.keys());
    let mut others: Vec<&str> = keys
        .map(String::as_str)
        .filter(|key| !is_named(key))
        .collect();
    others.sort_unstable();
    others.dedup();
    for (key, name) in known.chain(others.into_iter().map(|key| (key, key))) {
        let (one, other) = (value_at(&stored, key), value_at(&computed, key));
        differ(name, key, (one, other), &mut said);
    }
    said
}

fn value_at<'a>(object: &'a Map<String, Value>, key: &str) -> &'a Value {
    object.get(key).unwrap_or(&Value::Null)
}

/// Adds every leaf below that differs. `unit` is the last key that names one.
fn differ(name: &str, unit: &str, (stored, computed): (&Value, &Value), said: &mut Vec<Said>) {
    if stored == computed {
        return;
    }
    let empty = Map::new();
    match (stored, computed) {
        (Value::Object(_), Value::Object(_) | Value::Null) | (Value::Null, Value::Object(_)) => {
            let of = |value: &'_ Value| value.as_object().cloned();
            let one = of(stored).unwrap_or_else(|| empty.clone());
            let other = of(computed).unwrap_or(empty);
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let unit = if has_unit(key) { key } else { unit };
                let sides = (value_at(&one, key), value_at(&other, key));
                differ(&below(name, key), unit, sides, said);
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            for index in 0..one.len().max(other.len()) {
                let at = |side: &'_ [Value]| side.get(index).cloned().unwrap_or(Value::Null);
                let (one, other) = (at(one), at(other));
                differ(
                    &item(name, index, [&one, &other]),
                    unit,
                    (&one, &other),
                    said,
                );
            }
        }
        _ => said.push(Said {
            what: name.to_owned(),
            stored: shown(unit, stored),
            computed: shown(unit, computed),
        }),
    }
}

/// An item by what it calls itself, else by its place.
fn item(name: &str, index: usize, sides: [&Value; 2]) -> String {
    let number = |value: &Value| value.get("number").and_then(Value::as_u64);
    if let Some(number) = sides.into_iter().find_map(number) {
        let gate = u8::try_from(number).map_or("", |number| GateId::from(number).name());
        return format!("{name} {number} ({gate})");
    }
    let word = |key: &str| sides.into_iter().find_map(|side| side.get(key)?.as_str());
    let own = word("clause").or_else(|| word("resource"));
    own.map_or_else(
        || format!("{name} {}", index + 1),
        |own| format!("{name} {own}"),
    )
}

/// `response time p99`, `the load line, lower`.
fn below(name: &str, key: &str) -> String {
    let word = key.replace('_', " ");
    format!("{name} {word}")
}

fn has_unit(key: &str) -> bool {
    [
        "_ns", "_per_s", "_ratio", "_seconds", "_bytes", "_count", "_vus",
    ]
    .iter()
    .any(|unit| key.ends_with(unit))
}

fn shown(unit: &str, value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => with_unit(unit, number.as_f64().unwrap_or(f64::NAN)),
        other => other.to_string(),
    }
}

fn with_unit(unit: &str, value: f64) -> String {
    let digits = || three_digits(value);
    if unit.ends_with("_ns") {
        Nanos(value as u64).to_string()
    } else if unit.ends_with("_per_s") {
        format!("{}/s", digits())
    } else if unit.ends_with("_seconds") {
        format!("{} s", digits())
    } else if unit.ends_with("_ratio") {
        format!("{} %", three_digits(value * 100.0))
    } else if unit.ends_with("_bytes") {
        format!("{} B", digits())
    } else if value.fract() == 0.0 {
        format!("{value}")
    } else {
        digits()
    }
}

#[cfg(test)]
mod tests;

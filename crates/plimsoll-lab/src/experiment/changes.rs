//! In what two variants differ: one entry for each thing that was changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::resolve::Merged;

/// What changed from `base` to `variant`. A tier that is new or gone counts once.
pub(super) fn between(base: &Merged, variant: &Merged) -> Vec<String> {
    let mut changes = Vec::new();
    let names: BTreeSet<&String> = base.tiers.keys().chain(variant.tiers.keys()).collect();
    for name in names {
        match (base.tiers.get(name), variant.tiers.get(name)) {
            (Some(was), Some(is)) => {
                let mut of_tier = Vec::new();
                changed(&format!("tiers.{name}"), was, is, &mut of_tier);
                // A limit declared beside the parameter that sets it is that parameter, said twice.
                let set: Vec<String> = of_tier
                    .iter()
                    .map(|c| c.replacen(".set.", ".limits.", 1))
                    .collect();
                let is_said_twice = |change: &String| {
                    change.contains(".limits.")
                        && set
                            .iter()
                            .zip(&of_tier)
                            .any(|(as_limit, own)| as_limit == change && own != change)
                };
                changes.extend(
                    of_tier
                        .iter()
                        .filter(|change| !is_said_twice(change))
                        .cloned(),
                );
            }
            (None, Some(_)) => changes.push(format!("tiers.{name}: added")),
            (Some(_), None) => changes.push(format!("tiers.{name}: left out")),
            (None, None) => {}
        }
    }
    changed("test", &base.test, &variant.test, &mut changes);
    changes
}

fn changed(path: &str, was: &impl Serialize, is: &impl Serialize, changes: &mut Vec<String>) {
    let (was, is) = (leaves(path, was), leaves(path, is));
    let paths: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for path in paths {
        let (before, after) = (was.get(path), is.get(path));
        if before != after {
            let shown = |value: Option<&String>| value.map_or("not set", |text| text).to_owned();
            changes.push(format!("{path}: {} → {}", shown(before), shown(after)));
        }
    }
}

/// Every value that is set, by its path. A list is one value.
fn leaves(path: &str, of: &impl Serialize) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(
        path,
        &serde_json::to_value(of).unwrap_or_default(),
        &mut found,
    );
    found
}

fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (name, value) in map {
                collect(&format!("{path}.{name}"), value, found);
            }
        }
        Value::String(text) => drop(found.insert(path.to_owned(), text.clone())),
        Value::Number(number) => drop(found.insert(path.to_owned(), plain(number))),
        other => drop(found.insert(path.to_owned(), other.to_string())),
    }
}

/// `1024` also where the file's reader made `1024.0` of it.
fn plain(number: &serde_json::Number) -> String {
    number
        .as_f64()
        .map_or_else(|| number.to_string(), |value| value.to_string())
}

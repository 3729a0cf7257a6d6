//! In what two variants differ: one entry for each thing that was changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Place;
use super::fill::tiers_in;
use super::layers::Tables;
use crate::LabError;

/// Keys that describe a tier, or how the end of the load is looked at, and change nothing in what is played.
/// When a tier goes on belongs to when it was stopped, and is no second change.
const DESCRIBING: [&str; 12] = [
    "ready",
    "ready_within",
    "needs",
    "watch",
    "requires",
    "install",
    "stub",
    "continue_at",
    "stored",
    "backlog",
    "taken",
    "drain_within",
];

/// Every value of a variant that makes a difference, by its path. A list is one value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    tiers: BTreeMap<String, Leaves>,
    test: Leaves,
}

type Leaves = BTreeMap<String, String>;

impl Facts {
    pub(super) fn of(tables: &Tables<'_>, place: &Place<'_>) -> Result<Self, LabError> {
        let leaves = |path: &str, table| -> Result<Leaves, LabError> {
            let mut values: BTreeMap<String, Value> = place.read(table)?;
            values.retain(|key, _| !DESCRIBING.contains(&key.as_str()));
            let mut found = Leaves::new();
            for (key, value) in &values {
                collect(&format!("{path}.{key}"), value, &mut found);
            }
            Ok(found)
        };
        let mut tiers = BTreeMap::new();
        for (name, tier) in &tables.tiers {
            let leaves = leaves(&format!("tiers.{name}"), tier.clone())?;
            tiers.insert(name.clone(), leaves);
        }
        let test = leaves("test", tables.test.clone())?;
        Ok(Self { tiers, test })
    }

    /// What changed from `base` to this. A tier that is new counts once, also if the load or other tiers are turned to it
    /// from the one that it leads to; and one that is gone, if they are turned to where it led.
    pub(super) fn changes_from(&self, base: &Self) -> Vec<String> {
        let turns = Turns {
            added: self.beside(base),
            gone: base.beside(self),
        };
        let mut turned: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let test = turns.taken_out("the load", &base.test, &self.test, &mut turned);
        let both = base.tiers.iter().filter_map(|(name, was)| {
            let is = turns.taken_out(name, was, self.tiers.get(name)?, &mut turned);
            Some((name.as_str(), in_tier(name, was, &is)))
        });
        let mut changes: BTreeMap<&str, Vec<String>> = both.collect();
        for name in turns.gone.keys() {
            changes.insert(name, vec![format!("tiers.{name}: left out")]);
        }
        for name in turns.added.keys() {
            let also = match turned.get(name).map(Vec::as_slice) {
                None => String::new(),
                Some([one]) => format!(", and {one} goes to it"),
                Some(several) => format!(", and {} go to it", several.join(" and ")),
            };
            changes.insert(name, vec![format!("tiers.{name}: added{also}")]);
        }
        let others = changed(&base.test, &test).map(|change| change.to_string());
        changes.into_values().flatten().chain(others).collect()
    }

    /// Tiers that the other one lacks.
    fn beside<'a>(&'a self, other: &Self) -> BTreeMap<&'a str, &'a Leaves> {
        let own = self.tiers.iter();
        let own = own.filter(|(name, _)| !other.tiers.contains_key(*name));
        own.map(|(name, leaves)| (name.as_str(), leaves)).collect()
    }
}

/// Tiers that are new, and tiers that are gone.
struct Turns<'a> {
    added: BTreeMap<&'a str, &'a Leaves>,
    gone: BTreeMap<&'a str, &'a Leaves>,
}

impl<'a> Turns<'a> {
    /// `is` without what only turns `who` to a tier that is new and stands in between, or past one that is gone: that is
    /// part of adding it, or of leaving it out. Who was turned to a new one is added to `turned`.
    fn taken_out(
        &self,
        who: &'a str,
        was: &Leaves,
        is: &Leaves,
        turned: &mut BTreeMap<&'a str, Vec<&'a str>>,
    ) -> Leaves {
        let mut rest = is.clone();
        for change in changed(was, is) {
            let (Some((from, to)), Some(value)) = (change.turned_to(), change.was) else {
                continue;
            };
            let new = self.added.get_key_value(to);
            let new = new.filter(|(_, leaves)| leads_to(leaves, from));
            let past = self.gone.get(from).is_some_and(|it| leads_to(it, to));
            if let Some((name, _)) = new {
                turned.entry(name).or_default().push(who);
            }
            if new.is_some() || past {
                rest.insert(change.path.to_owned(), value.to_owned());
            }
        }
        rest
    }
}

fn leads_to(leaves: &Leaves, tier: &str) -> bool {
    let mut named = leaves.values().filter_map(|text| tiers_in(text).ok());
    named.any(|tiers| tiers.contains(&tier))
}

/// Another program is one change, whatever is said beside it.
fn in_tier(name: &str, was: &Leaves, is: &Leaves) -> Vec<String> {
    let program = ["command", "embedded"].map(|key| format!("tiers.{name}.{key}"));
    let shares = ["instances", "cpu", "memory", "port"].map(|key| format!("tiers.{name}.{key}"));
    let others = changed(was, is).any(|change| program.iter().any(|key| key == change.path));
    let all = changed(was, is).filter(|change| {
        let counts = |path: &String| path == change.path;
        !others || program.iter().any(counts) || shares.iter().any(counts)
    });
    let all: Vec<Change<'_>> = all.collect();
    let mut changes: Vec<String> = all.iter().map(ToString::to_string).collect();
    // A limit declared beside the parameter that sets it is that parameter, said twice.
    let twice: BTreeSet<String> = all
        .iter()
        .filter(|change| change.path.starts_with(&format!("tiers.{name}.set.")))
        .map(|change| change.to_string().replacen(".set.", ".limits.", 1))
        .collect();
    changes.retain(|change| !twice.contains(change));
    changes
}

/// One value that two variants set differently.
#[derive(Debug, Clone, Copy)]
struct Change<'a> {
    path: &'a str,
    was: Option<&'a str>,
    is: Option<&'a str>,
}

impl<'a> Change<'a> {
    /// From which tier to which, if nothing else in the text differs.
    fn turned_to(self) -> Option<(&'a str, &'a str)> {
        let (was, is) = (self.was?, self.is?);
        let (from, to) = (tiers_in(was).ok()?, tiers_in(is).ok()?);
        let ([from], [to]) = (from.as_slice(), to.as_slice()) else {
            return None;
        };
        let turned = is.replace(&format!("${{{to}."), &format!("${{{from}."));
        (turned == was).then_some((*from, *to))
    }
}

impl std::fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |value: Option<&'_ str>| value.unwrap_or("not set").to_owned();
        write!(f, "{}: {} → {}", self.path, shown(self.was), shown(self.is))
    }
}

fn changed<'a>(was: &'a Leaves, is: &'a Leaves) -> impl Iterator<Item = Change<'a>> {
    let paths: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    paths.into_iter().filter_map(move |path| {
        let of = |leaves: &'a Leaves| leaves.get(path).map(String::as_str);
        let (was, is) = (of(was), of(is));
        (was != is).then_some(Change { path, was, is })
    })
}

/// Every value that is set, by its path.
fn collect(path: &str, value: &Value, found: &mut Leaves) {
    match value {
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

//! In what two variants differ: one entry for each thing that was changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::fill::tiers_in;
use super::resolve::Merged;

/// Every value of a variant that makes a difference, by its path. A list is one value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    tiers: BTreeMap<String, Leaves>,
    test: Leaves,
}

type Leaves = BTreeMap<String, String>;

impl Facts {
    pub(super) fn of(variant: &Merged) -> Self {
        let tiers = variant.tiers.iter();
        Self {
            tiers: tiers
                .map(|(name, tier)| (name.clone(), leaves(&format!("tiers.{name}"), tier)))
                .collect(),
            test: leaves("test", &variant.test),
        }
    }

    /// What changed from `base` to this. A tier that is new or gone counts once, also if the load goes to it.
    pub(super) fn changes_from(&self, base: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        let (added, gone) = (self.beside(base), base.beside(self));
        let (to_added, to_others) = self.test_changes(base, &added, &gone);
        let names: BTreeSet<&String> = base.tiers.keys().chain(self.tiers.keys()).collect();
        for name in names {
            let also = if to_added.contains(name.as_str()) {
                ", and the load goes to it"
            } else {
                ""
            };
            match (base.tiers.get(name), self.tiers.get(name)) {
                (Some(was), Some(is)) => changes.extend(in_tier(name, was, is)),
                (None, Some(_)) => changes.push(format!("tiers.{name}: added{also}")),
                (Some(_), None) => changes.push(format!("tiers.{name}: left out")),
                (None, None) => {}
            }
        }
        changes.extend(to_others);
        changes
    }

    /// Tiers that the other one lacks.
    fn beside<'a>(&'a self, other: &Self) -> BTreeSet<&'a str> {
        let names = self
            .tiers
            .keys()
            .filter(|name| !other.tiers.contains_key(*name));
        names.map(String::as_str).collect()
    }

    /// New tiers that the load was turned to, which is part of adding them; and all else that changed in the test.
    fn test_changes<'a>(
        &self,
        base: &Self,
        added: &BTreeSet<&'a str>,
        gone: &BTreeSet<&str>,
    ) -> (BTreeSet<&'a str>, Vec<String>) {
        let (mut to_added, mut others) = (BTreeSet::new(), Vec::new());
        for change in changed(&base.test, &self.test) {
            let turned = change.turned_to();
            let new = turned.and_then(|(_, to)| added.get(to));
            let past = turned.is_some_and(|(from, _)| gone.contains(from));
            match new {
                Some(new) => drop(to_added.insert(*new)),
                None if past => {}
                None => others.push(change.to_string()),
            }
        }
        (to_added, others)
    }
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
    let mut said: Vec<String> = all.iter().map(ToString::to_string).collect();
    // A limit declared beside the parameter that sets it is that parameter, said twice.
    let twice: BTreeSet<String> = all
        .iter()
        .filter(|change| change.path.starts_with(&format!("tiers.{name}.set.")))
        .map(|change| change.to_string().replacen(".set.", ".limits.", 1))
        .collect();
    said.retain(|change| !twice.contains(change));
    said
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
fn leaves(path: &str, of: &impl Serialize) -> Leaves {
    let mut found = Leaves::new();
    collect(
        path,
        &serde_json::to_value(of).unwrap_or_default(),
        &mut found,
    );
    found
}

fn collect(path: &str, value: &Value, found: &mut Leaves) {
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

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

    /// What changed from `base` to this. A tier that is new or gone counts once, also if the load or another tier is
    /// turned to it or past it.
    pub(super) fn changes_from(&self, base: &Self) -> Vec<String> {
        let (added, gone) = (self.beside(base), base.beside(self));
        let mut turned = BTreeMap::new();
        let test = aside_from_turns(
            "the load",
            &base.test,
            &self.test,
            &added,
            &gone,
            &mut turned,
        );
        let both = base.tiers.iter().filter_map(|(name, was)| {
            let is = self.tiers.get(name)?;
            let is = aside_from_turns(name, was, is, &added, &gone, &mut turned);
            Some((name, in_tier(name, was, &is)))
        });
        let mut changes: BTreeMap<&str, Vec<String>> = both
            .map(|(name, changes)| (name.as_str(), changes))
            .collect();
        for name in gone {
            changes.insert(name, vec![format!("tiers.{name}: left out")]);
        }
        for name in added {
            let who = turned.get(name).map_or("", |who| who);
            let also = match who {
                "" => String::new(),
                who => format!(", and {who} goes to it"),
            };
            changes.insert(name, vec![format!("tiers.{name}: added{also}")]);
        }
        let others = changed(&base.test, &test).map(|change| change.to_string());
        changes.into_values().flatten().chain(others).collect()
    }

    /// Tiers that the other one lacks.
    fn beside<'a>(&'a self, other: &Self) -> BTreeSet<&'a str> {
        let names = self
            .tiers
            .keys()
            .filter(|name| !other.tiers.contains_key(*name));
        names.map(String::as_str).collect()
    }
}

/// `is` without what only turns `who` to a tier that is new, or past one that is gone: that is part of adding it, or
/// of leaving it out. Who was turned to a new one is added to `turned`.
fn aside_from_turns<'a>(
    who: &'a str,
    was: &Leaves,
    is: &Leaves,
    added: &BTreeSet<&'a str>,
    gone: &BTreeSet<&str>,
    turned: &mut BTreeMap<&'a str, &'a str>,
) -> Leaves {
    let mut rest = is.clone();
    for change in changed(was, is) {
        let Some((from, to)) = change.turned_to() else {
            continue;
        };
        let new = added.get(to);
        if let (Some(value), true) = (change.was, new.is_some() || gone.contains(from)) {
            rest.insert(change.path.to_owned(), value.to_owned());
        }
        if let Some(new) = new {
            turned.entry(new).or_insert(who);
        }
    }
    rest
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

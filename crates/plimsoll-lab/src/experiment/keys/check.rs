//! Refuses unknown keys of an experiment file, with the line and the nearest known one.

use plimsoll_core::nearest::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{KEYS, Section, names};
use crate::LabError;
use crate::experiment::Place;

/// Refuses the first unknown key, with its line and the nearest known one.
pub(in crate::experiment) fn check(place: &Place<'_>, top: &DeTable<'_>) -> Result<(), LabError> {
    known(place, "", Section::Top, top)?;
    tiers(place, "", top)?;
    for (name, variant) in tables(top, "variants") {
        let path = format!("variants.{name}.");
        known(place, &path, Section::Variant, variant)?;
        tiers(place, &path, variant)?;
        test(place, &path, variant)?;
    }
    test(place, "", top)?;
    for (name, section) in [
        ("objectives", Section::Objectives),
        ("repeat", Section::Repeat),
    ] {
        if let Some(table) = table(top, name) {
            known(place, &format!("{name}."), section, table)?;
        }
    }
    Ok(())
}

fn tiers(place: &Place<'_>, path: &str, within: &DeTable<'_>) -> Result<(), LabError> {
    for (name, tier) in tables(within, "tiers") {
        let path = format!("{path}tiers.{name}.");
        known(place, &path, Section::Tier, tier)?;
        if let Some(stub) = table(tier, "stub") {
            known(place, &format!("{path}stub."), Section::Tier, stub)?;
        }
    }
    Ok(())
}

fn test(place: &Place<'_>, path: &str, within: &DeTable<'_>) -> Result<(), LabError> {
    let Some(test) = table(within, "test") else {
        return Ok(());
    };
    known(place, &format!("{path}test."), Section::Test, test)?;
    let stages = test.get("stages").map(Spanned::get_ref);
    let stages = match stages {
        Some(DeValue::Array(stages)) => stages.iter(),
        _ => return Ok(()),
    };
    for stage in stages {
        if let DeValue::Table(stage) = stage.get_ref() {
            known(place, &format!("{path}test.stages."), Section::Stage, stage)?;
        }
    }
    Ok(())
}

fn table<'a, 'i>(within: &'a DeTable<'i>, name: &str) -> Option<&'a DeTable<'i>> {
    match within.get(name)?.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

/// The tables inside a table of tables, by name; what is no table is left to the typed reader.
fn tables<'a, 'i>(
    within: &'a DeTable<'i>,
    name: &str,
) -> impl Iterator<Item = (&'a str, &'a DeTable<'i>)> {
    let all = table(within, name).into_iter().flat_map(DeTable::iter);
    all.filter_map(|(name, value)| match value.get_ref() {
        DeValue::Table(table) => Some((name.get_ref().as_ref(), table)),
        _ => None,
    })
}

fn known(
    place: &Place<'_>,
    path: &str,
    section: Section,
    table: &DeTable<'_>,
) -> Result<(), LabError> {
    for key in table.keys() {
        let name: &str = key.get_ref().as_ref();
        if names(section).any(|known| known == name) {
            continue;
        }
        let elsewhere = KEYS.iter().find(|key| key.name == name);
        let fix = match (nearest(name, names(section)), elsewhere) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Some(key)) => format!("it belongs into {}", key.section.name()),
            (None, None) => {
                let all: Vec<&str> = names(section).collect();
                format!("{} has {}", section.name(), all.join(", "))
            }
        };
        let problem = format!("unknown key `{path}{name}`; {fix}");
        return Err(place.wrong(key.span().start, problem));
    }
    Ok(())
}

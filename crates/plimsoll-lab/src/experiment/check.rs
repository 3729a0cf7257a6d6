//! Refuses unknown keys of an experiment file, with the line and the nearest known one.

use plimsoll_core::nearest::nearest;
use toml::de::{DeTable, DeValue};

use super::Place;
use super::file::{
    File, ObjectivesSpec, RepeatSpec, SECTIONS, Section, StageSpec, TestSpec, TierSpec, VariantSpec,
};
use crate::LabError;

/// Refuses the first unknown key. What is no table is left to the typed reader.
pub(super) fn check(place: &Place<'_>, top: &DeTable<'_>) -> Result<(), LabError> {
    section(place, "", &File::SECTION, top)
}

fn section(
    place: &Place<'_>,
    path: &str,
    known: &'static Section,
    table: &DeTable<'_>,
) -> Result<(), LabError> {
    for (key, value) in table {
        let name: &str = key.get_ref();
        if known.names().all(|known| known != name) {
            let fix = fix(name, known);
            let problem = format!("unknown key `{path}{name}`; {fix}");
            return Err(place.wrong(key.span().start, problem));
        }
        let path = format!("{path}{name}.");
        let (inner, is_named) = match name {
            "tiers" => (&TierSpec::SECTION, true),
            "variants" => (&VariantSpec::SECTION, true),
            "stub" => (&TierSpec::SECTION, false),
            "test" => (&TestSpec::SECTION, false),
            "stages" => (&StageSpec::SECTION, false),
            "objectives" => (&ObjectivesSpec::SECTION, false),
            "repeat" => (&RepeatSpec::SECTION, false),
            _ => continue,
        };
        match value.get_ref() {
            DeValue::Table(tables) if is_named => {
                for (name, table) in tables {
                    if let DeValue::Table(table) = table.get_ref() {
                        section(place, &format!("{path}{}.", name.get_ref()), inner, table)?;
                    }
                }
            }
            DeValue::Table(table) => section(place, &path, inner, table)?,
            DeValue::Array(tables) => {
                for table in tables {
                    if let DeValue::Table(table) = table.get_ref() {
                        section(place, &path, inner, table)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn fix(name: &str, known: &'static Section) -> String {
    if let Some(near) = nearest(name, known.names()) {
        return format!("did you mean `{near}`?");
    }
    let elsewhere = |section: &&&Section| section.names().any(|known| known == name);
    if let Some(section) = SECTIONS.iter().find(elsewhere) {
        return format!("it belongs into {}", section.name);
    }
    let names: Vec<&str> = known.names().collect();
    format!("{} has {}", known.name, names.join(", "))
}

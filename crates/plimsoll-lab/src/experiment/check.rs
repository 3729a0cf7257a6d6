//! Refuses unknown keys of an experiment file, with the line and the nearest known one.

use plimsoll_core::keys::{Inside, Known};
use toml::de::DeTable;

use super::Place;
use super::file::{
    ObjectivesSpec, PublishedSpec, RepeatSpec, SECTIONS, StageSpec, TestSpec, TierSpec, VariantSpec,
};
use crate::LabError;

/// Refuses the first unknown key. What is no table is left to the typed reader.
pub(super) fn check(place: &Place<'_>, top: &DeTable<'_>) -> Result<(), LabError> {
    let known = Known {
        all: &SECTIONS,
        inside,
    };
    Ok(known.check(&place.inner, top)?)
}

fn inside(key: &str) -> Inside {
    match key {
        "tiers" => Inside::Named(&TierSpec::SECTION),
        "variants" => Inside::Named(&VariantSpec::SECTION),
        "stub" => Inside::Keys(&TierSpec::SECTION),
        "test" => Inside::Keys(&TestSpec::SECTION),
        "stages" => Inside::Keys(&StageSpec::SECTION),
        "objectives" => Inside::Keys(&ObjectivesSpec::SECTION),
        "repeat" => Inside::Keys(&RepeatSpec::SECTION),
        "published" => Inside::Keys(&PublishedSpec::SECTION),
        _ => Inside::Free,
    }
}

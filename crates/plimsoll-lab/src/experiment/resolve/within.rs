//! One table of a variant, a tier or the test, while its values are understood: where it stands, and what is around it.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_core::Nanos;
use plimsoll_core::nearest::hint;
use plimsoll_core::units::parse_duration;

use super::super::Place;
use super::super::file::TierSpec;
use super::super::fill::tiers_in;
use crate::LabError;

#[derive(Debug)]
pub(super) struct Within<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) folder: &'a Path,
    pub(super) variant: &'a str,
    /// `tiers.app`, `test`
    pub(super) path: String,
    pub(super) tiers: &'a BTreeMap<String, TierSpec>,
}

impl Within<'_> {
    /// A problem of a key, in the variant's table if that says it, else in the one that all share.
    pub(super) fn wrong(&self, key: &str, problem: impl std::fmt::Display) -> LabError {
        let own = format!("{}.{key}", self.path);
        let over = format!("variants.{}.{own}", self.variant);
        self.place.at(&[&over, &own], format!("{own}: {problem}"))
    }

    pub(super) fn time(
        &self,
        key: &str,
        text: Option<&str>,
        default: Nanos,
    ) -> Result<Nanos, LabError> {
        let time = text.map(parse_duration).transpose();
        Ok(time
            .map_err(|error| self.wrong(key, error))?
            .unwrap_or(default))
    }

    /// The tiers that a text asks for; the variant has them. Problems begin with `before`.
    pub(super) fn tiers_in<'t>(
        &self,
        key: &str,
        before: &str,
        text: &'t str,
    ) -> Result<Vec<&'t str>, LabError> {
        let wrong = |problem: String| self.wrong(key, format!("{before}{problem}"));
        let tiers = tiers_in(text).map_err(wrong)?;
        match tiers.iter().find(|tier| !self.tiers.contains_key(**tier)) {
            Some(missing) => Err(wrong(self.no_tier(missing))),
            None => Ok(tiers),
        }
    }

    pub(super) fn no_tier(&self, name: &str) -> String {
        let near = hint(name, self.tiers.keys().map(String::as_str));
        format!("variant `{}` has no tier `{name}`{near}", self.variant)
    }
}

//! Tables of the file laid over each other, before anything is read from them: what a variant says takes the place of
//! what its base says, key by key. Which keys there are is no matter here, so that none can be forgotten.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Place;
use super::file::{TestSpec, TierSpec};
use crate::LabError;

/// What stays of a tier whose program is another: what is said beside a program is for that one.
const SHARES: [&str; 4] = ["instances", "cpu", "memory", "port"];
const PROGRAM: [&str; 2] = ["command", "embedded"];
/// Keys of a test that only one of can be meant: whoever says one of a row takes the whole row away from its base.
const TARGETS: [&str; 3] = ["script", "url", "workload"];
const LOADS: [&str; 4] = ["rate", "ramp", "stages", "find"];
/// The time of a search goes with it.
const WITHIN: &str = "within";
/// Says a whole tier, in what differs: taken as it is and not joined with another.
const STUB: &str = "stub";
const STUBBED: &str = "stubbed";

/// What a variant is made of, as written.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables<'i> {
    pub(super) tiers: BTreeMap<String, DeTable<'i>>,
    pub(super) test: DeTable<'i>,
}

impl<'i> Tables<'i> {
    /// Those of the file itself, or of one variant.
    pub(super) fn of(place: &Place<'_>, within: &DeTable<'i>) -> Result<Self, LabError> {
        let mut tiers = BTreeMap::new();
        for (name, tier) in inner(place, within, "tiers")?.iter().flat_map(|t| t.iter()) {
            let tier = table(place, name.get_ref(), tier)?;
            tiers.insert(name.get_ref().to_string(), tier.clone());
        }
        let test = inner(place, within, "test")?;
        Ok(Self {
            tiers,
            test: test.cloned().unwrap_or_default(),
        })
    }

    pub(super) fn lay_over(&mut self, over: &Self) {
        for (name, table) in &over.tiers {
            let base = self.tiers.remove(name).unwrap_or_default();
            self.tiers.insert(name.clone(), tier(base, table));
        }
        let base = std::mem::take(&mut self.test);
        self.test = test(base, &over.test);
    }

    /// Every value with the type that its key has.
    pub(super) fn read(
        &self,
        place: &Place<'_>,
    ) -> Result<(BTreeMap<String, TierSpec>, TestSpec), LabError> {
        let mut tiers = BTreeMap::new();
        for (name, table) in &self.tiers {
            tiers.insert(name.clone(), place.read(with_whole_stub(table))?);
        }
        Ok((tiers, place.read(self.test.clone())?))
    }
}

/// The table of that name, if there is one.
pub(super) fn inner<'a, 'i>(
    place: &Place<'_>,
    within: &'a DeTable<'i>,
    name: &str,
) -> Result<Option<&'a DeTable<'i>>, LabError> {
    let value = within.get(name);
    value.map(|value| table(place, name, value)).transpose()
}

pub(super) fn table<'a, 'i>(
    place: &Place<'_>,
    name: &str,
    value: &'a Spanned<DeValue<'i>>,
) -> Result<&'a DeTable<'i>, LabError> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => Err(place.wrong(value.span().start, format!("`{name}` is no table"))),
    }
}

fn tier<'i>(mut base: DeTable<'i>, over: &DeTable<'i>) -> DeTable<'i> {
    let program = |table: &DeTable<'_>| PROGRAM.map(|key| table.get(key).map(text));
    let (before, after) = (program(&base), program(over));
    let names_one = |program: &[Option<String>; 2]| program.iter().any(Option::is_some);
    if names_one(&before) && names_one(&after) && before != after {
        base = only(base, |key| SHARES.contains(&key));
    }
    joined(base, over)
}

fn only(table: DeTable<'_>, is_kept: impl Fn(&str) -> bool) -> DeTable<'_> {
    let kept = table.into_iter();
    kept.filter(|(key, _)| is_kept(key.get_ref())).collect()
}

fn text(value: &Spanned<DeValue<'_>>) -> String {
    value.get_ref().as_str().unwrap_or_default().to_owned()
}

fn test<'i>(mut base: DeTable<'i>, over: &DeTable<'i>) -> DeTable<'i> {
    let says = |keys: &[&str]| keys.iter().any(|key| over.contains_key(*key));
    if says(&TARGETS) {
        base = only(base, |key| !TARGETS.contains(&key));
    }
    if says(&LOADS) {
        base = only(base, |key| !LOADS.contains(&key) && key != WITHIN);
    }
    joined(base, over)
}

/// Tables inside, such as `env` and `limits`, are joined entry by entry.
fn joined<'i>(mut base: DeTable<'i>, over: &DeTable<'i>) -> DeTable<'i> {
    for (key, value) in over {
        let name: &str = key.get_ref();
        let before = base.get_mut(name).map(Spanned::get_mut);
        match (before, value.get_ref()) {
            (Some(DeValue::Table(before)), DeValue::Table(entries)) if name != STUB => {
                before.extend(entries.clone());
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
    base
}

/// The tier with its stub said whole: like the tier, but for what the stub says.
fn with_whole_stub<'i>(tier_table: &DeTable<'i>) -> DeTable<'i> {
    let mut whole = tier_table.clone();
    if let Some(DeValue::Table(stub)) = whole.get_mut(STUB).map(Spanned::get_mut) {
        let like = only(tier_table.clone(), |key| ![STUB, STUBBED].contains(&key));
        *stub = tier(like, stub);
    }
    whole
}

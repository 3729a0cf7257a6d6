//! Some of an experiment's variants, each compared with the nearest of its ancestors that is played too.

use plimsoll_core::nearest::hint;

use super::{Experiment, Variant};
use crate::LabError;

impl Experiment {
    /// The variants of its short form, and a remark on those that it leaves out; all of them where it has none.
    pub fn short(mut self) -> Result<Self, LabError> {
        let chosen = std::mem::take(&mut self.quick);
        let names = self.variants.iter().map(|variant| variant.name.clone());
        let left_out: Vec<String> = names.filter(|name| !chosen.contains(name)).collect();
        if chosen.is_empty() || left_out.is_empty() {
            return Ok(self);
        }
        self.remarks.push(format!(
            "--quick leaves out {}; --only plays them, too",
            left_out.join(", ")
        ));
        self.only(&chosen)
    }

    /// Keeps the variants of these names. One whose base is left out is compared with the base's base, and so on;
    /// one with no ancestor left keeps the base that it names.
    pub fn only(mut self, names: &[String]) -> Result<Self, LabError> {
        let missing = names
            .iter()
            .find_map(|name| self.left_out.get_key_value(name));
        if let Some((name, problem)) = missing {
            return Err(LabError::Experiment {
                place: format!("variant `{name}`"),
                problem: problem.clone(),
            });
        }
        if let Some(name) = names.iter().find(|name| self.variant(name).is_none()) {
            let known: Vec<&str> = self.variants.iter().map(|v| v.name.as_str()).collect();
            return Err(LabError::NoVariant {
                hint: hint(name, known.iter().copied()),
                name: name.clone(),
                known: known.join(", "),
            });
        }
        let chosen = |variant: &Variant| names.contains(&variant.name);
        let all = std::mem::take(&mut self.variants);
        let named = |name: &str| all.iter().find(|variant| variant.name == name);
        for variant in all.iter().filter(|variant| chosen(variant)) {
            let mut kept = variant.clone();
            // Bases stand above those that are made from them, so that this ends.
            let mut base = variant.base.as_deref().and_then(named);
            while let Some(left_out) = base.filter(|base| !chosen(base)) {
                base = left_out.base.as_deref().and_then(named);
            }
            if let Some(base) = base {
                kept.base = Some(base.name.clone());
                kept.changes = variant.facts.changes_from(&base.facts);
            }
            self.variants.push(kept);
        }
        Ok(self)
    }
}

//! Some of an experiment's variants, each compared with the nearest of its ancestors that is played too.

use super::{Experiment, Variant};

impl Experiment {
    /// Keeps the variants of these names. One whose base is left out is compared with the base's base, and so on;
    /// one with no ancestor left keeps the base that it names.
    #[must_use]
    pub fn only(mut self, names: &[String]) -> Self {
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
        self
    }
}

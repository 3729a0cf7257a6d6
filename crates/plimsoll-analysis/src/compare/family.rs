//! Contrasts that are corrected together, and how much of the 5 % of false alarms each such family may spend.
//!
//! A verdict comes from two families: the primary figure, in which better and worse count, and the guarded figures, in which
//! only *worse* does. Each at 5 % would call equal variants different in up to 7.5 % of all comparisons. So the primary figure
//! gets what the guarded ones leave over.

use std::collections::BTreeMap;

use plimsoll_core::comparison::{Contrast, Design, Figure, Variant};

use super::contrast::contrast;
use super::permutation::{COUNT_MAX, holm, smallest_p};
use super::turns::Places;
use super::{ALPHA, Question, change_of, judge, noise, power};

/// How many contrasts are corrected together, and how many guarded ones decide beside them: none beside the guarded ones
/// themselves, and beside those that decide nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Family {
    pub(super) count: usize,
    pub(super) guards: usize,
}

impl Family {
    /// Share of [`ALPHA`] that the guarded figures leave, `least` being the smallest p that so many runs can give.
    ///
    /// p is a multiple of it. Holm's rule lets the first of m guarded figures have at most α ÷ m, and half of that is better, which
    /// they do not say: by chance one is worse in m · least · ⌊α ÷ (m · least)⌋ ÷ 2 of all comparisons. Eight pairs and six figures:
    /// least = 2 ÷ 2⁸, 6 · least ÷ 2 = 0.0234, which leaves 0.0266 of 0.05. Seven pairs cannot call any of six worse, and
    /// leave all of it. (A figure that is *better* lets the others have a little more: at most α ÷ 2m.)
    fn share(self, least: f64) -> f64 {
        if self.guards == 0 {
            return 1.0;
        }
        let guards = self.guards as f64;
        // Of very many runs it is 0.
        let least = least.max(f64::MIN_POSITIVE);
        let worse = guards * least * (ALPHA / guards / least).floor() / 2.0;
        1.0 - worse / ALPHA
    }

    /// p of one contrast alone at which the first of the family is certain: 0.05 ÷ 6 = 0.0083.
    pub(super) fn level(self, least: f64) -> f64 {
        ALPHA * self.share(least) / self.count.max(1) as f64
    }

    /// The same with more runs than anybody plays.
    pub(super) fn level_of_many(self) -> f64 {
        self.level(0.0)
    }

    /// Does the guarded figures' part make p larger?
    pub(super) fn is_shared(self, least: f64) -> bool {
        self.share(least) < 1.0
    }

    /// The smallest p after correction that so many runs can give.
    pub(super) fn smallest(self, least: f64) -> f64 {
        (least * self.count as f64 / self.share(least)).min(1.0)
    }

    /// Fewest pairs, or runs of each variant, with which one of the family can be certain.
    fn runs_needed(self, design: Design) -> u32 {
        (1..COUNT_MAX)
            .find(|&count| self.smallest(smallest_p(design, count, count)) <= ALPHA)
            .unwrap_or(COUNT_MAX)
    }
}

/// The smallest p that the runs of a contrast can give.
pub(super) fn least(contrast: &Contrast, design: Design) -> f64 {
    let [a, b] = [contrast.baseline_count, contrast.variant_count];
    smallest_p(design, a as u32, b as u32)
}

/// Every pair of variants in every figure, corrected together by Holm's rule and for so many guarded ones beside them.
pub(super) fn family(
    variants: &[Variant],
    figures: &[Figure],
    guards: usize,
    asked: &Question,
) -> Vec<Contrast> {
    let mut contrasts = Vec::new();
    let places = Places::of(variants);
    let sides = asked.sides(variants);
    for figure in figures {
        for sides in &sides {
            contrasts.extend(contrast(*figure, *sides, &places, asked));
        }
    }
    let p: Vec<f64> = contrasts.iter().map(|contrast| contrast.p).collect();
    let count = contrasts.len();
    let family = Family { count, guards };
    let mut known = BTreeMap::new();
    for (contrast, adjusted) in contrasts.iter_mut().zip(holm(&p)) {
        correct(contrast, adjusted, family, asked.design);
        let runs = contrast.baseline_count.min(contrast.variant_count) as u32;
        let level = family.level(smallest_p(asked.design, runs, runs));
        let deviations = *known
            .entry(runs)
            .or_insert_with(|| power::detectable_deviations(asked.design, runs, level));
        let noise = noise(contrast, variants);
        contrast.detectable = deviations
            .zip(noise)
            .map(|(deviations, noise)| change_of(contrast.scale, deviations * noise));
    }
    contrasts
}

/// Gives one contrast its place in its family: p after correction, the runs that it would take, where it stands.
pub(super) fn correct(contrast: &mut Contrast, adjusted: f64, family: Family, design: Design) {
    let least = least(contrast, design);
    contrast.p_adjusted = (adjusted / family.share(least)).min(1.0);
    contrast.family_count = family.count;
    if family.smallest(least) > ALPHA {
        contrast.runs_needed = Some(family.runs_needed(design));
    }
    contrast.standing = judge(contrast, design);
}

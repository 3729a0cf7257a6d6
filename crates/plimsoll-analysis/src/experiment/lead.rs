//! Who carries most, and who is not told apart from it.

use plimsoll_core::comparison::{Scale, Standing};
use plimsoll_core::experiment::{
    Capacity, Carrier, Difference, Experiment, Lead, Measure, VariantMeaning,
};

/// Variants closer than this are not called different on the strength of their medians. Runs of one build on one
/// machine spread by a few per cent (the calibration of `compare`).
const CLOSE: f64 = 1.05;

/// Capacities if every variant was searched, else goodputs.
pub(super) fn measure(variants: &[VariantMeaning]) -> Measure {
    let mut valid = variants.iter().filter(|variant| variant.is_valid);
    let searched = valid.all(|variant| {
        matches!(variant.capacity, Capacity::Searched { .. }) && variant.capacity.per_s().is_some()
    });
    if searched {
        Measure::Capacity
    } else {
        Measure::Goodput
    }
}

/// Variants with a valid run and what they carry, the most first.
pub(super) fn ranking(variants: &[VariantMeaning], measure: Measure) -> Vec<Carrier> {
    let carried = |variant: &VariantMeaning| match measure {
        Measure::Capacity => variant.capacity.per_s(),
        Measure::Goodput => variant.goodput_per_s.median,
    };
    let valid = variants.iter().enumerate().filter(|(_, v)| v.is_valid);
    let mut ranking: Vec<Carrier> = valid
        .filter_map(|(variant, v)| {
            let per_s = carried(v)?;
            Some(Carrier { variant, per_s })
        })
        .collect();
    ranking.sort_by(|one, other| other.per_s.total_cmp(&one.per_s));
    ranking
}

pub(super) fn lead(
    experiment: &Experiment<'_>,
    variants: &[VariantMeaning],
    ranking: &[Carrier],
) -> Lead {
    let is_real = |carrier: &&Carrier| {
        let variant = experiment.variants.get(carrier.variant);
        variant.is_some_and(|variant| !variant.probe)
    };
    let ranked: Vec<Carrier> = ranking.iter().filter(is_real).copied().collect();
    let (leader, rest) = match ranked.as_slice() {
        [] => return Lead::Nobody,
        [leader] => {
            return Lead::Alone {
                leader: *leader,
                has_others: experiment.variants.len() > 1,
            };
        }
        [leader, rest @ ..] => (*leader, rest),
    };
    let pairs = Pairs {
        experiment,
        variants,
    };
    let near = rest.iter().filter(|other| pairs.is_close(leader, **other));
    let near: Vec<Carrier> = near.copied().collect();
    if near.is_empty() {
        let ahead = pairs.ahead(leader, rest);
        return Lead::One { leader, ahead };
    }
    Lead::Tie([leader].into_iter().chain(near).collect())
}

struct Pairs<'e> {
    experiment: &'e Experiment<'e>,
    variants: &'e [VariantMeaning],
}

impl Pairs<'_> {
    /// What the best one is ahead of: its base, else the next.
    fn ahead(&self, leader: Carrier, rest: &[Carrier]) -> Option<Difference> {
        let of_leader = self.variants.get(leader.variant)?;
        if of_leader.on_base.is_some() {
            return of_leader.on_base;
        }
        let of_base = || {
            rest.iter()
                .find(|other| of_leader.base == Some(other.variant))
        };
        let next = of_base()
            .or(rest.first())
            .filter(|other| other.per_s > 0.0)?;
        Some(Difference {
            over: next.variant,
            scale: Scale::Ratio,
            estimate: leader.per_s / next.per_s,
            tested: None,
        })
    }

    /// Nothing that was measured tells the two apart: not the test over pairs of runs where there is one that can
    /// decide, else neither the medians nor the ranges.
    fn is_close(&self, leader: Carrier, other: Carrier) -> bool {
        let variant = |carrier: Carrier| self.experiment.variants.get(carrier.variant);
        let of = |carrier: Carrier| self.variants.get(carrier.variant);
        let (Some(best), Some(next)) = (variant(leader), variant(other)) else {
            return false;
        };
        let contrast = [(best, next), (next, best)]
            .into_iter()
            .find(|(variant, base)| variant.base == Some(base.name))
            .and_then(|(variant, _)| self.experiment.contrast(variant));
        if let Some(contrast) = contrast.filter(|contrast| contrast.runs_needed.is_none()) {
            return !matches!(contrast.standing, Standing::Better | Standing::Worse);
        }
        let low = of(leader).and_then(|variant| variant.goodput_per_s.low);
        let high = of(other).and_then(|variant| variant.goodput_per_s.high);
        let overlap = low.zip(high).is_some_and(|(low, high)| low <= high);
        leader.per_s < other.per_s * CLOSE || overlap && best.verdicts().count() > 1
    }
}

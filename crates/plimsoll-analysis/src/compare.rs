//! Comparison of repeated runs: the run is the unit, effects come with intervals, and a verdict is
//! one of four words.
//!
//! `docs/compare.md` says how to read it; the statistics are those of capacity-science E: paired or
//! unpaired permutation tests on ranks, Hodges–Lehmann estimates with exact intervals, Holm's
//! correction, and two one-sided tests for "equivalent".

mod apart;
mod contrast;
mod effect;
mod family;
mod figures;
mod fingerprint;
mod history;
mod named;
mod permutation;
mod power;
mod rhythm;
mod shares;
mod turns;
mod words;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use plimsoll_core::comparison::{
    Comparison, Contrast, Counted, Design, Effect, Figure, Mismatch, SCHEMA, Scale, Standing,
    Variant,
};

pub(crate) use figures::unusable;
pub use figures::{of_record, of_result};
pub use fingerprint::{Fingerprint, mismatches};
pub use history::{HistoryError, history};
pub use permutation::runs_needed;
pub use power::is_scattered;

use family::{Family, family};
use permutation::smallest_p;

/// Share of comparisons of equal variants that may be called different.
pub const ALPHA: f64 = 0.05;
/// A ratio closer to 1 than this is no difference (capacity-science E.5).
pub const MARGIN_RATIO: f64 = 0.05;
/// The same for shares of attempts where no objective gives an error budget.
pub const SHARE_MARGIN: f64 = 0.001;

/// How many figures are guarded beside the primary one, of runs that have them all: failures, goodput and every percentile, less
/// the primary, which is one of them unless another is asked for. A script has its failed checks beside them.
pub fn guarded_most(primary: Option<Figure>, percentile: Figure) -> usize {
    let of_load = of_load(percentile);
    let is_one = primary.is_none_or(|primary| of_load.contains(&primary));
    of_load.len() - usize::from(is_one)
}

/// Every percentile that is shown: what gets ten times as slow in one of them is no equivalence of the others.
fn of_load(percentile: Figure) -> BTreeSet<Figure> {
    let mut figures = BTreeSet::from([Figure::Failures, Figure::Goodput, percentile]);
    figures.extend([
        Figure::P50,
        Figure::P90,
        Figure::P95,
        Figure::P99,
        Figure::P999,
    ]);
    figures
}

/// What is asked of the runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub design: Design,
    /// Declared beforehand; without it capacity, with a set rate [`Question::percentile`], else goodput.
    pub primary: Option<Figure>,
    /// The percentile of the objective, else p99.
    pub percentile: Figure,
    pub margin_ratio: f64,
    /// Indifference for shares of attempts: the error budget, where there is one.
    pub share_margin: f64,
    /// For the draws of tests that are too large to count.
    pub seed: u64,
    /// The same target under two names.
    pub is_calibration: bool,
    /// Arrivals came at a set rate.
    pub is_open: bool,
    pub objective: Option<String>,
    pub load: String,
    /// The comparisons that are asked, as (variant, baseline) by name; every pair without it. What is not asked
    /// costs no correction.
    pub pairs: Option<Vec<(String, String)>>,
}

impl Question {
    /// With a set rate all variants answer as much as is asked: what can differ is how late.
    fn primary(&self, figures: &[Figure]) -> Option<Figure> {
        let late = self.is_open.then_some(self.percentile);
        let late = late.filter(|figure| figures.contains(figure) && !is_capacity(figures[0]));
        self.primary.or(late).or_else(|| figures.first().copied())
    }

    /// What no variant may be worse in, whatever the primary figure says.
    fn guarded(&self, figures: &[Figure], primary: Option<Figure>) -> Vec<Figure> {
        let mut guarded = of_load(self.percentile);
        guarded.insert(Figure::ChecksFailed);
        guarded.retain(|figure| figures.contains(figure) && Some(*figure) != primary);
        guarded.into_iter().collect()
    }

    /// The slowest attempt of a thousand scatters by more than any margin from run to run, so that nothing would be equivalent if
    /// it had to be: unless it is the objective's, it decides only where it is plainly another.
    fn need_not_be_alike(&self, figure: Figure) -> bool {
        figure == Figure::P999 && figure != self.percentile
    }

    /// Of these variants each with every one that it is held against: [baseline, variant]. Those that are asked by name may come
    /// in any order, because an experiment's come in that in which they were drawn.
    fn sides<'v>(&self, variants: &'v [Variant]) -> Vec<[&'v Variant; 2]> {
        let is_asked = |at: usize, other: usize| match &self.pairs {
            None => other < at,
            Some(pairs) => pairs.iter().any(|(one, baseline)| {
                *one == variants[at].name && *baseline == variants[other].name
            }),
        };
        let places = || 0..variants.len();
        let all = places().flat_map(|at| places().map(move |other| (at, other)));
        all.filter(|(at, other)| is_asked(*at, *other))
            .map(|(at, other)| [&variants[other], &variants[at]])
            .collect()
    }
}

const fn is_capacity(figure: Figure) -> bool {
    matches!(figure, Figure::Capacity | Figure::CapacityVus)
}

/// Holds every variant against every other, the first being the one to beat.
pub fn compare(
    mut variants: Vec<Variant>,
    mut found: Vec<Mismatch>,
    asked: &Question,
) -> Comparison {
    fill_classes(&mut variants);
    found.extend(named::mismatches(&variants));
    found.extend(apart::mismatch(&variants, asked));
    found.sort_by_key(|mismatch| Reverse(mismatch.effect));
    let mut remarks = Vec::new();
    let withheld = withheld(&variants, &found, asked, &mut remarks);
    let figures: Vec<Figure> = figures_of(&variants)
        .difference(&withheld)
        .copied()
        .collect();
    let primary = asked.primary(&figures);
    // What a mismatch withholds is guarded all the same: nobody knows whether it is worse.
    let known: Vec<Figure> = figures_of(&variants).into_iter().collect();
    let guarded = asked.guarded(&known, primary);
    if let Some(primary) = primary.filter(|primary| !figures.contains(primary)) {
        remarks.push(format!(
            "no verdict: {primary} is not in these runs, or cannot be compared"
        ));
    }
    let contrasts = judged(&variants, &figures, asked, (primary, &guarded));
    let standing = standing(&variants, &contrasts, asked, (primary, &guarded));
    let is_withheld = is_withheld(&variants, &contrasts, primary);
    let named = named::contrasts(&variants, &withheld, asked);
    let metrics = named::metrics(&variants, !withheld.is_empty());
    words::remarks(&variants, &contrasts, asked, &mut remarks);
    Comparison {
        schema: SCHEMA,
        design: asked.design,
        is_calibration: asked.is_calibration,
        objective: asked.objective.clone(),
        load: asked.load.clone(),
        primary,
        guarded,
        standing,
        mismatches: found,
        variants,
        contrasts,
        named,
        metrics,
        remarks,
        is_withheld,
        stopped: None,
    }
}

/// Every figure that can be compared, in its family: the primary one, those that are guarded, and the others, with the reason
/// for each verdict.
fn judged(
    variants: &[Variant],
    figures: &[Figure],
    asked: &Question,
    (primary, guarded): (Option<Figure>, &[Figure]),
) -> Vec<Contrast> {
    let (first, others): (Vec<Figure>, Vec<Figure>) =
        figures.iter().partition(|figure| Some(**figure) == primary);
    let (beside, others): (Vec<Figure>, Vec<Figure>) = others
        .into_iter()
        .partition(|figure| guarded.contains(figure));
    let guards = family(variants, &beside, 0, asked);
    let mut contrasts = family(variants, &first, guards.len(), asked);
    let of_primary = Family {
        count: contrasts.len(),
        guards: guards.len(),
    };
    for contrast in &mut contrasts {
        plan_ahead(contrast, variants, asked, of_primary);
        contrast.because = words::because(contrast, asked.design, of_primary);
    }
    for mut rest in [guards, family(variants, &others, 0, asked)] {
        let of_rest = Family {
            count: rest.len(),
            guards: 0,
        };
        for contrast in &mut rest {
            contrast.because = words::because(contrast, asked.design, of_rest);
        }
        contrasts.extend(rest);
    }
    contrasts
}

/// A class that came up in one run has the share zero in those where it did not.
fn fill_classes(variants: &mut [Variant]) {
    let classes: BTreeSet<Figure> = figures_of(variants)
        .into_iter()
        .filter(|figure| matches!(figure, Figure::Class(_)))
        .collect();
    for run in variants.iter_mut().flat_map(|variant| &mut variant.runs) {
        if run.figures.contains_key(&Figure::Failures) {
            let none = run.counts.get(&Figure::Failures).copied();
            let none = none.map(|all| Counted {
                failed_count: 0,
                ..all
            });
            for class in &classes {
                run.figures.entry(*class).or_insert(0.0);
                if let Some(none) = none {
                    run.counts.entry(*class).or_insert(none);
                }
            }
        }
    }
}

fn figures_of(variants: &[Variant]) -> BTreeSet<Figure> {
    let runs = variants.iter().flat_map(Variant::usable);
    runs.flat_map(|run| run.figures.keys().copied()).collect()
}

/// Figures that the mismatches leave without a common meaning.
fn withheld(
    variants: &[Variant],
    found: &[Mismatch],
    asked: &Question,
    remarks: &mut Vec<String>,
) -> BTreeSet<Figure> {
    let worst = found.iter().map(|mismatch| mismatch.effect).max();
    let all = figures_of(variants);
    let withheld: BTreeSet<Figure> = match worst {
        Some(Effect::Incomparable) => all,
        Some(Effect::Withholds) => {
            let by_load = |figure: &Figure| match figure {
                Figure::Goodput | Figure::Throughput => asked.is_open,
                Figure::Capacity | Figure::CapacityVus | Figure::ProcessorTime => false,
                _ => true,
            };
            all.into_iter().filter(by_load).collect()
        }
        _ => BTreeSet::new(),
    };
    if !withheld.is_empty() {
        let names: Vec<String> = withheld.iter().map(ToString::to_string).collect();
        remarks.push(format!("not compared: {}", names.join(", ")));
    }
    withheld
}

/// Ratios are differences of logarithms.
fn inward(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Ratio => value.ln(),
        Scale::Difference => value,
    }
}

fn outward(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Ratio => value.exp(),
        Scale::Difference => value,
    }
}

/// A shift as the change it makes: 0.0953 on the logarithmic scale is 10 %.
fn change_of(scale: Scale, shift: f64) -> f64 {
    match scale {
        Scale::Ratio => shift.exp_m1(),
        Scale::Difference => shift,
    }
}

/// The margin as a shift, the same on both sides: a ratio of 1.05 or 1 ÷ 1.05.
fn margin_shift(contrast: &Contrast) -> f64 {
    inward(
        contrast.scale,
        match contrast.scale {
            Scale::Ratio => 1.0 + contrast.margin,
            Scale::Difference => contrast.margin,
        },
    )
}

/// Whatever it is exactly, the difference is more than the margin.
fn is_beyond_margin(contrast: &Contrast) -> bool {
    let margin = margin_shift(contrast);
    let shift = |value| inward(contrast.scale, value);
    contrast
        .interval
        .is_some_and(|all| shift(all.lower) >= margin || shift(all.upper) <= -margin)
}

/// Equivalence first: a difference that is certain and smaller than the margin is none that counts.
/// It is not corrected, because calling more things equal takes nothing away from the others.
fn judge(contrast: &Contrast, design: Design) -> Standing {
    let (a, b) = (
        contrast.baseline_count as u32,
        contrast.variant_count as u32,
    );
    if smallest_p(design, a, b) > ALPHA {
        return Standing::Inconclusive;
    }
    let margin = margin_shift(contrast);
    let shift = |value| inward(contrast.scale, value);
    let within = contrast
        .interval_90
        .is_some_and(|interval| shift(interval.lower) > -margin && shift(interval.upper) < margin);
    if within {
        return Standing::Equivalent;
    }
    let estimate = shift(contrast.estimate);
    if contrast.p_adjusted > ALPHA || estimate == 0.0 {
        return Standing::Inconclusive;
    }
    if (estimate > 0.0) == contrast.figure.more_is_better() {
        Standing::Better
    } else {
        Standing::Worse
    }
}

/// How much runs differ among themselves: the standard deviation of one pair's difference, or of a
/// run within its variant.
fn noise(contrast: &Contrast, variants: &[Variant]) -> Option<f64> {
    let inner = |values: &[f64]| -> Vec<f64> {
        let inward = values.iter().map(|value| inward(contrast.scale, *value));
        inward.collect()
    };
    if !contrast.pairs.is_empty() {
        return power::deviation(&inner(&contrast.pairs));
    }
    let values = |name: &str| {
        let variant = variants.iter().find(|variant| variant.name == name)?;
        Some(inner(&variant.values(contrast.figure)))
    };
    power::pooled_deviation(&values(&contrast.baseline)?, &values(&contrast.variant)?)
}

/// How many runs it would take to see a change as small as the margin, where these did not decide.
fn plan_ahead(contrast: &mut Contrast, variants: &[Variant], asked: &Question, family: Family) {
    if contrast.standing != Standing::Inconclusive || contrast.runs_needed.is_some() {
        return;
    }
    if let Some(noise) = noise(contrast, variants) {
        let (shift, level) = (margin_shift(contrast), family.level_of_many());
        contrast.runs_for_margin = power::runs_to_find(asked.design, shift, noise, level);
    }
}

/// Of the others against the first. Worse in the primary or in a guarded figure is worse; equivalent is equivalent in all that
/// have to be `alike`, and in none of the others plainly different: a doubled response time at equal goodput is no equivalence,
/// nor is one that could not be compared.
fn standing(
    variants: &[Variant],
    contrasts: &[Contrast],
    asked: &Question,
    (primary, guarded): (Option<Figure>, &[Figure]),
) -> Standing {
    let alike = |figure: &&Figure| !asked.need_not_be_alike(**figure);
    let alike: Vec<Figure> = guarded.iter().filter(alike).copied().collect();
    let first = variants.first().map(|variant| &variant.name);
    let against = |is: &dyn Fn(&Contrast) -> bool| -> Vec<Standing> {
        let asked = contrasts
            .iter()
            .filter(|contrast| Some(&contrast.baseline) == first && is(contrast));
        asked.map(|contrast| contrast.standing).collect()
    };
    let primaries = against(&|one| Some(one.figure) == primary);
    let guards = against(&|one| guarded.contains(&one.figure));
    let to_be_alike = against(&|one| alike.contains(&one.figure));
    let far = against(&|one| guarded.contains(&one.figure) && is_beyond_margin(one));
    let expected = variants.len().saturating_sub(1);
    let any = |standings: &[Standing], standing| standings.contains(&standing);
    if any(&primaries, Standing::Worse) || any(&guards, Standing::Worse) {
        Standing::Worse
    } else if any(&primaries, Standing::Inconclusive)
        || primaries.len() < expected
        || primaries.is_empty()
    {
        Standing::Inconclusive
    } else if any(&primaries, Standing::Better) {
        Standing::Better
    } else if any(&to_be_alike, Standing::Inconclusive)
        || to_be_alike.len() < expected * alike.len()
        || !far.is_empty()
    {
        Standing::Inconclusive
    } else {
        Standing::Equivalent
    }
}

/// Runs were excluded, and what is left cannot carry a verdict that more would have carried.
fn is_withheld(variants: &[Variant], contrasts: &[Contrast], primary: Option<Figure>) -> bool {
    let excluded = variants
        .iter()
        .flat_map(|variant| &variant.runs)
        .any(|run| run.excluded.is_some());
    let first = variants.first().map(|variant| &variant.name);
    let mut primaries = contrasts
        .iter()
        .filter(|c| Some(c.figure) == primary && Some(&c.baseline) == first)
        .peekable();
    excluded && (primaries.peek().is_none() || primaries.any(|c| c.runs_needed.is_some()))
}

#[cfg(test)]
mod tests;

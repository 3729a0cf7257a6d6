//! One figure of one variant held against the same of another: estimate, intervals and p by the test that fits how they were played.

use plimsoll_core::comparison::{Contrast, Design, Figure, Interval, Scale, Standing, Variant};
use plimsoll_core::statistics::median;

use super::effect::{self, Shifts};
use super::permutation::{P, relabel, sign_flip};
use super::turns::{Places, Turns};
use super::{ALPHA, Question, inward, outward, shares};

/// What a test says of two samples, on the scale of differences.
struct Answer {
    /// Of pairs each one's.
    differences: Vec<f64>,
    p: P,
    estimate: f64,
    interval: Option<Interval>,
    interval_90: Option<Interval>,
    rhythm_runs: Option<f64>,
}

/// `None` where one of the variants does not have the figure.
pub(super) fn contrast(
    figure: Figure,
    [baseline, variant]: [&Variant; 2],
    places: &Places,
    asked: &Question,
) -> Option<Contrast> {
    let scale = figure.scale();
    let (a, b) = match asked.design {
        Design::Paired => paired_values(figure, baseline, variant),
        Design::Unpaired => (baseline.values(figure), variant.values(figure)),
    };
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let inner = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| inward(scale, *v)).collect() };
    let (inner_a, inner_b) = (inner(&a), inner(&b));
    let answer = match asked.design {
        Design::Paired => {
            let at = places.of_pairs(figure, [baseline, variant]);
            of_pairs([&inner_a, &inner_b], at, asked.seed)
        }
        // Ranks of the values themselves: a logarithm keeps their order.
        Design::Unpaired => of_groups([&a, &b], [&inner_a, &inner_b], asked.seed),
    };
    let outer = |mut interval: Interval| {
        interval.lower = outward(scale, interval.lower);
        interval.upper = outward(scale, interval.upper);
        interval
    };
    let pairs = answer.differences.iter().map(|d| outward(scale, *d));
    let mut contrast = Contrast {
        figure,
        variant: variant.name.clone(),
        baseline: baseline.name.clone(),
        scale,
        baseline_median: median_of(&a),
        variant_median: median_of(&b),
        baseline_count: a.len(),
        variant_count: b.len(),
        counts: shares::counts(figure, [baseline, variant], asked.design),
        estimate: outward(scale, answer.estimate),
        interval: answer.interval.map(outer),
        interval_90: answer.interval_90.map(outer),
        pairs: pairs.collect(),
        p: answer.p.value,
        p_adjusted: answer.p.value,
        method: answer.p.method,
        family_count: 1,
        margin: match scale {
            Scale::Ratio => asked.margin_ratio,
            Scale::Difference => asked.share_margin,
        },
        rhythm_runs: answer.rhythm_runs,
        detectable: None,
        runs_for_margin: None,
        runs_needed: None,
        standing: Standing::Inconclusive,
        because: String::new(),
    };
    shares::widen(&mut contrast);
    Some(contrast)
}

/// By the order in which they were played, where that is known and there are enough of them; else by the signed ranks alone.
fn of_pairs([a, b]: [&[f64]; 2], places: Option<Vec<[usize; 2]>>, seed: u64) -> Answer {
    let both = || a.iter().zip(b);
    let played = places.map(|places| {
        let pairs = places.into_iter().zip(both());
        pairs
            .map(|(at, (a, b))| [(at[0], *a), (at[1], *b)])
            .collect()
    });
    let differences = both()
        .map(|(a, b)| grained(effect::difference(*a, *b)))
        .collect();
    let Some(turns) = played.and_then(|pairs| Turns::new(pairs, seed)) else {
        return by_ranks(differences, seed);
    };
    let judged = turns.judged(0.0);
    let estimate = turns.estimate();
    Answer {
        differences,
        p: P {
            value: judged.p,
            method: turns.method(),
        },
        estimate,
        interval: turns.interval(1.0 - ALPHA, estimate),
        interval_90: turns.interval(1.0 - 2.0 * ALPHA, estimate),
        rhythm_runs: judged.rhythm.map(|rhythm| rhythm.runs),
    }
}

fn by_ranks(differences: Vec<f64>, seed: u64) -> Answer {
    let p = sign_flip(&differences, seed);
    answer(&Shifts::of_pairs(&differences), p, differences)
}

fn of_groups([a, b]: [&[f64]; 2], inner: [&[f64]; 2], seed: u64) -> Answer {
    let p = relabel(a, b, seed);
    answer(&Shifts::between(inner[0], inner[1]), p, Vec::new())
}

fn answer(shifts: &Shifts, p: P, differences: Vec<f64>) -> Answer {
    Answer {
        differences,
        p,
        estimate: shifts.estimate(),
        interval: shifts.interval(1.0 - ALPHA),
        interval_90: shifts.interval(1.0 - 2.0 * ALPHA),
        rhythm_runs: None,
    }
}

/// Of the pairs in which both runs can be used and have the figure.
fn paired_values(figure: Figure, baseline: &Variant, variant: &Variant) -> (Vec<f64>, Vec<f64>) {
    let both = baseline.runs.iter().zip(&variant.runs);
    both.filter(|(a, b)| a.excluded.is_none() && b.excluded.is_none())
        .filter_map(|(a, b)| Some((*a.figures.get(&figure)?, *b.figures.get(&figure)?)))
        .unzip()
}

fn median_of(values: &[f64]) -> f64 {
    median(values.to_vec()).unwrap_or(0.0)
}

/// Equal changes stay equal although logarithms were rounded: ranks are shared, not drawn by lot.
fn grained(difference: f64) -> f64 {
    const GRAIN: f64 = 1e12;
    (difference * GRAIN).round() / GRAIN
}

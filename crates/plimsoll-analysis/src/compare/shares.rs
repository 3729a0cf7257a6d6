//! What chance in counting adds to the interval of a share.
//!
//! Runs that all have no failure agree exactly, and the test over runs then says ±0. That is no more than their attempts show: of 420
//! without a failure, 0.7 % may fail and chance hides it once in twenty times. So the interval of a difference of shares is at
//! least that of the two shares in all runs together (Newcombe 1998, method 10):
//!
//! ```text
//! lower = d − √((p₂ − l₂)² + (u₁ − p₁)²)      upper = d + √((u₂ − p₂)² + (p₁ − l₁)²)      d = p₂ − p₁
//! ```
//! l and u are Wilson's bounds of each share, and where nothing failed u is the exact one, 1 − tail^(1 ÷ n): 3 ÷ n at 5 %.

use plimsoll_core::comparison::{
    Contrast, Counted, Counts, Design, Figure, Interval, Scale, Standing, Variant,
};
use plimsoll_core::units::three_digits;

use super::ALPHA;
use crate::import::grouped;

/// Standard deviations above which 5 % and 2.5 % of a normal distribution lie.
const TAIL_5: Tail = Tail {
    share: 0.05,
    deviations: 1.644_854,
};
const TAIL_2_5: Tail = Tail {
    share: 0.025,
    deviations: 1.959_964,
};
/// More attempts than this nobody makes.
const ATTEMPTS_MOST: f64 = 1e12;

#[derive(Debug, Clone, Copy)]
struct Tail {
    share: f64,
    deviations: f64,
}

/// What the share is of in the runs that the contrast is about; `None` where that is not known of every one.
pub(super) fn counts(
    figure: Figure,
    [baseline, variant]: [&Variant; 2],
    design: Design,
) -> Option<Counts> {
    if figure.scale() == Scale::Ratio {
        return None;
    }
    let is_used = |place: usize, of: &Variant| {
        let run = of.runs.get(place);
        run.is_some_and(|run| run.excluded.is_none() && run.figures.contains_key(&figure))
    };
    let sum = |one: &Variant, other: &Variant| {
        let mut sum = Counted::default();
        for (place, run) in one.runs.iter().enumerate() {
            if is_used(place, one) && (design == Design::Unpaired || is_used(place, other)) {
                let counted = run.counts.get(&figure)?;
                sum.failed_count += counted.failed_count;
                sum.attempts_count += counted.attempts_count;
            }
        }
        (sum.attempts_count > 0).then_some(sum)
    };
    Some(Counts {
        baseline: sum(baseline, variant)?,
        variant: sum(variant, baseline)?,
        needed_count: None,
    })
}

/// Widens the intervals of a share to what its counts allow. What the test over runs is sure of stays sure.
pub(super) fn widen(contrast: &mut Contrast) {
    let Some(counts) = contrast.counts else {
        return;
    };
    let shares = [counts.baseline, counts.variant].map(Share::of);
    let is_within = |all: Interval| all.lower > -contrast.margin && all.upper < contrast.margin;
    let was_within = contrast.interval_90.is_some_and(is_within);
    if let Some(interval) = &mut contrast.interval_90 {
        let (lower, upper) = difference(shares, TAIL_5);
        interval.lower = interval.lower.min(lower);
        interval.upper = interval.upper.max(upper);
    }
    if let Some(interval) = &mut contrast.interval {
        let (lower, upper) = difference(shares, TAIL_2_5);
        let is_sure = contrast.p <= ALPHA;
        if !(is_sure && interval.lower > 0.0 && lower <= 0.0) {
            interval.lower = interval.lower.min(lower);
        }
        if !(is_sure && interval.upper < 0.0 && upper >= 0.0) {
            interval.upper = interval.upper.max(upper);
        }
    }
    if was_within && !contrast.interval_90.is_some_and(is_within) {
        let needed_count = needed(shares, contrast.margin);
        contrast.counts = Some(Counts {
            needed_count,
            ..counts
        });
    }
}

/// A share and how many it is of; numbers need not be whole where more attempts than there were are thought of.
#[derive(Debug, Clone, Copy)]
struct Share {
    ratio: f64,
    of: f64,
}

impl Share {
    fn of(counted: Counted) -> Self {
        let of = counted.attempts_count as f64;
        Self {
            ratio: counted.failed_count as f64 / of,
            of,
        }
    }

    /// Wilson's bounds (1927); of none and of all the exact ones.
    fn bounds(self, tail: Tail) -> (f64, f64) {
        let Self { ratio, of } = self;
        let square = tail.deviations * tail.deviations;
        let middle = (ratio + square / (2.0 * of)) / (1.0 + square / of);
        let inner = ratio * (1.0 - ratio) / of + square / (4.0 * of * of);
        let half = tail.deviations * inner.sqrt() / (1.0 + square / of);
        let exact = 1.0 - tail.share.powf(1.0 / of);
        if ratio <= 0.0 {
            (0.0, exact)
        } else if ratio >= 1.0 {
            (1.0 - exact, 1.0)
        } else {
            ((middle - half).max(0.0), (middle + half).min(1.0))
        }
    }
}

fn difference([a, b]: [Share; 2], tail: Tail) -> (f64, f64) {
    let ((low_a, high_a), (low_b, high_b)) = (a.bounds(tail), b.bounds(tail));
    let apart = b.ratio - a.ratio;
    let below = (b.ratio - low_b).hypot(high_a - a.ratio);
    let above = (high_b - b.ratio).hypot(a.ratio - low_a);
    (apart - below, apart + above)
}

/// Attempts of each variant with which the same shares would be told apart by less than the margin; `None` where they differ by more.
fn needed(shares: [Share; 2], margin: f64) -> Option<u64> {
    let is_enough = |of: f64| {
        let (lower, upper) = difference(shares.map(|share| Share { of, ..share }), TAIL_5);
        lower > -margin && upper < margin
    };
    let mut enough = 1.0;
    while !is_enough(enough) {
        enough *= 2.0;
        if enough > ATTEMPTS_MOST {
            return None;
        }
    }
    let mut few = enough / 2.0;
    while enough - few > (enough * 1e-6).max(0.5) {
        let middle = f64::midpoint(few, enough);
        if is_enough(middle) {
            enough = middle;
        } else {
            few = middle;
        }
    }
    Some(enough.ceil() as u64)
}

/// `‘A’ 0 of 420 (at most 0.71 %) and ‘B’ 0 of 420 (at most 0.71 %) are too few …`, where the counts are what is missing.
pub(super) fn few(contrast: &Contrast) -> Option<String> {
    let counts = contrast.counts?;
    let needed = counts.needed_count?;
    let said = |name: &str, counted: Counted| {
        let (_, high) = Share::of(counted).bounds(TAIL_5);
        format!(
            "‘{name}’ {} of {} (at most {} %)",
            grouped(counted.failed_count),
            grouped(counted.attempts_count),
            three_digits(high * 100.0)
        )
    };
    let what = match contrast.figure {
        Figure::ChecksFailed => "checks",
        _ => "attempts",
    };
    Some(format!(
        "{} and {} are too few to tell them equal within ±{}; it takes about {} {what} of each",
        said(&contrast.baseline, counts.baseline),
        said(&contrast.variant, counts.variant),
        change(contrast.scale, contrast.margin),
        grouped(needed)
    ))
}

/// Why a share that looks the same is not called so, and where nobody knows what the shares are of.
pub(super) fn remarks(contrasts: &[Contrast], remarks: &mut Vec<String>) {
    let decide = |one: &&Contrast| matches!(one.figure, Figure::Failures | Figure::ChecksFailed);
    let shares = || contrasts.iter().filter(decide);
    let open = shares().filter(|one| one.standing == Standing::Inconclusive);
    remarks.extend(open.filter_map(|one| Some(format!("{}: {}", one.figure, few(one)?))));
    if shares().any(|one| one.counts.is_none()) {
        remarks.push(
            "how many attempts the shares of failures are of is not known of every run, so chance in counting them is not in their \
             intervals"
                .to_owned(),
        );
    }
}

/// `5 %`, or `0.1 points` of a share
pub(super) fn change(scale: Scale, value: f64) -> String {
    let percent = three_digits(value * 100.0);
    let percent = match percent.split_once('.') {
        Some((whole, fraction)) if fraction.trim_end_matches('0').is_empty() => whole.to_owned(),
        _ => percent,
    };
    match scale {
        Scale::Ratio => format!("{percent} %"),
        Scale::Difference => format!("{percent} points"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newcombe 1998, table II: 56 of 70 and 48 of 80 differ by 0.0524 to 0.3339 at 95 %.
    #[test]
    fn the_interval_is_the_published_one() {
        let of = |failed_count, attempts_count| {
            Share::of(Counted {
                failed_count,
                attempts_count,
            })
        };
        let (lower, upper) = difference([of(48, 80), of(56, 70)], TAIL_2_5);
        assert!((lower - 0.0524).abs() < 1e-4, "{lower}");
        assert!((upper - 0.3339).abs() < 1e-4, "{upper}");
        // Nothing of nothing apart, and a share that lies further off than the margin.
        assert_eq!(needed([of(0, 60), of(0, 60)], 0.001), Some(2_995));
        assert_eq!(needed([of(0, 60), of(1, 60)], 0.001), None);
    }
}

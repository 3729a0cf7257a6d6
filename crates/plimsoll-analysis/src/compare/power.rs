//! How small a change a number of runs can find, given how much runs differ among themselves.

use plimsoll_base::random::Rng;
use plimsoll_core::comparison::Design;

use super::effect::Shifts;
use super::permutation::{COUNT_MAX, runs_needed};

/// Four of five: what is usually asked of a test.
const POWER: f64 = 0.8;
const DRAWS: usize = 1_000;
/// Above this the normal approximation is within 4 % of the draws, which cost more and more.
const DRAWN_MAX: u32 = 24;
/// Relative efficiency of signed ranks and rank sums for normal values, 3 ÷ π (Hodges and Lehmann 1956).
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// Standard deviation of values around their mean; `None` for fewer than two or an infinite one.
pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Some((squares / (count - 1.0)).sqrt())
}

/// Standard deviation within two groups together.
pub(super) fn pooled_deviation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (one, other) = (deviation(a)?, deviation(b)?);
    let (n, m) = (a.len() as f64 - 1.0, b.len() as f64 - 1.0);
    Some(((n * one * one + m * other * other) / (n + m)).sqrt())
}

/// Do pairs of a baseline's value and a variant's differ among themselves by more than the margin, so that more of them help?
///
/// Looks at the sizes of their differences alone and not at the signs, which the test judges: whoever plays more pairs for this
/// reason errs as often as before.
pub fn is_scattered(pairs: &[(f64, f64)], margin_ratio: f64) -> bool {
    let sizes: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln().abs()).collect();
    deviation(&sizes).is_some_and(|scatter| scatter > margin_ratio.ln_1p())
}

/// The smallest shift found in four of five cases by the exact two-sided test at `alpha`, in
/// standard deviations: of one pair's difference, or of one run where runs are not paired.
/// `None` if no result of so few runs can reach `alpha`.
///
/// Six pairs at 5 %: all six must agree, Φ(x)⁶ = 0.8 at x = 1.79.
pub(super) fn detectable_deviations(design: Design, count: u32, alpha: f64) -> Option<f64> {
    if count < runs_needed(design, 1, alpha) {
        return None;
    }
    if count > DRAWN_MAX {
        let groups = match design {
            Design::Paired => 1.0,
            Design::Unpaired => 2.0,
        };
        // δ = (z(α ÷ 2) + z(1 − power)) · √(g ÷ (e·n)): g = 1 for n pairs, and 2 for n runs of each, whose variances add.
        // Thirty pairs at 5 %: (1.96 + 0.84) · √(1 ÷ (0.955 · 30)) = 0.523 deviations, 0.541 with the correction below.
        let wanted = upper_quantile(alpha / 2.0) + upper_quantile(1.0 - POWER);
        let runs = groups * f64::from(count);
        // Small samples need a little more than the normal law says, as with Student's t.
        let small = 1.0 + 1.0 / runs;
        return Some(wanted * small * groups / (EFFICIENCY * runs).sqrt());
    }
    let mut rng = Rng::new(0x0B5E_55ED, u64::from(count));
    let mut normals = || -> Vec<f64> { (0..count).map(|_| rng.normal()).collect() };
    let mut least: Vec<f64> = (0..DRAWS)
        .filter_map(|_| {
            let shifts = match design {
                Design::Paired => Shifts::of_pairs(&normals()),
                Design::Unpaired => Shifts::between(&normals(), &normals()),
            };
            shifts.least_found(1.0 - alpha)
        })
        .collect();
    least.sort_by(f64::total_cmp);
    least.get((POWER * DRAWS as f64) as usize).copied()
}

/// Fewest pairs, or runs of each variant, that find `shift` where the standard deviation is `noise`;
/// `None` if it would take more than anybody plays.
pub(super) fn runs_to_find(design: Design, shift: f64, noise: f64, alpha: f64) -> Option<u32> {
    let wanted = shift / noise.max(f64::MIN_POSITIVE);
    let found = |count: u32| {
        detectable_deviations(design, count, alpha).is_some_and(|least| least <= wanted)
    };
    let (mut low, mut high) = (runs_needed(design, 1, alpha), COUNT_MAX);
    if !found(high) {
        return None;
    }
    while low < high {
        let middle = u32::midpoint(low, high);
        if found(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}

/// x with P(Z > x) = `tail` for a standard normal Z (Abramowitz and Stegun 26.2.23, error below
/// 4.5·10⁻⁴): 1.96 at 0.025.
fn upper_quantile(tail: f64) -> f64 {
    let t = (-2.0 * tail.ln()).sqrt();
    let over = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let under = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - over / under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_six_pairs_find_by_hand() {
        let six = detectable_deviations(Design::Paired, 6, 0.05).unwrap();
        assert!((six - 1.793).abs() < 0.06, "{six}");
        assert_eq!(detectable_deviations(Design::Paired, 5, 0.05), None);
        assert_eq!(detectable_deviations(Design::Unpaired, 3, 0.05), None);
    }

    #[test]
    fn pairs_that_differ_alike_do_not_scatter_whatever_their_sign() {
        assert!(!is_scattered(&[(1.0, 2.0), (2.0, 1.0), (1.0, 2.02)], 0.05));
        assert!(is_scattered(&[(1.0, 1.0), (1.0, 1.2), (1.2, 1.2)], 0.05));
        assert!(!is_scattered(&[(1.0, 1.2)], 0.05), "one tells nothing");
        assert!(!is_scattered(&[(1.0, f64::INFINITY), (1.0, 1.0)], 0.05));
    }

    #[test]
    fn draws_and_formula_meet() {
        for design in [Design::Paired, Design::Unpaired] {
            let drawn = detectable_deviations(design, DRAWN_MAX, 0.05).unwrap();
            let formula = detectable_deviations(design, DRAWN_MAX + 1, 0.05).unwrap();
            assert!((drawn / formula - 1.0).abs() < 0.06, "{drawn} {formula}");
        }
        assert!((upper_quantile(0.025) - 1.96).abs() < 1e-3);
        let thirty = detectable_deviations(Design::Paired, 30, 0.05).unwrap();
        assert!((thirty - 0.541).abs() < 2e-3, "{thirty}");
    }

    #[test]
    fn more_runs_find_smaller_changes() {
        let runs = |shift| runs_to_find(Design::Paired, shift, 0.05, 0.05);
        assert_eq!(runs(0.2), Some(6));
        let (ten, five, two) = (
            runs(0.10).unwrap(),
            runs(0.05).unwrap(),
            runs(0.02).unwrap(),
        );
        assert!(6 <= ten && ten < five && five < two, "{ten} {five} {two}");
        assert_eq!(runs(1e-6), None, "nobody plays so many");
    }

    #[test]
    fn deviations_by_hand() {
        assert_eq!(deviation(&[1.0, 3.0]), Some(2f64.sqrt()));
        assert_eq!(deviation(&[1.0]), None);
        assert_eq!(deviation(&[1.0, f64::INFINITY]), None);
        assert_eq!(
            pooled_deviation(&[1.0, 3.0], &[10.0, 12.0]),
            Some(2f64.sqrt())
        );
    }
}

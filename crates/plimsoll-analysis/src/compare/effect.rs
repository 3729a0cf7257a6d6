//! How large a difference is: the Hodges–Lehmann estimate and its exact interval.
//!
//! ```text
//! pairs      dᵢ = bᵢ − aᵢ        shifts (dᵢ + dⱼ) ÷ 2, i ≤ j    n·(n + 1) ÷ 2 of them (Walsh averages)
//! no pairs   all bⱼ − aᵢ         shifts bⱼ − aᵢ                  n·m of them
//! estimate = median of the shifts      interval = from the (k + 1)-th smallest to the (k + 1)-th largest
//! ```
//! (Hodges and Lehmann 1963.) A shift lies outside of the interval just if the rank test would reject it, so k comes from
//! that test's exact distribution ([`beyond`]). Of 1, 2, 6 the averages are 1, 1.5, 2, 3.5, 4, 6: estimate 2.75.
//!
//! Everything here is a difference; ratios come in and go out as logarithms.

use plimsoll_core::comparison::{Design, Interval};

use super::permutation::beyond;

/// The differences that the estimate is the median of, in order: Walsh averages of pairs, or the
/// differences between every run of one variant and every run of the other.
#[derive(Debug, Clone)]
pub(super) struct Shifts {
    design: Design,
    counts: (usize, usize),
    sorted: Vec<f64>,
}

/// `b − a` where both may be infinite: never against never is no difference.
pub(super) fn difference(a: f64, b: f64) -> f64 {
    number(b - a)
}

/// Half of the sum; opposite infinities cancel.
fn average(a: f64, b: f64) -> f64 {
    number(f64::midpoint(a, b))
}

fn number(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

impl Shifts {
    pub(super) fn of_pairs(differences: &[f64]) -> Self {
        let mut sorted = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
        for (index, one) in differences.iter().enumerate() {
            let others = differences.iter().skip(index);
            sorted.extend(others.map(|other| average(*one, *other)));
        }
        sorted.sort_by(f64::total_cmp);
        Self {
            design: Design::Paired,
            counts: (differences.len(), differences.len()),
            sorted,
        }
    }

    pub(super) fn between(a: &[f64], b: &[f64]) -> Self {
        let all = a.iter().flat_map(|a| b.iter().map(|b| difference(*a, *b)));
        let mut sorted: Vec<f64> = all.collect();
        sorted.sort_by(f64::total_cmp);
        Self {
            design: Design::Unpaired,
            counts: (a.len(), b.len()),
            sorted,
        }
    }

    pub(super) fn estimate(&self) -> f64 {
        middle(&self.sorted)
    }

    /// The exact interval; `None` if so few runs have none of that coverage.
    pub(super) fn interval(&self, coverage: f64) -> Option<Interval> {
        let (beyond, coverage_ratio) = beyond(self.design, self.counts, coverage)?;
        let last = self.sorted.len().checked_sub(beyond + 1)?;
        Some(Interval {
            lower: *self.sorted.get(beyond)?,
            upper: *self.sorted.get(last)?,
            coverage_ratio,
        })
    }

    /// The bound that an effect must push above zero to be found: with it added to every
    /// difference, the lower bound of the interval of `coverage` is zero.
    pub(super) fn least_found(&self, coverage: f64) -> Option<f64> {
        self.interval(coverage).map(|interval| -interval.lower)
    }
}

/// The median of values in order, where opposite infinities cancel; of nothing it is 0, which no caller asks for.
fn middle(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle)) {
        (_, None) => 0.0,
        (1, Some(value)) => *value,
        (_, Some(value)) => average(sorted[middle - 1], *value),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "small whole numbers and halves are exact")]

    use super::*;

    #[test]
    fn estimates_and_bounds_by_hand() {
        // Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
        let shifts = Shifts::of_pairs(&[6.0, 1.0, 2.0]);
        assert_eq!(shifts.sorted, [1.0, 1.5, 2.0, 3.5, 4.0, 6.0]);
        assert_eq!(shifts.estimate(), 2.75);
        assert!(shifts.interval(0.95).is_none());
        let interval = shifts.interval(0.75).unwrap();
        assert_eq!((interval.lower, interval.upper), (1.0, 6.0));
        let shifts = Shifts::between(&[1.0, 2.0, 3.0, 4.0], &[11.0, 12.0, 13.0, 14.0]);
        assert_eq!(shifts.estimate(), 10.0);
        let interval = shifts.interval(0.95).unwrap();
        assert_eq!((interval.lower, interval.upper), (7.0, 13.0));
        assert!((interval.coverage_ratio - (1.0 - 2.0 / 70.0)).abs() < 1e-12);
    }

    #[test]
    fn never_is_beyond_every_number() {
        let never = f64::INFINITY;
        assert_eq!(difference(never, never), 0.0);
        assert_eq!(difference(1.0, never), never);
        let shifts = Shifts::of_pairs(&[never, never, never, 1.0, never, never]);
        assert_eq!(shifts.estimate(), never);
        assert_eq!(shifts.interval(0.95).unwrap().lower, 1.0);
    }
}

//! A histogram of any finite numbers, negative and fractional ones included, whose merge is exact.
//!
//! A script may add anything to a trend, so the integer histogram of durations does not fit. Here
//! the counter of a value is its own binary form without the last 41 bits: sign, exponent and the
//! eleven leading bits of the fraction. Each power of two is thus divided into 2,048 equal parts, and
//! the relative error is at most 1/2,048 = 0.049 % for every magnitude. A counter is shown by its
//! middle, or by the whole number in it, so that whole numbers below 4,096 come back exact. Minimum,
//! maximum, count and sum are exact.
//!
//! A percentile is interpolated on index p·(n − 1) between neighbouring values, as k6 does over its
//! raw samples; with both neighbours within 0.049 % so is the result.

mod wire;

use super::sum::Sum;

const FRACTION_BITS: u32 = 11;
const SHIFT: u32 = 52 - FRACTION_BITS;
/// Small pages keep what is narrow small: most distributions stay within a few powers of two.
const PAGE_BITS: u32 = 7;
const PAGE: usize = 1 << PAGE_BITS;

/// Counters of one sixteenth of a power of two.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Page {
    /// Exponent and leading four bits of the fraction.
    head: u16,
    counts: Box<[u64]>,
}

/// Counters of one sign, by rising magnitude.
#[derive(Debug, Clone, Default)]
struct Side(Vec<Page>);

impl Side {
    #[inline]
    fn add(&mut self, magnitude: f64, n: u64) {
        let key = magnitude.to_bits() >> SHIFT;
        let slot = key as usize % PAGE;
        self.page((key >> PAGE_BITS) as u16).counts[slot] += n;
    }

    #[inline]
    fn page(&mut self, head: u16) -> &mut Page {
        let place = match self.0.binary_search_by_key(&head, |page| page.head) {
            Ok(place) => place,
            Err(place) => self.insert(place, head),
        };
        &mut self.0[place]
    }

    #[cold]
    fn insert(&mut self, place: usize, head: u16) -> usize {
        let counts = vec![0; PAGE].into_boxed_slice();
        self.0.insert(place, Page { head, counts });
        place
    }

    fn merge(&mut self, other: &Self) {
        for page in &other.0 {
            let mine = self.page(page.head);
            for (mine, theirs) in mine.counts.iter_mut().zip(&page.counts) {
                *mine += theirs;
            }
        }
    }

    fn clear(&mut self) {
        for page in &mut self.0 {
            page.counts.fill(0);
        }
    }

    /// Occupied counters as (magnitude, count), smallest magnitude first.
    fn iter(&self) -> impl DoubleEndedIterator<Item = (f64, u64)> + '_ {
        self.0.iter().flat_map(|page| {
            let first = u64::from(page.head) << PAGE_BITS;
            let slots = page.counts.iter().enumerate();
            let slots = slots.filter(|(_, n)| **n > 0);
            slots.map(move |(slot, n)| (representative(first + slot as u64), *n))
        })
    }
}

/// The whole number of a counter that holds one, else its middle.
fn representative(key: u64) -> f64 {
    let low = f64::from_bits(key << SHIFT);
    let high = f64::from_bits((key + 1) << SHIFT);
    if high - low <= 1.0 && low.ceil() < high {
        return low.ceil();
    }
    // The uppermost counter ends at infinity.
    if high.is_finite() {
        f64::midpoint(low, high)
    } else {
        low
    }
}

/// Counts of finite numbers.
#[derive(Debug, Clone)]
pub struct Trend {
    negative: Side,
    positive: Side,
    zeros: u64,
    count: u64,
    sum: Sum,
    min: f64,
    max: f64,
}

impl Default for Trend {
    fn default() -> Self {
        Self::new()
    }
}

impl Trend {
    pub const fn new() -> Self {
        Self {
            negative: Side(Vec::new()),
            positive: Side(Vec::new()),
            zeros: 0,
            count: 0,
            sum: Sum::ZERO,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }

    /// Counts one number; what is not finite is left out. Allocates only when a magnitude (a
    /// sixteenth of a power of two) comes that was never seen before.
    #[inline]
    pub fn record(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if value > 0.0 {
            self.positive.add(value, 1);
        } else if value < 0.0 {
            self.negative.add(-value, 1);
        } else {
            self.zeros += 1;
        }
        self.count += 1;
        self.sum.add(value);
        // Adding zero turns −0 into 0.
        self.min = self.min.min(value + 0.0);
        self.max = self.max.max(value + 0.0);
    }

    /// Adds every count of `other`. Associative and commutative; the empty trend is its identity.
    pub fn merge(&mut self, other: &Self) {
        self.negative.merge(&other.negative);
        self.positive.merge(&other.positive);
        self.zeros += other.zeros;
        self.count += other.count;
        self.sum.merge(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets the counts and keeps the memory.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.negative.clear();
            self.positive.clear();
        }
        let (negative, positive) = (
            std::mem::take(&mut self.negative),
            std::mem::take(&mut self.positive),
        );
        *self = Self {
            negative,
            positive,
            ..Self::new()
        };
    }

    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Memory of the counters: 1 KiB for every sixteenth of a power of two that was met, at most a
    /// few hundred KiB for anything measured.
    pub fn memory_bytes(&self) -> usize {
        (self.negative.0.len() + self.positive.0.len()) * PAGE * size_of::<u64>()
    }

    /// Zero without values, as k6 shows it; so do the others.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum.value() / self.count as f64
    }

    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    pub fn min(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.min }
    }

    pub fn max(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.max }
    }

    /// The percentile for `q` between 0 and 1, interpolated on index q·(n − 1).
    pub fn quantile(&self, q: f64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let index = q.clamp(0.0, 1.0) * (self.count - 1) as f64;
        let below = index.floor();
        let (low, high) = self.neighbours(below as u64);
        let part = index - below;
        low * (1.0 - part) + high * part
    }

    /// The values at an index of the sorted values, counted from zero, and at the next.
    fn neighbours(&self, index: u64) -> (f64, f64) {
        let last = self.count - 1;
        let next = (index + 1).min(last);
        let low = if index == last {
            self.max
        } else {
            self.at_index(index)
        };
        let high = if next == last {
            self.max
        } else {
            self.at_index(next)
        };
        (low, high)
    }

    fn at_index(&self, index: u64) -> f64 {
        if index == 0 {
            return self.min;
        }
        let mut seen = 0;
        let at = self.sorted().find(|(_, n)| {
            seen += n;
            seen > index
        });
        at.map_or(self.max, |(value, _)| value.clamp(self.min, self.max))
    }

    /// Occupied counters as (value, count), smallest value first.
    fn sorted(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let negative = self.negative.iter().rev().map(|(value, n)| (-value, n));
        let zeros = (self.zeros > 0).then_some((0.0, self.zeros));
        negative.chain(zeros).chain(self.positive.iter())
    }

    /// Values below `bound` or in its counter.
    pub fn count_at_most(&self, bound: f64) -> u64 {
        let within = self.sorted().take_while(|(value, _)| *value <= bound);
        within.map(|(_, n)| n).sum()
    }
}

/// Equal counts; pages that were made and never used do not matter.
impl PartialEq for Trend {
    fn eq(&self, other: &Self) -> bool {
        let same_ends = self.count == 0 || (self.min, self.max) == (other.min, other.max);
        self.count == other.count
            && self.sum == other.sum
            && same_ends
            && self.sorted().eq(other.sorted())
    }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::float_cmp,
        reason = "sums and whole numbers are exact by design"
    )]

    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> Trend {
        let mut trend = Trend::new();
        for value in values {
            trend.record(*value);
        }
        trend
    }

    fn exact(values: &[f64], q: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let index = q * (sorted.len() - 1) as f64;
        let (low, high) = (
            sorted[index.floor() as usize],
            sorted[index.ceil() as usize],
        );
        low + (high - low) * index.fract()
    }

    fn any_value() -> impl Strategy<Value = f64> {
        prop_oneof![
            -1e3f64..1e3,
            0.001f64..60_000.0,
            (0u32..10_000).prop_map(f64::from),
            prop::num::f64::NORMAL.prop_filter("sums stay in range", |v| v.abs() < 1e15),
        ]
    }

    proptest! {
        #[test]
        fn percentiles_are_within_a_thousandth(
            values in prop::collection::vec(0.0001f64..1e7, 1..300), q in 0.0f64..=1.0
        ) {
            let (shown, truth) = (of(&values).quantile(q), exact(&values, q));
            prop_assert!((shown - truth).abs() <= truth.abs() / 2048.0, "{shown} {truth}");
        }

        #[test]
        fn a_trend_of_any_sign_is_off_by_no_more_than_its_neighbours(
            values in prop::collection::vec(any_value(), 1..100), q in 0.0f64..=1.0
        ) {
            let truth = exact(&values, q);
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let index = q * (sorted.len() - 1) as f64;
            let ends = [sorted[index.floor() as usize], sorted[index.ceil() as usize]];
            let allowed = ends[0].abs().max(ends[1].abs()) / 2048.0 + 1e-300;
            let shown = of(&values).quantile(q);
            prop_assert!((shown - truth).abs() <= allowed, "{shown} {truth}");
        }

        #[test]
        fn merging_is_recording_everything_in_any_order(
            a in prop::collection::vec(any_value(), 0..50),
            b in prop::collection::vec(any_value(), 0..50),
            c in prop::collection::vec(any_value(), 0..50),
        ) {
            let all: Vec<f64> = a.iter().chain(&b).chain(&c).copied().collect();
            let (a, b, c) = (of(&a), of(&b), of(&c));
            let mut left = a.clone();
            left.merge(&b);
            left.merge(&c);
            let mut right = c;
            right.merge(&b);
            right.merge(&a);
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(&left, &of(&all));
            let mut with_nothing = left.clone();
            with_nothing.merge(&Trend::new());
            prop_assert_eq!(with_nothing, left);
        }
    }

    #[test]
    fn whole_numbers_come_back_exact() {
        for value in 0..4096 {
            let value = f64::from(value);
            let between = of(&[value - 1.0, value, value + 1.0]);
            assert_eq!(between.quantile(0.5), value);
        }
        assert_eq!(of(&[1.0, 2.0]).quantile(0.5), 1.5);
        assert_eq!(of(&[0.1; 6]).sum(), 0.6);
    }

    #[test]
    fn what_is_not_a_number_is_left_out() {
        let trend = of(&[f64::NAN, f64::INFINITY, -0.0, f64::NEG_INFINITY]);
        assert_eq!(trend.count(), 1);
        assert!(trend.min().is_sign_positive() && trend.max() == 0.0);
        assert_eq!(Trend::new().quantile(0.9), 0.0);
        let extremes = of(&[f64::MAX, f64::MIN_POSITIVE / 4.0, -f64::MAX]);
        assert_eq!(extremes.quantile(0.0), -f64::MAX);
    }

    #[test]
    fn a_cleared_trend_is_empty_and_reusable() {
        let mut trend = of(&[5.0, -3.0, 0.0]);
        trend.clear();
        assert_eq!(trend, Trend::new());
        trend.record(2.0);
        assert_eq!(trend, of(&[2.0]));
    }
}

//! Integer log-linear histogram whose merge is exact, in the layout of HDR Histogram V2.
//!
//! A value below 2,048 ns has a counter of its own; above, each power of two is divided into 1,024
//! equal parts, so the relative error is at most 1/1,024 before and 1/2,048 after rounding to the
//! middle. Layout and encoding follow Gil Tene's `HdrHistogram` with lowest value 1 and three
//! significant digits, so its tools read our payloads.

mod hdr_v2;
mod packed;

pub use hdr_v2::DecodeError;
pub(crate) use hdr_v2::{WINDOW_COUNT_MAX, read_zigzag, write_zigzag};

use crate::units::Nanos;

const HALF: usize = 1024;
const HALF_BITS: u32 = 10;
/// Values above are counted at the maximum and marked: 2^42 ns is 73 minutes.
const HIGHEST: u64 = (1 << 42) - 1;
const COUNTERS: usize = (42 - HALF_BITS as usize + 1) * HALF;

/// Counts of durations. Merging two equals recording both streams into one, in any order.
///
/// What is recorded into keeps a counter for every value up to the largest; what is kept (a clone, a sum
/// of histograms, whatever was packed) only those that are not zero.
#[derive(Default)]
pub struct Histogram {
    /// Empty while `packed` holds the counts.
    counts: Vec<u64>,
    packed: Option<Box<[u8]>>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Histogram {
    pub const fn new() -> Self {
        Self {
            counts: Vec::new(),
            packed: None,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Counts one duration. Constant time; allocates only when a longer one than ever comes.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.record_n(value, 1);
    }

    #[inline]
    pub fn record_n(&mut self, value: Nanos, n: u64) {
        if n == 0 {
            return;
        }
        let index = index_of(value.0);
        if index >= self.counts.len() {
            self.grow(index);
        }
        self.counts[index] += n;
        self.count += n;
        self.sum += u128::from(value.0) * u128::from(n);
        self.min = if self.count == n {
            value.0
        } else {
            self.min.min(value.0)
        };
        self.max = self.max.max(value.0);
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        self.unpack();
        self.make_room(index);
    }

    fn make_room(&mut self, index: usize) {
        if index >= self.counts.len() {
            self.counts.resize((index + 1).next_multiple_of(HALF), 0);
        }
    }

    /// Adds every count of `other`. Associative and commutative; the empty histogram is its identity.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.counts.is_empty() {
            self.packed = Some(packed::sum(self.occupied(), other.occupied()));
        } else {
            self.make_room(index_of(other.max));
            for (index, n) in other.occupied() {
                self.counts[index] += n;
            }
        }
        self.min = if self.count == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Forgets the counts and keeps the memory.
    pub fn clear(&mut self) {
        if self.count > 0 {
            let used = (index_of(self.max) + 1).min(self.counts.len());
            self.counts[..used].fill(0);
            self.packed = None;
        }
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn mean(&self) -> Option<Nanos> {
        (self.count > 0).then(|| Nanos((self.sum / u128::from(self.count)) as u64))
    }

    /// The exact sum of what was recorded, in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    pub fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.min))
    }

    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.max))
    }

    /// The value of the `rank`-th smallest duration, counted from 1; within 1/2,048 of the truth.
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen = 0;
        for (index, n) in self.occupied() {
            seen += n;
            if seen >= rank {
                return Some(Nanos(middle_of(index).clamp(self.min, self.max)));
            }
        }
        None
    }

    /// The smallest value that at least `q` of the recorded durations do not exceed, 0 < q ≤ 1.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        self.at_rank(rank_of(q, self.count))
    }

    /// Durations whose counter lies at or below `bound`.
    pub fn count_at_most(&self, bound: Nanos) -> u64 {
        let last = index_of(bound.0);
        let below = self.occupied().take_while(|&(index, _)| index <= last);
        below.map(|(_, n)| n).sum()
    }

    /// The fewest and the most of the recorded durations that may be at most `bound`: its counter holds longer ones, too.
    pub fn count_within(&self, bound: Nanos) -> (u64, u64) {
        let at = index_of(bound.0);
        let (mut fewest, mut most) = (0, 0);
        for (index, n) in self.occupied().take_while(|&(index, _)| index <= at) {
            fewest += if index < at { n } else { 0 };
            most += n;
        }
        (fewest, most)
    }

    /// Occupied counters as (middle of the counter, count), smallest first.
    pub fn iter(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.occupied()
            .map(|(index, n)| (Nanos(middle_of(index)), n))
    }
}

/// The rank of quantile `q` among `count` values: ⌈q·count⌉, at least 1. A quarter of a
/// millionth is forgiven so that 0.99 × 100 is rank 99 and not 100.
pub fn rank_of(q: f64, count: u64) -> u64 {
    ((q * count as f64 - 2.5e-7).ceil() as u64).clamp(1, count.max(1))
}

/// Packed: a clone is made to be kept.
impl Clone for Histogram {
    fn clone(&self) -> Self {
        let mut kept = Self::new();
        kept.merge(self);
        kept
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
            && self.sum == other.sum
            && (self.count == 0 || (self.min == other.min && self.max == other.max))
            && self.iter().eq(other.iter())
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("mean", &self.mean())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

#[inline]
fn index_of(value: u64) -> usize {
    let value = value.min(HIGHEST);
    let bucket = (u64::BITS - HALF_BITS - 1) - (value | (2 * HALF as u64 - 1)).leading_zeros();
    let sub = (value >> bucket) as usize;
    (bucket as usize) * HALF + sub
}

/// First value and width of a counter.
fn range_of(index: usize) -> (u64, u64) {
    if index < 2 * HALF {
        return (index as u64, 1);
    }
    let bucket = index / HALF - 1;
    let sub = (index - bucket * HALF) as u64;
    (sub << bucket, 1 << bucket)
}

fn middle_of(index: usize) -> u64 {
    let (first, width) = range_of(index);
    first + width / 2
}

#[cfg(test)]
mod tests;

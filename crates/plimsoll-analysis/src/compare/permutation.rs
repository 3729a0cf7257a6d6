//! Exact permutation tests on ranks, and how small a p value a number of runs can give at all.
//!
//! Ranks, because a percentile may be infinite, one bad run must not decide, and because the
//! interval of the Hodges–Lehmann estimate is the same test read the other way round.

use plimsoll_base::random::Rng;
use plimsoll_core::comparison::{Design, Method};

/// Up to so many pairs, or runs of both variants together, every case is counted.
const PAIRS_MAX: usize = 200;
const RUNS_MAX: usize = 100;
const DRAWS: u32 = 20_000;
/// More runs than this nobody plays; searches for a number of runs end here.
pub(super) const COUNT_MAX: u32 = 400;

/// A two-sided p value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct P {
    pub(super) value: f64,
    pub(super) method: Method,
}

/// Signs of the differences are exchangeable when the two variants are alike (Wilcoxon's signed
/// ranks; equal sizes share their mean rank, a difference of zero has no sign to flip).
///
/// Six differences of one sign: 2 ÷ 2⁶ = 0.03125.
pub(super) fn sign_flip(differences: &[f64], seed: u64) -> P {
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let (ranks, ups): (Vec<usize>, Vec<bool>) = doubled_ranks(&sizes)
        .into_iter()
        .zip(differences)
        .filter(|(_, difference)| **difference != 0.0)
        .map(|(rank, difference)| (rank, *difference > 0.0))
        .unzip();
    let total: usize = ranks.iter().sum();
    // Distance of the sum of the positive ranks from half of all.
    let distance = |positive: usize| (2 * positive).abs_diff(total);
    let positive = ranks.iter().zip(ups).filter(|(_, up)| *up);
    let seen = distance(positive.map(|(rank, _)| *rank).sum());
    if ranks.len() <= PAIRS_MAX {
        // P(W = s), W being the sum of the ranks with a plus. Each rank r has one with chance ½, whatever the others have:
        // P(s) becomes ½·P(s) + ½·P(s − r). From the largest s down, so that P(s − r) is still that without r.
        let mut chances = vec![0.0; total + 1];
        if let Some(none) = chances.first_mut() {
            *none = 1.0;
        }
        for rank in ranks {
            for sum in (0..=total).rev() {
                let without = sum.checked_sub(rank).map_or(0.0, |sum| chances[sum]);
                chances[sum] = 0.5 * (chances[sum] + without);
            }
        }
        return exact(&chances, |sum| distance(sum) >= seen);
    }
    let mut rng = Rng::new(seed, 1);
    drawn(|| {
        let heads = ranks.iter().filter(|_| rng.below(2) == 1);
        distance(heads.sum()) >= seen
    })
}

/// Labels are exchangeable when the two variants are alike (Wilcoxon's rank sum with mean ranks).
///
/// Four against four without overlap: 2 ÷ 70 = 0.0286; three against three: 2 ÷ 20 = 0.1.
pub(super) fn relabel(a: &[f64], b: &[f64], seed: u64) -> P {
    let labels = Labels::new(a, b);
    if a.len() + b.len() <= RUNS_MAX {
        labels.counted()
    } else {
        labels.drawn(seed)
    }
}

/// Ranks of all runs, and how far the sum of b's lies from what chance expects.
struct Labels {
    ranks: Vec<usize>,
    chosen: usize,
    total: usize,
    seen: usize,
}

impl Labels {
    fn new(a: &[f64], b: &[f64]) -> Self {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let ranks = doubled_ranks(&all);
        let mut labels = Self {
            chosen: b.len(),
            total: ranks.iter().sum(),
            ranks,
            seen: 0,
        };
        labels.seen = labels.distance(labels.ranks.iter().skip(a.len()).sum());
        labels
    }

    /// In whole numbers: both sides are multiplied by the number of runs.
    fn distance(&self, sum: usize) -> usize {
        (sum * self.ranks.len()).abs_diff(self.total * self.chosen)
    }

    fn counted(&self) -> P {
        let chances = chances_of_sums(&self.ranks, self.chosen);
        exact(&chances, |sum| self.distance(sum) >= self.seen)
    }

    fn drawn(&self, seed: u64) -> P {
        let mut rng = Rng::new(seed, 2);
        let mut ranks = self.ranks.clone();
        let count = ranks.len();
        drawn(|| {
            for place in 0..self.chosen {
                let other = place + rng.below((count - place) as u64) as usize;
                ranks.swap(place, other);
            }
            self.distance(ranks.iter().take(self.chosen).sum()) >= self.seen
        })
    }
}

/// Chance of every sum of `chosen` of the ranks, all choices being alike.
///
/// With c(j, s) ways to choose j ranks of sum s, one more rank r gives c(j, s) + c(j − 1, s − r); divided by all ways in the
/// end. Two of 1, 2, 3: sums 3, 4 and 5, a third each.
fn chances_of_sums(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; total + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        // More before fewer: a rank is chosen once.
        for taken in (1..=chosen).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            if let (Some(fewer), Some(more)) = (fewer.last(), more.first_mut()) {
                for (sum, ways) in more.iter_mut().enumerate().skip(rank) {
                    *ways += fewer[sum - rank];
                }
            }
        }
    }
    let mut chances = ways.pop().unwrap_or_default();
    let all: f64 = chances.iter().sum();
    for ways in &mut chances {
        *ways /= all;
    }
    chances
}

fn exact(chances: &[f64], as_far: impl Fn(usize) -> bool) -> P {
    let far = chances.iter().enumerate().filter(|(sum, _)| as_far(*sum));
    P {
        value: far.map(|(_, chance)| chance).sum::<f64>().min(1.0),
        method: Method::Exact,
    }
}

/// The case seen counts as one of the draws, so that p is never zero.
fn drawn(mut as_far: impl FnMut() -> bool) -> P {
    let far = (0..DRAWS).filter(|_| as_far()).count();
    P {
        value: (far + 1) as f64 / f64::from(DRAWS + 1),
        method: Method::MonteCarlo { draws_count: DRAWS },
    }
}

/// Twice the mean rank of every value, so that shared ranks stay whole: 1, 5, 5 have 2, 5, 5.
pub(super) fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
    let mut ranks = vec![0; values.len()];
    let mut from = 0;
    for group in order.chunk_by(|&one, &other| values[one].total_cmp(&values[other]).is_eq()) {
        for &index in group {
            ranks[index] = 2 * from + group.len() + 1;
        }
        from += group.len();
    }
    ranks
}

/// The smallest p value that so many pairs, or runs of each variant, can give.
pub(super) fn smallest_p(design: Design, a: u32, b: u32) -> f64 {
    let cases = match design {
        Design::Paired => f64::from(a.min(b).min(1000)).exp2(),
        Design::Unpaired => choices(f64::from(a + b), f64::from(a.min(b))),
    };
    (2.0 / cases).min(1.0)
}

/// n over k.
fn choices(n: f64, k: f64) -> f64 {
    let mut ways = 1.0;
    let mut taken = 1.0;
    while taken <= k {
        ways *= (n - k + taken) / taken;
        taken += 1.0;
    }
    ways
}

/// Fewest pairs, or runs of each variant, with which the first of so many comparisons can reach
/// `alpha` by Holm's rule: six pairs for one, eight for six (2 ÷ 2⁸ = 0.0078 ≤ 0.05 ÷ 6).
pub fn runs_needed(design: Design, comparisons: usize, alpha: f64) -> u32 {
    let level = alpha / comparisons.max(1) as f64;
    (1..COUNT_MAX)
        .find(|&count| smallest_p(design, count, count) <= level)
        .unwrap_or(COUNT_MAX)
}

/// How many of the ordered Walsh averages (or of the differences of all pairs of runs) lie beyond
/// each bound of an interval that covers at least `coverage`, and what it covers; `None` if so few
/// runs cannot. Six pairs at 95 %: none beyond, 96.9 %.
pub(super) fn beyond(
    design: Design,
    (a, b): (usize, usize),
    coverage: f64,
) -> Option<(usize, f64)> {
    let chances = match design {
        Design::Paired => {
            let total = a * (a + 1) / 2;
            let mut chances = vec![0.0; total + 1];
            *chances.first_mut()? = 1.0;
            for rank in 1..=a {
                for sum in (0..=total).rev() {
                    let without = sum.checked_sub(rank).map_or(0.0, |sum| chances[sum]);
                    chances[sum] = 0.5 * (chances[sum] + without);
                }
            }
            chances
        }
        Design::Unpaired => {
            let ranks: Vec<usize> = (1..=a + b).collect();
            chances_of_sums(&ranks, b).split_off(b * (b + 1) / 2)
        }
    };
    // The largest k with P(W ≤ k) ≤ (1 − coverage) ÷ 2; both tails are alike.
    let tail = (1.0 - coverage) / 2.0;
    let (mut sum, mut found) = (0.0, None);
    for (beyond, chance) in chances.iter().enumerate() {
        sum += chance;
        // Sums of halves are exact, sums of quotients nearly so.
        if sum > tail * (1.0 + 1e-12) {
            break;
        }
        found = Some((beyond, 1.0 - 2.0 * sum));
    }
    found
}

/// Holm's step-down correction (1979), in the order given: the i-th smallest of m (from 0) becomes the largest of
/// (m − i)·p so far, at most 1. 0.01, 0.04, 0.03: 0.03, 0.06, 0.06.
pub(super) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&one, &other| p[one].total_cmp(&p[other]));
    let mut adjusted = vec![1.0; p.len()];
    let mut highest: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        highest = highest.max(((p.len() - rank) as f64 * p[index]).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "sums of halves are exact")]

    use super::*;

    #[test]
    fn p_values_by_hand() {
        let p = |differences: &[f64]| sign_flip(differences, 0).value;
        assert_eq!(p(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 2.0 / 64.0);
        // One of 1 against: sums of positive ranks 20 or 21 of 21, twice.
        assert_eq!(p(&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 4.0 / 64.0);
        // Equal sizes share a rank: |3 − 1| or more of 4 signs is 10 of 16.
        assert_eq!(p(&[1.0, 1.0, 1.0, -1.0]), 10.0 / 16.0);
        assert_eq!(p(&[0.0, 0.0, 0.0]), 1.0);
        assert_eq!(p(&[]), 1.0);
        let p = |a: &[f64], b: &[f64]| relabel(a, b, 0).value;
        assert!((p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.1).abs() < 1e-12);
        assert!((p(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]) - 2.0 / 70.0).abs() < 1e-12);
        // Rank sums of two of 1, 2, 3: 3, 4, 5; the middle is expected.
        assert!((p(&[2.0], &[1.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!((p(&[f64::INFINITY; 5], &[1.0, 2.0, 3.0, 4.0, 5.0]) - 2.0 / 252.0).abs() < 1e-12);
    }

    #[test]
    fn drawing_agrees_with_counting() {
        let differences: Vec<f64> = (0..201).map(|n| f64::from(n % 7) - 2.7).collect();
        let counted = sign_flip(&differences[..200], 1);
        let drawn = sign_flip(&differences, 1);
        assert_eq!(counted.method, Method::Exact);
        assert!(matches!(drawn.method, Method::MonteCarlo { .. }));
        assert!((counted.value - drawn.value).abs() < 0.02);
        let a: Vec<f64> = (0..20).map(|n| f64::from(n * 37 % 101)).collect();
        let b: Vec<f64> = (0..25).map(|n| f64::from(n * 53 % 97) + 12.0).collect();
        let labels = Labels::new(&a, &b);
        let (counted, drawn) = (labels.counted().value, labels.drawn(1).value);
        assert!((counted - drawn).abs() < 0.012, "{counted} {drawn}");
        assert!((0.01..0.9).contains(&counted), "{counted}");
    }

    #[test]
    fn so_many_runs_are_needed() {
        let pairs = |comparisons| runs_needed(Design::Paired, comparisons, 0.05);
        assert_eq!([1, 3, 6].map(pairs), [6, 7, 8]);
        assert_eq!(runs_needed(Design::Unpaired, 1, 0.05), 4);
        assert!((smallest_p(Design::Unpaired, 3, 3) - 0.1).abs() < 1e-12);
        assert!((smallest_p(Design::Unpaired, 5, 5) - 2.0 / 252.0).abs() < 1e-12);
    }

    #[test]
    fn intervals_by_hand() {
        let (count, covers) = beyond(Design::Paired, (6, 6), 0.95).unwrap();
        assert_eq!((count, covers), (0, 1.0 - 2.0 / 64.0));
        // P(W ≤ 2) = 3 ÷ 64 ≤ 0.05.
        assert_eq!(beyond(Design::Paired, (6, 6), 0.9).unwrap().0, 2);
        // Tables: 8 pairs at 95 % leave W(4) to W(33).
        assert_eq!(beyond(Design::Paired, (8, 8), 0.95).unwrap().0, 3);
        assert_eq!(beyond(Design::Paired, (5, 5), 0.95), None);
        // Tables of Mann and Whitney: critical U of 2 for 5 and 5, 0 for 4 and 4.
        assert_eq!(beyond(Design::Unpaired, (5, 5), 0.95).unwrap().0, 2);
        assert_eq!(beyond(Design::Unpaired, (4, 4), 0.95).unwrap().0, 0);
        assert_eq!(beyond(Design::Unpaired, (3, 3), 0.95), None);
    }

    #[test]
    fn holm_by_hand() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}

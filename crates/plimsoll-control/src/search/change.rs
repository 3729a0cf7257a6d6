//! Sees that the target changed while it was searched: it scaled out, ran out of credits, slowed down or warmed up.
//!
//! Before each level k it is asked how likely all that was seen is if the boundary was one value before it and another
//! from it on, against one value throughout (Bayes factor):
//!
//! ```text
//! ln B = max over k of  ln p(levels before k) + ln p(levels from k on) − ln p(all levels)
//! ```
//!
//! A level alone can be a pause and weighs 3.2 nats at most; two values have one prior more to pay. Beyond the change the
//! search goes on with what was seen since.

use super::evidence::Evidence;
use super::posterior::{Grid, Prior};

/// ln B from which a change is believed: three levels against what was before, none of which can be a stray one.
const BELIEVED: f64 = 4.0;
/// Levels on each side: fewer may have had a pause of their own.
const LEVELS_LEAST: usize = 3;

/// The index of the first level of the target as it is now; 0 while nothing tells that it changed.
pub(crate) fn latest(scale: f64, evidence: &[Evidence]) -> usize {
    let before = Grid::new(Prior::Usual(scale));
    let after = Grid::new(Prior::Even(scale));
    let seen: Vec<Vec<f64>> = evidence.iter().map(|level| after.seen(level)).collect();
    let mut from = 0;
    loop {
        let grid = if from == 0 { &before } else { &after };
        match first_change(grid, &after, &seen[from..]) {
            Some(at) => from += at,
            None => return from,
        }
    }
}

fn first_change(grid: &Grid, after: &Grid, seen: &[Vec<f64>]) -> Option<usize> {
    let last = seen.len().checked_sub(LEVELS_LEAST)?;
    let mut rest = vec![0.0; seen.first()?.len()];
    seen.iter().for_each(|level| add(&mut rest, level, 1.0));
    let throughout = grid.likelihood(&rest);
    let mut past = vec![0.0; rest.len()];
    let mut best: Option<(usize, f64)> = None;
    for (index, level) in seen.iter().enumerate().take(last) {
        add(&mut past, level, 1.0);
        add(&mut rest, level, -1.0);
        let at = index + 1;
        if at < LEVELS_LEAST {
            continue;
        }
        let factor = grid.likelihood(&past) + after.likelihood(&rest) - throughout;
        if factor >= best.map_or(BELIEVED, |(_, factor)| factor) {
            best = Some((at, factor));
        }
    }
    best.map(|(at, _)| at)
}

fn add(sum: &mut [f64], level: &[f64], sign: f64) {
    for (sum, value) in sum.iter_mut().zip(level) {
        *sum += sign * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels at these shares of the boundary, whose bad share grows with the 14th power.
    fn levels(boundary: f64, shares: &[f64]) -> Vec<Evidence> {
        let level = |share: &f64| {
            let attempts = boundary * share * 10.0;
            let bad = (0.01 * libm::pow(*share, 14.0)).min(1.0);
            Evidence {
                level: 0,
                rate: boundary * share,
                attempts,
                bad: bad * attempts,
                budget: 0.01,
                bunch: 5.0,
                is_over: bad > 0.3,
                end: 0.0,
            }
        };
        shares.iter().map(level).collect()
    }

    const SHARES: [f64; 8] = [0.5, 0.8, 1.3, 0.97, 1.06, 1.02, 0.98, 1.0];

    #[test]
    fn one_boundary_is_no_change_and_a_pause_is_none_either() {
        let mut seen = levels(80.0, &SHARES);
        assert_eq!(latest(100.0, &seen), 0);
        seen[3].is_over = true;
        assert_eq!(latest(100.0, &seen), 0);
    }

    #[test]
    fn twice_the_servers_and_half_of_them_are_a_change() {
        for factor in [2.0, 0.5] {
            let mut seen = levels(80.0, &SHARES);
            seen.extend(levels(80.0 * factor, &SHARES[3..]));
            assert_eq!(latest(100.0, &seen), SHARES.len(), "× {factor}");
        }
    }
}

//! Sees that the target changed while it was searched: it scaled out, ran out of credits, slowed down or warmed up.
//!
//! Before each level k it is asked how likely all that was seen is if the boundary was one value before it and another
//! from it on, against one value throughout (Bayes factor):
//!
//! ```text
//! ln B = max over k of  ln p(levels before k) + ln p(levels from k on) − ln p(all levels)
//! ```
//!
//! A level alone can be a pause and weighs 3.2 nats at most; two values have one prior more to pay. A closed loop that was
//! served as much behind k as before it says that the target is what it was, and that some levels had bad luck: a few bad
//! seconds decide the one, thousands of answers the other. Beyond the change the search goes on with what was seen since.

use super::evidence::Evidence;
use super::posterior::{Grid, Posterior, Prior};

/// ln B from which a change is believed: three levels against what was before, none of which can be a stray one.
const BELIEVED: f64 = 4.0;
/// Levels on each side: fewer may have had a pause of their own.
const LEVELS_LEAST: usize = 3;

/// More than the closed loop came to by so much is more than chance and another way of arriving explain.
const OUTGROWN: f64 = 1.15;

/// The latest change of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    /// Index of the first evidence of the target as it is now, and its level.
    pub(crate) first: usize,
    pub(crate) level: u32,
    /// Seconds of the search at which the last level before it ended.
    pub(crate) after: f64,
    /// Where the boundary probably was; of a target that outgrew its closed loop, what that came to.
    pub(crate) before: f64,
    is_outgrown: bool,
}

impl Change {
    /// `None` while nothing tells that there was one; `usual` is what is thought of a target that does not change, `anchor`
    /// the closed loop's throughput if rates are measured by that; `as_fast` tells of a second of the search whether closed
    /// loops before and since were served alike.
    pub(crate) fn of_search(
        usual: Prior,
        anchor: Option<f64>,
        evidence: &[Evidence],
        as_fast: impl Fn(f64) -> bool,
    ) -> Option<Self> {
        let mut change = anchor.and_then(|anchor| Self::outgrown(anchor, evidence));
        loop {
            let first = change.map_or(0, |change| change.first);
            let prior = match change {
                Some(change) => change.prior(evidence)?,
                None => usual,
            };
            let later = Self::contradicted(prior, evidence, first);
            match later.filter(|later| !as_fast(later.after)) {
                Some(later) => change = Some(later),
                None => return change,
            }
        }
    }

    /// What is thought of the target since, before anything is known of it; `evidence` is all of the search.
    pub(crate) fn prior(self, evidence: &[Evidence]) -> Option<Prior> {
        let scale = Posterior::scale(None, &evidence[self.first..])?;
        let before = self.before;
        Some(if self.is_outgrown {
            Prior::Even(scale)
        } else {
            Prior::Moved { before, scale }
        })
    }

    /// A level was carried well at far more than all that the closed loop came to: the target is larger, or warmer, than it
    /// was. What was too much for it until then says nothing any more.
    fn outgrown(anchor: f64, evidence: &[Evidence]) -> Option<Self> {
        let carried = |level: &Evidence| {
            !level.is_over && level.ratio() <= level.budget && level.rate >= OUTGROWN * anchor
        };
        let at = evidence.iter().position(carried)?;
        let too_much = evidence[..at].iter().rposition(Evidence::is_too_much);
        let first = too_much.map_or(0, |last| last + 1);
        Some(Self {
            before: anchor,
            is_outgrown: true,
            ..Self::at(evidence, first)
        })
    }

    /// The first change behind `from` without which the levels contradict each other.
    fn contradicted(prior: Prior, evidence: &[Evidence], from: usize) -> Option<Self> {
        let at = first_change(prior, &evidence[from..])?;
        let before = Posterior::new(prior, &evidence[from..from + at], evidence[from + at].end);
        Some(Self {
            before: before.quantile(0.5),
            ..Self::at(evidence, from + at)
        })
    }

    fn at(evidence: &[Evidence], first: usize) -> Self {
        let last = first.checked_sub(1).map(|last| &evidence[last]);
        Self {
            first,
            level: evidence[first].level,
            after: last.map_or(0.0, |last| last.end),
            before: 0.0,
            is_outgrown: false,
        }
    }
}

fn first_change(prior: Prior, evidence: &[Evidence]) -> Option<usize> {
    let last = evidence.len().checked_sub(LEVELS_LEAST)?;
    let (grid, after) = (Grid::new(prior), Grid::new(prior.even()));
    let seen: Vec<Vec<f64>> = evidence.iter().map(|level| grid.seen(level)).collect();
    let mut rest = vec![0.0; seen.first()?.len()];
    for level in &seen {
        add(&mut rest, level, 1.0);
    }
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

    const PRIORS: [Prior; 2] = [
        Prior::Usual(100.0),
        Prior::Queue {
            full: 100.0,
            budget: 0.01,
        },
    ];

    /// Of three levels since a change one was carried and two were a little too much, or had bad luck: a twentieth of what was
    /// carried before is no likely answer. It is where everything down to there was far too much.
    #[test]
    fn a_target_that_changed_is_looked_for_near_what_it_was_and_found_anywhere() {
        let likely = |levels: &[(f64, f64)]| {
            let level = |&(rate, share): &(f64, f64)| Evidence {
                level: 0,
                rate,
                attempts: rate * 8.0,
                bad: share * rate * 8.0,
                budget: 0.01,
                bunch: 20.0,
                is_over: share > 0.3,
                end: 0.0,
            };
            let seen: Vec<Evidence> = levels.iter().map(level).collect();
            let change = Change {
                before: 120.8,
                ..Change::at(&seen, 0)
            };
            Posterior::new(change.prior(&seen).unwrap(), &seen, 0.0).quantile(0.42)
        };
        let near = likely(&[(119.0, 0.031), (114.0, 0.0), (112.8, 0.101)]);
        assert!((50.0..125.0).contains(&near), "{near}/s");
        let far = likely(&[
            (119.0, 1.0),
            (80.0, 1.0),
            (40.0, 1.0),
            (10.0, 1.0),
            (5.0, 0.0),
        ]);
        assert!((4.0..10.0).contains(&far), "{far}/s");
    }

    const SHARES: [f64; 8] = [0.5, 0.8, 1.3, 0.97, 1.06, 1.02, 0.98, 1.0];

    fn of_levels(prior: Prior, seen: &[Evidence]) -> Option<Change> {
        Change::of_search(prior, Some(100.0), seen, |_| false)
    }

    #[test]
    fn one_boundary_is_no_change_and_a_pause_is_none_either() {
        let mut seen = levels(80.0, &SHARES);
        for prior in PRIORS {
            assert_eq!(of_levels(prior, &seen), None);
        }
        seen[3].is_over = true;
        for prior in PRIORS {
            assert_eq!(of_levels(prior, &seen), None);
        }
    }

    #[test]
    fn twice_the_servers_and_half_of_them_are_a_change() {
        let both = |factor| PRIORS.map(|prior| (factor, prior));
        for (factor, prior) in [2.0, 0.5].into_iter().flat_map(both) {
            let mut seen = levels(80.0, &SHARES);
            let again: Vec<f64> = SHARES[2..].iter().chain(&SHARES[2..]).copied().collect();
            seen.extend(levels(80.0 * factor, &again));
            let change = of_levels(prior, &seen).unwrap();
            // Behind the last level that says something else of the target as it was.
            assert!((3..=SHARES.len() + 1).contains(&change.first), "× {factor}");
            // More than the closed loop came to is carried by a larger target, whatever that loop got since.
            let as_fast = Change::of_search(prior, Some(100.0), &seen, |_| true);
            assert_eq!(as_fast.is_some(), factor > 1.0);
        }
    }
}

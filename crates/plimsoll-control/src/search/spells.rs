//! Slow spells: seconds in which the target was slow for another reason than the load, and what they cost.
//!
//! Near its limit a queue makes attempts late in bursts, so lateness alone proves nothing. A spell is told from the limit
//! because the same load is carried again later, and from the queue because fewer answers came in it than were asked.

use super::ended_level::EndedLevel;
use super::evidence::{refutes, timed};
use super::load::Load;
use super::measured::Second;

/// A second is bad when this share of its attempts is.
const BAD_SHARE: f64 = 0.25;
/// Where no later level carried as much, only levels up to this multiple of the boundary are looked at: beyond it everything
/// is late.
const LOOKED_AT: f64 = 1.05;
/// Good seconds after it, in the same level, show that the load was not the cause.
const GOOD_AFTER: usize = 5;
/// Answers in a second fell below this share of the rate…
const SERVED_SHARE: f64 = 0.8;
/// …and by so many standard deviations of a Poisson count.
const SERVED_DEVIATIONS: f64 = 4.0;
/// Below this share of the boundary a queue alone makes no second bad.
const CALM_SHARE: f64 = 0.88;

/// One spell: when it began and ended, and what the target still served in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spell {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) served_per_s: f64,
    pub(crate) rate: f64,
    /// The level was ended because of it: how long it went on nobody saw.
    pub(crate) is_cut: bool,
}

impl Spell {
    pub(crate) fn seconds(&self) -> f64 {
        self.end - self.start
    }

    /// Whether a second that ended at `at` belongs to it.
    pub(crate) fn holds(&self, at: f64) -> bool {
        at > self.start && at <= self.end
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Spells(Vec<Spell>);

impl Spells {
    pub(crate) fn of_levels(levels: &[&EndedLevel], boundary: f64) -> Self {
        let mut spells: Vec<Spell> = Vec::new();
        for (index, played) in levels.iter().enumerate() {
            let rate = played.rate().unwrap_or(0.0);
            let refuted = levels[index + 1..].iter().any(|later| refutes(later, rate));
            let is_open = !matches!(played.measured.load, Load::Vus(_));
            if is_open && (refuted || rate <= LOOKED_AT * boundary) {
                spells.extend(in_level(played, rate, boundary, refuted));
            }
        }
        Self(spells)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Spell> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Seconds that spells like these make bad at `rate`, all of them together: each lasts its own length, and the backlog
    /// of (r − g)·L is then worked off at A − r, with g served in it and A, `most`, at most.
    pub(crate) fn cost(&self, rate: f64, most: f64) -> f64 {
        let most = most.max(rate * 1.02);
        let each = self.0.iter().map(|spell| {
            let own = if spell.is_cut {
                spell.seconds()
            } else {
                let backlog = (spell.rate - spell.served_per_s).max(0.0)
                    / (most - spell.served_per_s).max(1e-9);
                spell.seconds() * (1.0 - backlog).max(0.2)
            };
            own * (1.0 + (rate - spell.served_per_s).max(0.0) / (most - rate))
        });
        each.sum()
    }
}

fn is_bad(second: &Second) -> bool {
    let attempts = second.attempts + second.overdue;
    attempts > 0 && (second.worst_bad() + second.overdue) as f64 >= BAD_SHARE * attempts as f64
}

/// Runs of bad seconds in one level that the load does not explain.
fn in_level(played: &EndedLevel, rate: f64, boundary: f64, refuted_later: bool) -> Vec<Spell> {
    let seconds: Vec<(f64, &Second)> = timed(played, &played.measured.seconds).collect();
    let mut spells = Vec::new();
    let mut index = 0;
    while index < seconds.len() {
        let bad = |(_, second): &&(f64, &Second)| is_bad(second);
        let length = seconds[index..].iter().take_while(bad).count();
        let (run, rest) = seconds[index..].split_at(length);
        let good_after = rest.len() >= GOOD_AFTER && !rest[..GOOD_AFTER].iter().any(|at| bad(&at));
        if let Some(spell) = of_run(run, rate, rest.is_empty())
            && (refuted_later || good_after)
            && (is_few(spell.served_per_s, rate) || rate < CALM_SHARE * boundary)
        {
            spells.push(spell);
        }
        index += length.max(1);
    }
    spells
}

fn of_run(run: &[(f64, &Second)], rate: f64, is_cut: bool) -> Option<Spell> {
    let (first, last) = (run.first()?, run.last()?);
    let served = run
        .iter()
        .map(|(_, second)| second.served as f64 / second.length.max(1e-9));
    Some(Spell {
        start: first.0 - first.1.length,
        end: last.0,
        served_per_s: served.fold(f64::INFINITY, f64::min),
        rate,
        is_cut,
    })
}

/// Fewer answers in a second than chance makes of `rate`.
fn is_few(served: f64, rate: f64) -> bool {
    served < (SERVED_SHARE * rate).min(rate - SERVED_DEVIATIONS * libm::sqrt(rate))
}

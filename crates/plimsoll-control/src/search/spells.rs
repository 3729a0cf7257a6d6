//! Slow spells: seconds in which the target was slow for another reason than the load, and what they cost.
//!
//! Near its limit a queue makes attempts late in bursts, so lateness alone proves nothing. A spell is told from the limit
//! because the same load is carried again later, and from the queue because fewer answers came in it than were asked, or
//! because the wait jumped: a queue at rate r that is served at A grows by (r − A)·t ± √((r + σ²)·t) in t seconds, where σ² is
//! the variance of what is served in a second. A stop of 0.3 s of 500/s makes 150 wait at once; at 420/s chance makes 60.

use plimsoll_core::objective::Clause;

use super::ended_level::EndedLevel;
use super::evidence::{refutes, timed};
use super::load::Load;
use super::measured::Second;

/// A second is bad when this share of its attempts is.
const BAD_SHARE: f64 = 0.25;
/// At a load this far below the boundary nothing waits for long, so less tells: this share of a second's attempts, so many
/// budgets, and at least so many attempts.
const AT_REST: f64 = 0.75;
const SHORT_SHARE: f64 = 0.1;
const SHORT_BUDGETS: f64 = 5.0;
const SHORT_LEAST: u64 = 5;
/// Where no later level carried as much, only levels up to this multiple of the boundary are looked at: beyond it everything
/// is late.
const LOOKED_AT: f64 = 1.05;
/// Good seconds after it, in the same level, show that the load was not the cause.
const GOOD_AFTER: usize = 5;
/// Answers in a second fell below this share of the rate…
const SERVED_SHARE: f64 = 0.8;
/// …and by so many standard deviations.
const SERVED_DEVIATIONS: f64 = 4.0;
/// A target that is full serves at least this share of what the closed loop got, and as many deviations less.
const FULL_SHARE: f64 = 0.8;
/// A queue that chance makes longer within a second than so many standard deviations is none.
const JUMP_DEVIATIONS: f64 = 5.5;
/// Below this share of the boundary a queue alone makes no second bad.
const CALM_SHARE: f64 = 0.88;
/// And where what is served in a second varies by more than so many times what a Poisson count does, below this one.
const UNEVEN: f64 = 3.0;
const CALM_SHARE_UNEVEN: f64 = 0.6;

/// What the target serves when it is full, as the closed loop showed it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Speed {
    pub(crate) per_s: f64,
    /// Of what is served in one second.
    pub(crate) variance: f64,
    /// Seconds that an answer takes at rest.
    pub(crate) rest: f64,
}

impl Speed {
    fn is_uneven(self) -> bool {
        self.variance > UNEVEN * self.per_s
    }

    /// Much less came than a full target serves, although enough waited and nothing failed.
    fn is_slower(self, run: &[(f64, &Second)]) -> bool {
        let least = FULL_SHARE * self.per_s - SERVED_DEVIATIONS * libm::sqrt(self.variance);
        run.iter().any(|(_, second)| {
            let waited =
                second.in_flight_end as f64 >= self.per_s * second.length * (1.0 - FULL_SHARE);
            waited && second.failures == 0 && (second.served as f64) < least * second.length
        })
    }

    /// The waiting time of `second` is more than a queue could grow to since the second before it.
    fn jumped(self, rate: f64, before: &Second, second: &Second) -> bool {
        let Some(wait) = second.p99.map(|p99| p99.as_secs_f64() - self.rest) else {
            return false;
        };
        let (per_s, variance) = (self.per_s, rate + self.variance);
        let spare = per_s - rate;
        let most = second.length + wait.max(0.0);
        // Where (r − A)·t + k·√(V·t) is greatest.
        let until = if spare > 0.0 {
            (JUMP_DEVIATIONS * JUMP_DEVIATIONS * variance / (4.0 * spare * spare)).min(most)
        } else {
            most
        };
        let chance = JUMP_DEVIATIONS * libm::sqrt(variance * until) - spare * until;
        per_s * wait - before.in_flight_end as f64 > chance
    }
}

/// One spell: when it began and ended, and what the target still served in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spell {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) served_per_s: f64,
    pub(crate) rate: f64,
    /// Seconds in which all attempts would have been as bad: a stop of 0.3 s fills no second.
    bad_seconds: f64,
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
    pub(crate) fn of_levels(levels: &[&EndedLevel], boundary: f64, speed: Option<Speed>) -> Self {
        let mut spells: Vec<Spell> = Vec::new();
        for (index, played) in levels.iter().enumerate() {
            let rate = played.rate().unwrap_or(0.0);
            let refuted = levels[index + 1..].iter().any(|later| refutes(later, rate));
            let is_open = !matches!(played.measured.load, Load::Vus(_));
            let full = speed.map_or(0.0, |speed| speed.per_s);
            if is_open && (refuted || rate <= (LOOKED_AT * boundary).max(full)) {
                spells.extend(in_level(played, rate, boundary, refuted, speed));
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

    /// Seconds that spells like these make bad at `rate`, all of them together: each lasts its own length, as far as it is
    /// bad, and the backlog of (r − g)·L is then worked off at A − r, with g served in it and A, `most`, at most.
    pub(crate) fn cost(&self, rate: f64, most: f64) -> f64 {
        let most = most.max(rate * 1.02);
        let each = self.0.iter().map(|spell| {
            let own = if spell.is_cut {
                spell.bad_seconds
            } else {
                let backlog = (spell.rate - spell.served_per_s).max(0.0)
                    / (most - spell.served_per_s).max(1e-9);
                spell.bad_seconds * (1.0 - backlog).max(0.2)
            };
            own * (1.0 + (rate - spell.served_per_s).max(0.0) / (most - rate))
        });
        each.sum()
    }
}

/// The share of a second's attempts that are bad by the worst clause.
fn bad_share(second: &Second) -> f64 {
    let attempts = second.attempts + second.overdue;
    (second.worst_bad() + second.overdue) as f64 / attempts.max(1) as f64
}

/// A second that is bad, or at rest one that holds more bad attempts than the service has by itself.
fn is_bad(second: &Second, clauses: &[Clause], at_rest: bool) -> bool {
    let is_short = || {
        let attempts = second.attempts as f64;
        clauses.iter().zip(second.bad).any(|(clause, bad)| {
            let share = SHORT_SHARE.max(SHORT_BUDGETS * clause.budget());
            bad >= SHORT_LEAST && bad as f64 >= share * attempts
        })
    };
    bad_share(second) >= BAD_SHARE || at_rest && is_short()
}

/// Runs of bad seconds in one level that the load does not explain.
fn in_level(
    played: &EndedLevel,
    rate: f64,
    boundary: f64,
    refuted_later: bool,
    speed: Option<Speed>,
) -> Vec<Spell> {
    let seconds: Vec<(f64, &Second)> = timed(played, &played.measured.seconds).collect();
    let clauses = played.measured.clauses();
    let at_rest = rate < AT_REST * boundary;
    let variance = speed.map_or(rate, |speed| speed.variance.max(rate));
    let calm = if speed.is_some_and(Speed::is_uneven) {
        CALM_SHARE_UNEVEN
    } else {
        CALM_SHARE
    };
    let is_looked_at = refuted_later || rate <= LOOKED_AT * boundary;
    let mut spells = Vec::new();
    let mut index = 0;
    while index < seconds.len() {
        let bad = |(_, second): &&(f64, &Second)| is_bad(second, clauses, at_rest);
        let length = seconds[index..].iter().take_while(bad).count();
        let (run, rest) = seconds[index..].split_at(length);
        let before = index.checked_sub(1).and_then(|before| seconds.get(before));
        let jumped = |before: &(f64, &Second)| {
            let first = run.first();
            first.is_some_and(|(_, first)| {
                speed.is_some_and(|speed| speed.jumped(rate, before.1, first))
            })
        };
        let is_slower = speed.is_some_and(|speed| speed.is_slower(run));
        let good_after = rest.len() >= GOOD_AFTER && !rest[..GOOD_AFTER].iter().any(|at| bad(&at));
        if let Some(spell) = of_run(run, rate, rest.is_empty())
            && (is_slower
                || is_looked_at
                    && (refuted_later || good_after)
                    && (is_few(spell.served_per_s, rate, variance)
                        || rate < calm * boundary
                        || before.is_some_and(jumped)))
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
        bad_seconds: run
            .iter()
            .map(|(_, second)| bad_share(second) * second.length)
            .sum(),
        is_cut,
    })
}

/// Fewer answers in a second than chance makes of `rate`.
fn is_few(served: f64, rate: f64, variance: f64) -> bool {
    served < (SERVED_SHARE * rate).min(rate - SERVED_DEVIATIONS * libm::sqrt(variance))
}

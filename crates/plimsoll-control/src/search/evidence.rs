//! What a level says about the boundary: how many attempts were bad at which rate, and how far they share one fate.

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::LevelState;
use plimsoll_core::{Nanos, Objectives, judge};

use super::ended_level::EndedLevel;
use super::load::Load;
use super::measured::Second;

/// Attempts within one response-time bound share a queue: this share of them counts as one bunch…
const BUNCH_OF_BOUND: f64 = 0.7;
/// …of at least and at most so many.
const BUNCH: (f64, f64) = (2.0, 40.0);
/// Bad attempts of neighbouring seconds belong together: near its limit a queue takes seconds to end. So they are counted in
/// sums of so many seconds,…
const TOGETHER: usize = 3;
/// …which still vary by less than the counts of ten seconds do (simulated: `worlds`).
const NEIGHBOURS: f64 = 1.5;
/// So many bad attempts tell how they bunch,…
const ENOUGH: f64 = 60.0;
/// …in so many sums that differ freely: with fewer, those sums are equal or far apart by chance.
const FREE_LEAST: usize = 8;
/// Levels beyond so many budgets say nothing about bunches near the boundary.
const NEAR_BUDGETS: f64 = 10.0;

/// A level so far over its budget, in budgets, was too much by more than a little.
pub(crate) const FAR_OVER: f64 = 3.0;
/// Of too few attempts more than this many must be bad: one late answer of five is twenty budgets of a p99, and chance.
const FEW_BAD: f64 = 3.0;
/// A failure is refuted by a later level at nearly its rate, within so many budgets.
const REFUTED_SHARE: f64 = 0.95;
const REFUTED_BUDGETS: f64 = 2.0;

/// One level against the clause that it came nearest to breaking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) level: u32,
    pub(crate) rate: f64,
    pub(crate) attempts: f64,
    pub(crate) bad: f64,
    /// Share of bad attempts that the clause allows.
    pub(crate) budget: f64,
    /// Attempts that share one fate.
    pub(crate) bunch: f64,
    /// Lost, or more arrived than was served: beyond the boundary, however few had ended.
    pub(crate) is_over: bool,
    /// Seconds since the search began.
    pub(crate) end: f64,
}

impl Evidence {
    pub(crate) fn ratio(&self) -> f64 {
        self.bad / self.attempts.max(1.0)
    }

    /// Too much, and not by a little.
    pub(crate) fn is_too_much(&self) -> bool {
        self.is_over || is_far_over(self.bad, self.attempts, self.budget)
    }
}

/// So many bad of so many attempts are [`FAR_OVER`] a budget, and no handful of which one was unlucky.
pub(crate) fn is_far_over(bad: f64, attempts: f64, budget: f64) -> bool {
    let tells = bad > FEW_BAD || judge::is_enough(attempts as u64, budget);
    tells && bad > FAR_OVER * budget * attempts
}

/// Levels whose attempts came at a rate that the search chose and whose answers were judged.
pub(crate) fn levels(history: &[EndedLevel]) -> impl Iterator<Item = &EndedLevel> {
    history.iter().filter(|played| {
        let judged = matches!(
            played.phase,
            Phase::Bracket
                | Phase::Bisect
                | Phase::Soak
                | Phase::Overshoot
                | Phase::RecoveryBefore
                | Phase::Repeat
        );
        judged
            && played.state != LevelState::Void
            && played.rate().is_some()
            && played.worst_clause().2 > 0.0
    })
}

/// Each of some seconds at the end of a level, with the time of the search at which it ended.
pub(crate) fn timed<'a>(
    played: &'a EndedLevel,
    seconds: &'a [Second],
) -> impl Iterator<Item = (f64, &'a Second)> {
    let mut at = played.end - seconds.iter().map(|second| second.length).sum::<f64>();
    seconds.iter().map(move |second| {
        at += second.length;
        (at, second)
    })
}

/// Whether a later level contradicts a failure: nearly the same rate, and well.
pub(crate) fn refutes(later: &EndedLevel, failed_rate: f64) -> bool {
    later.rate().unwrap_or(0.0) >= REFUTED_SHARE * failed_rate
        && !later.is_over
        && later.budgets() <= REFUTED_BUDGETS
}

/// Everything that the search has seen, with the bunches that all of it shows.
pub(crate) fn of_search(objectives: &Objectives, history: &[EndedLevel]) -> Vec<Evidence> {
    let clauses = objectives.clauses().iter().enumerate();
    let bunches: Vec<Bunch> = clauses
        .map(|(index, clause)| Bunch::of_clause(history, index, clause.budget()))
        .collect();
    levels(history)
        .map(|played| of_level(objectives, played, &bunches))
        .collect()
}

fn of_level(objectives: &Objectives, played: &EndedLevel, bunches: &[Bunch]) -> Evidence {
    let (clause, bad, attempts) = played.worst_clause();
    let rate = played.rate().unwrap_or_default();
    let bound = objectives.longest_bound();
    let within = match played.measured.load {
        Load::Vus(_) => played.in_flight_mean,
        _ => rate * bound.map_or(0.0, Nanos::as_secs_f64),
    };
    Evidence {
        level: played.level,
        rate,
        attempts,
        bad,
        budget: objectives.clauses()[clause].budget(),
        bunch: bunches[clause].size(within),
        is_over: played.is_over,
        end: played.end,
    }
}

/// How the bad attempts of one clause come together, pooled over levels near the boundary.
#[derive(Debug, Clone, Copy, Default)]
struct Bunch {
    /// Squared residuals of the counts, summed over [`TOGETHER`] seconds each.
    squares: f64,
    /// What they would come to if each attempt had its own fate: the counts, less what the mean of a level takes out of them.
    expected: f64,
    /// Sums that could differ: one fewer of each level than it has.
    free: usize,
}

impl Bunch {
    fn of_clause(history: &[EndedLevel], clause: usize, budget: f64) -> Self {
        let mut bunch = Self::default();
        for played in levels(history).filter(|played| !played.is_over) {
            let seconds = played.measured.judged();
            let count: f64 = seconds.iter().map(|second| second.bad[clause] as f64).sum();
            let share = count / (played.measured.attempts() as f64).max(1.0);
            if share <= NEAR_BUDGETS * budget && seconds.len() > TOGETHER {
                bunch.add(seconds, clause, share);
            }
        }
        bunch
    }

    /// The seconds of a level with this share of bad attempts. A rest of fewer than [`TOGETHER`] varies as the others do.
    fn add(&mut self, seconds: &[Second], clause: usize, share: f64) {
        let (all, together) = (seconds.len() as f64, TOGETHER as f64);
        let count: f64 = seconds.iter().map(|second| second.bad[clause] as f64).sum();
        let off = |second: &Second| second.bad[clause] as f64 - share * second.attempts as f64;
        let groups = seconds.chunks_exact(TOGETHER);
        let grouped = groups.len() as f64 * together;
        self.free += groups.len() - 1;
        let squares = groups.map(|group| {
            let sum: f64 = group.iter().map(off).sum();
            sum * sum
        });
        self.squares += squares.sum::<f64>() * all / grouped;
        self.expected += count * (all - together) / all;
    }

    /// Attempts that share one fate, where so many arrive within a response-time bound: what the seconds show, and until
    /// enough bad attempts were seen no less than a guess.
    fn size(self, within: f64) -> f64 {
        let (least, most) = BUNCH;
        let guess = (BUNCH_OF_BOUND * within).clamp(least, most);
        if self.expected <= 0.0 {
            return guess;
        }
        let seen = (NEIGHBOURS * self.squares / self.expected).max(least);
        if self.expected >= ENOUGH && self.free >= FREE_LEAST {
            seen
        } else {
            seen.max(guess)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bunch(bad: &[u64]) -> f64 {
        let second = |bad: &u64| {
            let mut second = Second {
                attempts: 1_000,
                ..Second::default()
            };
            second.bad[0] = *bad;
            second
        };
        let seconds: Vec<Second> = bad.iter().map(second).collect();
        let share = bad.iter().sum::<u64>() as f64 / (1_000 * bad.len()) as f64;
        let mut bunch = Bunch::default();
        bunch.add(&seconds, 0, share);
        bunch.squares / bunch.expected
    }

    /// 240 bad attempts in twelve seconds: spread, in every other second, and in three seconds one after the other.
    #[test]
    fn bad_seconds_in_a_row_are_one_bunch_and_bad_seconds_in_turn_are_many() {
        let spread = bunch(&[20; 12]);
        let in_turn = bunch(&[40, 0, 40, 0, 40, 0, 40, 0, 40, 0, 40, 0]);
        let in_a_row = bunch(&[0, 0, 0, 80, 80, 80, 0, 0, 0, 0, 0, 0]);
        assert!(spread < 1e-9, "{spread}");
        assert!((5.0..10.0).contains(&in_turn), "{in_turn}");
        assert!(in_a_row > 20.0 * in_turn, "{in_a_row}");
    }
}

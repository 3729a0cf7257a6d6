//! What is bad under a clause: an attempt that failed, or whose answer came later than the bound.

use crate::objective::{Clause, Objectives};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::units::Nanos;
use crate::verdict::Judgement;
use crate::window::Disturbed;

use super::enough::{ATTEMPTS_PER_BUDGET, is_enough};

/// Attempts held against one clause, and how many of them break it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bad {
    pub count: u64,
    /// All that came to an end, and those of [`Bad::with_overdue`].
    pub attempts: u64,
}

impl Bad {
    /// Bad attempts of all; `None` without any.
    pub fn ratio(self) -> Option<f64> {
        (self.attempts > 0).then(|| self.count as f64 / self.attempts as f64)
    }

    /// More bad ones than the clause allows of so many attempts.
    pub fn exceeds(self, clause: Clause) -> bool {
        self.count as f64 > clause.budget() * self.attempts as f64
    }

    /// Attempts in flight that are later than the bound already ([`super::overdue`]) are bad whatever becomes of them.
    /// Whether they will have failed nobody knows, so an error budget does not count them.
    #[must_use]
    pub fn with_overdue(self, clause: Clause, overdue: u64) -> Self {
        match clause {
            Clause::ResponseTime { .. } => Self {
                count: self.count + overdue,
                attempts: self.attempts + overdue,
            },
            Clause::Errors { .. } => self,
        }
    }
}

/// The attempts of `tally` held against each clause, in the order of the clauses.
///
/// A failure is infinitely late, so it is bad under every clause. An answer of 202 took the work in: it is bad where it is
/// late, and else it is not, although it is no goodput (nothing was done yet). With p99 < 250 ms, of 100 attempts
/// 90 done in 10 ms, 6 accepted in 10 ms, 3 done in 300 ms and 1 cut off by its peer, 4 are bad.
pub fn bad_of_each<'a>(
    objectives: &'a Objectives,
    tally: &'a Tally,
) -> impl Iterator<Item = (Clause, Bad)> + 'a {
    let mut bound_index = 0;
    objectives.clauses().iter().map(move |&clause| {
        let bad = match clause {
            Clause::Errors { .. } => Bad {
                count: tally.failures(),
                attempts: tally.decided(),
            },
            Clause::ResponseTime { bound_ns, .. } => {
                bound_index += 1;
                all_but(tally, served_within(tally, Some(bound_index - 1), bound_ns))
            }
        };
        (clause, bad)
    })
}

/// Attempts that stalls of the generator met, held against each clause in the order of the clauses.
pub fn disturbed_of_each<'a>(
    objectives: &'a Objectives,
    met: &'a Disturbed,
) -> impl Iterator<Item = Bad> + 'a {
    let mut late = met.late_counts.iter().copied();
    objectives.clauses().iter().map(move |clause| Bad {
        attempts: met.attempts_count,
        count: match clause {
            Clause::Errors { .. } => met.failures_count,
            Clause::ResponseTime { .. } => late.next().unwrap_or_default(),
        },
    })
}

/// The same against a bound that no clause names, as finely as histograms count (within 1/1,024).
pub fn bad_at(tally: &Tally, bound: Nanos) -> Bad {
    all_but(tally, served_within(tally, None, bound))
}

/// Attempts that were served within every bound: goodput, and what was only taken in. What a service that answers 202
/// carries is counted by it.
pub fn in_time(objectives: &Objectives, tally: &Tally) -> u64 {
    let bounds = objectives.bounds();
    let each = bounds.iter().enumerate();
    let each = each.map(|(index, bound)| served_within(tally, Some(index), *bound));
    each.min().unwrap_or_else(|| tally.served())
}

/// What was not disturbed decides if it is at least so much of all: a generator that was stopped for longer has not watched.
/// The more is left out, the likelier what the target does rarely is in it: with a fifth allowed 2 of 100 runs passed a
/// service that stands still once or twice in their 8 s, with a tenth 1 (`bench/stalls/run.py`).
const UNDISTURBED_LEAST: f64 = 14.0 / 15.0;

/// The same where `turned` of the bad attempts may be bad because of us ([`super::Lateness`]), and `disturbed` are those that
/// our own stalls met, with the bad ones among them.
///
/// What passes with all of them passes, because being late takes nothing from a response time. What fails only with those
/// that we may have turned does not fail. It passes if the others do by themselves: when the generator stalled has nothing
/// to do with how the target fares, so what it watched the rest of the time is a fair sample, and a bunch that a stall left
/// behind makes that sample worse and not better.
pub fn verdict_despite(clause: Clause, bad: Bad, turned: u64, disturbed: Bad) -> Judgement {
    let counted = verdict_of(clause, bad);
    let certain = Bad {
        count: bad.count.saturating_sub(turned),
        ..bad
    };
    if counted != Judgement::Fail || verdict_of(clause, certain) == Judgement::Fail {
        return counted;
    }
    let watched = Bad {
        count: bad.count.saturating_sub(disturbed.count),
        attempts: bad.attempts.saturating_sub(disturbed.attempts),
    };
    let share = watched.attempts as f64 / bad.attempts.max(1) as f64;
    if share >= UNDISTURBED_LEAST && verdict_of(clause, watched) == Judgement::Pass {
        return Judgement::Pass;
    }
    Judgement::Inconclusive
}

/// Pass and fail want enough attempts; with fewer it is inconclusive, unless more are bad than any number of attempts that
/// is too few could allow: p99, 4 bad of 100 fail, 2 of 100 might be chance, 300 would tell.
pub fn verdict_of(clause: Clause, bad: Bad) -> Judgement {
    let enough = is_enough(bad.attempts, clause.budget());
    match (bad.exceeds(clause), enough) {
        (true, _) if bad.count as f64 > ATTEMPTS_PER_BUDGET => Judgement::Fail,
        (_, false) => Judgement::Inconclusive,
        (true, true) => Judgement::Fail,
        (false, true) => Judgement::Pass,
    }
}

/// Answers that said "done" were counted against the bounds when they came, exact to the nanosecond; those that said "taken
/// in", and all of a record without these bounds, as finely as a histogram counts.
pub(super) fn served_within(tally: &Tally, index: Option<usize>, bound: Nanos) -> u64 {
    let at_most = |outcome| tally.class(outcome).response.count_at_most(bound);
    let done = index.and_then(|index| tally.within(index));
    done.unwrap_or_else(|| at_most(Outcome::Ok)) + at_most(Outcome::Accepted)
}

fn all_but(tally: &Tally, fine: u64) -> Bad {
    let attempts = tally.decided();
    Bad {
        count: attempts.saturating_sub(fine),
        attempts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Nanos = Nanos::from_millis(250);

    fn tally(ends: &[(Outcome, u64, u64)]) -> Tally {
        let mut tally = Tally::default();
        for &(outcome, millis, count) in ends {
            for _ in 0..count {
                let time = Nanos::from_millis(millis);
                tally.record(outcome, time, Some(time), 100, &[BOUND]);
            }
        }
        tally
    }

    fn objectives() -> Objectives {
        Objectives::parse("p99<250ms,errors<1%").unwrap()
    }

    fn bad(tally: &Tally) -> Vec<(u64, u64)> {
        let objectives = objectives();
        let each = bad_of_each(&objectives, tally);
        each.map(|(_, bad)| (bad.count, bad.attempts)).collect()
    }

    #[test]
    fn a_failure_is_late_under_every_bound_and_taken_in_is_not() {
        let mixed = tally(&[
            (Outcome::Ok, 10, 90),
            (Outcome::Accepted, 10, 6),
            (Outcome::Ok, 300, 3),
            (Outcome::Eof, 1, 1),
        ]);
        assert_eq!(bad(&mixed), [(4, 100), (1, 100)]);
        assert_eq!(bad_at(&mixed, BOUND).count, 4);
        assert_eq!(bad_at(&mixed, Nanos::from_millis(5)).count, 100);
        assert_eq!(mixed.good(), 90, "taken in is not done");
        assert_eq!(in_time(&objectives(), &mixed), 96);
        let late = tally(&[(Outcome::Accepted, 300, 2), (Outcome::Accepted, 200, 1)]);
        assert_eq!(bad(&late), [(2, 3), (0, 3)]);
    }

    #[test]
    fn what_was_cut_off_counts_for_nothing_and_what_is_overdue_for_the_bound() {
        let cut = tally(&[(Outcome::Ok, 10, 9), (Outcome::Interrupted, 900, 5)]);
        assert_eq!(bad(&cut), [(0, 9), (0, 9)]);
        let objectives = objectives();
        let with: Vec<u64> = bad_of_each(&objectives, &cut)
            .map(|(clause, bad)| bad.with_overdue(clause, 3).count)
            .collect();
        assert_eq!(with, [3, 0]);
    }

    #[test]
    fn what_is_pass_fail_and_too_few() {
        let clause = objectives().clauses()[0];
        let of = |count, attempts| verdict_of(clause, Bad { count, attempts });
        assert_eq!(of(0, 299), Judgement::Inconclusive, "3 ÷ 0.01 = 300");
        assert_eq!(of(0, 300), Judgement::Pass);
        assert_eq!(of(3, 300), Judgement::Pass, "exactly the budget");
        assert_eq!(of(4, 300), Judgement::Fail);
        assert_eq!(of(2, 100), Judgement::Inconclusive);
        assert_eq!(of(4, 100), Judgement::Fail);
        assert_eq!(of(0, 0), Judgement::Inconclusive);
        assert_eq!(Bad::default().ratio(), None);
        let despite = |count, turned| {
            let bad = Bad {
                count,
                attempts: 1_000,
            };
            verdict_despite(clause, bad, turned, Bad::default())
        };
        assert_eq!(despite(10, 0), Judgement::Pass);
        assert_eq!(despite(12, 0), Judgement::Fail);
        assert_eq!(
            despite(12, 2),
            Judgement::Inconclusive,
            "two of them may be ours"
        );
        assert_eq!(despite(13, 2), Judgement::Fail, "eleven are not");
        let without = |attempts, count| {
            let bad = Bad {
                count: 60,
                attempts: 1_000,
            };
            verdict_despite(clause, bad, 60, Bad { count, attempts })
        };
        assert_eq!(without(60, 55), Judgement::Pass, "5 of the other 940");
        assert_eq!(without(60, 45), Judgement::Inconclusive, "15 of them");
        assert_eq!(
            without(90, 60),
            Judgement::Inconclusive,
            "too little was watched"
        );
    }
}

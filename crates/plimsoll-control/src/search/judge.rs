//! Passes or fails a level, clause by clause, as soon as its seconds carry the decision.
//!
//! What is bad, how many attempts are enough and what grows without end is core's judge to say. Here is what a search
//! adds: when to stop looking.

use plimsoll_core::judge::{self, Bad, Growth};
use plimsoll_core::objective::Clause;
use plimsoll_core::verdict::Bounds;

use super::load::Load;
use super::measured::{Measured, Second};
use super::stats;

/// Seconds in a row with more than half of the attempts bad that fail a level at once (B.4).
const LOST_SECONDS: usize = 3;
/// The fewest bad attempts in those seconds: half of two attempts says nothing.
const LOST_LEAST: u64 = 5;
/// Seconds that tell how many attempts a closed loop makes.
const PACE_SECONDS: usize = 10;
/// Judged seconds from which on growth is looked for (B.4).
const TREND_FROM: u32 = 5;
/// A tenth more than the budget, so that a soak is not given up for what its last seconds might still make good.
const SOAK_SLACK: f64 = 1.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Pass,
    /// No clause is over its budget, but one has too few attempts to be sure.
    PassProvisionally,
    Fail,
    Undecided,
}

/// The decision about a level, with its figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LevelVerdict {
    pub(crate) decision: Decision,
    /// Index of the clause that failed, or that is nearest to failing.
    pub(crate) clause: usize,
    pub(crate) share: Bounds,
    pub(crate) budget: f64,
    pub(crate) reason: String,
}

impl LevelVerdict {
    /// What the share itself says, however uncertain.
    pub(crate) fn holds(&self) -> bool {
        match self.decision {
            Decision::Pass | Decision::PassProvisionally => true,
            Decision::Fail => false,
            Decision::Undecided => self.share.estimate <= self.budget,
        }
    }
}

/// The clause that decides a level, with its share of bad attempts.
#[derive(Debug, Clone, Copy)]
struct Binding {
    clause: usize,
    share: Bounds,
    budget: f64,
    /// With those that are overdue under this clause.
    attempts: u64,
}

impl Binding {
    /// The clause furthest over (or nearest to) its budget.
    fn from_level(level: &Measured) -> Self {
        let clauses = level.clauses().iter().enumerate();
        let each = clauses.map(|(index, clause)| Self {
            clause: index,
            share: bad_share(level, index, *clause),
            budget: clause.budget(),
            attempts: counted(level, index, *clause)
                .map(|(_, attempts)| attempts)
                .sum(),
        });
        let used = |binding: &Self| binding.share.estimate / binding.budget;
        each.max_by(|a, b| used(a).total_cmp(&used(b)))
            .expect("invariant: objectives have a clause")
    }

    fn decide(self, decision: Decision, reason: String) -> LevelVerdict {
        LevelVerdict {
            decision,
            clause: self.clause,
            share: self.share,
            budget: self.budget,
            reason,
        }
    }
}

/// Bad attempts and attempts of each second, and behind them of what failed after the level. Those still pending beyond the
/// bound count as bad where they would: in the last.
fn counted(
    level: &Measured,
    index: usize,
    clause: Clause,
) -> impl Iterator<Item = (u64, u64)> + Clone {
    let seconds = level.judged();
    let last = seconds.len().saturating_sub(1);
    let failed = level.failed_after(clause);
    let each = seconds.iter().enumerate().map(move |(at, second)| {
        let overdue = if at == last { second.overdue } else { 0 };
        let ended = Bad {
            count: second.bad[index],
            attempts: second.attempts,
        };
        let bad = ended.with_overdue(clause, overdue);
        (bad.count, bad.attempts)
    });
    each.chain(std::iter::once((failed, failed)))
}

fn bad_share(level: &Measured, index: usize, clause: Clause) -> Bounds {
    stats::bad_share(counted(level, index, clause))
}

/// More than half bad in each of the last three judged seconds, on any clause. A service that answers a few requests a
/// second has no three such seconds: there it is the last seconds that hold enough attempts to say so.
pub(crate) fn is_lost(level: &Measured) -> bool {
    let worst = |second: &Second| {
        let bad = second.worst_bad();
        (bad + second.overdue, second.attempts + second.overdue)
    };
    let (mut seconds, mut bad, mut attempts) = (0, 0, 0);
    for second in level.judged().iter().rev() {
        let (b, n) = worst(second);
        if n > 0 && 2 * b <= n {
            return false;
        }
        seconds += 1;
        bad += second.worst_bad();
        attempts += second.attempts;
        // What is overdue now was counted in the seconds before too: only the newest figure counts.
        let overdue = level.judged().last().map_or(0, |last| last.overdue);
        if seconds >= LOST_SECONDS && attempts + overdue > 0 && bad + overdue >= LOST_LEAST {
            return true;
        }
    }
    false
}

/// What is in flight grows without end: arrivals exceed what is served, whatever the times say yet.
fn is_unstable(level: &Measured, windows_min: u32) -> bool {
    let seconds = level.judged();
    // A closed loop has no more in flight than users, whatever becomes of it.
    let closed = !matches!(level.load, Load::Open(_));
    if closed || seconds.len() < windows_min as usize {
        return false;
    }
    let in_flight: Vec<_> = seconds.iter().map(|second| second.in_flight_mean).collect();
    let due: u64 = seconds.iter().map(|second| second.due).sum();
    Growth::over_windows(&in_flight, due).is_some_and(Growth::is_without_end)
}

/// Why a level is over before its shares are looked at.
fn lost_reason(level: &Measured) -> Option<String> {
    if level.aborted {
        Some("stopped by the abort rule: most attempts fail".to_owned())
    } else if is_lost(level) {
        Some(format!(
            "more than half of the attempts bad for {LOST_SECONDS} s"
        ))
    } else {
        None
    }
}

/// Beyond what the target serves, however few attempts have ended: no share can say how far.
pub(crate) fn is_over(level: &Measured) -> bool {
    lost_reason(level).is_some() || is_unstable(level, TREND_FROM)
}

/// The clause furthest over (or nearest to) its budget: its index, bad attempts, attempts; with those that are overdue. Where
/// nothing ended although it is plainly too much, all that arrived is bad: a target that answers nothing has failed.
pub(crate) fn worst_clause(level: &Measured) -> (usize, f64, f64) {
    let binding = Binding::from_level(level);
    let attempts = binding.attempts as f64;
    if binding.attempts == 0 && is_over(level) {
        let due = level.judged().iter().map(|second| second.due).sum::<u64>() as f64;
        return (binding.clause, due, due);
    }
    (binding.clause, binding.share.estimate * attempts, attempts)
}

/// A level by its 95 % intervals: each clause's bad share is held against its budget b. Wholly above b: fail. Every one
/// wholly below: pass. Else undecided; the search weighs it with the other levels.
pub(crate) fn by_interval(level: &Measured) -> LevelVerdict {
    let binding = Binding::from_level(level);
    if let Some(reason) = lost_reason(level) {
        return binding.decide(Decision::Fail, reason);
    }
    if is_unstable(level, TREND_FROM) {
        let reason = "what is in flight keeps growing".into();
        return binding.decide(Decision::Fail, reason);
    }
    decide(level, binding)
}

fn decide(level: &Measured, binding: Binding) -> LevelVerdict {
    let attempts = level.attempts();
    if attempts == 0 {
        return binding.decide(Decision::Undecided, "no attempt ended".into());
    }
    let lower = binding.share.lower.unwrap_or(0.0);
    if judge::is_enough(attempts, binding.budget) && lower > binding.budget {
        return binding.decide(Decision::Fail, String::new());
    }
    let mut provisional = false;
    for (index, clause) in level.clauses().iter().enumerate() {
        let share = bad_share(level, index, *clause);
        let known = judge::is_enough(attempts, clause.budget());
        let under = share.upper.unwrap_or(1.0) < clause.budget();
        if !under && (known || share.estimate > 0.0) {
            let count = level.judged().len();
            let reason = format!("undecided after {count} s");
            return binding.decide(Decision::Undecided, reason);
        }
        provisional |= !known;
    }
    if provisional {
        let reason = format!("passes provisionally: {attempts} attempts are too few to decide");
        return binding.decide(Decision::PassProvisionally, reason);
    }
    binding.decide(Decision::Pass, String::new())
}

/// Enough attempts for every clause, not only for the one that is nearest to its budget.
fn is_enough(level: &Measured) -> bool {
    let mut clauses = level.clauses().iter();
    clauses.all(|clause| judge::is_enough(level.attempts(), clause.budget()))
}

/// Attempts in so many seconds: as many as arrive, or in a closed loop as it went so far.
fn expected_attempts(level: &Measured, seconds: f64) -> Option<f64> {
    match level.load {
        Load::Open(rate) => Some(rate * seconds),
        Load::Vus(_) if level.judged().len() >= PACE_SECONDS => {
            Some(level.attempts() as f64 / level.seconds_judged() * seconds)
        }
        _ => None,
    }
}

/// The whole soak is over budget whatever still comes, or the target is plainly lost.
///
/// Of A attempts in the whole soak a clause lets b·A be bad. Bad ones never become good, so more than 1.1·b·A + 5 of them
/// before its end decide it. At 500/s for 120 s under a p99, A = 60,000 and b = 0.01: 665 may be bad, 666 are too many.
pub(crate) fn check_is_lost(level: &Measured, seconds: f64) -> bool {
    let Some(expected) = expected_attempts(level, seconds) else {
        return false;
    };
    let used_up = level.clauses().iter().enumerate().any(|(index, clause)| {
        let bad: u64 = level.judged().iter().map(|second| second.bad[index]).sum();
        bad as f64 > SOAK_SLACK * clause.budget() * expected + LOST_LEAST as f64
    });
    used_up || is_lost(level)
}

/// One rate that was asked for holds when no clause is over its budget. Here the share itself counts, not its interval: a soak is long enough
/// for it, and a capacity is a rate that kept its objectives, not one that might have.
pub(crate) fn by_share(level: &Measured) -> LevelVerdict {
    let binding = Binding::from_level(level);
    let attempts = level.attempts();
    let count = level.judged().len();
    let (decision, reason) = if let Some(reason) = lost_reason(level) {
        (Decision::Fail, reason)
    } else if attempts == 0 {
        (Decision::Fail, "no attempt ended".to_owned())
    } else if binding.share.estimate > binding.budget {
        (Decision::Fail, String::new())
    } else if is_unstable(level, TREND_FROM) {
        let reason = "what is in flight keeps growing".to_owned();
        (Decision::Fail, reason)
    } else if !is_enough(level) {
        let reason = format!("held, but {attempts} attempts in {count} s are too few to be sure");
        (Decision::PassProvisionally, reason)
    } else {
        (Decision::Pass, String::new())
    };
    binding.decide(decision, reason)
}

#[cfg(test)]
mod tests;

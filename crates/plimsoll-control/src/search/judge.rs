//! Passes or fails a level, clause by clause, as soon as its seconds carry the decision.

use plimsoll_core::Nanos;
use plimsoll_core::objective::Clause;
use plimsoll_core::verdict::Bounds;

use super::level::{Level, Load, Second};
use super::stats;

/// Attempts needed before a share is compared with a budget: with none bad among 3 ÷ budget, the
/// share is below the budget with 95 % confidence (rule of three).
const ATTEMPTS_PER_BUDGET: f64 = 3.0;
/// Seconds in a row with more than half of the attempts bad that fail a level at once (B.4).
const LOST_SECONDS: usize = 3;
/// The fewest bad attempts in those seconds: half of two attempts says nothing.
const LOST_LEAST: u64 = 5;
/// Seconds that tell how many attempts a closed loop makes.
const PACE_SECONDS: usize = 10;
/// Growth of what is in flight, as a share of all arrivals so far, that is instability (B.3).
const GROWTH_RATIO: f64 = 0.03;
/// And how sure the trend must be: t of a line through the seconds.
const GROWTH_T: f64 = 4.0;
/// And the least growth: below it the ends of a few requests decide.
const GROWTH_LEAST: f64 = 10.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Pass,
    /// No clause is over its budget, but one has too few attempts to be sure; the soak decides.
    PassProvisionally,
    Fail,
    /// So clearly that no repetition is needed.
    FailAtOnce,
    Undecided,
}

/// The decision about a level, with its figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) call: Call,
    /// Index of the clause that failed, or that is nearest to failing.
    pub(crate) clause: usize,
    pub(crate) share: Bounds,
    pub(crate) budget: f64,
    pub(crate) reason: String,
}

impl Judged {
    /// What the share itself says, however uncertain.
    pub(crate) fn leans_to_pass(&self) -> bool {
        match self.call {
            Call::Pass | Call::PassProvisionally => true,
            Call::Fail | Call::FailAtOnce => false,
            Call::Undecided => self.share.estimate <= self.budget,
        }
    }
}

pub(crate) fn longest_bound(clauses: &[Clause]) -> Nanos {
    let bounds = clauses.iter().filter_map(|clause| match clause {
        Clause::ResponseTime { bound_ns, .. } => Some(*bound_ns),
        Clause::Errors { .. } => None,
    });
    // Without a bound nothing is late before the longest client timeout.
    bounds.max().unwrap_or(Nanos::from_secs(10))
}

/// The clause furthest over (or nearest to) its budget, with its share.
fn binding(level: &Level) -> (usize, Bounds) {
    let shares = level.clauses().iter().enumerate().map(|(index, clause)| {
        let share = share_of(level.judged(), index, clause);
        (index, share, share.estimate / clause.budget())
    });
    shares.max_by(|a, b| a.2.total_cmp(&b.2)).map_or(
        (0, stats::bad_share(std::iter::empty())),
        |(index, share, _)| (index, share),
    )
}

/// Attempts still pending beyond the bound count as bad where they would: in the last second.
fn share_of(seconds: &[Second], index: usize, clause: &Clause) -> Bounds {
    let last = seconds.len().saturating_sub(1);
    let pending = matches!(clause, Clause::ResponseTime { .. });
    stats::bad_share(seconds.iter().enumerate().map(move |(at, second)| {
        let overdue = if pending && at == last {
            second.overdue
        } else {
            0
        };
        (second.bad[index] + overdue, second.attempts + overdue)
    }))
}

/// More than half bad in each of the last three judged seconds, on any clause.
fn is_lost(level: &Level) -> bool {
    let seconds = level.judged();
    if seconds.len() < LOST_SECONDS {
        return false;
    }
    let last = &seconds[seconds.len() - LOST_SECONDS..];
    let worst = |second: &Second| {
        let bad = second.bad.iter().copied().max().unwrap_or(0);
        (bad + second.overdue, second.attempts + second.overdue)
    };
    let bad: u64 = last.iter().map(|second| worst(second).0).sum();
    bad >= LOST_LEAST
        && last
            .iter()
            .map(worst)
            .all(|(bad, attempts)| attempts > 0 && 2 * bad > attempts)
}

/// What is in flight grows without end: arrivals exceed what is served, whatever the times say yet.
fn is_unstable(level: &Level, windows_min: u32) -> bool {
    let seconds = level.judged();
    // A closed loop has no more in flight than users, whatever becomes of it.
    let closed = !matches!(level.ask.load, Load::Open(_));
    if closed || seconds.len() < windows_min as usize {
        return false;
    }
    let in_flight: Vec<_> = seconds.iter().map(|second| second.in_flight_mean).collect();
    let due: u64 = seconds.iter().map(|second| second.due).sum();
    stats::trend(&in_flight).is_some_and(|(slope, t)| {
        let growth = slope * in_flight.len() as f64;
        t > GROWTH_T && growth > GROWTH_LEAST && growth > GROWTH_RATIO * due as f64
    })
}

/// The sequential test of bracket and bisection.
pub(crate) fn sequential(level: &Level, windows_min: u32) -> Judged {
    let (clause, share) = binding(level);
    let budget = level.clauses()[clause].budget();
    let judged = |call, reason: String| Judged {
        call,
        clause,
        share,
        budget,
        reason,
    };
    if level.aborted {
        return judged(
            Call::FailAtOnce,
            "stopped by the abort rule: most attempts fail".into(),
        );
    }
    if is_lost(level) {
        let reason = format!("more than half of the attempts bad for {LOST_SECONDS} s");
        return judged(Call::FailAtOnce, reason);
    }
    let count = level.judged().len();
    if count < windows_min as usize {
        return judged(Call::Undecided, format!("only {count} s judged"));
    }
    if is_unstable(level, windows_min) {
        return judged(Call::Fail, "what is in flight keeps growing".into());
    }
    decide(level, clause, share)
}

fn decide(level: &Level, clause: usize, share: Bounds) -> Judged {
    let budget = level.clauses()[clause].budget();
    let judged = |call, reason: String| Judged {
        call,
        clause,
        share,
        budget,
        reason,
    };
    let attempts: u64 = level.judged().iter().map(|second| second.attempts).sum();
    let (lower, upper) = (share.lower.unwrap_or(0.0), share.upper.unwrap_or(1.0));
    if attempts == 0 {
        return judged(Call::Undecided, "no attempt ended".into());
    }
    let enough = |budget: f64| attempts as f64 >= ATTEMPTS_PER_BUDGET / budget;
    if enough(budget) && lower > budget {
        return judged(Call::Fail, String::new());
    }
    let mut provisional = false;
    for (index, clause) in level.clauses().iter().enumerate() {
        let share = share_of(level.judged(), index, clause);
        let known = enough(clause.budget());
        let under = share.upper.unwrap_or(1.0) < clause.budget();
        if !under && (known || share.estimate > 0.0) {
            let count = level.judged().len();
            return judged(Call::Undecided, format!("undecided after {count} s"));
        }
        provisional |= !known;
    }
    if provisional {
        let reason = format!("passes provisionally: {attempts} attempts are too few to decide");
        return judged(Call::PassProvisionally, reason);
    }
    debug_assert!(upper < budget, "every clause was below its budget");
    judged(Call::Pass, String::new())
}

/// Attempts in so many seconds: as many as arrive, or in a closed loop as it went so far.
fn expected_attempts(level: &Level, seconds: f64) -> Option<f64> {
    let judged = level.judged();
    match level.ask.load {
        Load::Open(rate) => Some(rate * seconds),
        Load::Vus(_) if judged.len() >= PACE_SECONDS => {
            let attempts: u64 = judged.iter().map(|second| second.attempts).sum();
            let length: f64 = judged.iter().map(|second| second.length).sum();
            Some(attempts as f64 / length * seconds)
        }
        _ => None,
    }
}

/// The level has too few attempts to decide its clause, and not one bad second's worth of bad ones: a
/// few virtual users send a few requests per second, and one late answer among them says nothing.
pub(crate) fn says_too_little(level: &Level, judged: &Judged) -> bool {
    let seconds = level.judged();
    let attempts: u64 = seconds.iter().map(|second| second.attempts).sum();
    let bad: u64 = seconds.iter().map(|second| second.bad[judged.clause]).sum();
    judged.call == Call::Undecided
        && (attempts as f64) < ATTEMPTS_PER_BUDGET / judged.budget
        && bad < LOST_LEAST
        && attempts > bad
}

/// The whole soak is over budget whatever still comes, or the target is plainly lost.
pub(crate) fn soak_is_lost(level: &Level, seconds: f64) -> bool {
    let Some(expected) = expected_attempts(level, seconds) else {
        return false;
    };
    let used_up = level.clauses().iter().enumerate().any(|(index, clause)| {
        let bad: u64 = level.judged().iter().map(|second| second.bad[index]).sum();
        // A tenth more than the budget, so that a level is not lost by its very last second.
        bad as f64 > 1.1 * clause.budget() * expected + LOST_LEAST as f64
    });
    used_up || is_lost(level)
}

/// A soak holds when no clause is over its budget.
pub(crate) fn soak(level: &Level) -> Judged {
    let (clause, share) = binding(level);
    let budget = level.clauses()[clause].budget();
    let attempts: u64 = level.judged().iter().map(|second| second.attempts).sum();
    let count = level.judged().len();
    let (call, reason) = if level.aborted {
        (
            Call::FailAtOnce,
            "stopped by the abort rule: most attempts fail".to_owned(),
        )
    } else if is_lost(level) {
        (
            Call::FailAtOnce,
            format!("more than half of the attempts bad for {LOST_SECONDS} s"),
        )
    } else if attempts == 0 {
        (Call::Fail, "no attempt ended".to_owned())
    } else if share.estimate > budget {
        (Call::Fail, String::new())
    } else if is_unstable(level, 5) {
        (Call::Fail, "what is in flight keeps growing".to_owned())
    } else if (attempts as f64) < ATTEMPTS_PER_BUDGET / budget {
        let reason = format!("held, but {attempts} attempts in {count} s are too few to be sure");
        (Call::PassProvisionally, reason)
    } else {
        (Call::Pass, String::new())
    };
    Judged {
        call,
        clause,
        share,
        budget,
        reason,
    }
}

//! Did the system give way at all, and at which levels? Without that there is nothing to explain.

use std::collections::BTreeSet;

use plimsoll_core::outcome::Outcome;
use plimsoll_core::verdict::{LevelState, SearchResult};

use crate::facts::level::{FAILING, Level};

/// An open level keeps up when this share of what was due came back ok within its time.
const KEEPS_UP: f64 = 0.93;
/// Doubling the in-flight of a closed loop below the knee nearly doubles its rate.
const GAIN_BELOW_KNEE: f64 = 1.15;
const FAILED_COUNT: u64 = 20;
/// Fewer attempts of a level that was lost may have met a pause.
const LOST_ATTEMPTS: u64 = 100;
/// A level this clean is not failing.
const CLEAN: f64 = 0.002;
/// Up to this share of the peak there is clear room.
pub(super) const ROOM: f64 = 0.7;

/// In what way the limit showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Throughput stayed behind at two levels, or at one that a search judged: the hinge was passed.
    Throughput,
    /// Attempts failed that did not fail below.
    Errors,
    /// Only the response time broke the objective.
    ResponseTime,
    /// One closed loop that breaks the objective, or whose answers take at least twice the fastest ones; one rate that is not
    /// kept up with.
    Queueing,
}

/// Indexes of levels by their part in the argument.
#[derive(Debug, Clone)]
pub(super) struct Saturation {
    pub(super) sign: Sign,
    /// Levels at which the system had given way.
    pub(super) high: Vec<usize>,
    /// Levels well below.
    pub(super) low: Vec<usize>,
    /// The highest rate of what was served at any level, per second.
    pub(super) peak: f64,
}

/// `None` when the limit was not reached. The second value is the highest rate that was held.
pub(super) fn saturation(levels: &[Level], found: &SearchResult) -> (Option<Saturation>, f64) {
    let clean_rate = highest_kept(levels, is_clean);
    let peak = peak(levels);
    let open = levels_where(levels, |level| level.closed.is_none());
    let beyond_closed: Vec<usize> = levels_where(levels, |level| level.closed.is_some())
        .into_iter()
        .filter(|index| gains_nothing(levels, *index))
        .collect();
    // A disturbance below a rate that was held later is not the limit.
    let counts = |level: &Level| level.closed.is_none() && level.rate > clean_rate;
    let beyond = levels_where(levels, |level| {
        counts(level) && (falls_behind(level) || is_lost(level))
    });
    let only_wrong = is_only_wrong(levels);
    let failing = levels_where(levels, |level| {
        (counts(level) || (open.is_empty() && level.closed.is_some()))
            && has_failures(level)
            && !only_wrong
    });
    // Nobody judges the levels of a closed loop outside a search: their own answers do. What was disturbed below a number
    // of users that was held later is not the limit.
    let held_users = levels.iter().filter(|level| !level.late);
    let held_users = held_users.filter_map(|level| level.closed).max();
    let late = levels_where(levels, |level| {
        // What fails counts as late.
        let own = open.is_empty() && level.late && level.closed > held_users && !only_wrong;
        (counts(level) || level.closed.is_some()) && (level.state == LevelState::Fail || own)
    });
    let missed = missed(levels);
    let with = |sign, high: Vec<usize>| {
        let low = low(levels, &high, peak);
        Some(Saturation {
            sign,
            high,
            low,
            peak,
        })
    };
    let seen_open = open.is_empty() || !beyond.is_empty();
    // A search stops a level at once that is far beyond: it then has only that one, judged.
    let judged = beyond
        .iter()
        .filter_map(|index| levels.get(*index))
        .any(|level| level.state == LevelState::Fail && level.seconds() >= 2.5 && clean_rate > 0.0);
    // Closed loops are judged in a search over virtual users alone.
    let judged = judged
        || beyond_closed
            .iter()
            .any(|index| is_lost_closed(levels, *index));
    let found = if open.is_empty() && !judged && !failing.is_empty() {
        // Users that wait are only slower; the limit that breaks something is the one that ends their requests.
        with(Sign::Errors, failing)
    } else if judged || (seen_open && beyond.len() + beyond_closed.len() >= 2) {
        with(Sign::Throughput, union(&beyond, &beyond_closed))
    } else if !failing.is_empty() {
        with(Sign::Errors, union(&failing, &beyond))
    } else if beyond_closed.len() >= 2 && [&late, &missed].iter().any(|of| is_near_peak(levels, of))
    {
        with(Sign::Throughput, union(&beyond, &beyond_closed))
    } else if late.len() >= 2 || is_above(found, levels, &late) {
        with(Sign::ResponseTime, late)
    } else if missed.len() >= 2 || is_above(found, levels, &missed) {
        with(Sign::ResponseTime, missed)
    } else if levels.len() == 1 && is_overrun(levels, &open, &late) {
        with(Sign::Queueing, vec![0])
    } else {
        None
    };
    (found, held(levels))
}

/// The highest rate that was held: of arrivals, or where there are none of what closed loops were served.
fn held(levels: &[Level]) -> f64 {
    let has_open = levels.iter().any(|level| level.closed.is_none());
    // What a search took for passing spells it let pass.
    let in_time = |level: &Level| !level.late || (has_open && level.state == LevelState::Pass);
    let is_held = |level: &Level| is_clean(level) && in_time(level);
    if has_open {
        return highest_kept(levels, is_held);
    }
    let held = levels.iter().filter(|level| is_held(level));
    held.map(|level| level.served).fold(0.0, f64::max)
}

/// The highest rate that was kept and not broken later: a search repeats a rate that a disturbance may have spoilt, and soaks one
/// that it has seen hold.
fn highest_kept(levels: &[Level], is_kept: impl Fn(&Level) -> bool) -> f64 {
    let open = || levels.iter().filter(|level| level.closed.is_none());
    let is_broken_later = |place: usize, rate: f64| {
        let mut later = open().skip(place + 1);
        later.any(|level| is_same(level.rate, rate) && breaks(level))
    };
    let kept = open().enumerate().filter(|(_, level)| is_kept(level));
    let kept = kept.filter(|(place, level)| !is_broken_later(*place, level.rate));
    kept.map(|(_, level)| level.rate).fold(0.0, f64::max)
}

/// A level that only ended before it was decided breaks nothing.
fn breaks(level: &Level) -> bool {
    level.state == LevelState::Fail
        || level.state == LevelState::Undecided
            && (level.late || has_failures(level) || falls_behind(level))
}

/// Rates that were worked out alike.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one
}

/// The highest rate above all that was held that was answered as it came, but too late. Nobody judged it, and there are too few
/// of them to say that the system gave way.
pub(super) fn late_beyond(levels: &[Level], held: f64) -> Option<&Level> {
    let is_late = |level: &&Level| {
        let is_open = level.closed.is_none();
        is_open && level.late && level.state == LevelState::Observed && is_clean(level)
    };
    let beyond = levels.iter().filter(|level| level.rate > held);
    let late = beyond.filter(is_late);
    late.max_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// Levels that a search did not decide, or let pass as it took what was late for passing spells, whose own attempts break the
/// objective all the same, with none above that kept it: where no level failed, these are what is known of the limit.
fn missed(levels: &[Level]) -> Vec<usize> {
    let kept = highest_kept(levels, |level| is_clean(level) && !level.late);
    levels_where(levels, |level| {
        level.closed.is_none() && level.late && level.rate > kept
    })
}

/// One of these rates lies above all that the search takes to be possible: it need not be seen twice.
fn is_above(found: &SearchResult, levels: &[Level], of: &[usize]) -> bool {
    let upper = found.capacity_per_s.and_then(|bounds| bounds.upper);
    let mut rates = of.iter().filter_map(|index| levels.get(*index));
    upper.is_some_and(|upper| rates.any(|level| level.closed.is_none() && level.rate > upper))
}

/// One of these rates has no clear room below what closed loops were served, which gained nothing from more in flight: the two
/// together show the limit.
fn is_near_peak(levels: &[Level], of: &[usize]) -> bool {
    let peak = peak(levels);
    let mut found = of.iter().filter_map(|index| levels.get(*index));
    found.any(|level| level.closed.is_none() && level.rate > ROOM * peak)
}

fn union(a: &[usize], b: &[usize]) -> Vec<usize> {
    let all: BTreeSet<usize> = a.iter().chain(b).copied().collect();
    all.into_iter().collect()
}

fn levels_where(levels: &[Level], keep: impl Fn(&Level) -> bool) -> Vec<usize> {
    let indexed = levels.iter().enumerate();
    indexed
        .filter(|(_, level)| keep(level))
        .map(|(index, _)| index)
        .collect()
}

/// The best level that is long enough not to be a burst out of a backlog.
pub(super) fn peak(levels: &[Level]) -> f64 {
    let best = |shortest: f64| {
        levels
            .iter()
            .filter(|level| level.seconds() >= shortest)
            .map(|level| level.served)
            .fold(0.0, f64::max)
    };
    let long = best(2.5);
    if long > 0.0 { long } else { best(0.0) }
}

fn is_clean(level: &Level) -> bool {
    !matches!(level.state, LevelState::Fail | LevelState::Undecided)
        && level.failed_share() < CLEAN
        && level.share(&[Outcome::Dropped]) < CLEAN
        && !falls_behind(level)
}

fn falls_behind(level: &Level) -> bool {
    let missing = level.offered - level.served;
    level.closed.is_none()
        && level.tally.attempts() >= FAILED_COUNT
        && (missing > (1.0 - KEEPS_UP) * level.offered || level.queue_grows)
}

/// A rate that is answered as it comes.
pub(super) fn keeps_up(level: &Level) -> bool {
    level.closed.is_none() && !falls_behind(level)
}

/// Above every rate that was held most attempts were bad, although nearly all were answered: 6 % beyond its limit a service
/// still answers 93 %, and each of them late.
fn is_lost(level: &Level) -> bool {
    let (bad, attempts) = level.bad();
    level.state == LevelState::Fail && 2 * bad > attempts && attempts >= LOST_ATTEMPTS
}

fn has_failures(level: &Level) -> bool {
    level.failed_share() >= FAILING && level.tally.failures() >= FAILED_COUNT
}

/// Nothing but a script's own checks failed at the only load: the answers are wrong, which says nothing of how much is too
/// much.
fn is_only_wrong(levels: &[Level]) -> bool {
    let [level] = levels else { return false };
    let wrong = level.share(&[Outcome::CheckFailed]);
    wrong >= FAILING && level.failed_share() - wrong < FAILING
}

/// A closed loop that gained hardly anything over one with at most two thirds of its in-flight.
fn gains_nothing(levels: &[Level], index: usize) -> bool {
    let Some(level) = levels.get(index) else {
        return false;
    };
    let Some(in_flight) = level.closed else {
        return false;
    };
    levels
        .iter()
        .filter(|other| other.closed.is_some_and(|n| n * 3 <= in_flight * 2))
        .any(|smaller| smaller.served > 0.0 && level.served < GAIN_BELOW_KNEE * smaller.served)
}

/// A number of virtual users that failed where fewer passed.
fn is_lost_closed(levels: &[Level], index: usize) -> bool {
    let passed = levels
        .iter()
        .filter(|level| level.state == LevelState::Pass);
    let most = passed.filter_map(|level| level.closed).max();
    levels.get(index).is_some_and(|level| {
        level.state == LevelState::Fail
            && level.seconds() >= 2.5
            && most < level.closed
            && most.is_some()
    })
}

/// Levels with clear room: open ones that kept up below 0.7 of the peak, small closed ones.
fn low(levels: &[Level], high: &[usize], peak: f64) -> Vec<usize> {
    let candidates: Vec<(usize, &Level)> = levels
        .iter()
        .enumerate()
        .filter(|(index, level)| !high.contains(index) && !has_failures(level))
        .collect();
    let room: Vec<usize> = candidates
        .iter()
        .filter(|(_, level)| level.served <= ROOM * peak && !falls_behind(level))
        .map(|(index, _)| *index)
        .collect();
    if !room.is_empty() {
        return room;
    }
    let lowest = candidates
        .iter()
        .min_by(|(_, a), (_, b)| a.served.total_cmp(&b.served));
    lowest.map(|(index, _)| vec![*index]).unwrap_or_default()
}

/// One level that shows by itself that requests wait: a closed loop that queues or breaks its objective, arrivals that are not
/// kept up with.
fn is_overrun(levels: &[Level], open: &[usize], late: &[usize]) -> bool {
    if open.is_empty() {
        queues(levels) || !late.is_empty()
    } else {
        levels.iter().all(falls_behind)
    }
}

/// A closed loop of at least four whose mean is at least twice its fastest hundredth. One that meets its objective has
/// not given way, however it queues.
fn queues(levels: &[Level]) -> bool {
    levels.first().is_some_and(|level| {
        if level.in_time {
            return false;
        }
        let answers = level.tally.served_response();
        let fast = answers.quantile(0.01).unwrap_or_default();
        let mean = answers.mean().unwrap_or_default();
        level.closed.is_some_and(|n| n >= 4) && fast.0 > 0 && mean.0 >= 2 * fast.0
    })
}

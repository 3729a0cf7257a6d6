//! How many requests are served at once, by Little's law from the peak and the time without load.

use plimsoll_core::Nanos;

use super::queue::held_share;
use crate::explain::case::Case;
use crate::explain::saturation::Sign;
use crate::facts::level::{FAILING, GIVEN_UP, Level, NO_ANSWER};

/// Below one the time at low load is not the time at the peak: then nothing follows.
const LEAST: f64 = 0.85;
/// Answers that the time at low load rests on.
const ANSWERS_LEAST: u64 = 30;
/// Levels within this of the peak stand still.
const STANDS_STILL: f64 = 0.93;
/// An open level that was offered this share of the peak stands at it too.
const AT_PEAK: f64 = 0.98;
/// Of levels of a second nothing is concluded; two of a brief search last a little less than two.
const SECONDS_LEAST: f64 = 1.5;
/// Standing still is seen from twice as many in flight on; their means are a few hundredths off.
const TWICE: f64 = 1.8;
/// Beyond its peak a service that serves less than this of it has contention, and no fixed number.
const CONTENDED: f64 = 0.9;
/// So many standard deviations of Poisson counts are no chance.
const CHANCE: f64 = 2.0;

/// How many are served at once: peak × the mean time without load.
#[derive(Debug, Clone, Copy)]
pub(super) struct AtOnce {
    pub(super) count: f64,
    pub(super) peak: f64,
    /// Without what answers waited in sockets.
    pub(super) time: f64,
    /// For so long: nobody works on those.
    pub(super) held: f64,
    /// In flight at the least and at the most level that stands at the peak.
    pub(super) in_flight: (f64, f64),
}

pub(super) fn at_once(case: &Case) -> Option<AtOnce> {
    if case.saturation.sign != Sign::Throughput || is_refused(case) || is_contended(case) {
        return None;
    }
    let peak = case.saturation.peak;
    let quiet = case.low().filter(|level| level.tally.ok() >= ANSWERS_LEAST);
    let time = quiet.filter_map(Level::served_service);
    let time = time.map(Nanos::as_secs_f64).reduce(f64::min)?;
    let still = case.levels.iter().filter(|level| {
        level.seconds() >= SECONDS_LEAST
            && level.served >= STANDS_STILL * peak
            && level.failed_share() < 0.05
            // Open levels below saturation serve what is offered: they stand still for no other reason.
            && (level.closed.is_some()
                || level.offered >= AT_PEAK * peak
                || case.high().any(|high| std::ptr::eq(high, *level)))
    });
    let in_flight = still.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), level| {
        (a.min(level.in_flight), b.max(level.in_flight))
    });
    let held = time * held_share(case);
    let time = time - held;
    let count = peak * time;
    (count >= LEAST && in_flight.1 >= TWICE * in_flight.0).then_some(AtOnce {
        count,
        peak,
        time,
        held,
        in_flight,
    })
}

/// Something else ends requests than waiting: slots, a rule.
fn is_refused(case: &Case) -> bool {
    let share = |level: &Level| level.share(&NO_ANSWER) + level.share(&GIVEN_UP);
    case.high().any(|level| share(level) >= 3.0 * FAILING)
}

/// More users get less.
pub(super) fn is_contended(case: &Case) -> bool {
    let closed = || case.levels.iter().filter(|level| level.closed.is_some());
    let peak = closed().max_by(|a, b| a.served.total_cmp(&b.served));
    peak.is_some_and(|peak| {
        let mut beyond = closed().filter(|level| level.closed > peak.closed);
        // Two counts, each with its own chance.
        let chance = |level: &Level| level.served / level.seconds();
        beyond.any(|level| {
            let error = CHANCE * (chance(peak) + chance(level)).sqrt();
            level.seconds() >= SECONDS_LEAST && level.served + error < CONTENDED * peak.served
        })
    })
}

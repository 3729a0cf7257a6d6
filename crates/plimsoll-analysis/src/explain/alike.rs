//! An objective that is broken without load as it is with most of it: then load is not the reason, and nothing gave way.

use plimsoll_core::statistics::ratio;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::{Histogram, Nanos};

use super::saturation::{Saturation, keeps_up};
use crate::facts::level::Level;

/// With at most this share of the most in flight, and of the most answers per second, little is asked of the service.
const LITTLE: f64 = 0.25;
/// From fewer attempts that break the objective no share is known.
const BAD_LEAST: u64 = 5;
/// As much of the attempts may break the objective under load as so many times the share without, beside chance.
const AS_MANY: f64 = 1.5;
/// Standard deviations of binomial shares that are no more than chance.
const CHANCE: f64 = 3.0;
/// Half of the answers take no longer than so many times their time without load: none waits longer than it is worked on.
const AS_LONG: f64 = 2.0;

/// Both ends of the load: in flight, share of the attempts that break the objective, and the median of what was served.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alike {
    little: End,
    most: End,
}

#[derive(Debug, Clone, Copy)]
struct End {
    in_flight: f64,
    bad: f64,
    attempts: f64,
    median: Nanos,
}

/// `Some` where each rate that broke the objective was kept up with, and is like those with little load.
pub(super) fn alike(levels: &[Level], saturated: &Saturation) -> Option<Alike> {
    let by_load = |a: &&Level, b: &&Level| a.in_flight.total_cmp(&b.in_flight);
    let most = levels.iter().max_by(by_load)?;
    let (little, bad) = little(levels)?;
    let most = End::of(most)?;
    let is_like = |end: End| {
        let chance = little.bad * (1.0 - little.bad) * (1.0 / little.attempts + 1.0 / end.attempts);
        end.bad <= AS_MANY * little.bad + CHANCE * chance.sqrt()
            && end.median.as_secs_f64() <= AS_LONG * little.median.as_secs_f64()
    };
    let mut broke = saturated.high.iter().filter_map(|index| levels.get(*index));
    let all = broke.all(|level| keeps_up(level) && End::of(level).is_some_and(is_like));
    (all && bad >= BAD_LEAST && is_like(most)).then_some(Alike { little, most })
}

/// All levels with little load as one, and how many of its attempts broke the objective.
fn little(levels: &[Level]) -> Option<(End, u64)> {
    let most = |of: fn(&Level) -> f64| levels.iter().map(of).fold(0.0, f64::max);
    let (in_flight, answered) = (most(|level| level.in_flight), most(|level| level.answered));
    let is_quiet = |level: &&Level| {
        level.in_flight <= LITTLE * in_flight && level.answered <= LITTLE * answered
    };
    let quiet = || levels.iter().filter(is_quiet);
    let mut answers = Histogram::default();
    let (mut bad, mut attempts) = (0, 0);
    for level in quiet() {
        answers.merge(&level.tally.served_response());
        bad += level.bad().0;
        attempts += level.bad().1;
    }
    let end = End {
        in_flight: quiet().map(|level| level.in_flight).fold(0.0, f64::max),
        bad: ratio(bad as f64, attempts as f64),
        attempts: attempts as f64,
        median: answers.quantile(0.5)?,
    };
    Some((end, bad))
}

impl End {
    fn of(level: &Level) -> Option<Self> {
        let (bad, attempts) = level.bad();
        Some(Self {
            in_flight: level.in_flight,
            bad: ratio(bad as f64, attempts as f64),
            attempts: attempts as f64,
            median: level.tally.served_response().quantile(0.5)?,
        })
    }
}

impl Alike {
    pub(super) fn text(self) -> String {
        let Self { little, most } = self;
        format!(
            "load is not the reason: {} of the attempts break the objective with up to {} in flight, {} with {}; half of \
             the answers take at most {} and {}",
            percent(little.bad),
            three_digits(little.in_flight),
            percent(most.bad),
            three_digits(most.in_flight),
            little.median,
            most.median
        )
    }
}

//! The load line as a curve: one point per rate, trials at the same rate merged.

use plimsoll_core::Tally;
use plimsoll_core::interval;
use plimsoll_core::units::is_alike;

use super::LevelView;

/// Everything measured at one arrival rate, or with one number of virtual users.
#[derive(Debug, Clone)]
pub(crate) struct CurvePoint {
    /// The rate, or how many virtual users.
    pub(crate) size: f64,
    pub(crate) goodput_per_s: f64,
    pub(crate) goodput_interval: Option<(f64, f64)>,
    pub(crate) in_flight_mean: f64,
    pub(crate) tally: Tally,
    /// A level that carries all of it, or the first of its trials.
    pub(crate) first: LevelView,
    pub(crate) trials: usize,
    pub(crate) void: bool,
}

/// Points in the order of the rate; voids are points of their own.
pub(super) fn points(levels: &[&LevelView]) -> Vec<CurvePoint> {
    let mut points: Vec<CurvePoint> = Vec::new();
    for level in levels {
        let known = points.iter_mut().find(|point| {
            // Trials of one rate: a search never bisects finer.
            point.void == level.is_void() && is_alike(point.size, level.size)
        });
        match known {
            Some(point) => merge(point, level),
            None => points.push(point(level)),
        }
    }
    points
}

fn point(level: &LevelView) -> CurvePoint {
    CurvePoint {
        size: level.size,
        goodput_per_s: level.goodput_per_s,
        goodput_interval: interval::of_mean(&level.goodput_windows),
        in_flight_mean: level.in_flight_mean,
        tally: level.tally.clone(),
        first: level.clone(),
        trials: 1,
        void: level.is_void(),
    }
}

/// Counts add up; rates are weighted by the time they were measured for.
fn merge(point: &mut CurvePoint, level: &LevelView) {
    let (before, now) = (point.first.judged.as_secs_f64(), level.judged.as_secs_f64());
    let of = |a: f64, b: f64| (a * before + b * now) / (before + now);
    point.goodput_per_s = of(point.goodput_per_s, level.goodput_per_s);
    point.in_flight_mean = of(point.in_flight_mean, level.in_flight_mean);
    point.first.goodput_windows.extend(&level.goodput_windows);
    point.goodput_interval = interval::of_mean(&point.first.goodput_windows);
    point.tally.merge(&level.tally);
    point.first.judged += level.judged;
    point.trials += 1;
}

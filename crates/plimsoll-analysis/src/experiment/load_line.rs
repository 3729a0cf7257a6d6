//! The load line of every variant: windows or levels of its valid runs merged where their loads are alike.

use plimsoll_core::experiment::{Axis, Experiment, LoadLines, Point, Variant};
use plimsoll_core::judge;
use plimsoll_core::objective::{Clause, Objectives};
use plimsoll_core::record::{LevelStart, Record};
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::test::{How, Load};
use plimsoll_core::verdict::LevelState;
use plimsoll_core::{Nanos, Tally, Window};

/// Bins of an axis that is continuous: as fine as a minute of windows allows.
const BINS: usize = 20;
/// Levels of a search closer than this are one point.
const SAME_SIZE: f64 = 0.03;
/// The percentile that is drawn where no objective names one.
const QUANTILE: f64 = 0.95;
/// A shorter window at the end of a load has too few attempts to be a rate.
const WINDOW_MIN: Nanos = Nanos::from_millis(200);
/// The number of users was ramped if in more than this share of the windows fewer than this part of them were active.
const RAMP_WINDOWS: f64 = 0.2;
const RAMP_USERS: f64 = 0.7;

/// None where the variants were not loaded in the same way.
pub(super) fn lines(experiment: &Experiment<'_>) -> Option<LoadLines> {
    let records = || {
        let runs = experiment.variants.iter().flat_map(Variant::shown);
        runs.map(|run| run.record)
    };
    let axis = records()
        .map(|record| Some(axis_of(record)))
        .reduce(common)??;
    let samples: Vec<Vec<Point>> = experiment
        .variants
        .iter()
        .map(|variant| samples_of(variant, axis))
        .collect();
    let highest = samples.iter().flatten().map(|p| p.at).fold(0.0, f64::max);
    let lines: Vec<Vec<Point>> = samples
        .into_iter()
        .map(|samples| merged(samples, axis, highest))
        .collect();
    let objectives = records().find_map(|record| record.header.test.objectives());
    let clause = objectives.and_then(strictest);
    Some(LoadLines {
        axis,
        lines,
        quantile: clause.map_or(QUANTILE, |(quantile, _)| quantile),
        bound: clause.map(|(_, bound)| bound),
    })
}

/// Whether every clause holds at a point.
pub(super) fn holds(point: &Point, objectives: &Objectives) -> bool {
    let mut each = judge::bad_of_each(objectives, &point.tally);
    each.all(|(clause, bad)| !bad.with_overdue(clause, point.overdue).exceeds(clause))
}

/// The clause of the highest percentile, with its bound.
fn strictest(objectives: &Objectives) -> Option<(f64, Nanos)> {
    let clauses = objectives.clauses().iter();
    let times = clauses.filter_map(|clause| match *clause {
        Clause::ResponseTime { quantile, bound_ns } => Some((quantile, bound_ns)),
        Clause::Errors { .. } => None,
    });
    times.max_by(|one, other| one.0.total_cmp(&other.0))
}

fn common(one: Option<Axis>, other: Option<Axis>) -> Option<Axis> {
    one.filter(|_| one == other)
}

fn axis_of(record: &Record) -> Axis {
    if record.header.test.is_search() {
        return if levels(record).iter().any(|level| level.is_closed) {
            Axis::Users
        } else {
            Axis::Levels
        };
    }
    let vus: Vec<f64> = played(record)
        .filter_map(|window| window.vus.map(f64::from))
        .collect();
    let most = vus.iter().copied().fold(0.0, f64::max);
    let few = vus.iter().filter(|vus| **vus < RAMP_USERS * most).count();
    if few as f64 > RAMP_WINDOWS * vus.len() as f64 {
        return Axis::Users;
    }
    match record.header.test.how {
        How::Set {
            load: Load::Open { profile, .. },
            ..
        } if profile.constant_rate().is_none() => Axis::Rate,
        _ => Axis::Seconds,
    }
}

/// A level of a search that was played to be looked at.
struct Level {
    point: Point,
    /// A number of virtual users and not a rate.
    is_closed: bool,
}

/// Those with attempts and windows that count, which the generator could sustain.
fn levels(record: &Record) -> Vec<Level> {
    let levels = record.levels.iter();
    levels.filter_map(|start| level(record, start)).collect()
}

fn level(record: &Record, start: &LevelStart) -> Option<Level> {
    let (at, is_closed) = match start.step.load {
        StepLoad::Open { profile, .. } => (profile.constant_rate()?, false),
        StepLoad::Closed { in_flight } => (f64::from(in_flight), true),
    };
    let is_shown = match start.step.phase {
        // A search over rates ends with its first closed loop repeated: no point of a load line.
        Phase::Run | Phase::Repeat => !is_closed,
        Phase::Bracket | Phase::Bisect | Phase::Soak | Phase::Overshoot => true,
        _ => false,
    };
    let number = start.step.level;
    let result = record.level_result(number);
    let is_void = result.is_some_and(|result| result.state == LevelState::Void);
    let tally = record.judged_tally(number);
    let (mut ended, mut seconds) = (Tally::default(), 0.0);
    for window in record.judged_windows(number) {
        ended.merge(&window.total());
        seconds += window.length_ns.as_secs_f64();
    }
    let is_point = is_shown && !is_void && seconds > 0.0 && tally.attempts() > 0;
    is_point.then_some(Level {
        point: Point {
            at,
            seconds,
            ended,
            tally,
            overdue: 0,
        },
        is_closed,
    })
}

/// The windows of the load itself.
fn played(record: &Record) -> impl Iterator<Item = &Window> {
    record.windows.iter().filter(|window| {
        let phase = record.level(window.level).map(|start| start.step.phase);
        phase.is_none_or(|phase| phase == Phase::Run) && window.length_ns >= WINDOW_MIN
    })
}

/// Nothing of a variant without a valid run: what carries no claim is in no picture.
fn samples_of(variant: &Variant<'_>, axis: Axis) -> Vec<Point> {
    let valid = variant.runs.iter().filter(|run| run.is_valid());
    valid.flat_map(|run| samples(run.record, axis)).collect()
}

fn samples(record: &Record, axis: Axis) -> Vec<Point> {
    if record.header.test.is_search() {
        let levels = levels(record).into_iter();
        return levels.map(|level| level.point).collect();
    }
    let start = played(record).map(|window| window.start_ns).min();
    let start = start.unwrap_or_default();
    let objectives = record.header.test.objectives();
    let bound = objectives.and_then(Objectives::longest_bound);
    let windows: Vec<&Window> = played(record).collect();
    let overdue_by = |count: usize| {
        let seen = windows.get(..count).unwrap_or_default();
        bound.map_or(0, |bound| overdue(seen, bound))
    };
    let point = |(index, window): (usize, &&Window)| {
        let seconds = window.length_ns.as_secs_f64();
        let tally = window.total();
        Some(Point {
            at: match axis {
                Axis::Levels | Axis::Rate => window.due_count as f64 / seconds,
                Axis::Users => f64::from(window.vus?),
                Axis::Seconds => (window.start_ns - start).as_secs_f64() + seconds / 2.0,
            },
            seconds,
            ended: tally.clone(),
            tally,
            // Those of before have been counted, and are again when they end.
            overdue: overdue_by(index + 1).saturating_sub(overdue_by(index)),
        })
    };
    windows.iter().enumerate().filter_map(point).collect()
}

/// Of what had not ended when the last of these windows did, that part which was not due within `bound` before.
fn overdue(windows: &[&Window], bound: Nanos) -> u64 {
    let Some(last) = windows.last() else { return 0 };
    let newest_first = windows.iter().rev();
    let due = newest_first.map(|window| (window.length_ns.as_secs_f64(), window.due_count));
    judge::overdue(last.in_flight_end, bound, due)
}

/// Neighbouring samples become one point: counts and histograms add up, places weigh by time.
fn merged(mut samples: Vec<Point>, axis: Axis, highest: f64) -> Vec<Point> {
    samples.retain(|sample| sample.at.is_finite() && sample.seconds > 0.0);
    samples.sort_by(|one, other| one.at.total_cmp(&other.at));
    let width = highest / BINS as f64;
    let mut points: Vec<(f64, Point)> = Vec::new();
    for sample in samples {
        let key = if axis == Axis::Levels || width <= 0.0 {
            sample.at
        } else {
            (sample.at / width).floor().min(BINS as f64 - 1.0)
        };
        match points.last_mut() {
            Some((last, point)) if joins(axis, *last, key) => {
                let together = point.seconds + sample.seconds;
                let weighed = point.at * point.seconds + sample.at * sample.seconds;
                point.at = weighed / together;
                point.ended.merge(&sample.ended);
                point.seconds = together;
                point.tally.merge(&sample.tally);
                point.overdue += sample.overdue;
            }
            _ => points.push((key, sample)),
        }
    }
    let points = points.into_iter().map(|(_, point)| point);
    points.filter(|point| point.tally.decided() > 0).collect()
}

fn joins(axis: Axis, last: f64, key: f64) -> bool {
    if axis == Axis::Levels {
        (key - last).abs() <= SAME_SIZE * last
    } else {
        (key - last).abs() < 0.5
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Outcome;

    use super::*;

    fn sample(at: f64, ok: u64, failed: u64) -> Point {
        let mut tally = Tally::default();
        for (outcome, count) in [(Outcome::Ok, ok), (Outcome::Eof, failed)] {
            for _ in 0..count {
                tally.record(outcome, Nanos::from_millis(10), None, 0, &[]);
            }
        }
        Point {
            at,
            seconds: 1.0,
            ended: tally.clone(),
            tally,
            overdue: 0,
        }
    }

    #[test]
    fn neighbours_become_one_point_and_no_attempt_is_lost() {
        let samples: Vec<Point> = (1..=100).map(|n| sample(f64::from(n), 3, 1)).collect();
        let points = merged(samples, Axis::Users, 100.0);
        assert_eq!(points.len(), BINS);
        let attempts: u64 = points.iter().map(|point| point.tally.attempts()).sum();
        assert_eq!(attempts, 400);
        let seconds: f64 = points.iter().map(|point| point.seconds).sum();
        assert!((seconds - 100.0).abs() < 1e-9);
        for point in &points {
            assert!((point.goodput_per_s() - 3.0).abs() < 1e-9, "{point:?}");
            assert!((point.attempts_per_s() - 4.0).abs() < 1e-9, "{point:?}");
        }
    }

    #[test]
    fn levels_of_a_search_are_points_of_their_own_unless_they_are_the_same() {
        let samples = [200.0, 100.0, 101.0, 400.0].map(|at| sample(at, 5, 0));
        let points = merged(samples.to_vec(), Axis::Levels, 400.0);
        let places: Vec<f64> = points.iter().map(|point| point.at).collect();
        assert_eq!(places, [100.5, 200.0, 400.0]);
    }

    #[test]
    fn a_load_holds_only_if_every_clause_does() {
        let held = |objectives: &str, failed| {
            let point = sample(1.0, 100, failed);
            holds(&point, &Objectives::parse(objectives).unwrap())
        };
        assert!(held("p95<20ms,errors<1%", 0));
        assert!(!held("p95<5ms,errors<1%", 0), "too slow");
        assert!(!held("p95<20ms,errors<1%", 2), "fails too often");
        assert!(!held("p95<20ms", 10), "a failure is infinitely late");
    }

    #[test]
    fn attempts_that_never_end_hold_nothing() {
        let window = |second: u64, in_flight_end: u64| Window {
            start_ns: Nanos::from_secs(second),
            length_ns: Nanos::from_secs(1),
            due_count: 100,
            in_flight_end,
            ..Window::default()
        };
        let windows = [window(0, 50), window(1, 250), window(2, 390)];
        let of = |count: usize, bound: u64| {
            let seen: Vec<&Window> = windows.iter().take(count).collect();
            overdue(&seen, Nanos::from_secs(bound))
        };
        assert_eq!([of(1, 1), of(2, 1), of(3, 1), of(3, 2)], [0, 150, 290, 190]);
        // A hundred were answered in time while as many waited longer than that.
        let starving = Point {
            overdue: 100,
            ..sample(1.0, 100, 0)
        };
        let objectives = Objectives::parse("p95<20ms").unwrap();
        assert!(!holds(&starving, &objectives));
        let one = Point {
            overdue: 1,
            ..sample(1.0, 100, 0)
        };
        assert!(holds(&one, &objectives), "one straggler is no quantile");
    }
}

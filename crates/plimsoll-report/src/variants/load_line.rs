//! Goodput, throughput and failures of every variant against what the load varied, its runs merged.

use plimsoll_core::objective::{Clause, Objectives};
use plimsoll_core::plan::Load;
use plimsoll_core::step::Phase;
use plimsoll_core::tally::{Quantile, Tally};
use plimsoll_core::{Nanos, Window};

use super::{Experiment, Run, Variant};
use crate::format;
use crate::view::View;

/// Bins of an axis that is continuous: as fine as a minute of windows allows.
const BINS: usize = 20;
/// Levels of a search closer than this are one point.
const SAME_SIZE: f64 = 0.03;
/// Fewer attempts say nothing about a share or a percentile.
const ATTEMPTS_MIN: u64 = 20;

/// What the points of all variants differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Levels of a search, requests offered per second.
    Levels,
    /// A ramp of arrivals.
    Rate,
    /// A ramp of virtual users.
    Users,
    /// One load that does not change: seconds since its start.
    Seconds,
}

impl Axis {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Levels | Self::Rate => "requests offered per second",
            Self::Users => "virtual users",
            Self::Seconds => "seconds since the start of the load",
        }
    }

    /// `412/s`, `480 users`, `12 s`
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::Levels | Self::Rate => format::rate(value),
            Self::Users => {
                let value = (value / 10.0).round() * 10.0;
                format::plural(value as u64, "user", "users")
            }
            Self::Seconds => format::seconds(value),
        }
    }

    /// The load rises along it.
    pub(crate) fn is_load(self) -> bool {
        self != Self::Seconds
    }
}

/// Everything measured about one place of the axis.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) at: f64,
    pub(crate) seconds: f64,
    /// What ended within these seconds.
    pub(crate) ended: Tally,
    /// With what was due here and ended later: for shares and percentiles, not for rates.
    pub(crate) tally: Tally,
    /// Attempts that became later here than the objective allows, and had not ended: where requests starve, those that
    /// end are the lucky ones.
    pub(crate) overdue: u64,
}

impl Point {
    /// Of so many that ended here.
    pub(crate) fn per_s(&self, count: u64) -> f64 {
        if self.seconds > 0.0 {
            count as f64 / self.seconds
        } else {
            0.0
        }
    }

    pub(crate) fn goodput_per_s(&self) -> f64 {
        self.per_s(self.ended.good())
    }

    pub(crate) fn throughput_per_s(&self) -> f64 {
        self.per_s(self.ended.answers())
    }

    /// All that ended, failures included.
    pub(crate) fn attempts_per_s(&self) -> f64 {
        self.per_s(self.ended.decided())
    }

    pub(crate) fn failed_ratio(&self) -> f64 {
        super::ratio(self.tally.failures(), self.tally.decided())
    }

    pub(crate) fn quantile(&self, q: f64) -> Option<Quantile> {
        let enough = self.tally.decided() >= ATTEMPTS_MIN;
        self.tally.response_quantile(q).filter(|_| enough)
    }

    /// Whether every clause holds here.
    pub(super) fn holds(&self, objectives: &Objectives) -> bool {
        let clause = |clause: &Clause| match *clause {
            Clause::Errors { ratio } => self.failed_ratio() <= ratio,
            Clause::ResponseTime { quantile, bound_ns } => {
                let at = self.tally.response_quantile(quantile);
                let in_time = self.tally.answers_only().count_at_most(bound_ns);
                let all = self.tally.decided() + self.overdue;
                let overdue = self.overdue > 0 && (in_time as f64) < quantile * all as f64;
                at.and_then(Quantile::finite)
                    .is_some_and(|at| at <= bound_ns && !overdue)
            }
        };
        objectives.clauses().iter().all(clause)
    }
}

/// One line for each variant, in their order, on one axis.
#[derive(Debug)]
pub(crate) struct LoadLines {
    pub(crate) axis: Axis,
    pub(crate) lines: Vec<Vec<Point>>,
    /// The percentile of the response time that is drawn: the objective's highest, else p95.
    pub(crate) quantile: f64,
    /// What the objective demands of it.
    pub(crate) bound: Option<Nanos>,
}

impl LoadLines {
    /// None where the variants were not loaded in the same way.
    pub(crate) fn of(experiment: &Experiment<'_>) -> Option<Self> {
        let runs = || experiment.variants.iter().flat_map(Variant::shown);
        let axis = runs().map(|run| Some(axis_of(run))).reduce(common)??;
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
        let objectives = runs().find_map(|run| run.record.header.plan.objectives.as_ref());
        let clause = objectives.and_then(strictest);
        Some(Self {
            axis,
            lines,
            quantile: clause.map_or(0.95, |(quantile, _)| quantile),
            bound: clause.map(|(_, bound)| bound),
        })
    }

    /// At least two points somewhere, or there is no line.
    pub(crate) fn is_drawable(&self) -> bool {
        self.lines.iter().any(|line| line.len() > 1)
    }

    pub(crate) fn highest(&self, of: impl Fn(&Point) -> f64) -> f64 {
        self.lines.iter().flatten().map(of).fold(0.0, f64::max)
    }
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

fn axis_of(run: &Run<'_>) -> Axis {
    let record = run.record;
    if record.header.command == "find" {
        let varied = View::of(record).varied;
        return match varied {
            crate::view::Varied::Rate => Axis::Levels,
            crate::view::Varied::Vus => Axis::Users,
        };
    }
    let vus: Vec<f64> = played(run)
        .filter_map(|window| window.vus.map(f64::from))
        .collect();
    let most = vus.iter().copied().fold(0.0, f64::max);
    let few = vus.iter().filter(|vus| **vus < 0.7 * most).count();
    if !vus.is_empty() && few * 5 > vus.len() {
        return Axis::Users;
    }
    match record.header.plan.load {
        Load::Open { profile, .. } if profile.constant_rate().is_none() => Axis::Rate,
        _ => Axis::Seconds,
    }
}

/// The windows of the load itself.
fn played<'r>(run: &Run<'r>) -> impl Iterator<Item = &'r Window> + use<'r> {
    let record = run.record;
    record.windows.iter().filter(|window| {
        let phase = record.level(window.level).map(|start| start.step.phase);
        phase.is_none_or(|phase| phase == Phase::Run) && window.length_ns >= Nanos::from_millis(200)
    })
}

/// Nothing of a variant without a valid run: what carries no claim is in no picture.
fn samples_of(variant: &Variant<'_>, axis: Axis) -> Vec<Point> {
    let valid = variant.runs.iter().filter(|run| run.is_valid());
    valid.flat_map(|run| samples(run, axis)).collect()
}

fn samples(run: &Run<'_>, axis: Axis) -> Vec<Point> {
    if run.record.header.command == "find" {
        let view = View::of(run.record);
        let levels = view.load_line().into_iter();
        let judged = levels.filter(|level| !level.is_void());
        let point = |level: &crate::view::LevelView| Point {
            at: level.size,
            seconds: level.judged.as_secs_f64(),
            ended: level.ended.clone(),
            tally: level.tally.clone(),
            overdue: 0,
        };
        return judged.map(point).collect();
    }
    let start = played(run).map(|window| window.start_ns).min();
    let start = start.unwrap_or_default();
    let objectives = run.record.header.plan.objectives.as_ref();
    let bound = objectives.and_then(Objectives::longest_bound);
    let windows: Vec<&Window> = played(run).collect();
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
    let recent = windows
        .iter()
        .rev()
        .take_while(|window| window.end_ns() + bound > last.end_ns());
    let young: u64 = recent.map(|window| window.due_count).sum();
    last.in_flight_end.saturating_sub(young)
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
        let holds = |objectives: &str, failed| {
            sample(1.0, 100, failed).holds(&Objectives::parse(objectives).unwrap())
        };
        assert!(holds("p95<20ms,errors<1%", 0));
        assert!(!holds("p95<5ms,errors<1%", 0), "too slow");
        assert!(!holds("p95<20ms,errors<1%", 2), "fails too often");
        assert!(!holds("p95<20ms", 10), "a failure is infinitely late");
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
        assert!(!starving.holds(&objectives));
        let one = Point {
            overdue: 1,
            ..sample(1.0, 100, 0)
        };
        assert!(one.holds(&objectives), "one straggler is no quantile");
    }
}

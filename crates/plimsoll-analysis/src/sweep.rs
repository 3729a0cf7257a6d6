//! What the runs of a sweep mean: figures of each point, the models along each line, drift, and advice.

mod line;
mod point;

pub use point::run;

use plimsoll_core::sweep::{Dimension, Drift, Point, Run, SCHEMA, Stopped, Sweep};

use crate::advice::{self, Declared};

/// The target must not have changed by more, however alike the runs of a point are (capacity-science B.3).
const DRIFT: f64 = 0.05;
/// A search places its boundary within 5 % (DESIGN section 7), so two of the same differ by as much again.
const DRIFT_OF_SEARCHES: f64 = 0.1;
/// Runs of one point differ by chance; the first and the last of all may differ by so many of these differences, of that point
/// itself or of all points.
const DEVIATIONS: f64 = 3.0;

/// What was played, beside its runs.
#[derive(Debug, Clone)]
pub struct Asked {
    pub test: String,
    pub is_search: bool,
    pub dimensions: Vec<Dimension>,
    pub remarks: Vec<String>,
    pub stopped: Option<Stopped>,
    pub declared: Declared,
}

/// From the runs of each point to what they mean; `ends` are the first run of all, and the same point as the last.
pub fn judged(asked: Asked, points: Vec<(Vec<usize>, Vec<Run>)>, ends: Option<[&Run; 2]>) -> Sweep {
    let points: Vec<Point> = points
        .into_iter()
        .map(|(values, runs)| Point {
            values,
            figures: point::over(&runs),
            runs,
        })
        .collect();
    let least = if asked.is_search {
        DRIFT_OF_SEARCHES
    } else {
        DRIFT
    };
    let drift = ends.and_then(|ends| drift(&points, ends, least));
    let mut sweep = Sweep {
        schema: SCHEMA,
        test: asked.test,
        is_search: asked.is_search,
        dimensions: asked.dimensions,
        points,
        lines: Vec::new(),
        drift,
        advice: Vec::new(),
        remarks: asked.remarks,
        stopped: asked.stopped,
    };
    sweep.lines = line::lines(&sweep);
    sweep.advice = advice::of_sweep(&sweep, &asked.declared);
    sweep
}

/// The first point against itself at the very end.
fn drift(points: &[Point], [first, last]: [&Run; 2], least: f64) -> Option<Drift> {
    let carried = |run: &Run| {
        let figures = run.figures.filter(|_| run.excluded.is_none());
        figures.map(|figures| figures.done_per_s)
    };
    let (first_per_s, last_per_s) = (carried(first)?, carried(last)?);
    if first_per_s <= 0.0 {
        return None;
    }
    let own = |point: &&Point| point.runs.contains(first);
    let own = points.iter().find(own).and_then(point::spread_of);
    let usual = point::spread(points)
        .into_iter()
        .chain(own)
        .fold(0.0, f64::max);
    let tolerance = least.max(DEVIATIONS * usual);
    let mut drift = Drift {
        first_per_s,
        last_per_s,
        tolerance,
        is_exceeded: false,
    };
    drift.is_exceeded = drift.change().abs() > tolerance;
    Some(drift)
}

#[cfg(test)]
mod tests;

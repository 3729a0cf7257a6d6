//! Where a figure changed over a row of runs: E-divisive with a permutation test.
//!
//! Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate
//! data" (2014): the split whose two sides differ most in energy distance; it counts if few
//! shuffles of the same runs split as well. Then again within the parts.

use plimsoll_base::random::Rng;
use plimsoll_core::comparison::{
    Change, Figure, HISTORY_SCHEMA, History, Mismatch, Moment, Run, Scale, Standing,
};
use thiserror::Error;

use super::effect::Shifts;
use super::{ALPHA, change_of, inward, outward};
use scatter::Scatter;

mod scatter;

/// A part has at least so many runs: one odd run is no change.
const PART_LEAST: usize = 3;
const SHUFFLES: u32 = 999;
const RESAMPLES: usize = 399;
/// Beyond this the shuffles would take minutes.
const RUNS_MAX: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HistoryError {
    #[error("a history needs at least {least} usable runs, and there are {0}", least = 2 * PART_LEAST)]
    TooFew(usize),
    #[error("{0} runs are more than {RUNS_MAX}; leave out the oldest")]
    TooMany(usize),
    #[error("no figure is in all runs{0}")]
    NoFigure(String),
}

/// Change points of `figure` (else the first that all runs have) over the runs in order of time.
pub fn history(
    mut runs: Vec<Run>,
    mismatches: Vec<Mismatch>,
    figure: Option<Figure>,
    seed: u64,
) -> Result<History, HistoryError> {
    runs.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    let (usable, left_out): (Vec<Run>, Vec<Run>) =
        runs.into_iter().partition(|run| run.excluded.is_none());
    let mut remarks: Vec<String> = left_out
        .iter()
        .map(|run| {
            format!(
                "{}: {}",
                run.name,
                run.excluded.as_deref().unwrap_or_default()
            )
        })
        .collect();
    match usable.len() {
        count if count < 2 * PART_LEAST => return Err(HistoryError::TooFew(count)),
        count if count > RUNS_MAX => return Err(HistoryError::TooMany(count)),
        _ => {}
    }
    let figure = figure_of(&usable, figure)?;
    let moments: Vec<Moment> = usable
        .into_iter()
        .filter_map(|run| {
            let value = *run.figures.get(&figure)?;
            Some(Moment {
                name: run.name,
                started_at: run.started_at,
                value,
            })
        })
        .collect();
    let values = finite(&moments, figure.scale(), &mut remarks);
    let found = changes(&values, seed);
    let bounds = |found: &[ChangePoint]| -> Vec<usize> { found.iter().map(|at| at.at).collect() };
    let scatter = Scatter::around(&values, &bounds(&found));
    let (found, doubtful): (Vec<ChangePoint>, Vec<ChangePoint>) =
        found.into_iter().partition(|point| {
            let (from, to) = point.part;
            scatter.is_beyond_drift(&values[from..point.at], &values[point.at..to])
        });
    remarks.extend(scatter.remark(doubtful.len()));
    let scatter = Scatter::around(&values, &bounds(&found));
    let detectable = scatter.detectable(values.len());
    let changes = found
        .iter()
        .map(|point| change(point, &values, &moments, figure))
        .collect();
    Ok(History {
        schema: HISTORY_SCHEMA,
        figure,
        mismatches,
        moments,
        changes,
        detectable: detectable.map(|shift| change_of(figure.scale(), shift)),
        remarks,
    })
}

fn figure_of(runs: &[Run], asked: Option<Figure>) -> Result<Figure, HistoryError> {
    let in_all = |figure: &Figure| runs.iter().all(|run| run.figures.contains_key(figure));
    let first = runs
        .first()
        .into_iter()
        .flat_map(|run| run.figures.keys().copied());
    let found = match asked {
        Some(figure) => Some(figure).filter(in_all),
        None => first.into_iter().find(in_all),
    };
    found.ok_or_else(|| {
        HistoryError::NoFigure(asked.map_or(String::new(), |figure| format!(": {figure}")))
    })
}

/// What the distances are taken of. A percentile that was never reached counts as twice the
/// largest that was.
fn finite(moments: &[Moment], scale: Scale, remarks: &mut Vec<String>) -> Vec<f64> {
    let values: Vec<f64> = moments.iter().map(|at| inward(scale, at.value)).collect();
    let bounded = |pick: fn(f64, f64) -> f64| {
        let finite = values.iter().copied().filter(|value| value.is_finite());
        finite.reduce(pick).unwrap_or(0.0)
    };
    let (low, high) = (bounded(f64::min), bounded(f64::max));
    if values.iter().any(|value| !value.is_finite()) {
        remarks
            .push("a run that never reached its percentile counts as twice the slowest".to_owned());
    }
    let two = std::f64::consts::LN_2;
    values
        .into_iter()
        .map(|value| value.clamp(low - two, high + two))
        .collect()
}

/// The first index after a change, the parts beside it, and how rarely shuffles split as well.
#[derive(Debug, Clone, PartialEq)]
struct ChangePoint {
    at: usize,
    /// Where the parts beside it begin and end.
    part: (usize, usize),
    /// Between which indexes it lies.
    within: (usize, usize),
    p: f64,
}

fn changes(values: &[f64], seed: u64) -> Vec<ChangePoint> {
    let mut rng = Rng::new(seed, 3);
    let mut bounds = vec![0, values.len()];
    let mut found: Vec<(usize, f64)> = Vec::new();
    while let Some((split, energy)) = best_of_parts(values, &bounds) {
        let mut mixed = values.to_vec();
        let as_well = (0..SHUFFLES)
            .filter(|_| {
                for part in bounds.windows(2) {
                    shuffle(&mut mixed[part[0]..part[1]], &mut rng);
                }
                best_of_parts(&mixed, &bounds).is_some_and(|(_, other)| other >= energy)
            })
            .count();
        let p = (as_well + 1) as f64 / f64::from(SHUFFLES + 1);
        if p > ALPHA {
            break;
        }
        found.push((split, p));
        bounds.push(split);
        bounds.sort_unstable();
    }
    found.sort_by_key(|(at, _)| *at);
    found
        .into_iter()
        .map(|(at, p)| {
            let place = bounds.partition_point(|bound| *bound < at);
            let part = (bounds[place - 1], bounds[place + 1]);
            let within = location(values, part, at, &mut rng);
            ChangePoint {
                at,
                part,
                within,
                p,
            }
        })
        .collect()
}

/// The split of greatest energy in any of the parts between the bounds.
fn best_of_parts(values: &[f64], bounds: &[usize]) -> Option<(usize, f64)> {
    bounds
        .windows(2)
        .filter_map(|part| {
            let (split, energy) = best_split(&values[part[0]..part[1]])?;
            Some((part[0] + split, energy))
        })
        .max_by(|one, other| one.1.total_cmp(&other.1))
}

/// n·m ÷ (n + m) times the energy distance of the runs before the split and those after it up to
/// any later run, greatest over both: without the second choice a change that is taken back hides.
fn best_split(values: &[f64]) -> Option<(usize, f64)> {
    let count = values.len();
    let sums = Distances::new(values);
    let mut best: Option<(usize, f64)> = None;
    for split in PART_LEAST..=count.checked_sub(PART_LEAST)? {
        let left = sums.within(0, split);
        for end in split + PART_LEAST..=count {
            let (n, m) = (split as f64, (end - split) as f64);
            let right = sums.within(split, end);
            let across = sums.within(0, end) - left - right;
            let inner = left / (n * (n - 1.0) / 2.0) + right / (m * (m - 1.0) / 2.0);
            let energy = n * m / (n + m) * (2.0 * across / (n * m) - inner);
            if best.is_none_or(|(_, most)| energy > most) {
                best = Some((split, energy));
            }
        }
    }
    best
}

/// Sums of the distances between all runs of any part, after one pass over all pairs.
struct Distances {
    side: usize,
    /// At (i, j): the sum over all runs below i with all runs below j.
    sums: Vec<f64>,
}

impl Distances {
    fn new(values: &[f64]) -> Self {
        let side = values.len() + 1;
        let mut sums = vec![0.0; side * side];
        for (i, one) in values.iter().enumerate() {
            let mut row = 0.0;
            for (j, other) in values.iter().enumerate() {
                row += (one - other).abs();
                sums[(i + 1) * side + j + 1] = sums[i * side + j + 1] + row;
            }
        }
        Self { side, sums }
    }

    /// Between all pairs of runs from `from` up to `to`, each counted once.
    fn within(&self, from: usize, to: usize) -> f64 {
        let at = |i: usize, j: usize| self.sums[i * self.side + j];
        0.5 * (at(to, to) - 2.0 * at(from, to) + at(from, from))
    }
}

fn shuffle(values: &mut [f64], rng: &mut Rng) {
    for place in (1..values.len()).rev() {
        values.swap(place, rng.below(place as u64 + 1) as usize);
    }
}

/// Where the best split of resampled sides falls in 95 of 100 cases.
fn location(
    values: &[f64],
    (from, to): (usize, usize),
    at: usize,
    rng: &mut Rng,
) -> (usize, usize) {
    let (before, after) = (&values[from..at], &values[at..to]);
    let mut places: Vec<usize> = (0..RESAMPLES)
        .filter_map(|_| {
            let mut drawn = Vec::with_capacity(to - from);
            for side in [before, after] {
                let one = |_: &f64| side[rng.below(side.len() as u64) as usize];
                drawn.extend(side.iter().map(one));
            }
            best_split(&drawn).map(|(split, _)| from + split)
        })
        .collect();
    places.sort_unstable();
    let cut = RESAMPLES / 40;
    let bound = |index: usize| places.get(index).copied().unwrap_or(at);
    let last = places.len().saturating_sub(cut + 1);
    (bound(cut).min(at), bound(last).max(at))
}

fn change(point: &ChangePoint, values: &[f64], moments: &[Moment], figure: Figure) -> Change {
    let (from, to) = point.part;
    let shift = Shifts::between(&values[from..point.at], &values[point.at..to]).estimate();
    let name = |index: usize| {
        moments
            .get(index)
            .map_or(String::new(), |at| at.name.clone())
    };
    Change {
        first_index: point.at,
        earliest_index: point.within.0,
        latest_index: point.within.1,
        before: name(point.at - 1),
        after: name(point.at),
        scale: figure.scale(),
        estimate: outward(figure.scale(), shift),
        p: point.p,
        standing: if (shift > 0.0) == figure.more_is_better() {
            Standing::Better
        } else {
            Standing::Worse
        },
    }
}

#[cfg(test)]
mod tests;

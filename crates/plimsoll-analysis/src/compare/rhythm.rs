//! What the values of runs do over the places in which they were played, whoever's they are: nothing, drift, go by pairs, or
//! come back after some places.
//!
//! The one with the least `AICc` is chosen: for n values, the sum of squares s that is left and k parameters,
//! `AICc` = n·ln(s ÷ n) + 2·k + 2·k·(k + 1) ÷ (n − k − 1) (Hurvich and Tsai 1989). 14 values with s = 0.14 and two parameters
//! have −64.5 + 4 + 1.1 = −59.4.

use std::f64::consts::TAU;

/// A pattern of more places has as many parameters, which so few runs cannot carry.
const PLACES_MOST: usize = 12;
/// Steps between two waves that fit a whole number of times.
const WAVES_BETWEEN: usize = 4;
/// A column shorter than this, of length 1 before, is a sum of the others.
const DEPENDENT: f64 = 1e-9;

/// Something that comes back after so many runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rhythm {
    pub(super) runs: f64,
}

/// What the values do, and what that leaves of them.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// Orthonormal.
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) left: Vec<f64>,
    pub(super) rhythm: Option<Rhythm>,
}

/// Of runs as place and value, two of each pair behind each other.
pub(super) fn chosen(runs: &[(usize, f64)]) -> Chosen {
    let values: Vec<f64> = runs.iter().map(|(_, value)| *value).collect();
    let first = runs.iter().map(|(place, _)| *place).min().unwrap_or(0);
    let places: Vec<usize> = runs.iter().map(|(place, _)| *place - first).collect();
    let mut best: Option<(f64, Chosen)> = None;
    for (rhythm, extra, columns) in candidates(&places) {
        let columns = orthonormal(columns);
        let left = without(&values, &columns);
        let (count, parameters) = (values.len() as f64, (columns.len() + 1 + extra) as f64);
        let freedom = count - parameters - 1.0;
        if freedom < 2.0 {
            continue;
        }
        let squares: f64 = left.iter().map(|value| value * value).sum();
        let fit = count * (squares / count + 1e-12).ln();
        let criterion = fit + 2.0 * parameters + 2.0 * parameters * (parameters + 1.0) / freedom;
        if best.as_ref().is_none_or(|(least, _)| criterion < *least) {
            let chosen = Chosen {
                columns,
                left,
                rhythm,
            };
            best = Some((criterion, chosen));
        }
    }
    best.map_or_else(
        || Chosen {
            columns: Vec::new(),
            left: values,
            rhythm: None,
        },
        |(_, chosen)| chosen,
    )
}

/// Parameters beside the columns: of a wave its length.
type Candidate = (Option<Rhythm>, usize, Vec<Vec<f64>>);

fn candidates(places: &[usize]) -> Vec<Candidate> {
    let span = places.iter().max().map_or(1, |last| last + 1);
    let column =
        |of: &dyn Fn(usize) -> f64| -> Vec<f64> { places.iter().map(|p| of(*p)).collect() };
    let one = || column(&|_| 1.0);
    let mut all: Vec<Candidate> = vec![
        (None, 0, vec![one()]),
        (None, 0, vec![one(), column(&|place| place as f64)]),
    ];
    // From one wave in all runs to one in two.
    for step in WAVES_BETWEEN..=span * WAVES_BETWEEN / 2 {
        let runs = (span * WAVES_BETWEEN) as f64 / step as f64;
        let angle = |place: usize| TAU * place as f64 / runs;
        let wave = [
            column(&|place| angle(place).cos()),
            column(&|place| angle(place).sin()),
        ];
        let columns = [one()].into_iter().chain(wave).collect();
        all.push((Some(Rhythm { runs }), 1, columns));
    }
    for period in 2..(places.len() / 2).min(PLACES_MOST + 1) {
        let pattern = (0..period).map(|phase| column(&|place| f64::from(place % period == phase)));
        let runs = period as f64;
        all.push((Some(Rhythm { runs }), 0, pattern.collect()));
    }
    let pair = |of: usize| {
        (0..places.len())
            .map(|run| f64::from(run / 2 == of))
            .collect()
    };
    let pairs: Vec<Vec<f64>> = (0..places.len() / 2).map(pair).collect();
    let mut turns = pairs.clone();
    turns.push(column(&|place| (place % 2) as f64));
    all.push((None, 0, pairs));
    all.push((Some(Rhythm { runs: 2.0 }), 0, turns));
    all
}

/// Gram and Schmidt's columns, each taken twice, because once leaves what was rounded.
fn orthonormal(columns: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for column in columns {
        let before = length(&column);
        let once = without(&column, &all);
        let own = without(&once, &all);
        let after = length(&own);
        if before > 0.0 && after > before * DEPENDENT {
            all.push(own.into_iter().map(|value| value / after).collect());
        }
    }
    all
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn without(values: &[f64], columns: &[Vec<f64>]) -> Vec<f64> {
    let mut left = values.to_vec();
    for column in columns {
        let share: f64 = left.iter().zip(column).map(|(a, b)| a * b).sum();
        for (value, part) in left.iter_mut().zip(column) {
            *value -= share * part;
        }
    }
    left
}

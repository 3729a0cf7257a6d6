//! Intervals of what follows from a fit, such as its peak: the residuals are dealt out anew and the curve is fitted again.

use plimsoll_base::random::Rng;

use super::{Curve, Model, Sample};

const ROUNDS: usize = 1_000;
/// Fewer fits that have the figure give no interval.
const SHARE_MIN: f64 = 0.5;
const STREAM: u64 = 0x5EED_CAFE;

/// A figure over the fits: its 95 % interval, and the share of fits that have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dealt {
    pub interval: Option<(f64, f64)>,
    pub share: f64,
}

/// Figures of the curve, each with its interval; the same samples give the same intervals.
pub fn bootstrap<const K: usize>(
    model: Model,
    samples: &[Sample],
    figures: impl Fn(&Curve) -> [Option<f64>; K],
) -> [Dealt; K] {
    let mut found: [Vec<f64>; K] = std::array::from_fn(|_| Vec::new());
    let Some(curve) = Curve::fit(model, samples) else {
        return found.map(|_| Dealt {
            interval: None,
            share: 0.0,
        });
    };
    // A fit takes as many degrees from its residuals as it has coefficients: without this they are too small.
    let left = samples.len().saturating_sub(model.parameters()).max(1);
    let wider = (samples.len() as f64 / left as f64).sqrt();
    let residuals = curve.residuals(samples);
    let mut rng = Rng::new(STREAM, samples.len() as u64);
    for _ in 0..ROUNDS {
        let dealt = samples.iter().zip(&residuals).map(|(sample, own)| {
            let drawn = residuals.get(rng.below(residuals.len() as u64) as usize);
            Sample {
                n: sample.n,
                x: (sample.x - own + wider * drawn.unwrap_or(own)).max(0.0),
            }
        });
        let dealt: Vec<Sample> = dealt.collect();
        if let Some(curve) = Curve::fit(model, &dealt) {
            for (values, figure) in found.iter_mut().zip(figures(&curve)) {
                values.extend(figure);
            }
        }
    }
    found.map(interval)
}

fn interval(mut values: Vec<f64>) -> Dealt {
    let share = values.len() as f64 / ROUNDS as f64;
    values.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let place = (q * (values.len() as f64 - 1.0)).round() as usize;
        values.get(place).copied()
    };
    let interval = at(0.025).zip(at(0.975));
    Dealt {
        interval: interval.filter(|_| share >= SHARE_MIN),
        share,
    }
}

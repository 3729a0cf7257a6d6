//! Tools that write every sample down: their percentiles are taken here, exactly.

use super::figures::{Figures, Times};

const PERCENTS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// Times of a population in milliseconds, and when its first began and its last ended, in seconds.
#[derive(Debug, Default)]
pub(super) struct Samples {
    all: Vec<f64>,
    successes: Vec<f64>,
    span: Option<(f64, f64)>,
}

impl Samples {
    pub(super) fn add(&mut self, millis: f64, is_ok: bool) {
        if millis.is_finite() {
            self.all.push(millis);
            if is_ok {
                self.successes.push(millis);
            }
        }
    }

    /// Something was seen at this time.
    pub(super) fn at(&mut self, seconds: f64) {
        let (first, last) = self.span.unwrap_or((seconds, seconds));
        self.span = Some((first.min(seconds), last.max(seconds)));
    }

    /// Adds what every sample tells to figures whose counts are known.
    pub(super) fn fill(mut self, figures: &mut Figures) {
        figures.seconds = self.span.map(|(first, last)| last - first);
        figures.reported_per_s = figures.attempts_per_s();
        figures.all = times(&mut self.all);
        figures.successes = times(&mut self.successes);
    }
}

/// Percentiles interpolated as k6 does.
pub(super) fn times(values: &mut [f64]) -> Times {
    let mut times = Times::default();
    values.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return times;
    };
    times.min = Some(*first);
    times.max = Some(*last);
    times.mean = Some(values.iter().sum::<f64>() / values.len() as f64);
    for percent in PERCENTS {
        let index = percent / 100.0 * (values.len() - 1) as f64;
        let low = values[index.floor() as usize];
        let high = values[index.ceil() as usize];
        times.set(percent, Some(low + (high - low) * index.fract()));
    }
    times
}

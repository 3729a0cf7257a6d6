//! How much runs scatter around their level, how much neighbours resemble each other, and what change would show in that.

use plimsoll_core::comparison::RUNS_THAT_SHOW;
use plimsoll_core::statistics::median;

/// A step of so many standard errors between two halves is found in four of five cases: 2.8 for one split that is known, more
/// for the choice of it and for drifts, and with few runs more for what they know of their scatter. Measured in the tests.
const FOUND_FROM: f64 = 4.2;
const FEW_RUNS: f64 = 2.6;
/// Standard errors that a difference of two sides must have where neighbours resemble each other.
const BEYOND_DRIFT: f64 = 3.0;
/// So many standard deviations around their own levels no drift takes two sides apart.
const NO_DRIFT: f64 = 5.0;
/// Beyond it the two sides would have to be many hundreds of runs long.
const CORRELATION_MOST: f64 = 0.95;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scatter {
    sd: f64,
    /// Of a run with the next, around their own level; none is zero.
    correlation: f64,
    /// It is more than chance makes of independent runs.
    is_correlated: bool,
}

impl Scatter {
    /// Around the median of each part between the changes.
    pub(super) fn around(values: &[f64], changes: &[usize]) -> Self {
        let ends = changes.iter().copied().chain([values.len()]);
        let starts = [0].into_iter().chain(changes.iter().copied());
        let mut rest = Vec::with_capacity(values.len());
        for (from, to) in starts.zip(ends) {
            let part = &values[from..to];
            let middle = median(part.to_vec()).unwrap_or(0.0);
            rest.extend(part.iter().map(|value| value - middle));
        }
        let n = rest.len() as f64;
        let squares: f64 = rest.iter().map(|value| value * value).sum();
        let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let parts = changes.len() as f64 + 1.0;
        // Taking each part's own level away makes neighbours look less alike, by about 2 ÷ n for each part.
        let raw = if squares > 0.0 {
            products / squares
        } else {
            0.0
        };
        let correlation = if raw > 0.0 {
            raw + 2.0 * parts / n
        } else {
            0.0
        };
        Self {
            sd: (squares / (n - parts).max(1.0)).sqrt(),
            correlation: correlation
                .max(of_steps(values, changes))
                .min(CORRELATION_MOST),
            is_correlated: raw > 2.0 / n.sqrt(),
        }
    }

    /// The standard deviation that the mean of many neighbours has, times the square root of their number: of an AR(1) process
    /// σ·√((1 + φ) ÷ (1 − φ)).
    fn long_run(self) -> f64 {
        self.sd * ((1.0 + self.correlation) / (1.0 - self.correlation)).sqrt()
    }

    fn error(self, one: usize, other: usize) -> f64 {
        self.long_run() * (1.0 / one as f64 + 1.0 / other as f64).sqrt()
    }

    /// The sides differ by more than drifts of such runs do. Shuffles take runs for independent, and nightly ones are not.
    pub(super) fn is_beyond_drift(self, before: &[f64], after: &[f64]) -> bool {
        let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
        let apart = (mean(after) - mean(before)).abs();
        let drift = BEYOND_DRIFT * self.error(before.len(), after.len());
        apart > drift.min(NO_DRIFT * self.sd)
    }

    /// The step between two halves of `count` runs that is found in four of five cases.
    pub(super) fn detectable(self, count: usize) -> Option<f64> {
        let half = count / 2;
        (count >= RUNS_THAT_SHOW).then(|| {
            let few = 1.0 + FEW_RUNS / count as f64;
            FOUND_FROM * few * self.error(half, count - half)
        })
    }

    pub(super) fn remark(self, doubtful: usize) -> Option<String> {
        if doubtful > 0 {
            return Some(format!(
                "{doubtful} more {} no larger than what runs that resemble their neighbours drift by themselves",
                if doubtful == 1 {
                    "shift is"
                } else {
                    "shifts are"
                }
            ));
        }
        self.is_correlated.then(|| {
            "runs near in time resemble each other: the size that would show allows for it"
                .to_owned()
        })
    }
}

/// The same from the steps between neighbours, which no level touches: of an AR(1) process neighbouring steps have a correlation
/// of −(1 − φ) ÷ 2. Unbiased, and noisy. The largest steps, one more than there are changes, may be changes and are left out:
/// a single one of them would look like φ = 1.
fn of_steps(values: &[f64], changes: &[usize]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for _ in 0..=changes.len() {
        if let Some(largest) = steps.iter_mut().max_by(|a, b| a.abs().total_cmp(&b.abs())) {
            *largest = 0.0;
        }
    }
    let squares: f64 = steps.iter().map(|step| step * step).sum();
    let products: f64 = steps.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares > 0.0 {
        // Less half a standard deviation, which is about 2 ÷ √n.
        1.0 + 2.0 * products / squares - 1.0 / (values.len() as f64).sqrt()
    } else {
        0.0
    }
}

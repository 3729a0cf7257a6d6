//! How far a figure of one level may be from what a longer one would show: intervals from its own attempts and windows.

use crate::statistics::mean_and_error;
use crate::tally::{Quantile, Tally};

/// Standard deviations on either side that hold 95 % of a normal distribution.
const NORMAL_95: f64 = 1.96;
/// Fewer attempts say nothing about a percentile.
pub(crate) const ATTEMPTS_MIN: u64 = 20;
/// The fewest windows that show a spread.
const WINDOWS_MIN: usize = 5;

/// The 95 % interval of a response-time percentile by order statistics: the ranks 1.96 standard deviations of the binomial
/// count away. Attempts are taken as independent.
pub fn of_quantile(tally: &Tally, q: f64) -> Option<(Quantile, Quantile)> {
    let attempts = tally.decided();
    if attempts < ATTEMPTS_MIN {
        return None;
    }
    let n = attempts as f64;
    let spread = NORMAL_95 * (q * (1.0 - q) / n).sqrt();
    let low = tally.response_quantile((q - spread).max(1.0 / n))?;
    let high = tally.response_quantile((q + spread).min(1.0))?;
    Some((low, high))
}

/// The 95 % interval of a rate from its windows: their mean ± 1.96 standard errors.
pub fn of_mean(windows: &[f64]) -> Option<(f64, f64)> {
    if windows.len() < WINDOWS_MIN {
        return None;
    }
    let (mean, error) = mean_and_error(windows)?;
    let half = NORMAL_95 * error?;
    Some(((mean - half).max(0.0), mean + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_windows_has_the_interval_of_its_standard_error() {
        // Standard deviation 1, five windows: 10 ± 1.96 / √5.
        let (low, high) = of_mean(&[9.0, 9.5, 10.0, 10.5, 11.0]).unwrap();
        let half = 1.96 * (0.625_f64 / 5.0).sqrt();
        assert!((low - (10.0 - half)).abs() < 1e-9 && (high - (10.0 + half)).abs() < 1e-9);
        assert_eq!(of_mean(&[1.0, 2.0, 3.0, 4.0]), None);
    }
}

//! Intervals for a share of attempts from windows that are not independent attempts.

use plimsoll_core::statistics::{mean_and_error, t_975};
use plimsoll_core::verdict::Bounds;

/// Bad attempts over all attempts, with a 95 % interval from the windows.
///
/// Attempts of one second share their fate (a queue, a pause), so the second is what is independent, not the attempt. With
/// bᵢ bad of nᵢ attempts in window i of k, the ratio estimator (Cochran, Sampling Techniques, chapter 6):
///
/// ```text
/// p = Σ bᵢ ÷ Σ nᵢ      rᵢ = bᵢ − p·nᵢ      s² = k ÷ (k − 1) · Σ rᵢ²      p ± t(0.975, k − 1) · s ÷ Σ nᵢ
/// ```
///
/// 9 of 100 and 11 of 100: p = 0.10, r = ∓1, s² = 2 · 2 = 4, t(1) = 12.706, so 0.10 ± 12.706 · 2 ÷ 200 = 0.127.
pub(crate) fn bad_share(windows: impl Iterator<Item = (u64, u64)> + Clone) -> Bounds {
    let (mut bad, mut attempts, mut count) = (0, 0, 0usize);
    for (b, n) in windows.clone().filter(|&(_, n)| n > 0) {
        bad += b;
        attempts += n;
        count += 1;
    }
    if attempts == 0 {
        return Bounds {
            estimate: 0.0,
            lower: Some(0.0),
            upper: Some(1.0),
        };
    }
    let share = bad as f64 / attempts as f64;
    let squares: f64 = windows
        .filter(|&(_, n)| n > 0)
        .map(|(b, n)| b as f64 - share * n as f64)
        .map(|residual| residual * residual)
        .sum();
    // One window has nothing to differ from: anything is possible.
    let half = if count > 1 {
        let variance = squares * count as f64 / (count - 1) as f64;
        t_975(count - 1) * libm::sqrt(variance) / attempts as f64
    } else {
        1.0
    };
    Bounds {
        estimate: share,
        lower: Some((share - half).max(0.0)),
        upper: Some((share + half).min(1.0)),
    }
}

/// Mean of window values with a 95 % interval: x̄ ± t(0.975, n − 1) · s ÷ √n. Of 4, 5, 6: 5 ± 4.303 · 1 ÷ √3 = 2.484.
pub(crate) fn mean_interval(values: &[f64]) -> Option<Bounds> {
    let (mean, error) = mean_and_error(values)?;
    let half = error.map(|error| t_975(values.len() - 1) * error);
    Some(Bounds {
        estimate: mean,
        lower: half.map(|half| (mean - half).max(0.0)),
        upper: half.map(|half| mean + half),
    })
}

/// Variance over mean of counts per second: 1 for independent events (a Poisson count's variance is its mean), far above
/// for bursts. Fifty in one of ten seconds: 250 ÷ 5 = 50.
pub(crate) fn variance_to_mean(counts: &[u64]) -> f64 {
    let count = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / count;
    if counts.len() < 2 || mean == 0.0 {
        return 0.0;
    }
    let squares: f64 = counts
        .iter()
        .map(|&c| (c as f64 - mean) * (c as f64 - mean))
        .sum();
    squares / (count - 1.0) / mean
}

#[cfg(test)]
mod tests;

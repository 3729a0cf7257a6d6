//! Intervals for a share of attempts from windows that are not independent attempts.

use plimsoll_core::verdict::Bounds;

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom (standard table).
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

pub(crate) fn t_975(degrees: usize) -> f64 {
    match degrees {
        0 => f64::INFINITY,
        1..=30 => T_975[degrees - 1],
        // Within 0.1 % beyond the table (expansion of Cornish and Fisher to first order).
        _ => 1.960 + 2.372 / degrees as f64,
    }
}

/// Bad attempts over all attempts with a 95 % interval from the windows: a ratio estimator whose
/// residuals are bad − p·attempts. Windows of (9 of 100) and (11 of 100): 0.10 ± 0.127.
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

/// Mean of window values with a 95 % interval.
pub(crate) fn mean_interval(values: &[f64]) -> Option<Bounds> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let half = (values.len() > 1)
        .then(|| t_975(values.len() - 1) * libm::sqrt(squares / (count - 1.0) / count));
    Some(Bounds {
        estimate: mean,
        lower: half.map(|half| (mean - half).max(0.0)),
        upper: half.map(|half| mean + half),
    })
}

/// Slope per step of a line through the values, and its t statistic.
pub(crate) fn trend(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    if values.len() < 4 {
        return None;
    }
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let (mut across, mut along, mut total) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - middle;
        across += x * (value - mean);
        along += x * x;
        total += (value - mean) * (value - mean);
    }
    let slope = across / along;
    let residual = (total - slope * across).max(0.0);
    let error = libm::sqrt(residual / (count - 2.0) / along);
    let t = if error > 0.0 {
        slope / error
    } else if slope == 0.0 {
        0.0
    } else {
        f64::INFINITY.copysign(slope)
    };
    Some((slope, t))
}

/// Variance over mean of counts per second: 1 for independent events, far above for bursts.
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

/// The share of seconds that carry four fifths of the bad attempts.
pub(crate) fn carrying_share(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return 0.0;
    }
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let (mut sum, mut seconds) = (0, 0);
    for count in sorted {
        sum += count;
        seconds += 1;
        if sum as f64 >= 0.8 * total as f64 {
            break;
        }
    }
    f64::from(seconds) / counts.len() as f64
}

#[cfg(test)]
mod tests;

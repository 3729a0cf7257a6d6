//! The few statistics that several crates need: median, a share that may be of nothing, a line through points.

/// The middle value, or the mean of the two middle ones; not-a-numbers are left out. 3, 1, 10: 3; and 4: 3.5.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *values.get(middle - 1)?;
    Some(f64::midpoint(lower, upper))
}

/// Mean and its standard error s ÷ √n, with s² over n − 1; no error of a single value. 4, 5, 6: 5 and 1 ÷ √3.
pub fn mean_and_error(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt());
    (!values.is_empty()).then_some((mean, error))
}

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom (standard table).
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Half the width of a 95 % interval in standard errors: 2.776 for 4 degrees of freedom.
pub fn t_975(degrees: usize) -> f64 {
    match degrees {
        0 => f64::INFINITY,
        1..=30 => T_975[degrees - 1],
        // Within 0.1 % beyond the table (expansion of Cornish and Fisher to first order).
        _ => 1.960 + 2.372 / degrees as f64,
    }
}

/// `part ÷ whole`, and 0 of nothing.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The smallest share of the counts that carries four fifths of their sum; 0 of nothing. Ten seconds with one bad attempt
/// each: 0.8; all ten in one second: 0.1.
pub fn carrying_share(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return 0.0;
    }
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let (mut sum, mut carrying) = (0, 0);
    for count in sorted {
        sum += count;
        carrying += 1;
        if sum as f64 >= 0.8 * total as f64 {
            break;
        }
    }
    f64::from(carrying) / counts.len() as f64
}

/// A line y = a + b·x through points by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// b = Σ(x − x̄)(y − ȳ) ÷ Σ(x − x̄)².
    pub slope: f64,
    /// The slope in its standard errors, √(Σ residual² ÷ (n − 2) ÷ Σ(x − x̄)²); infinite where all points lie on the line.
    pub t: f64,
}

impl Line {
    /// `None` for fewer than three points, or all at one x. Through (0, 1), (1, 3), (2, 5): 2, and infinitely sure.
    pub fn through(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Self> {
        let (mut count, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
        for (x, y) in points.clone() {
            count += 1.0;
            sum_x += x;
            sum_y += y;
        }
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let (mut across, mut along, mut total) = (0.0, 0.0, 0.0);
        for (x, y) in points {
            let (x, y) = (x - mean_x, y - mean_y);
            across += x * y;
            along += x * x;
            total += y * y;
        }
        if count < 3.0 || along <= 0.0 {
            return None;
        }
        let slope = across / along;
        let residual = (total - slope * across).max(0.0);
        let error = (residual / (count - 2.0) / along).sqrt();
        let t = if error > 0.0 {
            slope / error
        } else if slope == 0.0 {
            0.0
        } else {
            f64::INFINITY.copysign(slope)
        };
        Some(Self { slope, t })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(values: &[f64]) -> Option<Line> {
        let points = values.iter().enumerate();
        Line::through(points.map(|(index, value)| (index as f64, *value)))
    }

    #[test]
    fn the_middle_of_values() {
        assert_eq!(median(vec![3.0, 1.0, 10.0]), Some(3.0));
        assert_eq!(median(vec![3.0, 1.0, 10.0, 4.0, f64::NAN]), Some(3.5));
        assert_eq!(
            median(vec![f64::INFINITY, 1.0, f64::INFINITY]),
            Some(f64::INFINITY)
        );
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn a_line_and_no_line() {
        let line = through(&[1.0, 3.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12 && line.t > 1e6);
        let flat = through(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]).unwrap();
        assert!(flat.slope.abs() < 0.01 && flat.t.abs() < 1.0);
        assert_eq!(through(&[1.0, 2.0]), None);
        assert_eq!(Line::through([(1.0, 1.0); 3].into_iter()), None);
    }

    #[test]
    fn few_seconds_carry_a_burst() {
        assert!((carrying_share(&[1; 10]) - 0.8).abs() < 1e-12);
        let burst = [0, 0, 0, 10, 0, 0, 0, 0, 0, 0];
        assert!((carrying_share(&burst) - 0.1).abs() < 1e-12);
        assert!(carrying_share(&[0, 0]).abs() < 1e-12);
    }
}

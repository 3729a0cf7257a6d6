//! Amdahl's law and the universal scalability law: X(N) = γN ÷ (1 + α(N − 1) + βN(N − 1)), fitted with γ free.

use plimsoll_core::statistics::t_975;

use super::least_squares::{Problem, Solution};
use super::{Sample, Weighting};

/// Contention α, coherency β (zero in Amdahl's law) and γ, the throughput of one alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    pub alpha: f64,
    pub beta: f64,
    pub gamma: f64,
}

/// A fit, with what is known of its coefficients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UslFit {
    pub usl: Usl,
    /// Standard errors of α, β and γ; none of one on its bound.
    pub errors: [Option<f64>; 3],
    pub squares: f64,
    pub degrees: usize,
}

impl Usl {
    pub fn throughput(&self, n: f64) -> f64 {
        self.gamma * n / self.slowdown(n)
    }

    fn slowdown(&self, n: f64) -> f64 {
        1.0 + self.alpha * (n - 1.0) + self.beta * n * (n - 1.0)
    }

    /// The concurrency of the highest throughput, √((1 − α) ÷ β); none where it only levels off.
    pub fn peak(&self) -> Option<f64> {
        (self.beta > 0.0).then(|| ((1.0 - self.alpha) / self.beta).sqrt())
    }

    /// γ ÷ α: what contention alone would allow.
    pub fn roof(&self) -> Option<f64> {
        (self.alpha > 0.0).then(|| self.gamma / self.alpha)
    }

    /// Concurrencies that give this throughput, the smaller first: two below the peak, none above it.
    ///
    /// X(1 + α(N − 1) + βN(N − 1)) = γN is βX·N² + (αX − βX − γ)·N + X(1 − α) = 0.
    pub fn concurrency(&self, throughput: f64) -> Vec<f64> {
        let a = self.beta * throughput;
        let b = (self.alpha - self.beta) * throughput - self.gamma;
        let c = throughput * (1.0 - self.alpha);
        let roots = if a > 0.0 {
            let inside = b * b - 4.0 * a * c;
            if inside < 0.0 {
                return Vec::new();
            }
            // Without the difference of two numbers that are nearly the same.
            let q = -0.5 * (b - inside.sqrt());
            vec![c / q, q / a]
        } else {
            vec![-c / b]
        };
        let valid = roots.into_iter();
        valid
            .filter(|n| n.is_finite() && *n >= 0.0 && self.slowdown(*n) > 0.0)
            .collect()
    }

    /// Three parameters by least squares, α and β between 0 and 1. `None` for fewer than three samples.
    pub fn fit(samples: &[Sample], weighting: Weighting) -> Option<UslFit> {
        const BOUNDS: [(f64, f64); 3] = [(0.0, 1.0), (0.0, 1.0), (f64::MIN_POSITIVE, f64::MAX)];
        let gamma = single(samples)?;
        let starts = [
            [0.01, 1e-4, gamma],
            [0.3, 1e-3, gamma],
            [0.05, 0.0, 1.5 * gamma],
            [0.0, 1e-2, gamma],
            [0.5, 0.1, 2.0 * gamma],
        ];
        let of = |at: &[f64; 3]| Self {
            alpha: at[0],
            beta: at[1],
            gamma: at[2],
        };
        let found = solve(samples, weighting, BOUNDS, &starts, of)?;
        Some(UslFit {
            usl: of(&found.at),
            errors: found.errors,
            squares: found.squares,
            degrees: samples.len() - 3,
        })
    }

    /// The law with β = 0, two parameters.
    pub(super) fn fit_amdahl(samples: &[Sample]) -> Option<UslFit> {
        let gamma = single(samples)?;
        let of = |at: &[f64; 2]| Self {
            alpha: at[0],
            beta: 0.0,
            gamma: at[1],
        };
        let bounds = [(0.0, 1.0), (f64::MIN_POSITIVE, f64::MAX)];
        let starts = [[0.01, gamma], [0.3, gamma], [0.9, 2.0 * gamma]];
        let found = solve(samples, Weighting::Equal, bounds, &starts, of)?;
        let [alpha, gamma] = found.errors;
        Some(UslFit {
            usl: of(&found.at),
            errors: [alpha, None, gamma],
            squares: found.squares,
            degrees: samples.len() - 2,
        })
    }
}

impl UslFit {
    /// 95 % by Student's t over the degrees that are left, of α, β and γ.
    pub fn intervals(&self) -> [Option<(f64, f64)>; 3] {
        let half = |error: Option<f64>| error.map(|error| t_975(self.degrees) * error);
        let [alpha, beta, gamma] = self.errors.map(half);
        let around = |value: f64, half: Option<f64>| half.map(|half| (value - half, value + half));
        [
            around(self.usl.alpha, alpha),
            around(self.usl.beta, beta),
            around(self.usl.gamma, gamma),
        ]
    }

    /// √(squares ÷ degrees), in requests per second.
    pub fn residual_error(&self) -> f64 {
        (self.squares / self.degrees as f64).sqrt()
    }
}

/// The throughput of one, as far as the sample with the fewest shows.
fn single(samples: &[Sample]) -> Option<f64> {
    let few = samples
        .iter()
        .filter(|sample| sample.n > 0.0 && sample.x > 0.0);
    let few = few.min_by(|a, b| a.n.total_cmp(&b.n))?;
    Some(few.x / few.n)
}

fn solve<const K: usize>(
    samples: &[Sample],
    weighting: Weighting,
    bounds: [(f64, f64); K],
    starts: &[[f64; K]],
    of: impl Fn(&[f64; K]) -> Usl,
) -> Option<Solution<K>> {
    if samples.len() < K {
        return None;
    }
    let values: Vec<f64> = samples.iter().map(|sample| sample.x).collect();
    let weights: Vec<f64> = samples.iter().map(|s| weighting.of(s)).collect();
    let problem = Problem {
        values: &values,
        weights: &weights,
        model: |at: &[f64; K]| {
            let usl = of(at);
            samples
                .iter()
                .map(|sample| usl.throughput(sample.n))
                .collect()
        },
        bounds,
    };
    problem.solve(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC SDM91 on a server of Sun (Gunther 2007), users and scripts per hour.
    const SDM91: [(f64, f64); 7] = [
        (1.0, 64.9),
        (18.0, 995.9),
        (36.0, 1652.4),
        (72.0, 1853.2),
        (108.0, 1828.9),
        (144.0, 1775.0),
        (216.0, 1702.2),
    ];

    /// The two older methods give other coefficients for the same samples, so that a coefficient says nothing without its method.
    #[test]
    fn two_coefficients_by_the_quadratic_transform_and_by_least_squares() {
        let samples = SDM91.map(|(n, x)| Sample { n, x });
        // With X(1) as it was measured: N ÷ C − 1 = (α + β)(N − 1) + β(N − 1)², a parabola through the origin.
        let (mut a, mut b) = ([[0.0; 2]; 2], [0.0; 2]);
        for Sample { n, x } in samples {
            let row = [n - 1.0, (n - 1.0).powi(2)];
            let y = n / (x / 64.9) - 1.0;
            for i in 0..2 {
                b[i] += row[i] * y;
                for j in 0..2 {
                    a[i][j] += row[i] * row[j];
                }
            }
        }
        let det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
        let kappa = (a[0][0] * b[1] - a[1][0] * b[0]) / det;
        let sigma = (b[0] * a[1][1] - b[1] * a[0][1]) / det - kappa;
        assert!((sigma - 0.017_046_9).abs() < 5e-8, "{sigma}");
        assert!((kappa - 7.892_50e-5).abs() < 5e-10, "{kappa}");

        let of = |at: &[f64; 2]| Usl {
            alpha: at[0],
            beta: at[1],
            gamma: 64.9,
        };
        let bounds = [(0.0, 1.0); 2];
        let found = solve(&samples, Weighting::Equal, bounds, &[[0.01, 1e-4]], of).unwrap();
        assert!((found.at[0] - 0.012_605).abs() < 5e-7, "{found:?}");
        assert!((found.at[1] - 1.1120e-4).abs() < 5e-9, "{found:?}");
    }
}

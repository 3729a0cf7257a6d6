//! Goodput near the limit as a line in logarithms: its level and slope, and how sure both are.

/// Process noise of level and slope from one epoch to the next, as standard deviations.
const LEVEL_NOISE: f64 = 0.05;
const SLOPE_NOISE: f64 = 0.03;
/// The slope before anything was seen: a small limit is taken to be too small.
const SLOPE_FIRST: f64 = 1.0;
const SLOPE_FIRST_VARIANCE: f64 = 0.25;
/// An innovation this unlikely (in variances) is a change of capacity, not of the slope.
const JUMP: f64 = 9.0;
const DISPERSION: (f64, f64) = (0.3, 20.0);

/// A Kalman filter whose measurement noise follows the dispersion of the answers.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Log goodput at the limit; unknown before the first epoch.
    level: Option<f64>,
    slope: f64,
    level_variance: f64,
    covariance: f64,
    slope_variance: f64,
    /// By how much counts vary more than they were said to.
    dispersion: f64,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            level: None,
            slope: SLOPE_FIRST,
            level_variance: 0.0,
            covariance: 0.0,
            slope_variance: SLOPE_FIRST_VARIANCE,
            dispersion: 1.0,
        }
    }
}

impl Line {
    pub(super) fn slope(&self) -> f64 {
        self.slope
    }

    pub(super) fn deviation(&self) -> f64 {
        libm::sqrt(self.slope_variance)
    }

    /// An epoch showed log goodput `y` at a load of e^`u` limits, by as much as so many independent answers.
    pub(super) fn see(&mut self, y: f64, u: f64, answers: f64) {
        let answers = answers.max(1.0);
        let Some(level) = self.level else {
            self.level = Some(y);
            self.level_variance = self.dispersion / answers;
            return;
        };
        self.level_variance += LEVEL_NOISE * LEVEL_NOISE;
        self.slope_variance += SLOPE_NOISE * SLOPE_NOISE;
        let noise = self.dispersion / answers;
        let innovation = y - level - self.slope * u;
        let surprise = innovation * innovation / self.innovation_variance(u, noise);
        self.dispersion *= libm::exp(0.08 * (surprise.min(6.0) - 1.0));
        self.dispersion = self.dispersion.clamp(DISPERSION.0, DISPERSION.1);
        if surprise > JUMP {
            self.level_variance += innovation * innovation;
        }
        let variance = self.innovation_variance(u, noise);
        let level_gain = (self.level_variance + self.covariance * u) / variance;
        let slope_gain = (self.covariance + self.slope_variance * u) / variance;
        self.level = Some(level + level_gain * innovation);
        self.slope += slope_gain * innovation;
        let (before, covariance) = (self.level_variance, self.covariance);
        self.level_variance -= level_gain * (before + covariance * u);
        self.covariance -= level_gain * (covariance + self.slope_variance * u);
        self.slope_variance -= slope_gain * (covariance + self.slope_variance * u);
        self.level_variance = self.level_variance.max(1e-9);
        self.slope_variance = self.slope_variance.max(1e-9);
    }

    fn innovation_variance(&self, u: f64, noise: f64) -> f64 {
        self.level_variance + 2.0 * u * self.covariance + u * u * self.slope_variance + noise
    }

    /// The limit was multiplied by e^`step`: the line is read there from now on.
    pub(super) fn move_by(&mut self, step: f64) {
        self.level = self.level.map(|level| level + self.slope * step);
        self.level_variance += 2.0 * step * self.covariance + step * step * self.slope_variance;
        self.covariance += step * self.slope_variance;
        self.slope_variance += 0.25 * step * step;
        // It falls on the way up, by less the flatter it is already.
        if self.slope < 0.7 {
            self.slope -= 0.25 * step;
        }
    }

    /// Far too high: whatever was believed of the slope, it is no more than this.
    pub(super) fn doubt(&mut self, slope_most: f64) {
        self.slope = self.slope.min(slope_most);
        self.level_variance += 0.25;
        self.slope_variance += 0.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_base::random::Rng;

    /// Counts of a service whose goodput is level × load^slope are read back as that slope.
    #[test]
    fn the_slope_of_noisy_counts_is_found() {
        for slope in [0.0, 0.4, 1.0, -0.5] {
            let mut rng = Rng::new(3, 1);
            let mut filter = Line::default();
            for epoch in 0..200 {
                let u: f64 = if epoch % 2 == 0 { 0.0 } else { -0.69 };
                let mean = 400.0 * libm::exp(slope * u);
                let count = mean + libm::sqrt(mean) * rng.normal();
                filter.see(libm::log(count), u, count);
            }
            let error = (filter.slope() - slope).abs();
            assert!(error < 0.1, "{} for {slope}", filter.slope());
            assert!(error < 3.0 * filter.deviation() + 0.02);
        }
    }

    #[test]
    fn a_step_of_capacity_moves_the_level_and_hardly_the_slope() {
        let mut filter = Line::default();
        let see = |filter: &mut Line, height: f64| {
            for epoch in 0..40 {
                let u = if epoch % 2 == 0 { 0.0 } else { -0.69 };
                filter.see(height + 0.12 * u, u, 500.0);
            }
        };
        see(&mut filter, 6.0);
        let before = filter.slope();
        filter.see(6.0 - 0.69, 0.0, 500.0);
        assert!((filter.slope() - before).abs() < 0.05);
        assert!((filter.level.unwrap() - 5.31).abs() < 0.1);
    }
}

//! From a figure to a coordinate, and which figures an axis names.

/// A linear or logarithmic axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    /// From zero to `to`, drawn from `start` to `end`.
    pub(super) fn linear(to: f64, start: f64, end: f64) -> Self {
        Self {
            from: 0.0,
            to: if to > 0.0 { to } else { 1.0 },
            start,
            end,
            log: false,
        }
    }

    pub(super) fn log(from: f64, to: f64, start: f64, end: f64) -> Self {
        let from = from.max(1e-9);
        Self {
            from,
            to: to.max(from * 1.01),
            start,
            end,
            log: true,
        }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(1e-12) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.start + share * (self.end - self.start)
    }

    /// The same, kept inside the axis.
    pub(super) fn clamped(&self, value: f64) -> f64 {
        let (low, high) = (self.start.min(self.end), self.start.max(self.end));
        self.at(value).clamp(low, high)
    }

    pub(super) fn to(&self) -> f64 {
        self.to
    }

    /// Round figures on the axis, about `wanted` of them.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.log {
            log_ticks(self.from, self.to, wanted)
        } else {
            linear_ticks(self.to, wanted)
        }
    }
}

/// The first of 1, 2, 5 × 10^k that is not below `value`.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= value * 0.999)
        .unwrap_or(10.0 * power)
}

fn linear_ticks(to: f64, wanted: usize) -> Vec<f64> {
    let step = round_up(to / wanted.max(1) as f64);
    // Figures beyond all measure (a hostile record) must not become endless ticks.
    let last = (to / step + 1e-9).min(100.0) as usize;
    (0..=last).map(|index| index as f64 * step).collect()
}

/// 1-2-5 steps while they fit, then decades.
fn log_ticks(from: f64, to: f64, wanted: usize) -> Vec<f64> {
    let all = |steps: &[f64]| -> Vec<f64> {
        let (low, high) = (from.log10().floor() as i32, to.log10().ceil() as i32);
        (low..=high)
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|tick| *tick >= from * 0.999 && *tick <= to * 1.001)
            .collect()
    };
    let fine = all(&[1.0, 2.0, 5.0]);
    if fine.len() <= wanted.max(3) {
        fine
    } else {
        all(&[1.0])
    }
}

/// The end of an axis that leaves a little room above `value`.
pub(super) fn room_above(value: f64) -> f64 {
    if value > 0.0 { value * 1.08 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(
            Scale::linear(972.0, 0.0, 100.0).ticks(6),
            [0.0, 200.0, 400.0, 600.0, 800.0]
        );
        assert_eq!(
            Scale::linear(0.6, 0.0, 100.0).ticks(3),
            [0.0, 0.2, 0.4, 0.600_000_000_000_000_1]
        );
        assert_eq!(
            Scale::log(5.0, 500.0, 0.0, 1.0).ticks(8),
            [5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        );
        assert_eq!(
            Scale::log(0.1, 5000.0, 0.0, 1.0).ticks(8),
            [0.1, 1.0, 10.0, 100.0, 1000.0]
        );
        for odd in [0.0, 1e-320, 1e308, f64::INFINITY, f64::NAN] {
            assert!(Scale::linear(odd, 0.0, 100.0).ticks(3).len() < 102, "{odd}");
            assert!(
                Scale::log(odd, 1e308, 0.0, 1.0).ticks(3).len() < 5_000,
                "{odd}"
            );
        }
    }

    #[test]
    fn a_figure_has_its_place() {
        let scale = Scale::log(1.0, 100.0, 200.0, 0.0);
        assert!((scale.at(10.0) - 100.0).abs() < 1e-9);
        assert!((scale.clamped(1e6)).abs() < 1e-9);
        assert!((Scale::linear(10.0, 0.0, 50.0).at(5.0) - 25.0).abs() < 1e-9);
    }
}

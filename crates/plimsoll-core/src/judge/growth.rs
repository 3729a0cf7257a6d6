//! Whether what is in flight grows without end: then response times depend on how long one looks.

use crate::statistics::Line;

/// Growth of what is in flight, as a share of all arrivals, from which more comes in than is served (capacity-science B.3):
/// at 100/s over 10 s, 31 more in flight at the end than at the beginning.
pub const GROWTH_RATIO: f64 = 0.03;
/// How sure the trend must be: t of a line through the windows. Neighbouring seconds of a queue resemble each other, which
/// makes t too large; twice the 2 of independent values keeps a queue that wanders near its capacity from counting.
const T_LEAST: f64 = 4.0;
/// The least growth: below it the ends of a few requests decide (B.3).
const COUNT_LEAST: f64 = 10.0;
/// Fewer windows show no trend.
const WINDOWS_LEAST: usize = 4;

/// The trend of what is in flight over the windows of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// How many more are in flight at the end than at the beginning, by a line through all windows.
    pub count: f64,
    pub arrivals: u64,
    t: f64,
}

impl Growth {
    /// N(i) = a + b·i by least squares over windows i = 0 … n − 1; growth b·n. `None` below four windows.
    ///
    /// 5, 15, 25, 35 in flight, 100 due in each: b = 10, growth 40 of 400 arrivals, 10 %.
    pub fn over_windows(in_flight: &[f64], arrivals: u64) -> Option<Self> {
        if in_flight.len() < WINDOWS_LEAST {
            return None;
        }
        let windows = in_flight.iter().enumerate();
        let line = Line::through(windows.map(|(index, count)| (index as f64, *count)))?;
        Some(Self {
            count: line.slope * in_flight.len() as f64,
            arrivals,
            t: line.t,
        })
    }

    /// By more than a few, and by more than a share of what arrived: enough to warn, and to look for why.
    pub fn exceeds(self) -> bool {
        self.count > COUNT_LEAST && self.count > GROWTH_RATIO * self.arrivals as f64
    }

    /// And surely: enough to fail a level for it.
    pub fn is_without_end(self) -> bool {
        self.t > T_LEAST && self.exceeds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_grows_steadily_and_three_that_do_not() {
        let grows = Growth::over_windows(&[5.0, 15.0, 25.0, 35.0], 400).unwrap();
        assert!((grows.count - 40.0).abs() < 1e-9 && grows.is_without_end());
        let slowly = Growth::over_windows(&[5.0, 15.0, 25.0, 35.0], 2_000).unwrap();
        assert!(!slowly.exceeds(), "2 % of the arrivals");
        let few = Growth::over_windows(&[1.0, 2.0, 3.0, 4.0], 40).unwrap();
        assert!(!few.exceeds(), "four requests");
        let noise = Growth::over_windows(&[5.0, 80.0, 10.0, 70.0, 30.0, 60.0], 600).unwrap();
        assert!(noise.exceeds() && !noise.is_without_end(), "{noise:?}");
        assert_eq!(Growth::over_windows(&[1.0, 50.0, 100.0], 300), None);
    }
}

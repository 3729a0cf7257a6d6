//! Both clocks over the percentiles of one level.

use plimsoll_core::tally::{Quantile, Tally};

use super::level::tail_rank;

/// Values between two decades of rarity; finer than a pixel of the wide chart is wasted.
const STEPS_PER_DECADE: u32 = 24;
/// Attempts that must lie beyond the last percentile drawn.
const TAIL_ATTEMPTS: u64 = 3;

/// One percentile: `decades` is log10(1/(1−q)), so 1 is p90 and 2 is p99.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpectrumPoint {
    pub(crate) decades: f64,
    pub(crate) response_ms: f64,
    pub(crate) service_ms: Option<f64>,
}

/// Response and service time over all attempts, up to where failures begin.
#[derive(Debug, Clone)]
pub(crate) struct Spectrum {
    pub(crate) points: Vec<SpectrumPoint>,
    /// Where failures begin, in decades, if that lies on the axis.
    pub(crate) failed_from: Option<f64>,
    /// End of the axis in decades, 1 to 5.
    pub(crate) end: f64,
}

impl Spectrum {
    /// `None` without a single timed answer.
    pub(crate) fn new(tally: &Tally) -> Option<Self> {
        let attempts = tally.decided();
        tally.response_quantile(0.000_1)?.finite()?;
        let mut end = 1.0;
        for (decades, q) in [(2.0, 0.99), (3.0, 0.999), (4.0, 0.9999), (5.0, 0.99999)] {
            if tail_rank(q, attempts) >= TAIL_ATTEMPTS {
                end = decades;
            }
        }
        let failed = tally.failed_ratio()?;
        let failed_from = (failed > 0.0).then(|| -failed.log10()).filter(|x| *x < end);
        let last = (end * f64::from(STEPS_PER_DECADE)).round() as u32;
        let points = (0..=last)
            .map(|step| f64::from(step) / f64::from(STEPS_PER_DECADE))
            .filter_map(|decades| point(tally, decades))
            .collect();
        Some(Self {
            points,
            failed_from,
            end,
        })
    }

    /// The longest response time drawn, in milliseconds.
    pub(crate) fn longest_ms(&self) -> f64 {
        self.points
            .iter()
            .map(|point| point.response_ms)
            .fold(0.0, f64::max)
    }
}

fn point(tally: &Tally, decades: f64) -> Option<SpectrumPoint> {
    let q = (1.0 - 10f64.powf(-decades)).max(1e-9);
    let milliseconds = |value: Option<Quantile>| {
        value
            .and_then(Quantile::finite)
            .map(plimsoll_core::Nanos::as_millis_f64)
    };
    Some(SpectrumPoint {
        decades,
        response_ms: milliseconds(tally.response_quantile(q))?,
        service_ms: milliseconds(tally.service_quantile(q)),
    })
}

//! Windows of samples, as Netflix's limits are fed with: a second and ten samples at least.

use plimsoll_core::Nanos;

use super::super::limit::{Answer, Ended};

const LENGTH: Nanos = Nanos::from_secs(1);
const SAMPLES_LEAST: u32 = 10;
/// Samples below it are taken for noise.
const SHORTEST: Nanos = Nanos::from_micros(100);

#[derive(Debug, Default)]
pub(super) struct Window {
    end: Nanos,
    samples: u32,
    seconds: f64,
    in_flight_most: u32,
    dropped: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// Mean latency in seconds.
    pub(super) mean: f64,
    pub(super) in_flight_most: f64,
    pub(super) dropped: bool,
}

impl Window {
    /// The window that this answer has ended.
    pub(super) fn add(&mut self, answer: &Answer) -> Option<Sample> {
        self.in_flight_most = self.in_flight_most.max(answer.in_flight);
        if matches!(answer.ended, Ended::Failed | Ended::Busy) {
            self.dropped = true;
        } else if answer.took >= SHORTEST {
            self.samples += 1;
            self.seconds += answer.took.as_secs_f64();
        }
        if answer.now < self.end || self.samples < SAMPLES_LEAST {
            return None;
        }
        let sample = Sample {
            mean: self.seconds / f64::from(self.samples),
            in_flight_most: f64::from(self.in_flight_most),
            dropped: self.dropped,
        };
        *self = Self {
            end: answer.now + LENGTH,
            ..Self::default()
        };
        Some(sample)
    }
}

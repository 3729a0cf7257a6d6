//! How full a service is, from 0 to 1: for balancers, smoothed over a second.

use plimsoll_core::Nanos;

const STEP: Nanos = Nanos::from_millis(50);
const SMOOTHED_SECONDS: f64 = 1.0;

#[derive(Debug, Default)]
pub(super) struct Saturation {
    at: Nanos,
    value: f64,
    refused: u64,
}

impl Saturation {
    /// `used` of the limit, and so many refused since the start: while that grows, it is full.
    pub(super) fn follow(&mut self, now: Nanos, used: f64, refused: u64) {
        if now - self.at < STEP {
            return;
        }
        let seconds = (now - self.at).as_secs_f64();
        self.at = now;
        let seen = if refused > self.refused {
            1.0
        } else {
            used.min(1.0)
        };
        self.refused = refused;
        let weight = seconds / (seconds + SMOOTHED_SECONDS);
        self.value += weight * (seen - self.value);
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }
}

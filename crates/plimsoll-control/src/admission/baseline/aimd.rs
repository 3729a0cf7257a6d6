//! Additive increase, multiplicative decrease, with the defaults of Netflix's concurrency-limits.

use plimsoll_core::Nanos;

use super::super::limit::{Answer, Ended, Explained, Limit};

const FIRST: f64 = 20.0;
const LEAST: f64 = 20.0;
const MOST: f64 = 200.0;
const BACK_OFF: f64 = 0.9;
const TIMEOUT: Nanos = Nanos::from_secs(5);

#[derive(Debug)]
pub(in super::super) struct Aimd {
    limit: f64,
}

impl Default for Aimd {
    fn default() -> Self {
        Self { limit: FIRST }
    }
}

impl Limit for Aimd {
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn answered(&mut self, answer: &Answer) {
        let dropped = matches!(answer.ended, Ended::Failed | Ended::Busy | Ended::Left);
        if dropped || answer.took > TIMEOUT {
            self.limit *= BACK_OFF;
        } else if f64::from(answer.in_flight) * 2.0 >= self.limit {
            self.limit += 1.0;
        }
        self.limit = self.limit.clamp(LEAST, MOST);
    }

    fn explain(&self) -> Explained {
        Explained {
            level: self.limit,
            ..Explained::default()
        }
    }
}

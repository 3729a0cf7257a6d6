//! Vegas: the queue that the lowest latency ever seen implies, with the defaults of Netflix's concurrency-limits.

use plimsoll_base::random::Rng;

use super::super::limit::{Answer, Explained, Limit};
use super::window::{Sample, Window};

const FIRST: f64 = 20.0;
const MOST: f64 = 1000.0;
/// A new baseline every so many limits' worth of windows, times a random share.
const PROBE_EVERY: f64 = 30.0;

#[derive(Debug)]
pub(in super::super) struct Vegas {
    limit: f64,
    idle_seconds: Option<f64>,
    windows: f64,
    jitter: f64,
    window: Window,
    rng: Rng,
}

impl Vegas {
    pub(in super::super) fn new(seed: u64) -> Self {
        Self {
            limit: FIRST,
            idle_seconds: None,
            windows: 0.0,
            jitter: 1.0,
            window: Window::default(),
            rng: Rng::new(seed, 1),
        }
    }

    fn update(&mut self, sample: Sample) {
        self.windows += 1.0;
        let Some(idle) = self.idle_seconds.filter(|idle| sample.mean >= *idle) else {
            self.idle_seconds = Some(sample.mean);
            return;
        };
        if self.windows >= PROBE_EVERY * self.limit * self.jitter {
            self.windows = 0.0;
            self.jitter = 0.5 + self.rng.unit() / 2.0;
            self.idle_seconds = Some(sample.mean);
            return;
        }
        let unit = libm::log10(self.limit).max(1.0).trunc();
        let queue = (self.limit * (1.0 - idle / sample.mean)).ceil();
        if sample.dropped {
            self.limit -= unit;
        } else if sample.in_flight_most * 2.0 < self.limit {
            return;
        } else if queue <= unit {
            self.limit += 6.0 * unit;
        } else if queue < 3.0 * unit {
            self.limit += unit;
        } else if queue > 6.0 * unit {
            self.limit -= unit;
        }
        self.limit = self.limit.clamp(1.0, MOST);
    }
}

impl Limit for Vegas {
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn answered(&mut self, answer: &Answer) {
        if let Some(sample) = self.window.add(answer) {
            self.update(sample);
        }
    }

    fn explain(&self) -> Explained {
        Explained {
            level: self.limit,
            ..Explained::default()
        }
    }
}

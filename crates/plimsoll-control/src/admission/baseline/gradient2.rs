//! Gradient2: short latency against a long average of it, with the defaults of Netflix's concurrency-limits.

use super::super::limit::{Answer, Explained, Limit};
use super::window::{Sample, Window};

const FIRST: f64 = 20.0;
const LEAST: f64 = 20.0;
const MOST: f64 = 200.0;
const QUEUE: f64 = 4.0;
const TOLERANCE: f64 = 1.5;
const SMOOTHING: f64 = 0.2;
/// Windows of the long average; its first ones are a plain mean.
const LONG: f64 = 600.0;
const WARM_UP: f64 = 10.0;

#[derive(Debug)]
pub(in super::super) struct Gradient2 {
    limit: f64,
    long_seconds: f64,
    windows: f64,
    window: Window,
}

impl Default for Gradient2 {
    fn default() -> Self {
        Self {
            limit: FIRST,
            long_seconds: 0.0,
            windows: 0.0,
            window: Window::default(),
        }
    }
}

impl Gradient2 {
    fn update(&mut self, sample: Sample) {
        self.windows += 1.0;
        let weight = if self.windows <= WARM_UP {
            1.0 / self.windows
        } else {
            2.0 / (LONG + 1.0)
        };
        self.long_seconds += weight * (sample.mean - self.long_seconds);
        if self.long_seconds / sample.mean > 2.0 {
            self.long_seconds *= 0.95;
        }
        if sample.in_flight_most < self.limit / 2.0 {
            return;
        }
        let gradient = (TOLERANCE * self.long_seconds / sample.mean).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + QUEUE;
        self.limit = (self.limit * (1.0 - SMOOTHING) + wanted * SMOOTHING).clamp(LEAST, MOST);
    }
}

impl Limit for Gradient2 {
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

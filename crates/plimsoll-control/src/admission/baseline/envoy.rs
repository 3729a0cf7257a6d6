//! Envoy's gradient controller: latency against a minimum that is measured again at three requests at a time.

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;

use super::super::limit::{Answer, Demand, Ended, Explained, Limit};

const LEAST: f64 = 3.0;
const MOST: f64 = 1000.0;
/// Answers that a measurement of the minimum takes.
const MINIMUM_ANSWERS: usize = 50;
/// The minimum is allowed to be so much larger.
const BUFFER: f64 = 1.25;
const JITTER: f64 = 0.15;
/// As in the examples of its documentation.
const MINIMUM_EVERY: Nanos = Nanos::from_secs(60);
const UPDATE_EVERY: Nanos = Nanos::from_millis(100);
/// Windows at the least limit after which the minimum is measured again.
const STUCK_WINDOWS: u32 = 5;

#[derive(Debug)]
pub(in super::super) struct Envoy {
    limit: f64,
    minimum: f64,
    measuring: bool,
    measured_next: Nanos,
    update_next: Nanos,
    stuck: u32,
    samples: Vec<f64>,
    rng: Rng,
}

impl Envoy {
    pub(in super::super) fn new(seed: u64) -> Self {
        Self {
            limit: LEAST,
            minimum: 0.0,
            measuring: true,
            measured_next: Nanos::ZERO,
            update_next: Nanos::ZERO,
            stuck: 0,
            samples: Vec::new(),
            rng: Rng::new(seed, 2),
        }
    }

    fn median(&mut self) -> Option<f64> {
        let middle = self.samples.len() / 2;
        self.samples.sort_by(f64::total_cmp);
        let median = self.samples.get(middle).copied();
        self.samples.clear();
        median
    }

    fn measure(&mut self) {
        self.measuring = true;
        self.samples.clear();
        self.limit = LEAST;
    }

    fn measured(&mut self, now: Nanos) {
        if let Some(median) = self.median() {
            self.minimum = median;
        }
        self.measuring = false;
        let every = MINIMUM_EVERY.as_secs_f64() * (1.0 + JITTER * self.rng.unit());
        self.measured_next = now + Nanos::from_secs_f64(every);
        self.update_next = now + UPDATE_EVERY;
    }

    fn update(&mut self, now: Nanos) {
        self.update_next = now + UPDATE_EVERY;
        let Some(median) = self.median() else {
            return;
        };
        let gradient = (self.minimum * BUFFER / median).clamp(0.5, 2.0);
        let wanted = self.limit * gradient;
        self.limit = (wanted + libm::sqrt(wanted)).clamp(LEAST, MOST);
        self.stuck = if self.limit <= LEAST {
            self.stuck + 1
        } else {
            0
        };
        if self.stuck >= STUCK_WINDOWS {
            self.stuck = 0;
            self.measure();
        }
    }
}

impl Limit for Envoy {
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn turn(&mut self, now: Nanos, _in_flight: u32, _demand: Demand) {
        if self.measuring {
            return;
        }
        if now >= self.measured_next {
            self.measure();
        } else if now >= self.update_next {
            self.update(now);
        }
    }

    fn answered(&mut self, answer: &Answer) {
        if matches!(answer.ended, Ended::Failed | Ended::Busy) {
            return;
        }
        self.samples.push(answer.took.as_secs_f64());
        if self.measuring && self.samples.len() >= MINIMUM_ANSWERS {
            self.measured(answer.now);
        }
    }

    fn explain(&self) -> Explained {
        Explained {
            level: self.limit,
            is_probing: self.measuring,
            ..Explained::default()
        }
    }
}

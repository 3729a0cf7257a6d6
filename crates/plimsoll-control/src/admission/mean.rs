//! The mean of how long answers take, over some of the last and some seconds.

use plimsoll_core::Nanos;

/// So many answers are looked back on at least,
const ANSWERS: f64 = 300.0;
/// and so much time: three hundred answers of a fast service come within a pause of it, and say nothing of what it does after.
const SECONDS: f64 = 5.0;

#[derive(Debug)]
pub(super) struct Mean {
    seconds: f64,
    count: f64,
    /// Answers of the last seconds, those of long ago faded.
    recent: f64,
    at: Nanos,
}

impl Mean {
    pub(super) fn new(now: Nanos) -> Self {
        Self {
            seconds: 0.0,
            count: 0.0,
            recent: 0.0,
            at: now,
        }
    }

    /// Zero before the first answer.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    pub(super) fn add(&mut self, now: Nanos, seconds: f64) {
        let passed = (now - self.at).as_secs_f64();
        self.at = now;
        self.count += 1.0;
        self.recent = self.recent / (1.0 + passed / SECONDS) + 1.0;
        self.seconds += (seconds - self.seconds) / self.recent.max(self.count.min(ANSWERS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(mean: &mut Mean, count: u64, every: Nanos, seconds: f64) {
        for _ in 0..count {
            mean.add(mean.at + every, seconds);
        }
    }

    #[test]
    fn a_pause_of_a_fast_service_leaves_its_mean_and_a_change_does_not() {
        let mut mean = Mean::new(Nanos::ZERO);
        let every = Nanos::from_micros(100);
        after(&mut mean, 100_000, every, 0.001);
        assert!((mean.seconds() - 0.001).abs() < 1e-9);
        after(&mut mean, 300, every, 0.01);
        assert!(mean.seconds() < 0.0012, "{}", mean.seconds());
        after(&mut mean, 200_000, every, 0.01);
        assert!(mean.seconds() > 0.009, "{}", mean.seconds());
    }

    #[test]
    fn of_a_slow_service_so_many_answers_count() {
        let mut mean = Mean::new(Nanos::ZERO);
        after(&mut mean, 1, Nanos::from_secs(1), 2.0);
        assert!((mean.seconds() - 2.0).abs() < 1e-9);
        after(&mut mean, 3, Nanos::from_secs(1), 1.0);
        assert!((mean.seconds() - 1.25).abs() < 1e-9, "{}", mean.seconds());
        after(&mut mean, 10_000, Nanos::from_secs(1), 1.0);
        assert!((mean.seconds() - 1.0).abs() < 1e-6);
    }
}

//! How long a slot must be: from the latencies and the rate of recent answers.

use plimsoll_core::Nanos;

/// Answers that the averages look back on.
const RECENT: f64 = 300.0;
/// Slots lengths in nanoseconds. A factor of four, so that guards that differ a little agree on the length.
const LADDER: [u64; 4] = [125_000_000, 500_000_000, 2_000_000_000, 8_000_000_000];
/// The longest slot, unless answers are too few for it: a latency that the overload made must not stretch the clock.
const LONGEST_BUT_FOR_FEW: usize = 2;
/// Answers that a slot must hold.
const ANSWERS_LEAST: f64 = 10.0;

#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    answers: f64,
    mean: f64,
    mean_square: f64,
    gap: f64,
    last: Option<Nanos>,
    /// The place of the slot's length in the ladder.
    rung: usize,
}

impl Pace {
    pub(super) fn answered(&mut self, now: Nanos, took: Nanos) {
        self.answers = (self.answers + 1.0).min(RECENT);
        let weight = 1.0 / self.answers;
        let seconds = took.as_secs_f64();
        self.mean += weight * (seconds - self.mean);
        self.mean_square += weight * (seconds * seconds - self.mean_square);
        if let Some(last) = self.last.replace(now) {
            self.gap += weight * ((now - last).as_secs_f64() - self.gap);
        }
    }

    /// Mean latency behind the guard, in seconds.
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// Size-biased latency: after this time what is in flight has been replaced.
    fn replaced(&self) -> f64 {
        if self.mean > 0.0 {
            self.mean_square / self.mean
        } else {
            0.0
        }
    }

    /// Variance over mean of the number of answers in a long time: of permits that each renew themselves it is the squared
    /// coefficient of variation of the latency. At least that of arrivals without memory.
    pub(super) fn dispersion(&self) -> f64 {
        let square = self.mean * self.mean;
        if square > 0.0 {
            (self.mean_square / square - 1.0).max(1.0)
        } else {
            1.0
        }
    }

    fn needed(&self) -> f64 {
        self.replaced().max(ANSWERS_LEAST * self.gap + self.mean)
    }

    fn highest(&self) -> usize {
        // What the overload itself adds to the mean is no reason for a longer slot.
        let few = ANSWERS_LEAST * self.gap + self.mean.min(0.5) > 2.0;
        if few {
            LADDER.len() - 1
        } else {
            LONGEST_BUT_FOR_FEW
        }
    }

    /// A longer slot at once where it is needed. True if the length has changed.
    pub(super) fn lengthen(&mut self) -> bool {
        let before = self.rung;
        let needed = self.needed();
        while self.rung < self.highest() && needed > self.slot().as_secs_f64() {
            self.rung += 1;
        }
        self.rung != before
    }

    /// A shorter slot, at the start of a cycle only.
    pub(super) fn shorten(&mut self) {
        while self.rung > 0
            && (self.needed() < self.slot().as_secs_f64() / 8.0 || self.rung > self.highest())
        {
            self.rung -= 1;
        }
    }

    pub(super) fn slot(&self) -> Nanos {
        Nanos(LADDER.get(self.rung).copied().unwrap_or(LADDER[0]))
    }

    pub(super) fn is_slowest(&self) -> bool {
        self.rung == LADDER.len() - 1
    }

    /// A slot of the ramp: settling and one replacement of what is in flight, a power of two of the shortest slot.
    pub(super) fn ramp_slot(&self) -> Nanos {
        let needed = self.mean + self.replaced().max(ANSWERS_LEAST * self.gap);
        let mut slot = LADDER[0];
        while slot < LADDER[2] && (slot as f64 / 1e9) < needed {
            slot *= 2;
        }
        Nanos(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paced(answers: u64, gap: Nanos, took: impl Fn(u64) -> Nanos) -> Pace {
        let mut pace = Pace::default();
        for index in 0..answers {
            pace.answered(gap.saturating_mul(index), took(index));
        }
        pace.lengthen();
        pace
    }

    /// Trap 2: a slot from three mean latencies (60 ms) would end before the slow class has been replaced.
    #[test]
    fn a_rare_slow_class_makes_the_slot_long_enough_for_it() {
        let took = |index| Nanos::from_millis(if index % 20 == 0 { 300 } else { 5 });
        let pace = paced(2_000, Nanos::from_millis(1), took);
        assert!((pace.mean() - 0.020).abs() < 0.003);
        assert_eq!(pace.slot(), Nanos::from_millis(500));
    }

    /// Trap 4: a latency that the overload has made gives no slot beyond two seconds.
    #[test]
    fn an_inflated_latency_stops_at_two_seconds_and_few_answers_do_not() {
        let slow = paced(2_000, Nanos::from_millis(5), |_| Nanos::from_secs(9));
        assert_eq!(slow.slot(), Nanos::from_secs(2));
        let few = paced(50, Nanos::from_millis(300), |_| Nanos::from_millis(300));
        assert_eq!(few.slot(), Nanos::from_secs(8));
        assert!(few.is_slowest());
    }
}

//! Learns a timeout from the ages at which the other side gives up: clients that leave, an upstream that answers 504.

use plimsoll_core::Nanos;

/// Bins in logarithms, a twelfth of an octave each: 6 % wide, from a millisecond to over an hour.
const PER_OCTAVE: f64 = 12.0;
const BINS: usize = 270;
const SHORTEST: f64 = 0.001;
/// Ends that are needed before anything is believed.
const LEAST: f64 = 20.0;
/// Share of the ends that must be of one age: people who leave have no common age, a timeout has.
const PEAK_RATIO: f64 = 0.5;
/// Old ends fade as new ones come, so that a timeout that changed is learned again.
const FADING: f64 = 1.0 - 1.0 / 200.0;

#[derive(Debug, Clone)]
pub(super) struct Patience {
    bins: Vec<f64>,
    total: f64,
    learned: Option<Nanos>,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            bins: vec![0.0; BINS],
            total: 0.0,
            learned: None,
        }
    }
}

impl Patience {
    pub(super) fn gave_up(&mut self, age: Nanos) {
        let octaves = libm::log2(age.as_secs_f64().max(SHORTEST) / SHORTEST);
        let bin = ((octaves * PER_OCTAVE) as usize).min(BINS - 1);
        self.bins.iter_mut().for_each(|bin| *bin *= FADING);
        self.bins[bin] += 1.0;
        self.total = self.total * FADING + 1.0;
        self.learned = self.peak();
    }

    /// The timeout, if the ends have one age.
    pub(super) fn learned(&self) -> Option<Nanos> {
        self.learned
    }

    fn peak(&self) -> Option<Nanos> {
        if self.total < LEAST {
            return None;
        }
        // A timeout lies at most on the border of two bins, and delays put some of it into the next.
        let pair = |at: usize| self.bins[at] + self.bins.get(at + 1).copied().unwrap_or(0.0);
        let at = (0..BINS).max_by(|one, two| pair(*one).total_cmp(&pair(*two)))?;
        let believed = pair(at) >= PEAK_RATIO * self.total;
        let lower = SHORTEST * libm::exp2(at as f64 / PER_OCTAVE);
        believed.then(|| Nanos::from_secs_f64(lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_age_is_a_timeout_and_a_spread_is_none() {
        let mut clients = Patience::default();
        for index in 0..100 {
            clients.gave_up(Nanos::from_millis(1000 + index % 7));
        }
        let learned = clients.learned().unwrap();
        assert!(learned <= Nanos::from_secs(1) && learned > Nanos::from_millis(930));

        let mut people = Patience::default();
        for index in 1..200 {
            people.gave_up(Nanos::from_millis(index * 37));
        }
        assert_eq!(people.learned(), None);
    }

    #[test]
    fn a_timeout_that_changed_is_learned_again() {
        let mut clients = Patience::default();
        for age in [1000, 5000] {
            for _ in 0..400 {
                clients.gave_up(Nanos::from_millis(age));
            }
        }
        assert!(clients.learned().unwrap() > Nanos::from_millis(4600));
    }
}

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
/// Where nobody has given up for so long nothing is known any more: who would show that it was wrong is refused because of it.
const FORGOTTEN: Nanos = Nanos::from_secs(60);
/// Whoever is answered after so many times the timeout does not have it.
const BEYOND: f64 = 1.25;
/// More of those are not counted: others may come that have it.
const OUTLIVED_MOST: f64 = 400.0;

#[derive(Debug, Clone)]
pub(super) struct Patience {
    bins: Vec<f64>,
    total: f64,
    peak: Option<Peak>,
    /// Answered although they had waited for longer than the peak says.
    outlived: f64,
    /// When somebody gave up last.
    at: Nanos,
}

/// The age that the ends have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Peak {
    bin: usize,
    age: Nanos,
    count: f64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            bins: vec![0.0; BINS],
            total: 0.0,
            peak: None,
            outlived: 0.0,
            at: Nanos::ZERO,
        }
    }
}

impl Patience {
    pub(super) fn gave_up(&mut self, now: Nanos, age: Nanos) {
        if self.is_forgotten(now) {
            *self = Self::default();
        }
        self.at = now;
        let octaves = libm::log2(age.as_secs_f64().max(SHORTEST) / SHORTEST);
        let bin = ((octaves * PER_OCTAVE) as usize).min(BINS - 1);
        self.bins.iter_mut().for_each(|bin| *bin *= FADING);
        self.bins[bin] += 1.0;
        self.total = self.total * FADING + 1.0;
        self.outlived *= FADING;
        let peak = self.find_peak();
        if peak.map(|peak| peak.bin) != self.peak.map(|peak| peak.bin) {
            self.outlived = 0.0;
        }
        self.peak = peak;
    }

    /// One was answered at this age.
    pub(super) fn stayed(&mut self, age: Nanos) {
        let is_beyond = |peak: Peak| age.as_secs_f64() > BEYOND * peak.age.as_secs_f64();
        if self.peak.is_some_and(is_beyond) {
            self.outlived = (self.outlived + 1.0).min(OUTLIVED_MOST);
        }
    }

    /// The timeout, if the ends have one age, and not more wait for longer than have it.
    pub(super) fn learned(&self, now: Nanos) -> Option<Nanos> {
        let peak = self.peak.filter(|_| !self.is_forgotten(now))?;
        (self.outlived <= peak.count).then_some(peak.age)
    }

    fn is_forgotten(&self, now: Nanos) -> bool {
        now - self.at > FORGOTTEN
    }

    fn find_peak(&self) -> Option<Peak> {
        if self.total < LEAST {
            return None;
        }
        // A timeout lies at most on the border of two bins, and delays put some of it into the next.
        let pair = |at: usize| self.bins[at] + self.bins.get(at + 1).copied().unwrap_or(0.0);
        let bin = (0..BINS).max_by(|one, two| pair(*one).total_cmp(&pair(*two)))?;
        let count = pair(bin);
        let lower = SHORTEST * libm::exp2(bin as f64 / PER_OCTAVE);
        (count >= PEAK_RATIO * self.total).then(|| Peak {
            bin,
            age: Nanos::from_secs_f64(lower),
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Nanos = Nanos::ZERO;

    #[test]
    fn a_common_age_is_a_timeout_and_a_spread_is_none() {
        let mut clients = Patience::default();
        for index in 0..100 {
            clients.gave_up(NOW, Nanos::from_millis(1000 + index % 7));
        }
        let learned = clients.learned(NOW).unwrap();
        assert!(learned <= Nanos::from_secs(1) && learned > Nanos::from_millis(930));

        let mut people = Patience::default();
        for index in 1..200 {
            people.gave_up(NOW, Nanos::from_millis(index * 37));
        }
        assert_eq!(people.learned(NOW), None);
    }

    #[test]
    fn a_timeout_that_changed_is_learned_again() {
        let mut clients = Patience::default();
        for age in [1000, 5000] {
            for _ in 0..400 {
                clients.gave_up(NOW, Nanos::from_millis(age));
            }
        }
        assert!(clients.learned(NOW).unwrap() > Nanos::from_millis(4600));
    }

    #[test]
    fn a_few_that_leave_early_are_not_everybody() {
        let mut clients = Patience::default();
        for _ in 0..25 {
            clients.gave_up(NOW, Nanos::from_millis(11));
        }
        assert!(clients.learned(NOW).is_some());
        for _ in 0..30 {
            clients.stayed(Nanos::from_millis(50));
        }
        assert_eq!(clients.learned(NOW), None);
        // Most are of that kind after all, and then of another.
        for age in [11, 1000] {
            for _ in 0..400 {
                clients.gave_up(NOW, Nanos::from_millis(age));
            }
            let learned = clients.learned(NOW).unwrap();
            assert!(learned <= Nanos::from_millis(age), "{learned}");
        }
    }

    #[test]
    fn what_nobody_has_confirmed_for_a_minute_is_forgotten() {
        let mut clients = Patience::default();
        for _ in 0..100 {
            clients.gave_up(NOW, Nanos::from_millis(200));
        }
        assert!(clients.learned(Nanos::from_secs(60)).is_some());
        assert_eq!(clients.learned(Nanos::from_secs(61)), None);
        clients.gave_up(Nanos::from_secs(61), Nanos::from_millis(200));
        assert_eq!(
            clients.learned(Nanos::from_secs(61)),
            None,
            "one says little"
        );
    }
}

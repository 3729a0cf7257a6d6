//! Who has had how much: service time per tenant or per route, in a bounded number of buckets, forgotten over seconds.

use plimsoll_core::Nanos;

/// What was had is worth less by e after so long.
const MEMORY: Nanos = Nanos::from_secs(5);
/// Who has more than so many times the fair share is greedy.
const GREEDY: f64 = 1.2;
/// As long as nobody was counted nobody is greedy, and all are turned away alike.
const COUNTED_EVERY: Nanos = Nanos::from_millis(100);
/// The growth of weights at which all are scaled down again.
const RESCALE: f64 = 1e12;

#[derive(Debug)]
pub(super) struct Shares {
    /// Seconds of service, each weighted by e^(its moment ÷ memory), so that nothing has to decay one by one.
    had: Vec<f64>,
    total: f64,
    zero: Nanos,
    salt: u64,
    /// How many had a share worth mentioning lately.
    active: f64,
    active_at: Nanos,
}

/// Where somebody is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bucket(u16);

impl Shares {
    /// More keys than buckets share some: memory stays bounded whatever keys are made up.
    pub(super) fn new(now: Nanos, salt: u64, buckets: u16) -> Self {
        Self {
            had: vec![0.0; usize::from(buckets.max(1))],
            total: 0.0,
            zero: now,
            salt,
            active: 1.0,
            active_at: now,
        }
    }

    /// The salt keeps strangers from choosing whose bucket they fall into.
    pub(super) fn bucket(&self, key: u64) -> Bucket {
        Bucket((mixed(key, self.salt) % self.had.len() as u64) as u16)
    }

    /// Negative takes back what was charged too much in advance.
    pub(super) fn charge(&mut self, now: Nanos, bucket: Bucket, seconds: f64) {
        let weight = self.weight(now);
        let had = &mut self.had[usize::from(bucket.0)];
        let before = *had;
        *had = (before + seconds * weight).max(0.0);
        self.total = (self.total + *had - before).max(0.0);
    }

    fn weight(&mut self, now: Nanos) -> f64 {
        let age = (now - self.zero).as_secs_f64() / MEMORY.as_secs_f64();
        let weight = libm::exp(age);
        if weight < RESCALE {
            return weight;
        }
        self.had.iter_mut().for_each(|had| *had /= weight);
        self.total = self.had.iter().sum();
        self.zero = now;
        1.0
    }

    /// In multiples of a fair share: 1 for one that had as much as the others on the average.
    pub(super) fn of_fair(&self, bucket: Bucket) -> f64 {
        if self.total > 0.0 {
            self.had[usize::from(bucket.0)] * self.active / self.total
        } else {
            0.0
        }
    }

    /// More than its share among those that had anything lately.
    pub(super) fn is_greedy(&self, bucket: Bucket) -> bool {
        self.active > 1.0 && self.of_fair(bucket) > GREEDY
    }

    /// Counts those that had something, now and then.
    pub(super) fn pass(&mut self, now: Nanos) {
        if now - self.active_at >= COUNTED_EVERY {
            self.active_at = now;
            let least = self.total * 1e-4;
            let active = self.had.iter().filter(|had| **had > least).count();
            self.active = active.max(1) as f64;
        }
    }
}

impl Bucket {
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// `SplitMix64`'s finish of both.
pub(super) fn mixed(key: u64, salt: u64) -> u64 {
    let mut z = key ^ salt;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_had_is_forgotten_and_the_greedy_one_is_named() {
        let mut shares = Shares::new(Nanos::ZERO, 7, 1024);
        let (one, two) = (shares.bucket(1), shares.bucket(2));
        for second in 0..600 {
            let now = Nanos::from_secs(second);
            shares.charge(now, one, 3.0);
            shares.charge(now, two, 1.0);
            shares.pass(now);
            assert!((shares.of_fair(one) / shares.of_fair(two) - 3.0).abs() < 1e-9);
        }
        assert!((shares.of_fair(one) - 1.5).abs() < 1e-9);
        assert!(shares.is_greedy(one) && !shares.is_greedy(two));
        // Half a minute later, what one had is worth nothing beside a second of now.
        shares.charge(Nanos::from_secs(640), two, 1.0);
        assert!(shares.of_fair(two) > 10.0 * shares.of_fair(one));
    }
}

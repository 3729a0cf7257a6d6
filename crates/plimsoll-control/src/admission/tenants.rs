//! Who has had how much: service time per tenant, in a bounded number of buckets, forgotten over seconds.

use plimsoll_core::Nanos;

/// More tenants than buckets share some: memory stays bounded whatever keys are made up.
const BUCKETS: usize = 1024;
/// What was had is worth less by e after so long.
const MEMORY: Nanos = Nanos::from_secs(5);
/// A tenant with more than so many times its fair share is greedy.
const GREEDY: f64 = 1.2;
/// The growth of weights at which all are scaled down again.
const RESCALE: f64 = 1e12;

#[derive(Debug)]
pub(super) struct Tenants {
    /// Seconds of service, each weighted by e^(its moment ÷ memory), so that nothing has to decay one by one.
    had: Vec<f64>,
    total: f64,
    zero: Nanos,
    salt: u64,
}

/// The bucket of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bucket(u16);

impl Tenants {
    pub(super) fn new(now: Nanos, salt: u64) -> Self {
        Self {
            had: vec![0.0; BUCKETS],
            total: 0.0,
            zero: now,
            salt,
        }
    }

    /// The salt keeps strangers from choosing whose bucket they fall into.
    pub(super) fn bucket(&self, tenant: u64) -> Bucket {
        Bucket((mixed(tenant, self.salt) % BUCKETS as u64) as u16)
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

    /// To compare tenants with each other, at one moment.
    pub(super) fn had(&self, bucket: Bucket) -> f64 {
        self.had[usize::from(bucket.0)]
    }

    /// More than its share among those that had anything lately.
    pub(super) fn is_greedy(&self, bucket: Bucket, active: f64) -> bool {
        active > 1.0 && self.had(bucket) * active > GREEDY * self.total
    }

    /// How many tenants had a share worth mentioning lately.
    pub(super) fn active(&self) -> f64 {
        let least = self.total * 1e-4;
        self.had.iter().filter(|had| **had > least).count() as f64
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
        let mut tenants = Tenants::new(Nanos::ZERO, 7);
        let (one, two) = (tenants.bucket(1), tenants.bucket(2));
        for second in 0..600 {
            let now = Nanos::from_secs(second);
            tenants.charge(now, one, 3.0);
            tenants.charge(now, two, 1.0);
            assert!((tenants.had(one) / tenants.had(two) - 3.0).abs() < 1e-9);
        }
        assert!(tenants.is_greedy(one, 2.0));
        assert!(!tenants.is_greedy(two, 2.0));
        // Half a minute later, what one had is worth nothing beside a second of now.
        tenants.charge(Nanos::from_secs(640), two, 1.0);
        assert!(tenants.had(two) > 10.0 * tenants.had(one));
    }
}

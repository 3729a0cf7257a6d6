//! When each arrival is due: a pure function of profile, process, seed and index, never of the last sleep.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::units::Nanos;
use plimsoll_base::random::Rng;

/// How arrivals are spread around the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Exponential gaps, as independent people make them; the default.
    #[default]
    Poisson,
    /// Equal gaps; less queueing than real traffic causes.
    Uniform,
}

/// An arrival rate over time: linear from `from_per_s` to `to_per_s`, then constant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateProfile {
    from_per_s: f64,
    to_per_s: f64,
    ramp_ns: Nanos,
}

/// A profile that no schedule can follow.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ProfileError {
    #[error("arrival rate {0} is not a positive number")]
    Rate(f64),
    #[error("a ramp needs a duration longer than zero")]
    NoDuration,
}

impl RateProfile {
    pub fn constant(rate_per_s: f64) -> Result<Self, ProfileError> {
        check_rate(rate_per_s)?;
        Ok(Self {
            from_per_s: rate_per_s,
            to_per_s: rate_per_s,
            ramp_ns: Nanos::ZERO,
        })
    }

    pub fn ramp(from_per_s: f64, to_per_s: f64, ramp_ns: Nanos) -> Result<Self, ProfileError> {
        check_rate(from_per_s)?;
        check_rate(to_per_s)?;
        if ramp_ns == Nanos::ZERO {
            return Err(ProfileError::NoDuration);
        }
        Ok(Self {
            from_per_s,
            to_per_s,
            ramp_ns,
        })
    }

    /// The same course, so many times as high.
    pub fn scaled(&self, factor: f64) -> Result<Self, ProfileError> {
        let (from_per_s, to_per_s) = (self.from_per_s * factor, self.to_per_s * factor);
        check_rate(from_per_s)?;
        check_rate(to_per_s)?;
        Ok(Self {
            from_per_s,
            to_per_s,
            ramp_ns: self.ramp_ns,
        })
    }

    /// The rate at `at` after the start, per second.
    pub fn rate_at(&self, at: Nanos) -> f64 {
        if at >= self.ramp_ns {
            return self.to_per_s;
        }
        let done = at.0 as f64 / self.ramp_ns.0 as f64;
        self.from_per_s + (self.to_per_s - self.from_per_s) * done
    }

    /// The constant rate, if it is one.
    pub fn constant_rate(&self) -> Option<f64> {
        (self.ramp_ns == Nanos::ZERO).then_some(self.to_per_s)
    }

    /// When the expected number of arrivals reaches `arrivals`: the inverse of the integrated rate.
    pub fn time_of(&self, arrivals: f64) -> Nanos {
        // a    rate at the start (`from_per_s`)          rate
        // b    rate after the ramp (`to_per_s`)           b |        ___________
        // T    length of the ramp                           |      /
        // k    its slope, (b - a) / T                       |    /   area to the
        // n    expected arrivals so far                   a |  /     left of t is n
        // t    the time that is asked for                   |__|____|__________
        //                                                      0    T          t
        //
        // On the ramp n is the area of a trapezium,         n = a·t + k·t²/2.
        // Behind it n is what the ramp brought and a box,   n = (a + b)/2 · T + b·(t - T).
        let ramp_seconds = self.ramp_ns.as_secs_f64();
        let on_ramp = f64::midpoint(self.from_per_s, self.to_per_s) * ramp_seconds;
        let seconds = if arrivals >= on_ramp {
            ramp_seconds + (arrivals - on_ramp) / self.to_per_s
        } else {
            // The textbook's root, t = (-a + √(a² + 2kn)) / k, divides by the slope and subtracts two nearly equal
            // numbers where that is small. Multiplied by (a + √…) above and below it does neither:
            //
            //     t = 2n / (a + √(a² + 2kn))
            //
            // The root is real on the ramp (it is the rate at t); rounding may bring it below zero where b is near zero.
            let slope = (self.to_per_s - self.from_per_s) / ramp_seconds;
            let root = (self.from_per_s * self.from_per_s + 2.0 * slope * arrivals).max(0.0);
            2.0 * arrivals / (self.from_per_s + libm::sqrt(root))
        };
        Nanos::from_secs_f64(seconds)
    }
}

fn check_rate(rate: f64) -> Result<(), ProfileError> {
    if rate.is_finite() && rate > 0.0 {
        Ok(())
    } else {
        Err(ProfileError::Rate(rate))
    }
}

/// The arrivals of one worker: every `stripes`-th of the single schedule, starting with `stripe`.
/// All stripes together are the schedule, whatever their number, also for seeded Poisson arrivals.
#[derive(Debug, Clone)]
pub struct Schedule {
    profile: RateProfile,
    process: Process,
    stripe: u64,
    stripes: u64,
    index: u64,
    /// Expected arrivals before `index`: index itself when uniform, a sum of exponentials when not.
    reached: f64,
}

#[derive(Debug, Clone)]
enum Process {
    Uniform,
    Poisson(Rng),
}

impl Schedule {
    pub fn new(
        profile: RateProfile,
        arrivals: Arrivals,
        seed: u64,
        stripe: u64,
        stripes: u64,
    ) -> Self {
        assert!(stripe < stripes, "stripe {stripe} of {stripes}");
        let process = match arrivals {
            Arrivals::Uniform => Process::Uniform,
            Arrivals::Poisson => Process::Poisson(Rng::new(seed, 0)),
        };
        Self {
            profile,
            process,
            stripe,
            stripes,
            index: 0,
            reached: 0.0,
        }
    }

    pub fn profile(&self) -> &RateProfile {
        &self.profile
    }

    /// Moves to the next arrival of the whole schedule and returns its place in expected arrivals.
    fn advance(&mut self) -> f64 {
        // A Poisson process of any rate is one of rate 1 on a clock that runs in expected arrivals: gaps there are
        // exponential with mean 1, and `RateProfile::time_of` turns that clock into time. So a ramp needs no thinning.
        match &mut self.process {
            // From the index, never added up: three million steps of 1/3 s would drift.
            Process::Uniform => self.reached = self.index as f64,
            Process::Poisson(rng) => self.reached += rng.exponential(),
        }
        self.index += 1;
        self.reached
    }
}

/// Intended starts of this stripe, from the start of the schedule; never ends, never goes back.
impl Iterator for Schedule {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        // Every stripe draws the whole schedule and keeps its own: all draw the same random numbers, so that together they
        // are the one schedule, however many there are.
        loop {
            let mine = self.index % self.stripes == self.stripe;
            let place = self.advance();
            if mine {
                return Some(self.profile.time_of(place));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn profiles() -> impl Strategy<Value = RateProfile> {
        prop_oneof![
            (1.0f64..1e5).prop_map(|rate| RateProfile::constant(rate).unwrap()),
            (1.0f64..1e4, 1.0f64..1e4, 1u64..100).prop_map(|(from, to, seconds)| {
                RateProfile::ramp(from, to, Nanos::from_secs(seconds)).unwrap()
            }),
        ]
    }

    proptest! {
        #[test]
        fn stripes_together_are_the_single_schedule(
            profile in profiles(), seed: u64, stripes in 1u64..7, poisson: bool
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
            let whole: Vec<_> =
                Schedule::new(profile, arrivals, seed, 0, 1).take(stripes as usize * 20).collect();
            let mut joined: Vec<_> = (0..stripes)
                .flat_map(|stripe| Schedule::new(profile, arrivals, seed, stripe, stripes).take(20))
                .collect();
            joined.sort();
            prop_assert_eq!(joined, whole);
        }

        #[test]
        fn schedules_never_go_back(profile in profiles(), seed: u64) {
            let times: Vec<_> =
                Schedule::new(profile, Arrivals::Poisson, seed, 0, 1).take(500).collect();
            prop_assert!(times.is_sorted());
        }

        #[test]
        fn time_of_inverts_the_integrated_rate(profile in profiles(), arrivals in 0.0f64..1e5) {
            let time = profile.time_of(arrivals);
            let ramp = profile.ramp_ns.as_secs_f64().min(time.as_secs_f64());
            let mean = f64::midpoint(profile.rate_at(Nanos::ZERO), profile.rate_at(Nanos::from_secs_f64(ramp)));
            let after = time.as_secs_f64() - ramp;
            let mean = if ramp == 0.0 { 0.0 } else { mean };
            let counted = mean * ramp + profile.to_per_s * after;
            prop_assert!((counted - arrivals).abs() <= 1e-4 * (1.0 + arrivals), "{counted} {arrivals}");
        }
    }

    #[test]
    fn uniform_arrivals_never_drift() {
        let profile = RateProfile::constant(3.0).unwrap();
        let last = Schedule::new(profile, Arrivals::Uniform, 0, 0, 1)
            .nth(3_000_000)
            .unwrap();
        assert_eq!(
            last,
            Nanos::from_secs(1_000_000),
            "start and index decide, nothing adds up"
        );
    }

    #[test]
    fn poisson_arrivals_have_the_rate() {
        let profile = RateProfile::constant(1000.0).unwrap();
        let last = Schedule::new(profile, Arrivals::Poisson, 9, 0, 1)
            .nth(100_000)
            .unwrap();
        assert!((last.as_secs_f64() - 100.0).abs() < 1.5, "{last}");
    }

    #[test]
    fn impossible_profiles_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(RateProfile::constant(rate).is_err());
        }
        assert_eq!(
            RateProfile::ramp(1.0, 2.0, Nanos::ZERO),
            Err(ProfileError::NoDuration)
        );
    }
}

//! When each arrival is due: a pure function of profile, process, seed and index, never of the last sleep.

mod legs;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::units::Nanos;
pub use legs::Leg;
use legs::{LEGS_MAX, Legs};
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

/// An arrival rate over time: linear from `from_per_s` to `to_per_s`, then constant; with legs from one to the next, then as
/// the last one ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateProfile {
    from_per_s: f64,
    to_per_s: f64,
    ramp_ns: Nanos,
    #[serde(default, skip_serializing_if = "Legs::is_empty")]
    legs: Legs,
}

/// A profile that no schedule can follow.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ProfileError {
    #[error("arrival rate {0} is not a positive number")]
    Rate(f64),
    #[error("a ramp needs a duration longer than zero")]
    NoDuration,
    #[error("{0} parts with rates are more than {LEGS_MAX}")]
    TooManyLegs(usize),
}

impl RateProfile {
    pub fn constant(rate_per_s: f64) -> Result<Self, ProfileError> {
        check_rate(rate_per_s)?;
        Ok(Self {
            from_per_s: rate_per_s,
            to_per_s: rate_per_s,
            ramp_ns: Nanos::ZERO,
            legs: Legs::default(),
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
            legs: Legs::default(),
        })
    }

    /// One leg after the other; a single one is a ramp.
    pub fn course(legs: &[Leg]) -> Result<Self, ProfileError> {
        let legs = Legs::new(legs)?;
        let all = legs.all();
        let (Some(first), Some(last)) = (all.first(), all.last()) else {
            return Err(ProfileError::NoDuration);
        };
        Ok(Self {
            from_per_s: first.from_per_s,
            to_per_s: last.to_per_s,
            ramp_ns: all.iter().fold(Nanos::ZERO, |sum, leg| sum + leg.length_ns),
            legs,
        })
    }

    /// The parts of a course.
    pub fn legs(&self) -> &[Leg] {
        self.legs.all()
    }

    /// From when to when the rate is above that of its beginning, if it begins with a constant one and comes back to that: an
    /// overload that ends.
    pub fn pulse(&self) -> Option<(Nanos, Nanos)> {
        let legs = self.legs.all();
        let usual = legs.first()?.from_per_s;
        let is_usual = |leg: &&Leg| {
            let ends = [leg.from_per_s, leg.to_per_s];
            ends.iter().all(|rate| rate.total_cmp(&usual).is_eq())
        };
        let before = legs.iter().take_while(is_usual).count();
        let after = legs.iter().rev().take_while(is_usual).count();
        let pulse = legs.get(before..legs.len().saturating_sub(after))?;
        let is_above = pulse
            .iter()
            .any(|leg| leg.from_per_s.max(leg.to_per_s) > usual);
        let length = |legs: &[Leg]| {
            legs.iter()
                .fold(Nanos::ZERO, |sum, leg| sum + leg.length_ns)
        };
        let from = length(legs.get(..before)?);
        (before > 0 && after > 0 && is_above).then(|| (from, from + length(pulse)))
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
            legs: self.legs.scaled(factor),
        })
    }

    /// The rate at `at` after the start, per second.
    pub fn rate_at(&self, at: Nanos) -> f64 {
        if at >= self.ramp_ns {
            return self.to_per_s;
        }
        let mut left = at;
        for leg in self.legs.all() {
            if left < leg.length_ns {
                return leg.rate_at(left);
            }
            left = left - leg.length_ns;
        }
        self.ramped().rate_at(at)
    }

    fn ramped(&self) -> Leg {
        Leg {
            from_per_s: self.from_per_s,
            to_per_s: self.to_per_s,
            length_ns: self.ramp_ns,
        }
    }

    /// The constant rate, if it is one.
    pub fn constant_rate(&self) -> Option<f64> {
        (self.ramp_ns == Nanos::ZERO).then_some(self.to_per_s)
    }

    /// When the expected number of arrivals reaches `arrivals`: the inverse of the integrated rate.
    pub fn time_of(&self, arrivals: f64) -> Nanos {
        let (mut left, mut seconds) = (arrivals, 0.0);
        let ramp = [self.ramped()];
        let legs = match self.legs.all() {
            [] => &ramp[..],
            legs => legs,
        };
        for leg in legs {
            if left < leg.arrivals() {
                return Nanos::from_secs_f64(seconds + leg.seconds_of(left));
            }
            left -= leg.arrivals();
            seconds += leg.length_ns.as_secs_f64();
        }
        Nanos::from_secs_f64(seconds + left / self.to_per_s)
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

    fn legs() -> impl Strategy<Value = Leg> {
        (1.0f64..1e4, 1.0f64..1e4, 1u64..100).prop_map(|(from_per_s, to_per_s, seconds)| Leg {
            from_per_s,
            to_per_s,
            length_ns: Nanos::from_secs(seconds),
        })
    }

    /// Expected arrivals until then, by adding up the rate of every hundredth of a second.
    fn counted(profile: &RateProfile, until: Nanos) -> f64 {
        const STEP: u64 = 10_000_000;
        let steps = (0..until.0 / STEP).map(|step| profile.rate_at(Nanos(step * STEP + STEP / 2)));
        let rest = (until.0 % STEP) as f64 / 1e9;
        steps.sum::<f64>() * STEP as f64 / 1e9 + rest * profile.rate_at(until)
    }

    fn profiles() -> impl Strategy<Value = RateProfile> {
        prop_oneof![
            (1.0f64..1e5).prop_map(|rate| RateProfile::constant(rate).unwrap()),
            (1.0f64..1e4, 1.0f64..1e4, 1u64..100).prop_map(|(from, to, seconds)| {
                RateProfile::ramp(from, to, Nanos::from_secs(seconds)).unwrap()
            }),
            proptest::collection::vec(legs(), 1..=LEGS_MAX)
                .prop_map(|legs| RateProfile::course(&legs).unwrap()),
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
            if profile.legs.is_empty() {
                let ramp = profile.ramp_ns.as_secs_f64().min(time.as_secs_f64());
                let mean = f64::midpoint(profile.rate_at(Nanos::ZERO), profile.rate_at(Nanos::from_secs_f64(ramp)));
                let after = time.as_secs_f64() - ramp;
                let mean = if ramp == 0.0 { 0.0 } else { mean };
                let counted = mean * ramp + profile.to_per_s * after;
                prop_assert!((counted - arrivals).abs() <= 1e-4 * (1.0 + arrivals), "{counted} {arrivals}");
            }
        }

        #[test]
        fn a_course_brings_as_many_as_its_legs(
            legs in proptest::collection::vec(legs(), 1..=LEGS_MAX), share in 0.01f64..0.99
        ) {
            let profile = RateProfile::course(&legs).unwrap();
            let all: f64 = legs.iter().map(Leg::arrivals).sum();
            let asked = all * share;
            let counted = counted(&profile, profile.time_of(asked));
            prop_assert!((counted - asked).abs() <= 1e-3 * (100.0 + asked), "{counted} {asked}");
            let end = profile.time_of(all).as_secs_f64();
            prop_assert!((end - profile.ramp_ns.as_secs_f64()).abs() < 1e-6, "{end}");
            let text = serde_json::to_string(&profile).unwrap();
            let read: RateProfile = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.legs.count, profile.legs.count);
            prop_assert_eq!(read.ramp_ns, profile.ramp_ns);
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

    fn flat(rate: f64, seconds: u64) -> Leg {
        Leg {
            from_per_s: rate,
            to_per_s: rate,
            length_ns: Nanos::from_secs(seconds),
        }
    }

    #[test]
    fn an_overload_that_ends_is_a_pulse_and_one_that_stays_is_none() {
        let up = Leg {
            to_per_s: 300.0,
            ..flat(100.0, 2)
        };
        let pulse = |legs: &[Leg]| RateProfile::course(legs).unwrap().pulse();
        let seconds = |from, to| Some((Nanos::from_secs(from), Nanos::from_secs(to)));
        assert_eq!(
            pulse(&[flat(100.0, 5), flat(300.0, 2), flat(100.0, 9)]),
            seconds(5, 7)
        );
        assert_eq!(
            pulse(&[
                flat(100.0, 5),
                flat(100.0, 1),
                up,
                flat(100.0, 3),
                flat(100.0, 3)
            ]),
            seconds(6, 8)
        );
        assert_eq!(pulse(&[flat(100.0, 5), up]), None);
        assert_eq!(
            pulse(&[flat(100.0, 5), flat(20.0, 2), flat(100.0, 5)]),
            None
        );
        assert_eq!(pulse(&[flat(100.0, 5)]), None);
        assert_eq!(RateProfile::constant(5.0).unwrap().pulse(), None);
    }

    #[test]
    fn impossible_profiles_are_refused() {
        let many = [flat(1.0, 1); LEGS_MAX + 1];
        assert_eq!(
            RateProfile::course(&many),
            Err(ProfileError::TooManyLegs(LEGS_MAX + 1))
        );
        assert_eq!(
            RateProfile::course(&[flat(1.0, 0)]),
            Err(ProfileError::NoDuration)
        );
        assert_eq!(RateProfile::course(&[]), Err(ProfileError::NoDuration));
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(RateProfile::constant(rate).is_err());
        }
        assert_eq!(
            RateProfile::ramp(1.0, 2.0, Nanos::ZERO),
            Err(ProfileError::NoDuration)
        );
    }
}

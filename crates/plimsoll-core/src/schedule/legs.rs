//! Parts of a course of arrival rates, so many at most that a course is copied like a number.

use serde::{Deserialize, Serialize};

use super::{ProfileError, check_rate};
use crate::units::Nanos;

/// A part of a course: linear from one rate to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    pub from_per_s: f64,
    pub to_per_s: f64,
    pub length_ns: Nanos,
}

impl Leg {
    pub(super) fn rate_at(&self, at: Nanos) -> f64 {
        let done = at.0 as f64 / self.length_ns.0 as f64;
        self.from_per_s + (self.to_per_s - self.from_per_s) * done
    }

    /// Expected on all of it.
    pub(super) fn arrivals(&self) -> f64 {
        f64::midpoint(self.from_per_s, self.to_per_s) * self.length_ns.as_secs_f64()
    }

    /// When so many are expected since its beginning, fewer than all of it.
    pub(super) fn seconds_of(&self, arrivals: f64) -> f64 {
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
        //
        // The textbook's root, t = (-a + √(a² + 2kn)) / k, divides by the slope and subtracts two nearly equal
        // numbers where that is small. Multiplied by (a + √…) above and below it does neither:
        //
        //     t = 2n / (a + √(a² + 2kn))
        //
        // The root is real on the ramp (it is the rate at t); rounding may bring it below zero where b is near zero.
        let slope = (self.to_per_s - self.from_per_s) / self.length_ns.as_secs_f64();
        let root = (self.from_per_s * self.from_per_s + 2.0 * slope * arrivals).max(0.0);
        2.0 * arrivals / (self.from_per_s + libm::sqrt(root))
    }
}

/// As many at most: before, up, an overload, down and after. A profile is copied like a number, so that it stays small.
pub(super) const LEGS_MAX: usize = 5;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Leg>", into = "Vec<Leg>")]
pub(super) struct Legs {
    pub(super) count: usize,
    legs: [Leg; LEGS_MAX],
}

impl Legs {
    pub(super) fn new(all: &[Leg]) -> Result<Self, ProfileError> {
        let mut legs = [Leg::default(); LEGS_MAX];
        let Some(room) = legs.get_mut(..all.len()) else {
            return Err(ProfileError::TooManyLegs(all.len()));
        };
        for leg in all {
            check_rate(leg.from_per_s)?;
            check_rate(leg.to_per_s)?;
            if leg.length_ns == Nanos::ZERO {
                return Err(ProfileError::NoDuration);
            }
        }
        room.copy_from_slice(all);
        Ok(Self {
            count: all.len(),
            legs,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn all(&self) -> &[Leg] {
        self.legs.get(..self.count).unwrap_or_default()
    }

    pub(super) fn scaled(mut self, factor: f64) -> Self {
        for leg in &mut self.legs {
            leg.from_per_s *= factor;
            leg.to_per_s *= factor;
        }
        self
    }
}

impl From<Legs> for Vec<Leg> {
    fn from(legs: Legs) -> Self {
        legs.all().to_vec()
    }
}

impl TryFrom<Vec<Leg>> for Legs {
    type Error = ProfileError;

    fn try_from(legs: Vec<Leg>) -> Result<Self, ProfileError> {
        Self::new(&legs)
    }
}

//! Time with a unit: nanoseconds, saturating, shown with three digits.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A duration, or an instant counted from the start of the run, in nanoseconds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(u64::MAX);

    pub const fn from_micros(value: u64) -> Self {
        Self(value.saturating_mul(1_000))
    }

    pub const fn from_millis(value: u64) -> Self {
        Self(value.saturating_mul(1_000_000))
    }

    pub const fn from_secs(value: u64) -> Self {
        Self(value.saturating_mul(1_000_000_000))
    }

    /// Rounds to the nearest nanosecond; negative and NaN become zero, too large becomes the maximum.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Saturates at zero: the difference of two clocks is never negative by more than a rounding error.
impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

/// Three significant digits and the unit that fits: `812 ns`, `1.24 ms`, `12.4 s`, `3 min 20 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.as_secs_f64();
        match self.0 {
            0 => f.write_str("0 s"),
            1..=999 => write!(f, "{} ns", self.0),
            1_000..=999_499 => write!(f, "{} µs", three_digits(seconds * 1e6)),
            999_500..=999_499_999 => write!(f, "{} ms", three_digits(seconds * 1e3)),
            999_500_000..=119_999_999_999 => write!(f, "{} s", three_digits(seconds)),
            _ => {
                let whole = seconds.round() as u64;
                match whole % 60 {
                    0 => write!(f, "{} min", whole / 60),
                    rest => write!(f, "{} min {rest} s", whole / 60),
                }
            }
        }
    }
}

/// Three significant digits without trailing noise: `1.24`, `12.4`, `124`, `1240`.
pub fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || magnitude >= 99.95 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_with_three_digits() {
        for (nanos, text) in [
            (0, "0 s"),
            (812, "812 ns"),
            (1_240, "1.24 µs"),
            (999_600, "1.00 ms"),
            (12_400_000, "12.4 ms"),
            (1_500_000_000, "1.50 s"),
            (200_000_000_000, "3 min 20 s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
    }
}

//! A sum of decimal numbers that does not depend on the order of addition.

use serde::{Deserialize, Serialize};

/// Units per one. Times are milliseconds with at most six decimals, so their sums are exact; what
/// is left below 10⁻¹² is rounded once per value.
const SCALE: f64 = 1e12;

/// A sum in units of 10⁻¹². Values up to 10¹⁸ can be added a hundred million times; beyond it stays
/// at the largest sum there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub(super) struct Sum(i128);

impl Sum {
    pub(super) const ZERO: Self = Self(0);

    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        self.0 = self.0.saturating_add((value * SCALE).round() as i128);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    pub(super) fn value(self) -> f64 {
        self.0 as f64 / SCALE
    }
}

/// In a record it is a number: exact to a double's 53 bits.
impl From<f64> for Sum {
    fn from(value: f64) -> Self {
        let mut sum = Self::ZERO;
        sum.add(value);
        sum
    }
}

impl From<Sum> for f64 {
    fn from(sum: Sum) -> Self {
        sum.value()
    }
}

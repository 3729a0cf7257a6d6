//! MongoDB's numbers: int, long, double and decimal compare exactly and promote in arithmetic.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use bson::Bson;

use super::decimal::Decimal;
use super::view::Value;

/// 2^63, the first double above every long.
const LONG_END: f64 = (1_u64 << 63) as f64;

/// A number of one of BSON's four types.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Int(i32),
    Long(i64),
    Double(f64),
    Decimal(Decimal),
}

impl Number {
    pub(crate) fn from_value(value: &Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Int(value) => Self::Int(*value),
            Value::Long(value) => Self::Long(*value),
            Value::Double(value) => Self::Double(*value),
            Value::Decimal(bytes) => Self::Decimal(Decimal::from_bytes(*bytes)),
            _ => return None,
        })
    }

    pub(crate) fn from_bson(value: &Bson) -> Option<Self> {
        Self::from_value(&Value::from_scalar(value)?)
    }

    pub(crate) fn to_bson(self) -> Bson {
        match self {
            Self::Int(value) => Bson::Int32(value),
            Self::Long(value) => Bson::Int64(value),
            Self::Double(value) => Bson::Double(value),
            Self::Decimal(value) => Bson::Decimal128(value.into()),
        }
    }

    /// Exactly, whatever the types. NaN equals NaN and is below all else; -0 equals 0.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self.integer(), other.integer()) {
            (Some(left), Some(right)) => left.cmp(&right),
            (Some(left), None) => other.compare_integer(left).reverse(),
            (None, Some(right)) => self.compare_integer(right),
            (None, None) => match (self, other) {
                (Self::Decimal(left), Self::Decimal(right)) => left.compare(right),
                (Self::Decimal(left), other) => left.compare_f64(other.to_f64()),
                (left, Self::Decimal(right)) => right.compare_f64(left.to_f64()).reverse(),
                (left, right) => compare_f64(left.to_f64(), right.to_f64()),
            },
        }
    }

    fn compare_integer(&self, integer: i64) -> Ordering {
        match self {
            Self::Int(value) => i64::from(*value).cmp(&integer),
            Self::Long(value) => value.cmp(&integer),
            Self::Double(value) => compare_f64_integer(*value, integer),
            Self::Decimal(value) => value.compare(&Decimal::integer(integer)),
        }
    }

    /// The value of an int or long.
    pub(crate) const fn integer(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value as i64),
            Self::Long(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer it equals, whatever its type: `3.0` is 3, `3.5` none.
    pub(crate) fn to_i64_exact(self) -> Option<i64> {
        match self {
            Self::Decimal(value) => value.to_i64_exact(),
            Self::Double(value) if value.fract() != 0.0 => None,
            _ => self.to_i64(),
        }
    }

    /// Without the fraction; `None` beyond 64 bits and for NaN.
    pub(crate) fn to_i64(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value.into()),
            Self::Long(value) => Some(value),
            Self::Double(value) => (-LONG_END..LONG_END)
                .contains(&value)
                .then_some(value as i64),
            Self::Decimal(value) => value.to_i64(),
        }
    }

    /// The nearest double.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value.into(),
            Self::Long(value) => value as f64,
            Self::Double(value) => value,
            Self::Decimal(value) => value.to_f64(),
        }
    }

    /// As MongoDB brings it into decimal arithmetic: a double with 15 digits.
    pub(crate) fn to_decimal(self) -> Decimal {
        match self {
            Self::Int(value) => Decimal::integer(value.into()),
            Self::Long(value) => Decimal::integer(value),
            Self::Double(value) => Decimal::from_f64(value),
            Self::Decimal(value) => value,
        }
    }

    pub(crate) const fn is_nan(&self) -> bool {
        match self {
            Self::Double(value) => value.is_nan(),
            Self::Decimal(value) => value.is_nan(),
            _ => false,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.compare_integer(0).is_eq()
    }

    /// Sum by MongoDB's promotion: int to long where 32 bits do not suffice, decimal over double over long.
    /// `None` where 64 bits do not suffice, which `$inc` refuses.
    pub(crate) fn checked_add(self, other: Self) -> Option<Self> {
        self.combine(other, i64::checked_add, |a, b| a + b, Decimal::plus)
    }

    /// As [`Self::checked_add`], for a difference.
    pub(crate) fn checked_subtract(self, other: Self) -> Option<Self> {
        self.combine(other, i64::checked_sub, |a, b| a - b, Decimal::minus)
    }

    /// As [`Self::checked_add`], for a product (`$mul`).
    pub(crate) fn checked_multiply(self, other: Self) -> Option<Self> {
        self.combine(other, i64::checked_mul, |a, b| a * b, Decimal::times)
    }

    /// Sum as `$add` and `$sum` do it: beyond 64 bits it becomes a double.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        self.checked_add(other)
            .unwrap_or_else(|| Self::Double(self.to_f64() + other.to_f64()))
    }

    /// Difference as `$subtract` does it: beyond 64 bits it becomes a double.
    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        self.checked_subtract(other)
            .unwrap_or_else(|| Self::Double(self.to_f64() - other.to_f64()))
    }

    /// Product as `$multiply` does it: beyond 64 bits it becomes a double.
    #[must_use]
    pub(crate) fn times(self, other: Self) -> Self {
        self.checked_multiply(other)
            .unwrap_or_else(|| Self::Double(self.to_f64() * other.to_f64()))
    }

    fn combine(
        self,
        other: Self,
        integers: fn(i64, i64) -> Option<i64>,
        doubles: fn(f64, f64) -> f64,
        decimals: fn(Decimal, Decimal) -> Decimal,
    ) -> Option<Self> {
        Some(match (self, other) {
            (Self::Decimal(_), _) | (_, Self::Decimal(_)) => {
                Self::Decimal(decimals(self.to_decimal(), other.to_decimal()))
            }
            (Self::Double(_), _) | (_, Self::Double(_)) => {
                Self::Double(doubles(self.to_f64(), other.to_f64()))
            }
            _ => {
                let result = integers(self.to_i64()?, other.to_i64()?)?;
                match (self, other, i32::try_from(result)) {
                    (Self::Int(_), Self::Int(_), Ok(small)) => Self::Int(small),
                    _ => Self::Long(result),
                }
            }
        })
    }
}

/// NaN equals NaN and is below all else.
fn compare_f64(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| right.is_nan().cmp(&left.is_nan()))
}

/// Exactly: a double between two integers is between them.
fn compare_f64_integer(double: f64, integer: i64) -> Ordering {
    if double.is_nan() || double < -LONG_END {
        return Ordering::Less;
    }
    if double >= LONG_END {
        return Ordering::Greater;
    }
    let fraction = compare_f64(double.fract(), 0.0);
    (double as i64).cmp(&integer).then(fraction)
}

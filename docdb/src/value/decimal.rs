//! Decimal128 (IEEE 754-2008, binary integer decimal): 34 digits, exact order, arithmetic that rounds half to even.
//!
//! Own code because the crates at hand either wrap C (`dec`) or have no 34-digit IEEE arithmetic on
//! the stored form (`bigdecimal`, `rust_decimal`), and all of it is comparison, +, -, *, / and %.

mod arithmetic;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;

use bson::Decimal128;

/// Digits that a coefficient may have.
const DIGITS: u32 = 34;
const COEFFICIENT_MAX: u128 = 10_u128.pow(DIGITS) - 1;
const EXPONENT_MIN: i32 = -6176;
const EXPONENT_MAX: i32 = 6111;
/// Where the exponent begins among the bits.
const EXPONENT_SHIFT: u32 = 113;
const EXPONENT_BITS: u128 = 0x3FFF;
const SIGN: u128 = 1 << 127;
const INFINITY: u128 = 0b1_1110 << 122;
const NAN: u128 = 0b1_1111 << 122;

/// A decimal floating-point number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Decimal {
    NaN,
    Infinity { is_negative: bool },
    Finite(Finite),
}

/// Which of the two neighbours a number that lies between them goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Towards zero.
    Zero,
    /// Towards positive infinity.
    Up,
    /// Towards negative infinity.
    Down,
    /// To the nearer one, of two as near to the even one.
    HalfEven,
}

/// `coefficient` × 10^`exponent`; the coefficient has at most 34 digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finite {
    pub(super) is_negative: bool,
    pub(super) coefficient: u128,
    pub(super) exponent: i32,
}

impl Decimal {
    pub(crate) const ZERO: Self = Self::integer(0);

    /// From the stored 16 bytes. A coefficient beyond 34 digits counts as zero, as IEEE 754 says.
    pub(crate) const fn from_bytes(bytes: [u8; 16]) -> Self {
        let bits = u128::from_le_bytes(bytes);
        let is_negative = bits & SIGN != 0;
        match bits >> 122 & 0b1_1111 {
            0b1_1111 => return Self::NaN,
            0b1_1110 => return Self::Infinity { is_negative },
            _ => {}
        }
        // Two leading ones move the exponent by two bits; every such coefficient is too large.
        let is_shifted = bits >> 125 & 0b11 == 0b11;
        let shift = EXPONENT_SHIFT - if is_shifted { 2 } else { 0 };
        let coefficient = bits & ((1 << EXPONENT_SHIFT) - 1);
        let is_valid = !is_shifted && coefficient <= COEFFICIENT_MAX;
        Self::Finite(Finite {
            is_negative,
            coefficient: if is_valid { coefficient } else { 0 },
            exponent: (bits >> shift & EXPONENT_BITS) as i32 + EXPONENT_MIN,
        })
    }

    pub(crate) const fn to_bytes(self) -> [u8; 16] {
        let bits = match self {
            Self::NaN => NAN,
            Self::Infinity { is_negative } => INFINITY | if is_negative { SIGN } else { 0 },
            Self::Finite(finite) => {
                let exponent = (finite.exponent - EXPONENT_MIN) as u128;
                let sign = if finite.is_negative { SIGN } else { 0 };
                sign | exponent << EXPONENT_SHIFT | finite.coefficient
            }
        };
        bits.to_le_bytes()
    }

    pub(crate) const fn integer(value: i64) -> Self {
        Self::Finite(Finite {
            is_negative: value < 0,
            coefficient: value.unsigned_abs() as u128,
            exponent: 0,
        })
    }

    /// 15 significant digits: what MongoDB makes of a double that meets a decimal in arithmetic.
    pub(crate) fn from_f64(value: f64) -> Self {
        if value == 0.0 {
            return Self::Finite(Finite {
                is_negative: value.is_sign_negative(),
                coefficient: 0,
                exponent: 0,
            });
        }
        Self::parse(&format!("{value:.14e}")).unwrap_or(Self::NaN)
    }

    /// The double itself, to 34 digits: where MongoDB rounds a double or sums it, the digits that 15 would hide count.
    pub(crate) fn from_f64_exactly(value: f64) -> Self {
        if value == 0.0 {
            return Self::from_f64(value);
        }
        Self::parse(&format!("{value:.33e}")).unwrap_or(Self::NaN)
    }

    /// The nearest double.
    pub(crate) fn to_f64(self) -> f64 {
        let (magnitude, is_negative) = match self {
            Self::NaN => return f64::NAN,
            Self::Infinity { is_negative } => (f64::INFINITY, is_negative),
            Self::Finite(finite) => (finite.nearest_magnitude(), finite.is_negative),
        };
        if is_negative { -magnitude } else { magnitude }
    }

    /// Without the fraction; `None` beyond 64 bits, for infinities and NaN.
    pub(crate) fn to_i64(self) -> Option<i64> {
        let Self::Finite(finite) = self else {
            return None;
        };
        let power = 10_u128.checked_pow(finite.exponent.unsigned_abs());
        let magnitude = match (finite.exponent < 0, power) {
            _ if finite.coefficient == 0 => 0,
            (false, Some(power)) => finite.coefficient.checked_mul(power)?,
            (true, Some(power)) => finite.coefficient / power,
            (true, None) => 0,
            (false, None) => return None,
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        i64::try_from(if finite.is_negative {
            -magnitude
        } else {
            magnitude
        })
        .ok()
    }

    /// The integer it equals, if it equals one of 64 bits.
    pub(crate) fn to_i64_exact(self) -> Option<i64> {
        let integer = self.to_i64()?;
        self.compare(&Self::integer(integer))
            .is_eq()
            .then_some(integer)
    }

    pub(crate) const fn is_nan(self) -> bool {
        matches!(self, Self::NaN)
    }

    /// By value: NaN equals NaN and is below all else, -0 equals 0, `1.0` equals `1.00`.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.place()
            .cmp(&other.place())
            .then_with(|| match (self, other) {
                (Self::Finite(left), Self::Finite(right)) => left.compare(right),
                _ => Ordering::Equal,
            })
    }

    /// Exactly, as if the double were written out in full.
    pub(crate) fn compare_f64(&self, other: f64) -> Ordering {
        let place = match other {
            _ if other.is_nan() => 0,
            f64::NEG_INFINITY => 1,
            f64::INFINITY => 3,
            _ => 2,
        };
        self.place().cmp(&place).then_with(|| match self {
            Self::Finite(finite) => finite.compare_f64(other),
            _ => Ordering::Equal,
        })
    }

    /// Orders the kinds: NaN, negative infinity, finite, infinity.
    const fn place(&self) -> u8 {
        match self {
            Self::NaN => 0,
            Self::Infinity { is_negative: true } => 1,
            Self::Finite(_) => 2,
            Self::Infinity { is_negative: false } => 3,
        }
    }

    /// Reads `-12.5E+3`, `NaN`, `Infinity`; further digits than 34 are rounded.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        match text.to_ascii_lowercase().as_str() {
            "nan" => return Some(Self::NaN),
            "inf" | "infinity" => return Some(Self::Infinity { is_negative }),
            _ => {}
        }
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut coefficient = 0_u128;
        let mut is_inexact = false;
        let mut dropped = 0_i32;
        for digit in whole.chars().chain(fraction.chars()) {
            let digit = digit.to_digit(10)?;
            if coefficient > COEFFICIENT_MAX {
                is_inexact |= digit != 0;
                dropped = dropped.saturating_add(1);
            } else {
                coefficient = coefficient * 10 + u128::from(digit);
            }
        }
        let fraction_digits = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        let exponent = exponent
            .saturating_add(dropped)
            .saturating_sub(fraction_digits);
        let exact = Finite {
            is_negative,
            coefficient,
            exponent,
        };
        Some(arithmetic::round(exact, is_inexact))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Decimal128::from_bytes(self.to_bytes()).fmt(out)
    }
}

impl From<Decimal> for Decimal128 {
    fn from(decimal: Decimal) -> Self {
        Self::from_bytes(decimal.to_bytes())
    }
}

impl From<Decimal128> for Decimal {
    fn from(decimal: Decimal128) -> Self {
        Self::from_bytes(decimal.bytes())
    }
}

/// The count of decimal digits; 0 has none.
pub(super) const fn digits(value: u128) -> u32 {
    match value.checked_ilog10() {
        Some(log) => log + 1,
        None => 0,
    }
}

impl Finite {
    /// `0.ddd… × 10^first`: the power before the first digit and the digits padded to 34. Not for zero.
    pub(super) const fn aligned(&self) -> (i32, u128) {
        let count = digits(self.coefficient);
        let padded = self.coefficient * 10_u128.pow(DIGITS - count);
        (self.exponent + count.cast_signed(), padded)
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.sign(), other.sign()) {
            (0, 0) => Ordering::Equal,
            (1, 1) => self.aligned().cmp(&other.aligned()),
            (-1, -1) => other.aligned().cmp(&self.aligned()),
            (left, right) => left.cmp(&right),
        }
    }

    fn compare_f64(&self, other: f64) -> Ordering {
        let other_sign = i32::from(other > 0.0) - i32::from(other < 0.0);
        match (self.sign(), other_sign) {
            (0, 0) => Ordering::Equal,
            (1, 1) => self.compare_magnitude(other),
            (-1, -1) => self.compare_magnitude(-other).reverse(),
            (left, right) => left.cmp(&right),
        }
    }

    const fn sign(&self) -> i32 {
        match (self.coefficient, self.is_negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    /// Of the magnitude of a finite number that is not zero with a finite `other` above zero.
    ///
    /// A decimal is one of its 34-digit numbers, so comparing with `other` rounded to 34 digits
    /// is exact unless the two are then equal; only then are all digits of the double needed.
    fn compare_magnitude(&self, other: f64) -> Ordering {
        let rounded = written(&format!("{other:.33e}"));
        self.aligned().cmp(&(rounded.0, rounded.1)).then_with(|| {
            // 767 digits are the most that a double has.
            let (first, digits, has_more) = written(&format!("{other:.766e}"));
            let more = if has_more {
                Ordering::Less
            } else {
                Ordering::Equal
            };
            self.aligned().cmp(&(first, digits)).then(more)
        })
    }

    /// The double nearest to the magnitude.
    fn nearest_magnitude(&self) -> f64 {
        format!("{}e{}", self.coefficient, self.exponent)
            .parse()
            .unwrap_or(f64::INFINITY)
    }

    /// The largest double that is not above the magnitude, and whether the two are equal. Not for zero.
    pub(super) fn truncated_magnitude(&self) -> (f64, bool) {
        let nearest = self.nearest_magnitude();
        if nearest == 0.0 {
            return (0.0, false);
        }
        if nearest.is_infinite() {
            return (f64::MAX, false);
        }
        match self.compare_magnitude(nearest) {
            Ordering::Less => (nearest.next_down(), false),
            order => (nearest, order.is_eq()),
        }
    }
}

/// Of `d.ddd…e±x`: the power before the first digit, the first 34 digits, whether any other follows that is not 0.
fn written(text: &str) -> (i32, u128, bool) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut found = (exponent.parse().unwrap_or(0) + 1, 0_u128, false);
    let digits = digits.chars().filter_map(|digit| digit.to_digit(10));
    for (index, digit) in digits.enumerate() {
        if index < DIGITS as usize {
            found.1 = found.1 * 10 + u128::from(digit);
        } else {
            found.2 |= digit != 0;
        }
    }
    found
}

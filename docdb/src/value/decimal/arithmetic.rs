//! Decimal128 arithmetic: results as IEEE 754 rounds them, half to even at 34 digits.

use super::{
    COEFFICIENT_MAX, DIGITS, Decimal, EXPONENT_MAX, EXPONENT_MIN, Finite, Rounding, digits,
};

/// One digit fewer than always fits 128 bits, so that a sum does too.
const WORK_DIGITS: u32 = 37;
/// Half of the 34 digits: two such factors make a product of 34 digits.
const HALF: u128 = 10_u128.pow(DIGITS / 2);
const WHOLE: u128 = 10_u128.pow(DIGITS);

impl Decimal {
    #[must_use]
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::NaN => Self::NaN,
            Self::Infinity { is_negative } => Self::Infinity {
                is_negative: !is_negative,
            },
            Self::Finite(finite) => Self::Finite(Finite {
                is_negative: !finite.is_negative,
                ..finite
            }),
        }
    }

    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Finite(left), Self::Finite(right)) => add(left, right),
            (Self::NaN, _) | (_, Self::NaN) => Self::NaN,
            (Self::Infinity { is_negative: left }, Self::Infinity { is_negative: right })
                if left != right =>
            {
                Self::NaN
            }
            (infinity @ Self::Infinity { .. }, _) | (_, infinity) => infinity,
        }
    }

    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    #[must_use]
    pub(crate) fn times(self, other: Self) -> Self {
        let is_negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Self::Finite(left), Self::Finite(right)) => multiply(left, right, is_negative),
            (Self::NaN, _) | (_, Self::NaN) => Self::NaN,
            (Self::Finite(finite), _) | (_, Self::Finite(finite)) if finite.coefficient == 0 => {
                Self::NaN
            }
            _ => Self::Infinity { is_negative },
        }
    }

    /// Division by zero gives an infinity, or NaN for 0 ÷ 0.
    #[must_use]
    pub(crate) fn over(self, other: Self) -> Self {
        let is_negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Self::Finite(left), Self::Finite(right)) => divide(left, right, is_negative),
            (Self::NaN, _) | (_, Self::NaN) | (Self::Infinity { .. }, Self::Infinity { .. }) => {
                Self::NaN
            }
            (Self::Infinity { .. }, _) => Self::Infinity { is_negative },
            (_, Self::Infinity { .. }) => Self::Finite(Finite {
                is_negative,
                coefficient: 0,
                exponent: 0,
            }),
        }
    }

    /// What is left of a division to a whole number, with the sign of `self`; NaN for a division by zero.
    #[must_use]
    pub(crate) fn remainder(self, other: Self) -> Self {
        match (self, other) {
            (Self::Finite(_), Self::Finite(right)) if right.coefficient == 0 => Self::NaN,
            (Self::Finite(left), Self::Finite(right)) => remainder(left, right),
            (Self::Finite(_), Self::Infinity { .. }) => self,
            _ => Self::NaN,
        }
    }

    pub(crate) const fn is_negative(self) -> bool {
        match self {
            Self::NaN => false,
            Self::Infinity { is_negative } => is_negative,
            Self::Finite(finite) => finite.is_negative,
        }
    }
}

impl Decimal {
    /// With `places` digits after the point (before it, if negative), or as many as there is room for.
    pub(crate) fn quantized(self, places: i32, rounding: Rounding) -> Self {
        let Self::Finite(finite) = self else {
            return self;
        };
        let Finite {
            is_negative,
            coefficient,
            exponent,
        } = finite;
        let target = -places;
        let (coefficient, exponent) = if exponent > target {
            let room = DIGITS - digits(coefficient).min(DIGITS);
            let zeros = exponent.abs_diff(target).min(room);
            (
                coefficient * 10_u128.pow(zeros),
                exponent - zeros.cast_signed(),
            )
        } else {
            let power = 10_u128.checked_pow(target.abs_diff(exponent));
            // Beyond 38 digits nothing is left but the direction.
            let (kept, rest) = power.map_or((0, coefficient), |power| {
                (coefficient / power, coefficient % power)
            });
            let half = power.map_or(std::cmp::Ordering::Less, |power| rest.cmp(&(power - rest)));
            let away = match rounding {
                Rounding::Zero => false,
                Rounding::Up => rest > 0 && !is_negative,
                Rounding::Down => rest > 0 && is_negative,
                Rounding::HalfEven => half.is_gt() || (half.is_eq() && kept % 2 == 1),
            };
            (kept + u128::from(away), target)
        };
        round(
            Finite {
                is_negative,
                coefficient,
                exponent,
            },
            false,
        )
    }
}

/// The nearest Decimal128 to `exact`, whose coefficient may have 38 digits; `is_inexact` if the true number is a little above that.
pub(super) fn round(exact: Finite, is_inexact: bool) -> Decimal {
    let Finite {
        is_negative,
        mut coefficient,
        mut exponent,
    } = exact;
    let excess = digits(coefficient).saturating_sub(DIGITS).cast_signed();
    let drop = excess.max(EXPONENT_MIN.saturating_sub(exponent)).max(0);
    if drop > 0 {
        coefficient = drop_digits(coefficient, drop.unsigned_abs(), is_inexact);
        exponent = exponent.saturating_add(drop);
    }
    if coefficient > COEFFICIENT_MAX {
        coefficient /= 10;
        exponent = exponent.saturating_add(1);
    }
    if exponent > EXPONENT_MAX {
        // Zeros can take the place of exponent while there is room for them.
        let zeros = exponent.abs_diff(EXPONENT_MAX);
        if coefficient != 0 && zeros > DIGITS - digits(coefficient) {
            return Decimal::Infinity { is_negative };
        }
        coefficient *= if coefficient == 0 {
            1
        } else {
            10_u128.pow(zeros)
        };
        exponent = EXPONENT_MAX;
    }
    Decimal::Finite(Finite {
        is_negative,
        coefficient,
        exponent,
    })
}

/// Without the last `count` digits, rounded half to even.
fn drop_digits(coefficient: u128, count: u32, is_inexact: bool) -> u128 {
    let Some(power) = 10_u128.checked_pow(count) else {
        return 0;
    };
    let (kept, rest) = (coefficient / power, coefficient % power);
    let rises = match rest.cmp(&(power / 2)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => is_inexact || kept % 2 == 1,
    };
    kept + u128::from(rises)
}

fn add(left: Finite, right: Finite) -> Decimal {
    let (high, low) = if left.exponent >= right.exponent {
        (left, right)
    } else {
        (right, left)
    };
    let distance = high.exponent.abs_diff(low.exponent);
    let room = match high.coefficient {
        0 => distance,
        coefficient => WORK_DIGITS - digits(coefficient),
    };
    let shift = distance.min(room);
    let scale = if high.coefficient == 0 {
        1
    } else {
        10_u128.pow(shift)
    };
    let mut high_part = high.coefficient * scale;
    let mut low_part = low.coefficient;
    let mut exponent = high.exponent - shift.cast_signed();
    if distance > shift {
        // What is cut off `low` lives on as one digit, enough to round by: `high` has at least 37 digits here.
        let power = 10_u128.checked_pow(distance - shift);
        let (kept, rest) =
            power.map_or((0, low_part), |power| (low_part / power, low_part % power));
        high_part *= 10;
        low_part = kept * 10 + u128::from(rest != 0);
        exponent -= 1;
    }
    let (is_negative, coefficient) = if high.is_negative == low.is_negative {
        (high.is_negative, high_part + low_part)
    } else if high_part == low_part {
        (false, 0)
    } else if high_part > low_part {
        (high.is_negative, high_part - low_part)
    } else {
        (low.is_negative, low_part - high_part)
    };
    let exact = Finite {
        is_negative,
        coefficient,
        exponent,
    };
    round(exact, false)
}

/// By halves of 17 digits, so that every partial product fits 128 bits.
fn multiply(left: Finite, right: Finite, is_negative: bool) -> Decimal {
    let (a1, a0) = (left.coefficient / HALF, left.coefficient % HALF);
    let (b1, b0) = (right.coefficient / HALF, right.coefficient % HALF);
    let middle = a1 * b0 + a0 * b1 + a0 * b0 / HALF;
    let high = a1 * b1 + middle / HALF;
    let low = middle % HALF * HALF + a0 * b0 % HALF;
    let exponent = left.exponent + right.exponent;
    if high == 0 {
        let exact = Finite {
            is_negative,
            coefficient: low,
            exponent,
        };
        return round(exact, false);
    }
    // Keep 37 digits; the rest only decides a tie.
    let keep = WORK_DIGITS - digits(high);
    let keep = keep.min(DIGITS);
    let power = 10_u128.pow(DIGITS - keep);
    let coefficient = high * 10_u128.pow(keep) + low / power;
    let exponent = exponent + (DIGITS - keep).cast_signed();
    let exact = Finite {
        is_negative,
        coefficient,
        exponent,
    };
    round(exact, !low.is_multiple_of(power))
}

fn divide(left: Finite, right: Finite, is_negative: bool) -> Decimal {
    if right.coefficient == 0 {
        return match left.coefficient {
            0 => Decimal::NaN,
            _ => Decimal::Infinity { is_negative },
        };
    }
    let divisor = right.coefficient;
    let (mut quotient, mut rest) = (left.coefficient / divisor, left.coefficient % divisor);
    let mut exponent = left.exponent - right.exponent;
    while rest != 0 && quotient < WHOLE * 10 {
        rest *= 10;
        quotient = quotient * 10 + rest / divisor;
        rest %= divisor;
        exponent -= 1;
    }
    let exact = Finite {
        is_negative,
        coefficient: quotient,
        exponent,
    };
    round(exact, rest != 0)
}

fn remainder(left: Finite, right: Finite) -> Decimal {
    let distance = left.exponent.abs_diff(right.exponent);
    let (coefficient, exponent) = if left.exponent >= right.exponent {
        let rest = left.coefficient % right.coefficient;
        let shifted = multiplied(rest, power(distance, right.coefficient), right.coefficient);
        (shifted, right.exponent)
    } else {
        let divisor = 10_u128
            .checked_pow(distance)
            .and_then(|power| right.coefficient.checked_mul(power));
        // A divisor beyond 128 bits is beyond every coefficient.
        let rest = divisor.map_or(left.coefficient, |divisor| left.coefficient % divisor);
        (rest, left.exponent)
    };
    let exact = Finite {
        is_negative: left.is_negative,
        coefficient,
        exponent,
    };
    round(exact, false)
}

/// 10 to the power of `exponent`, modulo `divisor`, by squaring: exponents of decimals lie up to 12,287 apart.
fn power(exponent: u32, divisor: u128) -> u128 {
    let (mut power, mut square) = (1 % divisor, 10 % divisor);
    let mut left = exponent;
    while left > 0 {
        if left % 2 == 1 {
            power = multiplied(power, square, divisor);
        }
        left /= 2;
        if left > 0 {
            square = multiplied(square, square, divisor);
        }
    }
    power
}

/// `left * right` modulo `divisor`; all of at most 34 digits. By parts of four digits of `right`, so that each product fits 128 bits.
fn multiplied(left: u128, right: u128, divisor: u128) -> u128 {
    const PART: u128 = 10_000;
    let mut rest = right;
    let mut parts = [0; 9];
    for part in &mut parts {
        *part = rest % PART;
        rest /= PART;
    }
    let sum = |sum: u128, part: &u128| (sum * PART + left * part) % divisor;
    parts.iter().rev().fold(0, sum)
}

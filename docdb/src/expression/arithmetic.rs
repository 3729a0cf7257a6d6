//! Numbers: sums, products, quotients, roundings; and sums of dates and milliseconds.

use bson::{Bson, DateTime};

use super::Evaluated;
use super::function::{Call, Function, NULL, functions};
use crate::error::{Code, Result};
use crate::value::decimal::Rounding;
use crate::value::{Decimal, Number};

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$add" Any => add;
    "$subtract" Exactly(2) => subtract;
    "$multiply" Any => multiply;
    "$divide" Exactly(2) => divide;
    "$mod" Exactly(2) => remainder;
    "$abs" Exactly(1) => abs;
    "$ceil" Exactly(1) => |call| whole(call, f64::ceil, Rounding::Up);
    "$floor" Exactly(1) => |call| whole(call, f64::floor, Rounding::Down);
    "$round" Between(1, 2) => |call| to_place(call, Rounding::HalfEven);
    "$trunc" Between(1, 2) => |call| to_place(call, Rounding::Zero);
};

fn add(call: &mut Call<'_>) -> Result<Evaluated> {
    let mut sum = Number::Int(0);
    let mut date: Option<DateTime> = None;
    if call.any_nullish() {
        return NULL;
    }
    for index in 0..call.values.len() {
        match (call.get(index), call.number(index)) {
            (_, Some(number)) => sum = sum.plus(number),
            (Some(Bson::DateTime(one)), None) if date.is_none() => date = Some(*one),
            (Some(Bson::DateTime(_)), None) => {
                return Err(
                    Code::Location(16612).error("only one date allowed in an $add expression")
                );
            }
            _ => {
                return Err(call.wrong_type(
                    index,
                    Code::TypeMismatch,
                    "$add only supports numeric or date types, not ",
                ));
            }
        }
    }
    match date {
        None => Ok(Some(sum.to_bson())),
        Some(date) => shifted(date, sum).map(Some),
    }
}

/// `date` later by `milliseconds`.
fn shifted(date: DateTime, milliseconds: Number) -> Result<Bson> {
    // A fraction of a millisecond is rounded, not cut.
    let whole = match milliseconds {
        Number::Double(value) => Number::Double(value.round()),
        other => other,
    };
    whole
        .to_i64()
        .and_then(|by| date.timestamp_millis().checked_add(by))
        .map(|millis| Bson::DateTime(DateTime::from_millis(millis)))
        .ok_or_else(|| Code::Overflow.error("date overflow in $add"))
}

fn subtract(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    if let (Some(left), Some(right)) = (call.number(0), call.number(1)) {
        return Ok(Some(left.minus(right).to_bson()));
    }
    let overflow = || Code::Overflow.error("date overflow in $subtract");
    match (call.get(0), call.get(1), call.number(1)) {
        (Some(Bson::DateTime(left)), Some(Bson::DateTime(right)), _) => left
            .timestamp_millis()
            .checked_sub(right.timestamp_millis())
            .map(|millis| Some(Bson::Int64(millis)))
            .ok_or_else(overflow),
        (Some(Bson::DateTime(left)), _, Some(right)) => {
            let negated = Number::Int(0).minus(right);
            shifted(*left, negated).map(Some).map_err(|_| overflow())
        }
        _ => Err(Code::TypeMismatch.error(format!(
            "can't $subtract {} from {}",
            call.type_name(1),
            call.type_name(0)
        ))),
    }
}

fn multiply(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let mut product = Number::Int(1);
    for index in 0..call.values.len() {
        let text = "$multiply only supports numeric types, not ";
        let factor = call.numeric(index, Code::TypeMismatch, text)?;
        product = product.times(factor);
    }
    Ok(Some(product.to_bson()))
}

fn divide(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let (Some(left), Some(right)) = (call.number(0), call.number(1)) else {
        return Err(Code::TypeMismatch.error(format!(
            "$divide only supports numeric types, not {} and {}",
            call.type_name(0),
            call.type_name(1)
        )));
    };
    if right.is_zero() {
        return Err(Code::BadValue.error("can't $divide by zero"));
    }
    let quotient = match (left, right) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Number::Decimal(left.to_decimal().over(right.to_decimal()))
        }
        _ => Number::Double(left.to_f64() / right.to_f64()),
    };
    Ok(Some(quotient.to_bson()))
}

/// What a remainder of decimals counts as: with exponents that lie far apart it takes some microseconds.
const DECIMAL_REMAINDER_BYTES: usize = 8 << 10;

/// The sign is that of the dividend.
fn remainder(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let (Some(left), Some(right)) = (call.number(0), call.number(1)) else {
        return Err(Code::Location(16611).error(format!(
            "$mod only supports numeric types, not {} and {}",
            call.type_name(0),
            call.type_name(1)
        )));
    };
    if right.is_zero() {
        return Err(Code::Location(16610).error("can't $mod by zero"));
    }
    let rest = match (left, right) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            call.scope.charge_bytes(DECIMAL_REMAINDER_BYTES)?;
            Number::Decimal(left.to_decimal().remainder(right.to_decimal()))
        }
        (Number::Double(_), _) | (_, Number::Double(_)) => {
            Number::Double(left.to_f64() % right.to_f64())
        }
        (Number::Int(left), Number::Int(right)) => Number::Int(left.wrapping_rem(right)),
        (left, right) => {
            let (left, right) = (left.integer().unwrap_or(0), right.integer().unwrap_or(1));
            Number::Long(left.wrapping_rem(right))
        }
    };
    Ok(Some(rest.to_bson()))
}

/// The one number of `$abs` and its like; `None` where the argument is null.
pub(super) fn single(call: &Call<'_>) -> Result<Option<Number>> {
    if call.is_nullish(0) {
        return Ok(None);
    }
    match call.number(0) {
        Some(number) => Ok(Some(number)),
        None => Err(Code::Location(28765).error(format!(
            "{} only supports numeric types, not {}",
            call.name,
            call.type_name(0)
        ))),
    }
}

fn abs(call: &mut Call<'_>) -> Result<Evaluated> {
    let Some(number) = single(call)? else {
        return NULL;
    };
    let abs = match number {
        Number::Int(value) => match value.checked_abs() {
            Some(abs) => Number::Int(abs),
            None => Number::Long(i64::from(value).abs()),
        },
        Number::Long(value) => Number::Long(
            value
                .checked_abs()
                .ok_or_else(|| Code::Location(28680).error("can't take $abs of long long min"))?,
        ),
        Number::Double(value) => Number::Double(value.abs()),
        Number::Decimal(value) if value.is_negative() => Number::Decimal(value.negated()),
        decimal @ Number::Decimal(_) => decimal,
    };
    Ok(Some(abs.to_bson()))
}

fn whole(call: &Call<'_>, round: impl FnOnce(f64) -> f64, rounding: Rounding) -> Result<Evaluated> {
    Ok(Some(match single(call)? {
        None => Bson::Null,
        Some(Number::Double(value)) => Bson::Double(round(value)),
        Some(Number::Decimal(value)) => Number::Decimal(value.quantized(0, rounding)).to_bson(),
        Some(integer) => integer.to_bson(),
    }))
}

fn to_place(call: &Call<'_>, rounding: Rounding) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let Some(value) = call.number(0) else {
        return Err(Code::Location(51081).error(format!(
            "{} only supports numeric types, not {}",
            call.name,
            call.type_name(0)
        )));
    };
    let place = if call.values.len() == 2 {
        place(call)?
    } else {
        0
    };
    let result = match value {
        Number::Double(value) if place == 0 && rounding == Rounding::Zero => {
            Number::Double(value.trunc())
        }
        Number::Double(value) if place == 0 => Number::Double(value.round_ties_even()),
        Number::Double(value) if !value.is_finite() => Number::Double(value),
        Number::Double(value) => Number::Double(
            Decimal::from_f64_exactly(value)
                .quantized(place, rounding)
                .to_f64(),
        ),
        Number::Decimal(value) => Number::Decimal(value.quantized(place, rounding)),
        integer if place >= 0 => integer,
        integer => {
            let result = integer
                .to_decimal()
                .quantized(place, rounding)
                .to_i64_exact()
                .ok_or_else(|| {
                    Code::Location(51080).error(format!("invalid conversion in {}", call.name))
                })?;
            match (integer, i32::try_from(result)) {
                (Number::Int(_), Ok(small)) => Number::Int(small),
                _ => Number::Long(result),
            }
        }
    };
    Ok(Some(result.to_bson()))
}

fn place(call: &Call<'_>) -> Result<i32> {
    let place = call
        .number(1)
        .and_then(Number::to_i64_exact)
        .ok_or_else(|| {
            Code::Location(51082).error(format!(
                "precision argument to  {} must be a integral value",
                call.name
            ))
        })?;
    match i32::try_from(place) {
        Ok(place) if (-20..=100).contains(&place) => Ok(place),
        _ => Err(Code::Location(51083).error(format!(
            "cannot apply {} with precision value {place} value must be in [-20, 100]",
            call.name
        ))),
    }
}

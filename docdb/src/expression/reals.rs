//! Numbers: roots, powers, logarithms, and chance.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of the table have one signature"
)]

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use bson::Bson;

use super::Evaluated;
use super::arithmetic::single;
use super::function::{Call, Function, NULL, functions};
use crate::error::{Code, Result};
use crate::value::{Decimal, Number};

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$sqrt" Exactly(1) => sqrt;
    "$pow" Exactly(2) => pow;
    "$exp" Exactly(1) => |call| real(call, f64::exp);
    "$ln" Exactly(1) => |call| logarithm(call, f64::ln, Code::Location(28766));
    "$log10" Exactly(1) => |call| logarithm(call, f64::log10, Code::Location(28761));
    "$log" Exactly(2) => log;
    "$rand" None => rand;
};

/// A real function of the nearest double; a decimal argument gives a decimal again.
fn real(call: &Call<'_>, function: impl FnOnce(f64) -> f64) -> Result<Evaluated> {
    Ok(Some(match single(call)? {
        None => Bson::Null,
        Some(number) => as_argument(number, function(number.to_f64())),
    }))
}

fn as_argument(argument: Number, result: f64) -> Bson {
    match argument {
        Number::Decimal(_) => Number::Decimal(Decimal::from_f64(result)).to_bson(),
        _ => Bson::Double(result),
    }
}

fn sqrt(call: &mut Call<'_>) -> Result<Evaluated> {
    if single(call)?.is_some_and(|number| number.to_f64() < 0.0) {
        return Err(
            Code::Location(28714).error("$sqrt's argument must be greater than or equal to 0")
        );
    }
    real(call, f64::sqrt)
}

fn logarithm(call: &Call<'_>, function: impl FnOnce(f64) -> f64, code: Code) -> Result<Evaluated> {
    if let Some(number) = single(call)?
        && number.to_f64() <= 0.0
    {
        return Err(code.error(format!(
            "{}'s argument must be a positive number, but is {}",
            call.name,
            call.shown(0)
        )));
    }
    real(call, function)
}

fn log(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let argument = call.numeric(
        0,
        Code::Location(28756),
        "$log's argument must be numeric, not ",
    )?;
    let base = call.numeric(
        1,
        Code::Location(28757),
        "$log's base must be numeric, not ",
    )?;
    let text = |index| call.shown(index);
    if argument.to_f64() <= 0.0 {
        return Err(Code::Location(28758).error(format!(
            "$log's argument must be a positive number, but is {}",
            text(0)
        )));
    }
    if base.to_f64() <= 0.0 || (base.to_f64() - 1.0).abs() < f64::EPSILON {
        return Err(Code::Location(28759).error(format!(
            "$log's base must be a positive number not equal to 1, but is {}",
            text(1)
        )));
    }
    let result = argument.to_f64().ln() / base.to_f64().ln();
    Ok(Some(as_argument(argument, result)))
}

fn pow(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let base = call.numeric(
        0,
        Code::Location(28762),
        "$pow's base must be numeric, not ",
    )?;
    let exponent = call.numeric(
        1,
        Code::Location(28763),
        "$pow's exponent must be numeric, not ",
    )?;
    if base.is_zero() && exponent.to_f64() < 0.0 {
        return Err(
            Code::Location(28764).error("$pow cannot take a base of 0 and a negative exponent")
        );
    }
    if let (Some(whole), Some(power)) = (base.integer(), exponent.integer())
        && let Some(result) = u32::try_from(power)
            .ok()
            .and_then(|power| whole.checked_pow(power))
    {
        return Ok(Some(match (base, exponent, i32::try_from(result)) {
            (Number::Int(_), Number::Int(_), Ok(small)) => Bson::Int32(small),
            _ => Bson::Int64(result),
        }));
    }
    let result = base.to_f64().powf(exponent.to_f64());
    let decimal = matches!(exponent, Number::Decimal(_));
    Ok(Some(as_argument(
        if decimal { exponent } else { base },
        result,
    )))
}

/// Evenly from 0 up to but not 1.
fn rand(_call: &mut Call<'_>) -> Result<Evaluated> {
    Ok(Some(Bson::Double(random())))
}

/// The keyed hash of nothing under a fresh random key: the standard library's own source of chance.
pub(crate) fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    // 53 bits fill a double's mantissa.
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

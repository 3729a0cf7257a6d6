//! `$convert` and its short forms `$toInt`, `$toString` and so on.

use bson::{Bson, DateTime};

use super::function::{Call, Function, NULL, functions};
use super::{Evaluated, calendar};
use crate::error::{Code, CommandError, Result};
use crate::value::display;
use crate::value::{Decimal, Number, kind};

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$toBool" Exactly(1) => |call| short(call, kind::BOOLEAN);
    "$toInt" Exactly(1) => |call| short(call, kind::INT);
    "$toLong" Exactly(1) => |call| short(call, kind::LONG);
    "$toDouble" Exactly(1) => |call| short(call, kind::DOUBLE);
    "$toDecimal" Exactly(1) => |call| short(call, kind::DECIMAL);
    "$toString" Exactly(1) => |call| short(call, kind::STRING);
    "$toObjectId" Exactly(1) => |call| short(call, kind::OBJECT_ID);
    "$toDate" Exactly(1) => |call| short(call, kind::DATE);
};

fn short(call: &Call<'_>, target: u8) -> Result<Evaluated> {
    match call.get(0) {
        None | Some(Bson::Null | Bson::Undefined) => NULL,
        Some(value) => convert(value, target).map(Some),
    }
}

/// The type byte that `to` names, by number or alias.
pub(super) fn target(to: &Bson) -> Result<u8> {
    let target = match to {
        Bson::String(alias) => kind::from_name(alias)?,
        other => {
            let number = Number::from_bson(other).and_then(Number::to_i64_exact);
            match number.map(u8::try_from) {
                Some(Ok(code)) if kind::is_known(code) => code,
                Some(_) => {
                    return Err(Code::FailedToParse.error(format!(
                        "In $convert, numeric value for 'to' does not correspond to a BSON type: {}",
                        display::value(other)
                    )));
                }
                None => {
                    return Err(Code::FailedToParse.error(format!(
                        "$convert's 'to' argument must be a string or number, but is {}",
                        display::type_name(other)
                    )));
                }
            }
        }
    };
    Ok(target)
}

/// `value` as a value of the type `target`; anything that is not null.
pub(super) fn convert(value: &Bson, target: u8) -> Result<Bson> {
    if value.element_type() as u8 == target {
        return Ok(value.clone());
    }
    match target {
        kind::BOOLEAN => to_bool(value),
        kind::STRING => to_text(value).map(Bson::String),
        kind::OBJECT_ID => to_object_id(value),
        kind::DATE => to_date(value),
        kind::INT => to_integer(value, target).and_then(|long| {
            i32::try_from(long)
                .map(Bson::Int32)
                .map_err(|_| overflow(value))
        }),
        kind::LONG => to_integer(value, target).map(Bson::Int64),
        kind::DOUBLE => to_double(value),
        kind::DECIMAL => to_decimal(value),
        _ => Err(unsupported(value, target)),
    }
}

fn unsupported(value: &Bson, target: u8) -> CommandError {
    Code::ConversionFailure.error(format!(
        "Unsupported conversion from {} to {} in $convert with no onError value",
        display::type_name(value),
        kind::name(target)
    ))
}

fn overflow(value: &Bson) -> CommandError {
    Code::ConversionFailure.error(format!(
        "Conversion would overflow target type in $convert with no onError value: {}",
        display::value(value)
    ))
}

fn unreadable(what: &str, text: &str) -> CommandError {
    Code::ConversionFailure.error(format!(
        "Failed to parse {what} '{text}' in $convert with no onError value"
    ))
}

fn to_bool(value: &Bson) -> Result<Bson> {
    match value {
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => {
            Ok(Bson::Boolean(super::is_true(Some(value))))
        }
        Bson::String(_) | Bson::ObjectId(_) | Bson::DateTime(_) | Bson::Timestamp(_) => {
            Ok(Bson::Boolean(true))
        }
        other => Err(unsupported(other, kind::BOOLEAN)),
    }
}

/// Decimal digits, hexadecimal ones after `0x` are refused as MongoDB refuses them.
fn to_integer(value: &Bson, target: u8) -> Result<i64> {
    match value {
        Bson::Boolean(truth) => Ok(i64::from(*truth)),
        Bson::DateTime(date) if target == kind::LONG => Ok(date.timestamp_millis()),
        Bson::String(text) => text.parse().map_err(|_| unreadable("number", text)),
        other => {
            let Some(number) = Number::from_bson(other) else {
                return Err(unsupported(other, target));
            };
            if number.is_nan() {
                return Err(Code::ConversionFailure.error(
                    "Attempt to convert NaN value to integer type in $convert with no onError value",
                ));
            }
            number.to_i64().ok_or_else(|| overflow(other))
        }
    }
}

fn to_double(value: &Bson) -> Result<Bson> {
    Ok(Bson::Double(match value {
        Bson::Boolean(truth) => f64::from(u8::from(*truth)),
        Bson::DateTime(date) => date.timestamp_millis() as f64,
        Bson::String(text) => number_text(text)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| unreadable("number", text))?,
        other => Number::from_bson(other)
            .ok_or_else(|| unsupported(other, kind::DOUBLE))?
            .to_f64(),
    }))
}

/// A text without white space around it, which neither number type accepts.
fn number_text(text: &str) -> Option<&str> {
    (text.trim() == text && !text.is_empty()).then_some(text)
}

fn to_decimal(value: &Bson) -> Result<Bson> {
    let decimal = match value {
        Bson::Boolean(truth) => Decimal::integer(i64::from(*truth)),
        Bson::DateTime(date) => Decimal::integer(date.timestamp_millis()),
        Bson::String(text) => number_text(text)
            .and_then(Decimal::parse)
            .ok_or_else(|| unreadable("number", text))?,
        other => Number::from_bson(other)
            .ok_or_else(|| unsupported(other, kind::DECIMAL))?
            .to_decimal(),
    };
    Ok(Number::Decimal(decimal).to_bson())
}

fn to_object_id(value: &Bson) -> Result<Bson> {
    match value {
        Bson::String(text) => bson::oid::ObjectId::parse_str(text)
            .map(Bson::ObjectId)
            .map_err(|_| unreadable("objectId", text)),
        other => Err(unsupported(other, kind::OBJECT_ID)),
    }
}

fn to_date(value: &Bson) -> Result<Bson> {
    let millis = match value {
        Bson::Int64(millis) => *millis,
        Bson::Double(_) | Bson::Decimal128(_) => Number::from_bson(value)
            .and_then(Number::to_i64)
            .ok_or_else(|| overflow(value))?,
        Bson::ObjectId(id) => id.timestamp().timestamp_millis(),
        Bson::Timestamp(stamp) => i64::from(stamp.time) * 1000,
        Bson::String(text) => calendar::parse_iso(text).ok_or_else(|| unreadable("date", text))?,
        other => return Err(unsupported(other, kind::DATE)),
    };
    Ok(Bson::DateTime(DateTime::from_millis(millis)))
}

/// The text of a scalar.
pub(super) fn to_text(value: &Bson) -> Result<String> {
    Ok(match value {
        Bson::String(text) | Bson::Symbol(text) => text.clone(),
        Bson::Boolean(truth) => truth.to_string(),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        Bson::Double(number) => double_text(*number),
        Bson::Decimal128(number) => number.to_string(),
        Bson::ObjectId(id) => id.to_hex(),
        Bson::DateTime(date) => calendar::iso_text(date.timestamp_millis()),
        other => return Err(unsupported(other, kind::STRING)),
    })
}

/// Without a fraction where there is none; very large and small ones with an exponent.
fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-5..1e21).contains(&magnitude) {
        return format!("{number:e}");
    }
    format!("{number}")
}

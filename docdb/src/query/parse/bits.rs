//! Reads the argument of `$bitsAllSet` and its kin: a mask or a list of positions.

use super::bad_value;
use crate::error::{Code, Result};
use crate::query::condition::Bits;
use crate::value::{Element, Number, Value};

pub(super) fn parse(operator: &str, element: &Element<'_>) -> Result<Bits> {
    let value = element.value();
    let positions = match &value {
        Value::Array(array) => array
            .values()
            .map(|value| position(&value))
            .collect::<Result<_, _>>()?,
        Value::Binary { bytes, .. } => set_in_bytes(bytes),
        value => match Number::from_value(value) {
            Some(number) => set_in_mask(operator, value, number)?,
            None => {
                return Err(bad_value(format!(
                    "{operator} takes an Array, a number, or a BinData but received: {operator}: {}",
                    value.to_bson()
                )));
            }
        },
    };
    Ok(Bits {
        positions,
        are_set: operator.ends_with("Set"),
        all: operator.starts_with("$bitsAll"),
    })
}

fn position(value: &Value<'_>) -> Result<u32> {
    let Some(number) = Number::from_value(value) else {
        return Err(bad_value(format!(
            "bit positions must be an integer but got: {}",
            value.to_bson()
        )));
    };
    let Some(position) = number.to_i64_exact() else {
        return Err(bad_value(format!(
            "Failed to parse bit position. Expected an integer: {}",
            value.to_bson()
        )));
    };
    u32::try_from(position).map_err(|_| {
        let what = if position < 0 {
            "bit positions must be >= 0 but got"
        } else {
            "bit positions cannot be represented as a 32-bit signed integer"
        };
        Code::FailedToParse.error(format!("{what}: {}", value.to_bson()))
    })
}

fn set_in_bytes(bytes: &[u8]) -> Vec<u32> {
    let bits = bytes.iter().enumerate().flat_map(|(at, byte)| {
        (0..8_u32).filter_map(move |bit| {
            let at = u32::try_from(at).ok()?.checked_mul(8)?;
            (byte >> bit & 1 == 1).then_some(at + bit)
        })
    });
    bits.collect()
}

fn set_in_mask(operator: &str, value: &Value<'_>, number: Number) -> Result<Vec<u32>> {
    let failed = |what: &str| {
        let shown = value.to_bson();
        Code::FailedToParse.error(format!("Expected {what}: {operator}: {shown}"))
    };
    let mask = number.to_i64_exact().ok_or_else(|| failed("an integer"))?;
    if mask < 0 {
        return Err(failed("a non-negative number in"));
    }
    Ok((0..63).filter(|bit| mask >> bit & 1 == 1).collect())
}

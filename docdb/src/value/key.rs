//! Encodes values into bytes that sort as the values do: the keys of documents and of indexes.
//!
//! | value | bytes |
//! |---|---|
//! | any | first its rank ([`kind::rank`]); numbers add 0 for NaN, 1 for negative, 2 for zero, 3 for positive |
//! | number | the double next to it towards zero (8 bytes); 0 if that is exact; else 1 and the number as decimal: power of ten (2 bytes), 34 digits (15 bytes); for a negative number all of this inverted |
//! | string, name, pattern | its bytes, 0x00 as 01 01 and 0x01 as 01 02, then 0 |
//! | document | per field the rank of its value, its name, its value; then 0 |
//! | array | its values; then 0 |
//! | binary | length (4 bytes), subtype, bytes |
//! | date, timestamp | 8 bytes, the sign bit of a date inverted |
//!
//! Equal values have equal encodings (`1`, `1.0`, `NumberDecimal("1.00")`), and no encoding begins
//! with another one, so encodings can follow one another and can be inverted for a descending field.

#[cfg(test)]
mod tests;

use bson::Bson;
use bson::raw::RawBsonRef;

use super::decimal::{Decimal, Finite};
use super::kind;
use super::view::{Fields, Value, with_value};
use super::write::document_of;

/// Deeper than this nothing is written; only what was never validated is that deep.
const DEPTH_MAX: usize = super::MAX_DEPTH + 20;

const NAN: u8 = kind::RANK_NUMBER;
const NEGATIVE: u8 = kind::RANK_NUMBER + 1;
const ZERO: u8 = kind::RANK_NUMBER + 2;
const POSITIVE: u8 = kind::RANK_NUMBER + 3;
/// The end of a string, document or array; every value begins with more than this.
const END: u8 = 0;
const ESCAPE: u8 = 1;
/// Makes the power of ten of a decimal, at least -6175, a positive number of 16 bits.
const POWER_BIAS: i32 = 0x4000;

/// Appends the encoding of `value`. A missing field's key is that of null.
pub(crate) fn encode(value: RawBsonRef<'_>, out: &mut Vec<u8>) {
    with_value(value, |value| encode_value(&value, out));
}

/// As [`encode`], for an owned value.
pub(crate) fn encode_owned(value: &Bson, out: &mut Vec<u8>) {
    if let Some(value) = Value::from_scalar(value) {
        encode_value(&value, out);
        return;
    }
    let document = document_of(value);
    let element = Fields::new(&document).elements().next();
    encode_value(&element.map_or(Value::Null, |element| element.value()), out);
}

/// As [`encode`], for a view.
#[inline]
pub(crate) fn encode_value(value: &Value<'_>, out: &mut Vec<u8>) {
    encode_at(value, out, DEPTH_MAX);
}

/// Appends the encoding of `value` inverted: larger values sort first.
pub(crate) fn encode_value_descending(value: &Value<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    encode_value(value, out);
    invert(out, start);
}

/// The least bytes above all that begin with `prefix`.
pub(crate) fn after(prefix: &[u8]) -> Vec<u8> {
    let mut bytes = prefix.to_vec();
    while let Some(last) = bytes.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return bytes;
        }
        bytes.pop();
    }
    // Nothing begins with 0xFF: neither an encoding nor an inverted one.
    vec![u8::MAX]
}

fn invert(out: &mut [u8], start: usize) {
    for byte in out.iter_mut().skip(start) {
        *byte = !*byte;
    }
}

fn encode_at(value: &Value<'_>, out: &mut Vec<u8>, depth: usize) {
    match value {
        Value::ObjectId(id) => {
            out.push(value.rank());
            out.extend_from_slice(id);
        }
        Value::String(text) | Value::Symbol(text) | Value::JavaScript(text) => {
            out.push(value.rank());
            encode_text(text, out);
        }
        Value::Int(integer) => encode_integer((*integer).into(), out),
        Value::Long(integer) => encode_integer(*integer, out),
        Value::Double(double) => encode_double(*double, out),
        Value::Decimal(bytes) => encode_decimal(Decimal::from_bytes(*bytes), out),
        Value::Document(fields) => {
            out.push(value.rank());
            encode_document(*fields, out, depth);
        }
        Value::Array(fields) => {
            out.push(value.rank());
            if let Some(depth) = depth.checked_sub(1) {
                fields
                    .values()
                    .for_each(|value| encode_at(&value, out, depth));
            }
            out.push(END);
        }
        Value::MinKey | Value::MaxKey | Value::Undefined | Value::Null => out.push(value.rank()),
        Value::Boolean(boolean) => out.extend_from_slice(&[value.rank(), u8::from(*boolean)]),
        Value::Date(milliseconds) => {
            out.push(value.rank());
            out.extend_from_slice(&(*milliseconds ^ i64::MIN).to_be_bytes());
        }
        _ => encode_rare(value, out, depth),
    }
}

#[cold]
fn encode_rare(value: &Value<'_>, out: &mut Vec<u8>, depth: usize) {
    out.push(value.rank());
    match value {
        Value::Timestamp(time) => out.extend_from_slice(&time.to_be_bytes()),
        Value::Binary { subtype, bytes } => {
            encode_length(bytes.len(), out);
            out.push(*subtype);
            out.extend_from_slice(bytes);
        }
        Value::Regex { pattern, options } => {
            encode_text(pattern, out);
            encode_text(options, out);
        }
        Value::DbPointer { namespace, id } => {
            encode_length(namespace.len(), out);
            out.extend_from_slice(namespace);
            out.extend_from_slice(id);
        }
        Value::JavaScriptWithScope { code, scope } => {
            encode_text(code, out);
            encode_document(*scope, out, depth);
        }
        _ => {}
    }
}

fn encode_document(fields: Fields<'_>, out: &mut Vec<u8>, depth: usize) {
    if let Some(depth) = depth.checked_sub(1) {
        for element in fields.elements() {
            out.push(kind::rank(element.kind));
            encode_text(element.name, out);
            encode_at(&element.value(), out, depth);
        }
    }
    out.push(END);
}

fn encode_text(text: &[u8], out: &mut Vec<u8>) {
    if text.iter().all(|byte| *byte > ESCAPE) {
        out.extend_from_slice(text);
    } else {
        for byte in text {
            match *byte {
                END => out.extend_from_slice(&[ESCAPE, 1]),
                ESCAPE => out.extend_from_slice(&[ESCAPE, 2]),
                byte => out.push(byte),
            }
        }
    }
    out.push(END);
}

fn encode_length(length: usize, out: &mut Vec<u8>) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
}

fn encode_integer(integer: i64, out: &mut Vec<u8>) {
    let magnitude = integer.unsigned_abs();
    if magnitude == 0 {
        out.push(ZERO);
        return;
    }
    // 53 bits fit a double; what lies below them makes the number inexact.
    let below = (u64::BITS - magnitude.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS);
    let truncated = magnitude >> below << below;
    let exact = (truncated != magnitude).then_some(Finite {
        is_negative: integer < 0,
        coefficient: magnitude.into(),
        exponent: 0,
    });
    encode_magnitude(integer < 0, truncated as f64, exact.as_ref(), out);
}

fn encode_double(double: f64, out: &mut Vec<u8>) {
    if double.is_nan() {
        out.push(NAN);
    } else if double == 0.0 {
        out.push(ZERO);
    } else {
        encode_magnitude(double < 0.0, double.abs(), None, out);
    }
}

fn encode_decimal(decimal: Decimal, out: &mut Vec<u8>) {
    match decimal {
        Decimal::NaN => out.push(NAN),
        Decimal::Infinity { is_negative } => {
            encode_magnitude(is_negative, f64::INFINITY, None, out);
        }
        Decimal::Finite(finite) if finite.coefficient == 0 => out.push(ZERO),
        Decimal::Finite(finite) => {
            let (truncated, is_exact) = finite.truncated_magnitude();
            let exact = (!is_exact).then_some(&finite);
            encode_magnitude(finite.is_negative, truncated, exact, out);
        }
    }
}

/// `truncated` is the magnitude cut to a double; `exact` the number, if that cut something off.
fn encode_magnitude(is_negative: bool, truncated: f64, exact: Option<&Finite>, out: &mut Vec<u8>) {
    out.push(if is_negative { NEGATIVE } else { POSITIVE });
    let start = out.len();
    out.extend_from_slice(&truncated.to_bits().to_be_bytes());
    match exact {
        None => out.push(0),
        Some(number) => {
            let (power, digits) = number.aligned();
            out.push(1);
            out.extend_from_slice(&((power + POWER_BIAS) as u16).to_be_bytes());
            // 34 digits need 113 bits: the first of the 16 bytes is 0.
            out.extend(digits.to_be_bytes().iter().skip(1));
        }
    }
    if is_negative {
        invert(out, start);
    }
}

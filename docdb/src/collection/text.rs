//! Values in the notation of MongoDB's error messages, as `{ email: "a@x", n: 1 }`.

use std::fmt::Write;

use bson::raw::{RawBsonRef, RawDocument};

/// Documents nested deeper are shown as `...` (BSON is refused beyond 180 levels anyway).
const DEEPEST: usize = 32;

/// A document as MongoDB's messages show it.
pub(crate) fn document(document: &RawDocument) -> String {
    let mut out = String::new();
    write_document(&mut out, document, 0);
    out
}

/// One value as MongoDB's messages show it.
pub(crate) fn value(value: RawBsonRef<'_>) -> String {
    let mut out = String::new();
    write_value(&mut out, value, 0);
    out
}

fn write_document(out: &mut String, document: &RawDocument, depth: usize) {
    if document.is_empty() {
        out.push_str("{}");
        return;
    }
    out.push_str("{ ");
    for (at, element) in document.iter_elements().flatten().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(element.key().as_str());
        out.push_str(": ");
        if let Ok(value) = element.value() {
            write_value(out, value, depth + 1);
        }
    }
    out.push_str(" }");
}

fn write_value(out: &mut String, value: RawBsonRef<'_>, depth: usize) {
    if depth > DEEPEST {
        out.push_str("...");
        return;
    }
    match value {
        RawBsonRef::Document(inner) => write_document(out, inner, depth),
        RawBsonRef::Array(items) if items.is_empty() => out.push_str("[]"),
        RawBsonRef::Array(items) => {
            out.push_str("[ ");
            for (at, item) in items.into_iter().flatten().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_value(out, item, depth + 1);
            }
            out.push_str(" ]");
        }
        scalar => out.push_str(&scalar_text(scalar)),
    }
}

fn scalar_text(value: RawBsonRef<'_>) -> String {
    match value {
        RawBsonRef::String(text) | RawBsonRef::Symbol(text) => format!("\"{text}\""),
        RawBsonRef::Double(number) => double(number),
        RawBsonRef::Int32(number) => number.to_string(),
        RawBsonRef::Int64(number) => number.to_string(),
        RawBsonRef::Decimal128(number) => number.to_string(),
        RawBsonRef::Boolean(truth) => truth.to_string(),
        RawBsonRef::ObjectId(id) => format!("ObjectId('{}')", id.to_hex()),
        RawBsonRef::DateTime(date) => format!("new Date({})", date.timestamp_millis()),
        RawBsonRef::Timestamp(stamp) => format!("Timestamp({}, {})", stamp.time, stamp.increment),
        RawBsonRef::RegularExpression(regex) => {
            format!("/{}/{}", regex.pattern.as_str(), regex.options.as_str())
        }
        RawBsonRef::Binary(binary) => {
            let mut hex = String::with_capacity(binary.bytes.len() * 2);
            for byte in binary.bytes {
                write!(hex, "{byte:02X}").expect("writing to a string cannot fail");
            }
            format!("BinData({}, {hex})", u8::from(binary.subtype))
        }
        RawBsonRef::Null => "null".to_owned(),
        RawBsonRef::Undefined => "undefined".to_owned(),
        RawBsonRef::MinKey => "MinKey".to_owned(),
        RawBsonRef::MaxKey => "MaxKey".to_owned(),
        other => format!("{:?}", other.element_type()),
    }
}

/// Doubles keep a decimal point, so that they differ from integers.
fn double(number: f64) -> String {
    if number.is_finite() && number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{number:.1}")
    } else if number.is_nan() {
        "nan.0".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "inf.0" } else { "-inf.0" }.to_owned()
    } else {
        number.to_string()
    }
}

/// The type's name as `$type` and MongoDB's messages have it.
pub(crate) fn type_name(value: RawBsonRef<'_>) -> &'static str {
    match value {
        RawBsonRef::Double(_) => "double",
        RawBsonRef::String(_) => "string",
        RawBsonRef::Document(_) => "object",
        RawBsonRef::Array(_) => "array",
        RawBsonRef::Binary(_) => "binData",
        RawBsonRef::Undefined => "undefined",
        RawBsonRef::ObjectId(_) => "objectId",
        RawBsonRef::Boolean(_) => "bool",
        RawBsonRef::DateTime(_) => "date",
        RawBsonRef::Null => "null",
        RawBsonRef::RegularExpression(_) => "regex",
        RawBsonRef::DbPointer(_) => "dbPointer",
        RawBsonRef::JavaScriptCode(_) => "javascript",
        RawBsonRef::Symbol(_) => "symbol",
        RawBsonRef::JavaScriptCodeWithScope(_) => "javascriptWithScope",
        RawBsonRef::Int32(_) => "int",
        RawBsonRef::Timestamp(_) => "timestamp",
        RawBsonRef::Int64(_) => "long",
        RawBsonRef::Decimal128(_) => "decimal",
        RawBsonRef::MinKey => "minKey",
        RawBsonRef::MaxKey => "maxKey",
    }
}

#[cfg(test)]
mod tests {
    use bson::oid::ObjectId;
    use bson::{Bson, rawdoc};

    use super::*;

    #[test]
    fn values_are_shown_as_mongodb_shows_them() {
        let shown = document(&rawdoc! {
            "s": "a@x", "i": 1, "l": 2_i64, "d": 3.0, "h": 0.5, "t": true, "n": Bson::Null.try_into().unwrap_or(bson::RawBson::Null),
            "o": ObjectId::from_bytes([7; 12]), "a": [1, "b"], "e": [], "x": { "y": {} }, "w": bson::DateTime::from_millis(5),
        });
        let expected = concat!(
            "{ s: \"a@x\", i: 1, l: 2, d: 3.0, h: 0.5, t: true, n: null, o: ObjectId('070707070707070707070707'), ",
            "a: [ 1, \"b\" ], e: [], x: { y: {} }, w: new Date(5) }"
        );
        assert_eq!(shown, expected);
    }
}

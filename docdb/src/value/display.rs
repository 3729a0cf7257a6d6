//! Values as MongoDB's error texts write them: `{ a: 1, b: "x" }`.

use std::fmt::Write as _;

use bson::raw::{RawBsonRef, RawDocument};
use bson::{Bson, Document};

use super::kind;

/// Texts longer than this end in dots, as in MongoDB's messages.
const TEXT_MAX: usize = 160;
/// A whole message's part is cut here, so that a large document does not become a large error.
const VALUE_MAX: usize = 4096;

/// `name: value`.
pub(crate) fn element(name: &str, value: &Bson) -> String {
    let mut text = format!("{name}: ");
    write_value(&mut text, value);
    text
}

/// The value alone.
pub(crate) fn value(value: &Bson) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

/// As [`value`], of bytes; nothing where they are no document.
pub(crate) fn document(document: &RawDocument) -> String {
    raw(RawBsonRef::Document(document))
}

/// As [`value`], of bytes.
pub(crate) fn raw(bytes: RawBsonRef<'_>) -> String {
    Bson::try_from(bytes)
        .as_ref()
        .map(value)
        .unwrap_or_default()
}

pub(crate) fn raw_type_name(value: RawBsonRef<'_>) -> &'static str {
    kind::name(value.element_type() as u8)
}

/// The name of a value's type, as `$type` and messages use it.
pub(crate) fn type_name(value: &Bson) -> &'static str {
    kind::name(value.element_type() as u8)
}

/// The name of a number's type where a message tells numbers apart.
pub(crate) fn number_type_name(value: &Bson) -> &'static str {
    match value {
        Bson::Int32(_) => "NumberInt",
        Bson::Int64(_) => "NumberLong",
        Bson::Decimal128(_) => "NumberDecimal",
        _ => "NumberDouble",
    }
}

fn write_value(out: &mut String, value: &Bson) {
    if out.len() > VALUE_MAX {
        out.push_str("...");
        return;
    }
    match value {
        Bson::Document(document) => write_document(out, document),
        Bson::Array(array) => write_array(out, array),
        scalar => write_scalar(out, scalar),
    }
}

fn write_document(out: &mut String, document: &Document) {
    if document.is_empty() {
        out.push_str("{}");
        return;
    }
    let mut separator = "{ ";
    for (name, value) in document {
        out.push_str(separator);
        out.push_str(name);
        out.push_str(": ");
        write_value(out, value);
        separator = ", ";
        if out.len() > VALUE_MAX {
            break;
        }
    }
    out.push_str(" }");
}

fn write_array(out: &mut String, array: &[Bson]) {
    if array.is_empty() {
        out.push_str("[]");
        return;
    }
    let mut separator = "[ ";
    for value in array {
        out.push_str(separator);
        write_value(out, value);
        separator = ", ";
        if out.len() > VALUE_MAX {
            break;
        }
    }
    out.push_str(" ]");
}

fn write_scalar(out: &mut String, value: &Bson) {
    let text = match value {
        Bson::String(text) | Bson::Symbol(text) => quoted(text),
        Bson::Double(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            format!("{number:.1}")
        }
        Bson::Double(number) if number.is_nan() => "nan.0".to_owned(),
        Bson::Double(number) if number.is_infinite() => format!("{number}.0"),
        Bson::Double(number) => number.to_string(),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        Bson::Boolean(truth) => truth.to_string(),
        Bson::Null => "null".to_owned(),
        Bson::Undefined => "undefined".to_owned(),
        Bson::MinKey => "MinKey".to_owned(),
        Bson::MaxKey => "MaxKey".to_owned(),
        Bson::ObjectId(id) => format!("ObjectId('{}')", id.to_hex()),
        Bson::DateTime(date) => format!("new Date({})", date.timestamp_millis()),
        Bson::Timestamp(stamp) => format!("Timestamp({}, {})", stamp.time, stamp.increment),
        Bson::Decimal128(number) => format!("NumberDecimal(\"{number}\")"),
        Bson::RegularExpression(regex) => {
            format!("/{}/{}", regex.pattern.as_str(), regex.options.as_str())
        }
        Bson::JavaScriptCode(code) => code.clone(),
        Bson::Binary(binary) => {
            let mut hex = String::new();
            for byte in binary.bytes.iter().take(TEXT_MAX) {
                write!(hex, "{byte:02X}").ok();
            }
            format!("BinData({}, {hex})", u8::from(binary.subtype))
        }
        other => type_name(other).to_owned(),
    };
    out.push_str(&text);
}

fn quoted(text: &str) -> String {
    if text.len() <= TEXT_MAX {
        return format!("\"{text}\"");
    }
    let start: String = text.chars().take(TEXT_MAX - 10).collect();
    format!("\"{start}...\"")
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

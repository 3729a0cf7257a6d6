//! How large and how deep a document may become, and whether two values are the same to the byte.

use bson::{Bson, Document, RawDocumentBuf};

use crate::error::{Code, CommandError, Result};

/// MongoDB's limit on a document.
pub(super) const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// MongoDB's limit on how deep documents and arrays nest.
pub(super) const DEPTH_MAX: usize = 180;

pub(super) fn too_large() -> CommandError {
    Code::BSONObjectTooLarge.error(format!(
        "Resulting document after update is larger than {DOCUMENT_BYTES_MAX}"
    ))
}

pub(super) fn check_size(bytes: usize) -> Result<()> {
    if bytes > DOCUMENT_BYTES_MAX {
        return Err(too_large());
    }
    Ok(())
}

pub(super) fn too_deep() -> CommandError {
    Code::Overflow.error(format!(
        "Document exceeds maximum nesting depth of {DEPTH_MAX}"
    ))
}

/// Writes `document` down if it is neither too large nor too deep.
pub(super) fn encode(document: &Document) -> Result<RawDocumentBuf> {
    for value in document.values() {
        check_depth(value, DEPTH_MAX - 1)?;
    }
    let raw = RawDocumentBuf::try_from(document)?;
    check_size(raw.as_bytes().len())?;
    Ok(raw)
}

/// Refuses a value that nests more than `left` levels.
pub(super) fn check_depth(value: &Bson, left: usize) -> Result<()> {
    match value {
        Bson::Document(document) => {
            let left = left.checked_sub(1).ok_or_else(too_deep)?;
            document
                .values()
                .try_for_each(|inner| check_depth(inner, left))
        }
        Bson::Array(array) => {
            let left = left.checked_sub(1).ok_or_else(too_deep)?;
            array.iter().try_for_each(|inner| check_depth(inner, left))
        }
        _ => Ok(()),
    }
}

/// At least this many bytes go into a document for `value`, exact but for rare types.
pub(super) fn size(value: &Bson) -> usize {
    match value {
        Bson::Document(document) => {
            let fields = document
                .iter()
                .map(|(name, inner)| name.len() + 2 + size(inner));
            5 + fields.sum::<usize>()
        }
        Bson::Array(array) => 5 + array.iter().map(|inner| 3 + size(inner)).sum::<usize>(),
        Bson::String(text) | Bson::Symbol(text) | Bson::JavaScriptCode(text) => text.len() + 5,
        Bson::Binary(binary) => binary.bytes.len() + 5,
        Bson::Boolean(_) => 1,
        Bson::Int32(_) => 4,
        Bson::Decimal128(_) => 16,
        Bson::ObjectId(_) => 12,
        Bson::Int64(_) | Bson::Double(_) | Bson::DateTime(_) | Bson::Timestamp(_) => 8,
        _ => 0,
    }
}

/// The same type and bytes: what makes an update a no-op. `1` and `1.0` differ, as do `{a, b}` and `{b, a}`.
pub(super) fn identical(left: &Bson, right: &Bson) -> bool {
    match (left, right) {
        (Bson::Double(left), Bson::Double(right)) => left.to_bits() == right.to_bits(),
        (Bson::Document(left), Bson::Document(right)) => same_fields(left, right),
        (Bson::Array(left), Bson::Array(right)) => same_elements(left, right),
        _ => left == right,
    }
}

pub(super) fn same_fields(left: &Document, right: &Document) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|((name, value), (other_name, other))| {
                name == other_name && identical(value, other)
            })
}

pub(super) fn same_elements(left: &[Bson], right: &[Bson]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| identical(left, right))
}

//! Documents between stages: decoded, changed at a path, written down again.

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, Document};

use crate::error::{Code, CommandError, Result};
use crate::value::{Fields, MADE_DEPTH_MAX, Value, Writer, decode, nests_deeper, too_deep};

/// Writes a document between stages down; it may be larger and deeper than one that is stored, as in MongoDB, but not by much.
pub(super) fn encode(document: &Document) -> Result<RawDocumentBuf> {
    let raw = RawDocumentBuf::try_from(document)?;
    check(raw)
}

/// Refuses a document that is too large, or so deep that a stage that wraps it once more, a thousand times, would let
/// whoever reads it run out of stack.
pub(super) fn check(document: RawDocumentBuf) -> Result<RawDocumentBuf> {
    let size = document.as_bytes().len();
    if size > DOCUMENT_BYTES_MAX {
        return Err(too_large(size));
    }
    if nests_deeper(&document, MADE_DEPTH_MAX) {
        return Err(too_deep());
    }
    Ok(document)
}

/// The error of a document of so many bytes.
pub(super) fn too_large(size: usize) -> CommandError {
    Code::BSONObjectTooLarge.error(format!(
        "BSONObj size: {size} (0x{size:X}) is invalid. Size must be between 0 and {DOCUMENT_BYTES_MAX}(16MB)"
    ))
}

/// 16 MiB and the 16 KiB that MongoDB grants for what commands add.
pub(super) const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024 + 16 * 1024;

/// The document with an array at a path, given as the document of its elements.
pub(super) fn with_array(
    document: &RawDocument,
    path: &[String],
    array: &RawDocument,
) -> Result<RawDocumentBuf> {
    let array = Value::Array(Fields::new(array));
    let [name] = path else {
        let mut owned = decode(document)?;
        set(&mut owned, path, array.to_bson());
        return encode(&owned);
    };
    let size = document.as_bytes().len() + name.len() + 16;
    let mut writer = Writer::with_capacity(size);
    let mut is_new = true;
    for element in Fields::new(document).elements() {
        if element.name == name.as_bytes() {
            is_new = false;
            writer.value(element.name, &array);
        } else {
            writer.element(&element);
        }
    }
    if is_new {
        writer.value(name.as_bytes(), &array);
    }
    check(writer.finish())
}

/// Sets a value at a path, making documents on the way.
pub(super) fn set(document: &mut Document, path: &[String], value: Bson) {
    let Some((last, above)) = path.split_last() else {
        return;
    };
    let mut document = document;
    for name in above {
        let inner = document
            .entry(name.clone())
            .or_insert(Bson::Document(Document::new()));
        if !matches!(inner, Bson::Document(_)) {
            *inner = Bson::Document(Document::new());
        }
        let Some(next) = inner.as_document_mut() else {
            return;
        };
        document = next;
    }
    document.insert(last.clone(), value);
}

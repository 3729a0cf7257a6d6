//! Documents between stages: decoded, changed at a path, written down again.

use bson::raw::RawDocumentBuf;
use bson::{Bson, Document};

use crate::error::{Code, Result};

/// Writes a document between stages down; it may be larger than one that is stored, as in MongoDB, but not by much.
pub(super) fn encode(document: &Document) -> Result<RawDocumentBuf> {
    let raw = RawDocumentBuf::try_from(document)?;
    check_size(raw)
}

pub(super) fn check_size(document: RawDocumentBuf) -> Result<RawDocumentBuf> {
    let size = document.as_bytes().len();
    if size > DOCUMENT_BYTES_MAX {
        return Err(Code::BSONObjectTooLarge.error(format!(
            "BSONObj size: {size} (0x{size:X}) is invalid. Size must be between 0 and {DOCUMENT_BYTES_MAX}(16MB)"
        )));
    }
    Ok(document)
}

/// 16 MiB and the 16 KiB that MongoDB grants for what commands add.
const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024 + 16 * 1024;

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

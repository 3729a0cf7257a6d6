//! The error of a second document with the same key in a unique index.

use bson::Document;
use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::index::IndexSpec;
use super::keys::{cut, each_key};
use super::{Collection, ID_INDEX};
use crate::error::{Code, CommandError};
use crate::query::encode_key;
use crate::value::{Value, Writer, display};

/// Another document has this `_id`.
pub(super) fn id_error(collection: &Collection, id: RawBsonRef<'_>) -> CommandError {
    let mut pattern = Writer::with_capacity(16);
    pattern.int("_id", 1);
    let mut value = Writer::with_capacity(32);
    value.raw("_id", id);
    error(collection, ID_INDEX, &pattern.finish(), &value.finish())
}

/// Another document has one of this document's keys in a unique index: the one whose encoded values are `values`.
pub(super) fn index_error(
    collection: &Collection,
    spec: &IndexSpec,
    document: &RawDocument,
    values: &[u8],
) -> CommandError {
    let mut found = None;
    let mut encoded = Vec::new();
    let walked = each_key(spec, document, &mut |key| {
        encoded.clear();
        encode_key(&spec.fields, key, &mut encoded);
        cut(&mut encoded, 0);
        if found.is_none() && encoded == values {
            let mut writer = Writer::default();
            for (field, value) in spec.fields.iter().zip(key) {
                let value = value.unwrap_or(Value::Null);
                writer.value(field.path.text().as_bytes(), &value);
            }
            found = Some(writer.finish());
        }
    });
    match walked {
        Ok(_) => error(
            collection,
            &spec.name,
            &spec.key,
            &found.unwrap_or_default(),
        ),
        Err(error) => error,
    }
}

fn error(
    collection: &Collection,
    index: &str,
    pattern: &RawDocumentBuf,
    value: &RawDocumentBuf,
) -> CommandError {
    let mut details = Document::new();
    for (name, document) in [("keyPattern", pattern), ("keyValue", value)] {
        if let Ok(owned) = Document::try_from(document.as_ref()) {
            details.insert(name, owned);
        }
    }
    Code::DuplicateKey
        .error(format!(
            "E11000 duplicate key error collection: {} index: {index} dup key: {}",
            collection.namespace(),
            display::document(value)
        ))
        .with_details(details)
}

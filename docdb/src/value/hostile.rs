//! What the fuzz targets for updates and pipelines share: how they read their input and say how it went.

use bson::raw::{RawBsonRef, RawDocument};

use super::validate;
use crate::error::Result;

/// Runs `body` over `input` if that is a valid document. The answer is the body's, or the name of its error.
pub(crate) fn on_document(
    input: &[u8],
    body: impl FnOnce(&RawDocument) -> Result<&'static str>,
) -> String {
    let document = RawDocument::from_bytes(input);
    let (Ok(()), Ok(document)) = (validate(input), document) else {
        return "not a document".to_owned();
    };
    match body(document) {
        Ok(outcome) => outcome.to_owned(),
        Err(error) => error.code.name().into_owned(),
    }
}

/// The documents in the array `field`.
pub(crate) fn documents<'a>(document: &'a RawDocument, field: &str) -> Vec<&'a RawDocument> {
    let Ok(array) = document.get_array(field) else {
        return Vec::new();
    };
    let values = array.into_iter().flatten();
    values
        .filter_map(|value| match value {
            RawBsonRef::Document(inner) => Some(inner),
            _ => None,
        })
        .collect()
}

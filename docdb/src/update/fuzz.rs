//! The body of the fuzz target for updates.

use bson::DateTime;
use bson::raw::{RawBsonRef, RawDocument};

use super::Update;
use crate::error::Result;
use crate::query::Filter;

/// Reads `{u: …, document: …, filters: […], q: …}`, applies and upserts, and says how that went.
///
/// It must not panic; what an update makes must be a valid document with the `_id` it had.
pub fn fuzz_update(input: &[u8]) -> String {
    if crate::value::validate(input).is_err() {
        return "not a document".to_owned();
    }
    let Ok(document) = RawDocument::from_bytes(input) else {
        return "not a document".to_owned();
    };
    match run(document) {
        Ok(outcome) => outcome.to_owned(),
        Err(error) => error.code.name().into_owned(),
    }
}

fn run(input: &RawDocument) -> Result<&'static str> {
    let Ok(Some(update)) = input.get("u") else {
        return Ok("no update");
    };
    let mut filters = Vec::new();
    if let Ok(array) = input.get_array("filters") {
        for value in array.into_iter().flatten() {
            if let RawBsonRef::Document(filter) = value {
                filters.push(filter);
            }
        }
    }
    let update = Update::parse(update, &filters)?;
    let now = DateTime::from_millis(1);
    if let Ok(filter) = input.get_document("q") {
        let inserted = update.upsert(&Filter::parse(filter)?, now)?;
        assert!(crate::value::validate(inserted.as_bytes()).is_ok());
    }
    let Ok(document) = input.get_document("document") else {
        return Ok("no document");
    };
    let Some(changed) = update.apply(document, Some(0), false, now)? else {
        return Ok("unchanged");
    };
    assert!(crate::value::validate(changed.as_bytes()).is_ok());
    if let Ok(Some(id)) = document.get("_id") {
        assert_eq!(changed.get("_id").ok().flatten(), Some(id));
    }
    Ok("changed")
}

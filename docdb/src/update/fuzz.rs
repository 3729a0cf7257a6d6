//! The body of the fuzz target for updates.

use bson::DateTime;
use bson::raw::RawDocument;

use super::Update;
use crate::error::Result;
use crate::query::Filter;
use crate::value::{hostile, validate};

/// Reads `{u: …, document: …, filters: […], q: …}`, applies and upserts, and says how that went.
///
/// It must not panic; what an update makes must be a valid document with the `_id` it had.
pub fn fuzz_update(input: &[u8]) -> String {
    hostile::on_document(input, run)
}

fn run(input: &RawDocument) -> Result<&'static str> {
    let Ok(Some(update)) = input.get("u") else {
        return Ok("no update");
    };
    let update = Update::parse(update, &hostile::documents(input, "filters"))?;
    let now = DateTime::from_millis(1);
    if let Ok(filter) = input.get_document("q") {
        let inserted = update.upsert(&Filter::parse(filter)?, now)?;
        assert!(validate(inserted.as_bytes()).is_ok());
    }
    let Ok(document) = input.get_document("document") else {
        return Ok("no document");
    };
    let Some(changed) = update.apply(document, Some(0), false, now)? else {
        return Ok("unchanged");
    };
    assert!(validate(changed.as_bytes()).is_ok());
    if let Ok(Some(id)) = document.get("_id") {
        assert_eq!(changed.get("_id").ok().flatten(), Some(id));
    }
    Ok("changed")
}

//! What updates do to documents, operator by operator, and which errors they answer.

mod errors;
mod operators;
mod paths;
mod pipelines;
mod properties;
pub(crate) mod shell;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};

use super::Update;
use crate::error::Result;

pub(super) const NOW: DateTime = DateTime::from_millis(1_700_000_000_123);

pub(super) fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).expect("the document is valid")
}

pub(super) fn parse(update: impl Into<Bson>, filters: &[Document]) -> Result<Update> {
    let holder = raw(&doc! { "u": update.into() });
    let filters: Vec<RawDocumentBuf> = filters.iter().map(raw).collect();
    let filters: Vec<_> = filters.iter().map(AsRef::as_ref).collect();
    let value = holder.get("u").expect("valid").expect("there");
    Update::parse(value, &filters)
}

/// The changed document, or `None` if nothing changed.
pub(super) fn apply(document: &Document, update: impl Into<Bson>) -> Result<Option<Document>> {
    apply_with(document, update, &[], None)
}

pub(super) fn apply_with(
    document: &Document,
    update: impl Into<Bson>,
    filters: &[Document],
    positional: Option<usize>,
) -> Result<Option<Document>> {
    let changed = parse(update, filters)?.apply(&raw(document), positional, false, NOW)?;
    Ok(changed.map(|changed| Document::try_from(&*changed).expect("valid")))
}

/// `document` becomes `expected`, to the byte and in this order of fields.
#[track_caller]
pub(super) fn becomes(document: &Document, update: Document, expected: Document) {
    let what = format!("{document} {update}");
    let changed = apply(document, update).unwrap_or_else(|error| panic!("{what}: {error}"));
    let changed = changed.unwrap_or_else(|| document.clone());
    let expected = RawDocumentBuf::try_from(expected).expect("valid");
    assert_eq!(raw(&changed), expected, "{what}: {changed}");
}

#[track_caller]
pub(super) fn stays(document: &Document, update: Document) {
    let what = format!("{document} {update}");
    assert_eq!(apply(document, update), Ok(None), "{what}");
}

/// Parsing or applying fails with this code and a message that contains `text`.
#[track_caller]
pub(super) fn fails(document: &Document, update: impl Into<Bson>, code: i32, text: &str) {
    let error = apply(document, update).expect_err(text);
    assert_eq!(error.code.number(), code, "{error}");
    assert!(error.message.contains(text), "{error}");
}

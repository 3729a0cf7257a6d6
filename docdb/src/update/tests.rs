//! What updates do to documents, operator by operator, and which errors they answer.

mod errors;
mod operators;
mod paths;
mod pipelines;
mod properties;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};

use super::Update;
use crate::error::Result;
pub(super) use crate::value::samples::raw;
use crate::value::shell;

pub(super) const NOW: DateTime = DateTime::from_millis(1_700_000_000_123);

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

/// Lines of a document, an update, perhaps ` at PLACE` or ` where FILTERS`, and what the document becomes:
/// to the byte, in this order of fields. `same` says that nothing changed.
pub(super) fn check(table: &str) {
    for (question, answer) in shell::rows(table) {
        let (document, update) = question.split_once(" by ").expect("an update");
        let (update, filters) = update.split_once(" where ").unwrap_or((update, "[]"));
        let (update, place) = update.split_once(" at ").unwrap_or((update, ""));
        let document = shell::document(document);
        let filters = shell::documents(filters);
        let changed = apply_with(
            &document,
            shell::value(update),
            &filters,
            place.parse().ok(),
        );
        if answer == "same" {
            assert_eq!(changed, Ok(None), "{question}");
            continue;
        }
        let changed = changed.map(|changed| changed.unwrap_or(document));
        shell::assert_answer(question, changed, answer);
    }
}

/// Parsing or applying fails with this code and a message that contains `text`.
#[track_caller]
pub(super) fn fails(document: &Document, update: impl Into<Bson>, code: i32, text: &str) {
    let error = apply(document, update).expect_err(text);
    shell::assert_refused(text, &error, &format!("{code} {text}"));
}

//! What stages hand to each other while a pipeline runs.

use bson::raw::RawDocumentBuf;

/// What a stage has for the next one.
#[derive(Debug)]
pub(super) enum Output {
    Document(RawDocumentBuf),
    /// It wants input, or has none left.
    Nothing,
    /// The slice is used up in the middle of its work.
    Later,
}

//! A replacement: the whole document but for its `_id`.

use bson::{Bson, Document};

use super::path;
use crate::error::{Code, Result};
use crate::value::{compare_owned, display};

/// Checks what may not stand in a replacement at the top.
pub(super) fn check(replacement: &Document) -> Result<()> {
    match replacement.keys().find(|key| key.starts_with('$')) {
        Some(key) => Err(path::dollar_field(key)),
        None => Ok(()),
    }
}

/// `replacement` with the `_id` of `old` in front; refused if it brings another one.
pub(super) fn with_id(replacement: &Document, id: Option<&Bson>) -> Result<Document> {
    let mut new = Document::new();
    if let Some(id) = id {
        new.insert("_id", id.clone());
    }
    for (name, value) in replacement {
        if name == "_id" {
            keep_id(id, value)?;
        }
        new.insert(name.clone(), value.clone());
    }
    Ok(id_first(new))
}

/// Refuses `new` where `old` is another `_id`. A number may change its type: what has the same key is the same `_id`.
pub(super) fn keep_id(old: Option<&Bson>, new: &Bson) -> Result<()> {
    match old {
        Some(old) if compare_owned(old, new).is_ne() => Err(Code::ImmutableField.error(format!(
            "After applying the update, the (immutable) field '_id' was found to have been altered to {}",
            display::element("_id", new)
        ))),
        _ => Ok(()),
    }
}

/// The same fields with `_id` in front, where MongoDB keeps it.
pub(super) fn id_first(document: Document) -> Document {
    if document.keys().next().is_some_and(|name| name == "_id") || !document.contains_key("_id") {
        return document;
    }
    let mut rest = document;
    let mut sorted = Document::new();
    if let Some(id) = rest.remove("_id") {
        sorted.insert("_id", id);
    }
    sorted.extend(rest);
    sorted
}

/// Refuses values that no `_id` may have.
pub(super) fn check_id(id: &Bson) -> Result<()> {
    match id {
        Bson::Array(_) | Bson::RegularExpression(_) | Bson::Undefined => Err(Code::InvalidIdField
            .error(format!(
                "The '_id' value cannot be of type {}",
                display::type_name(id)
            ))),
        Bson::Document(document) => match document.keys().find(|key| key.starts_with('$')) {
            Some(key) => Err(Code::DollarPrefixedFieldName.error(format!(
                "_id fields may not contain '$'-prefixed fields: {key} is not valid for storage."
            ))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

//! Field paths of expressions: how they are written, and what they lead to.

use bson::Bson;
use bson::raw::RawDocument;

use super::function::Evaluated;
use crate::error::{Code, Result};
use crate::value::{Element, Fields, kind};

/// A request nests no deeper; owned values from elsewhere are held to the same.
pub(super) const DEPTH_MAX: usize = 200;

pub(super) fn check_path_part(name: &str) -> Result<()> {
    if name.starts_with('$') {
        return Err(Code::Location(16410).error(
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ));
    }
    if name.contains('\0') {
        return Err(Code::Location(16411).error("FieldPath field names may not contain '\\0'."));
    }
    Ok(())
}

/// User variables begin with a small letter (or a letter beyond ASCII) and go on with word characters.
pub(super) fn check_variable(name: &str) -> Result<()> {
    let Some(first) = name.chars().next() else {
        return Err(Code::FailedToParse.error("empty variable names are not allowed"));
    };
    if first.is_ascii() && !first.is_ascii_lowercase() {
        return Err(Code::FailedToParse.error(format!(
            "'{name}' starts with an invalid character for a user variable name"
        )));
    }
    match name
        .chars()
        .find(|c| c.is_ascii() && !c.is_ascii_alphanumeric() && *c != '_')
    {
        Some(other) => Err(Code::FailedToParse.error(format!(
            "'{name}' contains an invalid character for a variable name: '{other}'"
        ))),
        None => Ok(()),
    }
}

/// The components of a field path, without the `$` before it.
pub(crate) fn field_path(path: &str) -> Result<Vec<String>> {
    if path.is_empty() {
        return Err(Code::Location(16872).error("'$' by itself is not a valid FieldPath"));
    }
    if path.ends_with('.') {
        return Err(Code::Location(40353).error("FieldPath must not end with a '.'."));
    }
    let names: Vec<String> = path.split('.').map(str::to_owned).collect();
    if names.len() > DEPTH_MAX {
        return Err(Code::Overflow.error("FieldPath is too long"));
    }
    for name in &names {
        if name.is_empty() {
            return Err(
                Code::Location(15998).error("FieldPath field names may not be empty strings.")
            );
        }
        check_path_part(name)?;
    }
    Ok(names)
}

/// The value at `path` in `root`; arrays on the way give an array of what their documents hold.
pub(super) fn field(root: &RawDocument, path: &[String]) -> Evaluated {
    at_fields(Fields::new(root), path)
}

fn at_fields(fields: Fields<'_>, path: &[String]) -> Evaluated {
    let (first, rest) = path.split_first()?;
    let element = fields.find(first.as_bytes())?;
    at_element(&element, rest)
}

fn at_element(element: &Element<'_>, path: &[String]) -> Evaluated {
    if path.is_empty() {
        return Some(element.value().to_bson());
    }
    match element.kind {
        kind::DOCUMENT => at_fields(Fields::from_bytes(element.bytes), path),
        kind::ARRAY => {
            let inside = Fields::from_bytes(element.bytes).elements();
            let values = inside.filter_map(|inner| at_element(&inner, path));
            Some(Bson::Array(values.collect()))
        }
        _ => None,
    }
}

/// As [`field`], from an owned value.
pub(crate) fn at_path(value: &Bson, path: &[String]) -> Evaluated {
    let Some((first, rest)) = path.split_first() else {
        return Some(value.clone());
    };
    match value {
        Bson::Document(document) => at_path(document.get(first)?, rest),
        Bson::Array(array) => {
            let values = array.iter().filter_map(|inner| at_path(inner, path));
            Some(Bson::Array(values.collect()))
        }
        _ => None,
    }
}

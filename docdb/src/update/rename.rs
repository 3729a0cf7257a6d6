//! `$rename`: the source is taken out before the walk, the target is set in its place by the walk.

use bson::{Bson, Document};

use super::path::{self, Name, Part};
use crate::error::{Code, CommandError, Result};
use crate::value::display;

/// One `$rename`; both paths are plain names.
#[derive(Debug)]
pub(super) struct Rename {
    from: Vec<String>,
    to: Vec<String>,
}

impl Rename {
    pub(super) fn parse(from: &str, to: &Bson) -> Result<(Self, String)> {
        let text = display::element(from, to);
        let Bson::String(to) = to else {
            return Err(Code::BadValue.error(format!(
                "The 'to' field for $rename must be a string: {text}"
            )));
        };
        if to.contains('\0') {
            return Err(Code::BadValue
                .error("The 'to' field for $rename cannot contain an embedded null byte"));
        }
        let (source, target) = (path::parse(from)?, path::parse(to)?);
        if source == target {
            return Err(Code::BadValue.error(format!(
                "The source and target field for $rename must differ: {text}"
            )));
        }
        if source.starts_with(&target) || target.starts_with(&source) {
            return Err(Code::BadValue.error(format!(
                "The source and target field for $rename must not be on the same path: {text}"
            )));
        }
        let names = |parts: &[Part]| -> Option<Vec<String>> {
            parts
                .iter()
                .map(|part| match part {
                    Part::Name(Name(name)) => Some(name.clone()),
                    _ => None,
                })
                .collect()
        };
        let dynamic = |role: &str, path: &str| {
            Code::BadValue.error(format!(
                "The {role} field for $rename may not be dynamic: {path}"
            ))
        };
        let from = names(&source).ok_or_else(|| dynamic("source", from))?;
        let rename = Self {
            from,
            to: names(&target).ok_or_else(|| dynamic("destination", to))?,
        };
        Ok((rename, to.clone()))
    }

    /// Takes the source's value out of `document`; `None` if there is none.
    pub(super) fn take(&self, document: &mut Document) -> Result<Option<Bson>> {
        let found = find(document, &self.from)?;
        if !found.exists {
            return Ok(None);
        }
        if let Some(array) = found.array {
            return Err(inside_array("source", &self.from, document, array));
        }
        // What the target's path runs into is for the walk to refuse; here only arrays matter.
        let target = find(document, &self.to).unwrap_or_default();
        if let Some(array) = target.array {
            return Err(inside_array("destination", &self.to, document, array));
        }
        Ok(remove(document, &self.from))
    }
}

#[derive(Default)]
struct Traversal<'a> {
    exists: bool,
    /// The name of an array that the path leads through.
    array: Option<&'a str>,
}

/// Follows `names`; an error if they run into a value that has no parts.
fn find<'a>(document: &Document, names: &'a [String]) -> Result<Traversal<'a>> {
    let mut found = Traversal::default();
    let mut name_above = "";
    let mut above: Option<&Bson> = None;
    for name in names {
        let value = match above {
            None => document.get(name),
            Some(Bson::Document(inner)) => inner.get(name),
            Some(Bson::Array(array)) => {
                found.array = Some(name_above);
                match path::index(name) {
                    Some(index) => array.get(index),
                    None => return Err(unreachable_part(name, names, name_above, above)),
                }
            }
            Some(_) => return Err(unreachable_part(name, names, name_above, above)),
        };
        if value.is_none() {
            return Ok(found);
        }
        above = value;
        name_above = name;
    }
    found.exists = true;
    Ok(found)
}

fn unreachable_part(
    part: &str,
    names: &[String],
    name_above: &str,
    above: Option<&Bson>,
) -> CommandError {
    Code::PathNotViable.error(format!(
        "Cannot use the part ({part}) of ({}) to traverse the element ({{{}}})",
        names.join("."),
        display::element(name_above, above.unwrap_or(&Bson::Null))
    ))
}

fn inside_array(role: &str, names: &[String], document: &Document, array: &str) -> CommandError {
    let id = match document.get("_id") {
        Some(id) => display::element("_id", id),
        None => "no id".to_owned(),
    };
    Code::BadValue.error(format!(
        "The {role} field cannot be an array element, '{}' in doc with {id} has an array field called '{array}'",
        names.join(".")
    ))
}

fn remove(document: &mut Document, names: &[String]) -> Option<Bson> {
    let (last, above) = names.split_last()?;
    let mut document = document;
    for name in above {
        document = document.get_mut(name)?.as_document_mut()?;
    }
    document.remove(last)
}

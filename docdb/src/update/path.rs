//! The path that an update names: fields, array indexes, `$`, `$[]` and `$[id]`.

use std::cmp::Ordering;

use crate::error::{Code, CommandError, Result};
pub(super) use crate::value::path::array_index as index;

/// One component of an update path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// A field's name, or an index where the value turns out to be an array.
    Name(Name),
    /// `$`: the element that the filter matched.
    Matched,
    /// `$[id]`: every element that the array filter `id` accepts; `$[]` has the empty identifier.
    Filtered(String),
}

impl Part {
    pub(super) fn is_filtered(&self) -> bool {
        matches!(self, Self::Filtered(_))
    }
}

/// Deeper than any document may nest; a path is walked by recursion.
const COMPONENTS_MAX: usize = 200;

/// Splits `path` at its dots and checks it as far as a path alone can be wrong.
pub(super) fn parse(path: &str) -> Result<Vec<Part>> {
    if path.is_empty() {
        return Err(Code::EmptyFieldName.error("An empty update path is not valid."));
    }
    let mut parts = Vec::new();
    for text in path.split('.') {
        if text.is_empty() {
            return Err(Code::EmptyFieldName.error(format!(
                "The update path '{path}' contains an empty field name, which is not allowed."
            )));
        }
        parts.push(part(text));
    }
    if parts.len() > COMPONENTS_MAX {
        return Err(Code::Overflow.error(format!(
            "FieldPath is too long, it has more than {COMPONENTS_MAX} components"
        )));
    }
    check_positions(path, &parts)?;
    Ok(parts)
}

fn part(text: &str) -> Part {
    if text == "$" {
        return Part::Matched;
    }
    let identifier = text
        .strip_prefix("$[")
        .and_then(|rest| rest.strip_suffix(']'));
    match identifier {
        Some(identifier) => Part::Filtered(identifier.to_owned()),
        None => Part::Name(Name(text.to_owned())),
    }
}

fn check_positions(path: &str, parts: &[Part]) -> Result<()> {
    match parts.first() {
        Some(Part::Matched) => {
            return Err(Code::BadValue.error(format!(
                "Cannot have positional (i.e. '$') element in the first position in path '{path}'"
            )));
        }
        Some(Part::Filtered(_)) => {
            return Err(Code::BadValue.error(format!(
                "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '{path}'"
            )));
        }
        Some(Part::Name(name)) if name.0.starts_with('$') => {
            return Err(dollar_field(&name.0));
        }
        _ => {}
    }
    let matched = parts.iter().filter(|part| **part == Part::Matched).count();
    if matched > 1 {
        return Err(Code::BadValue.error(format!(
            "Too many positional (i.e. '$') elements found in path '{path}'"
        )));
    }
    Ok(())
}

/// A top-level field may not begin with `$`, neither as a path nor in a replacement.
pub(super) fn dollar_field(name: &str) -> CommandError {
    Code::DollarPrefixedFieldName.error(format!(
        "The dollar ($) prefixed field '{name}' in '{name}' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith."
    ))
}

/// A field's name, ordered as new fields are added: numbers by number, before all other names.
///
/// MongoDB compares two numbers by number and everything else as text, which is no total order
/// (`10` < `1a` < `9` < `10`); numbers first is the total order that agrees with it on all but such mixtures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) String);

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        match (index(&self.0), index(&other.0)) {
            (Some(left), Some(right)) => left.cmp(&right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.0.cmp(&other.0),
        }
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

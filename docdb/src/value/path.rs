//! Finds the values at a dotted path, through arrays as MongoDB's filters go through them.
//!
//! With `a.b`, an array at `a` stands for each document in it. A component that is a number is
//! both the name of a field and a place in an array. At the path's end an array stands for each
//! of its elements and then for itself.

#[cfg(test)]
mod tests;

use super::kind;
use super::view::{Fields, Value};
use crate::error::{Code, Result};

/// Components that a path may have (MongoDB's limit).
const PARTS_MAX: usize = 200;
/// Components that may be numbers. Each can be read in two ways, so the work may double with each.
const NUMBERS_MAX: usize = 16;

/// A dotted path, split once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    text: Box<str>,
    parts: Box<[Part]>,
}

/// One component of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub name: Box<[u8]>,
    /// The place in an array that the component may stand for: digits without a leading zero.
    pub index: Option<usize>,
}

/// What an array at the end of a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Each of its elements, then itself.
    Elements,
    /// Itself.
    Whole,
}

/// One thing that a path leads to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathValue<'a> {
    /// `None`: the path ends where nothing is.
    pub value: Option<Value<'a>>,
    /// The place in the outermost array that was gone through: what `$` stands for.
    pub position: Option<usize>,
}

impl Path {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let parts: Box<[Part]> = text.split('.').map(Part::new).collect();
        if parts.len() > PARTS_MAX {
            let text = format!("FieldPath is too long: it has more than {PARTS_MAX} components");
            return Err(Code::Overflow.error(text));
        }
        if parts.iter().filter(|part| part.index.is_some()).count() > NUMBERS_MAX {
            let text = format!("FieldPath has more than {NUMBERS_MAX} numeric components");
            return Err(Code::BadValue.error(text));
        }
        let text = text.into();
        Ok(Self { text, parts })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Calls `see` with what the path leads to, in order, until it answers true; whether it did.
    #[inline]
    pub(crate) fn visit<'a, F>(&self, document: Fields<'a>, leaf: Leaf, mut see: F) -> bool
    where
        F: FnMut(PathValue<'a>) -> bool,
    {
        match &*self.parts {
            [part] => {
                let value = document.find(&part.name).map(|element| element.value());
                visit_end(value, leaf, &mut see)
            }
            parts => visit_document(document, parts, leaf, &mut see),
        }
    }
}

impl Part {
    fn new(name: &str) -> Self {
        Self {
            name: name.as_bytes().into(),
            index: array_index(name),
        }
    }
}

/// The place in an array that `name` may stand for: `0`, `12`, but not `01` or `-1`.
pub(crate) fn array_index(name: &str) -> Option<usize> {
    let is_digits = name.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = name == "0" || !name.starts_with('0');
    if is_digits && is_plain {
        name.parse().ok()
    } else {
        None
    }
}

fn visit_end<'a, F>(value: Option<Value<'a>>, leaf: Leaf, see: &mut F) -> bool
where
    F: FnMut(PathValue<'a>) -> bool,
{
    if let (Some(Value::Array(array)), Leaf::Elements) = (value, leaf) {
        for (index, value) in array.values().enumerate() {
            let found = PathValue {
                value: Some(value),
                position: Some(index),
            };
            if see(found) {
                return true;
            }
        }
    }
    see(PathValue {
        value,
        position: None,
    })
}

fn visit_document<'a, F>(document: Fields<'a>, parts: &[Part], leaf: Leaf, see: &mut F) -> bool
where
    F: FnMut(PathValue<'a>) -> bool,
{
    let mut fields = document;
    let mut parts = parts;
    while let Some((part, rest)) = parts.split_first() {
        let value = fields.find(&part.name).map(|element| element.value());
        if rest.is_empty() {
            return visit_end(value, leaf, see);
        }
        match value {
            Some(Value::Document(inner)) => fields = inner,
            Some(Value::Array(array)) => return visit_array(array, rest, leaf, see),
            _ => break,
        }
        parts = rest;
    }
    see(PathValue {
        value: None,
        position: None,
    })
}

/// `parts` are what is left of the path after the array's own name.
fn visit_array<'a, F>(array: Fields<'a>, parts: &[Part], leaf: Leaf, see: &mut F) -> bool
where
    F: FnMut(PathValue<'a>) -> bool,
{
    let Some((part, rest)) = parts.split_first() else {
        return false;
    };
    for (index, element) in array.elements().enumerate() {
        let is_indexed = part.index == Some(index);
        if element.kind != kind::DOCUMENT && !is_indexed {
            continue;
        }
        let value = element.value();
        let position = Some(index);
        if let Value::Document(inner) = value {
            let mut see_within = |found: PathValue<'a>| see(PathValue { position, ..found });
            if visit_dyn(inner, parts, leaf, &mut see_within) {
                return true;
            }
        }
        if !is_indexed {
            continue;
        }
        let is_over = match (rest.is_empty(), value) {
            (true, value) => see(PathValue {
                value: Some(value),
                position,
            }),
            (false, Value::Document(inner)) => visit_document(inner, rest, leaf, see),
            (false, Value::Array(inner)) => visit_array(inner, rest, leaf, see),
            (false, _) => false,
        };
        if is_over {
            return true;
        }
    }
    false
}

/// As [`visit_document`], behind a pointer: each array on the way would be another closure type.
fn visit_dyn<'a>(
    document: Fields<'a>,
    parts: &[Part],
    leaf: Leaf,
    mut see: &mut dyn FnMut(PathValue<'a>) -> bool,
) -> bool {
    visit_document(document, parts, leaf, &mut see)
}

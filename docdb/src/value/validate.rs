//! Checks bytes from outside: whatever passes is well-formed BSON that every other part may trust.

#[cfg(test)]
mod tests;

use bson::raw::RawDocument;

use super::kind;
use super::view::{Fields, length, value_size};
use crate::error::{Code, CommandError, Result};

/// How deep documents and arrays may nest, the outermost counted as 1 (MongoDB's limit for stored documents).
pub(crate) const MAX_DEPTH: usize = 180;

/// How deep what expressions and stages make may nest on its way to a reply (MongoDB's limit for what it handles).
pub(crate) const MADE_DEPTH_MAX: usize = 200;

/// The error of what nests deeper than that.
pub(crate) fn too_deep() -> CommandError {
    Code::Overflow.error(format!(
        "cannot convert document to BSON because it exceeds the limit of {MADE_DEPTH_MAX} levels of nesting"
    ))
}

/// Whether `document` is one whole well-formed document: lengths, type bytes, end marks, UTF-8 of
/// names and strings, booleans of 0 or 1, nesting of at most [`MAX_DEPTH`].
pub(crate) fn validate(document: &[u8]) -> Result<()> {
    check_document(document, MAX_DEPTH)
}

/// Whether documents and arrays nest deeper than `most` levels, the outermost counted as 1. Without recursion, because that
/// is not known of the document yet.
pub(crate) fn nests_deeper(document: &RawDocument, most: usize) -> bool {
    let mut open = vec![Fields::new(document).elements()];
    while let Some(elements) = open.last_mut() {
        match elements.next() {
            Some(element) if matches!(element.kind, kind::DOCUMENT | kind::ARRAY) => {
                if open.len() >= most {
                    return true;
                }
                open.push(Fields::from_bytes(element.bytes).elements());
            }
            Some(_) => {}
            None => drop(open.pop()),
        }
    }
    false
}

fn check_document(document: &[u8], depth: usize) -> Result<()> {
    if depth == 0 {
        let text = format!("BSONObj exceeds maximum nested object depth: {MAX_DEPTH}");
        return Err(Code::Overflow.error(text));
    }
    if length(document) != Some(document.len()) {
        return Err(invalid("length of the document", b""));
    }
    let (Some(mut rest), Some((0, _))) = (document.get(4..), document.split_last()) else {
        return Err(invalid("end of the document", b""));
    };
    while let Some((&kind, after)) = rest.split_first() {
        if after.is_empty() {
            return if kind == 0 {
                Ok(())
            } else {
                Err(invalid("end of the document", b""))
            };
        }
        let end = after.iter().position(|byte| *byte == 0);
        let (name, after) = end
            .and_then(|end| Some((after.get(..end)?, after.get(end + 1..)?)))
            .ok_or_else(|| invalid("field name", b""))?;
        if !is_utf8(name) {
            return Err(invalid("UTF-8 in field name", b""));
        }
        let (value, after) = value_size(kind, after)
            .and_then(|size| after.split_at_checked(size))
            .ok_or_else(|| invalid("type or length", name))?;
        check_value(kind, value, name, depth)?;
        rest = after;
    }
    Err(invalid("end of the document", b""))
}

#[inline]
fn check_value(kind: u8, value: &[u8], name: &[u8], depth: usize) -> Result<()> {
    let is_sound = match kind {
        kind::STRING | kind::JAVASCRIPT | kind::SYMBOL => is_text(value),
        kind::DOCUMENT | kind::ARRAY => return check_document(value, depth - 1),
        kind::BOOLEAN => matches!(value, [0 | 1]),
        kind::BINARY => is_binary(value),
        kind::REGEX => is_utf8(value),
        kind::DB_POINTER => value
            .split_last_chunk::<12>()
            .is_some_and(|(text, _)| is_text(text)),
        kind::JAVASCRIPT_WITH_SCOPE => return check_code_with_scope(value, name, depth),
        _ => true,
    };
    if is_sound {
        Ok(())
    } else {
        Err(invalid("value", name))
    }
}

/// A length, that many bytes of UTF-8, the last of them the end mark.
fn is_text(value: &[u8]) -> bool {
    let Some((text, 0)) = value
        .get(4..)
        .and_then(|text| text.split_last())
        .map(|(end, text)| (text, *end))
    else {
        return false;
    };
    is_utf8(text)
}

fn is_binary(value: &[u8]) -> bool {
    match value.get(4) {
        Some(&kind::BINARY_OLD) => {
            value
                .get(5..)
                .and_then(|inner| length(inner)?.checked_add(9))
                == Some(value.len())
        }
        subtype => subtype.is_some(),
    }
}

fn check_code_with_scope(value: &[u8], name: &[u8], depth: usize) -> Result<()> {
    let parts = value.get(4..).and_then(|rest| {
        let (code, scope) = rest.split_at_checked(length(rest)?.checked_add(4)?)?;
        is_text(code).then_some(scope)
    });
    match parts {
        Some(scope) => check_document(scope, depth - 1),
        None => Err(invalid("value", name)),
    }
}

/// Short names and texts are mostly ASCII, which is checked faster without the general decoder's set-up.
#[inline]
fn is_utf8(bytes: &[u8]) -> bool {
    const FEW: usize = 16;
    (bytes.len() <= FEW && bytes.is_ascii()) || std::str::from_utf8(bytes).is_ok()
}

#[cold]
fn invalid(what: &str, name: &[u8]) -> CommandError {
    let name = String::from_utf8_lossy(name);
    let text = if name.is_empty() {
        format!("Invalid BSON: {what} is malformed")
    } else {
        format!("Invalid BSON in field '{name}': {what} is malformed")
    };
    Code::InvalidBSON.error(text)
}

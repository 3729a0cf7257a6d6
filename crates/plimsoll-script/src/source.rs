//! What can be told from a script's text before it runs.

use std::fmt::Write as _;

use crate::error::Position;

/// Whether this is a module of the `require` kind: it exports by assignment and has no `import` or `export`.
pub(crate) fn is_common(text: &str) -> bool {
    let assigns = ["module.exports", "exports.", "require("];
    !is_es_module(text) && assigns.iter().any(|mark| text.contains(mark))
}

fn is_es_module(text: &str) -> bool {
    let statements = text.split(['\n', ';', '}']);
    statements.map(str::trim_start).any(|statement| {
        ["import", "export"].iter().any(|keyword| {
            let rest = statement.strip_prefix(keyword);
            rest.is_some_and(|rest| {
                rest.starts_with([' ', '{', '*', '"', '\'', '\t']) || rest.is_empty()
            })
        })
    })
}

/// An ES module that hands on what a `require` module exports. Names are read off the text, because an ES module
/// must name its exports before anything runs.
pub(crate) fn bridge_to_common(id: &str, text: &str) -> String {
    let mut bridge = format!(
        "const e = require({id:?}); export default e && e.default !== undefined ? e.default : e;"
    );
    for name in names_exported(text) {
        // Writing to a String cannot fail.
        let written = write!(bridge, "export const {name} = e.{name};");
        debug_assert!(written.is_ok());
    }
    bridge
}

fn names_exported(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (at, mark) in text.match_indices("exports.") {
        let rest = text.get(at + mark.len()..).unwrap_or_default();
        let name = leading_name(rest);
        let after = rest.get(name.len()..).unwrap_or_default().trim_start();
        if after.starts_with('=') && !after.starts_with("==") {
            names.push(name);
        }
    }
    if let Some((_, rest)) = text.split_once("module.exports") {
        let body = rest.trim_start().strip_prefix('=').map(str::trim_start);
        if let Some(body) = body.and_then(|body| body.strip_prefix('{')) {
            names.extend(keys_of_literal(body));
        }
    }
    names.retain(|name| !name.is_empty() && *name != "default" && *name != "e");
    names.sort_unstable();
    names.dedup();
    names
}

/// The keys on the first level of an object literal whose opening brace has been read.
fn keys_of_literal(body: &str) -> Vec<&str> {
    let (mut depth, mut is_key, mut names) = (1, true, Vec::new());
    for (at, character) in body.char_indices() {
        match character {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            ',' if depth == 1 => is_key = true,
            ':' if depth == 1 => is_key = false,
            _ if is_key
                && depth == 1
                && (character.is_alphabetic() || "_$".contains(character)) =>
            {
                names.push(leading_name(body.get(at..).unwrap_or_default()));
                is_key = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

fn leading_name(text: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Whether the text may create promises. A false alarm only costs memory: such scripts get an engine runtime per
/// virtual user, because jobs of one runtime share one queue.
pub(crate) fn uses_promises(text: &str) -> bool {
    ["async", "await", "Promise", ".then(", "import("]
        .iter()
        .any(|mark| text.contains(mark))
}

/// Line and column of the import of `specifier`; unknown if it is not written as one string.
pub(crate) fn import_position(text: &str, specifier: &str) -> Position {
    for quote in ['"', '\'', '`'] {
        let literal = format!("{quote}{specifier}{quote}");
        if let Some(at) = text.find(&literal) {
            return position_at(text, at);
        }
    }
    Position::default()
}

/// Line and column of a byte.
pub(crate) fn position_at(text: &str, at: usize) -> Position {
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        file: Box::default(),
        line: before.matches('\n').count() as u32 + 1,
        column: (before.get(line_start..).unwrap_or_default().chars().count() + 1) as u32,
    }
}

#[cfg(test)]
mod tests;

//! What can be told from a script's text before it runs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::error::Position;
use crate::imports;

/// Whether this is a module of the `require` kind: it exports by assignment and has no `import` or `export`.
pub(crate) fn is_common(text: &str) -> bool {
    let marks = [
        "module.exports",
        "exports.",
        "exports[",
        "=exports",
        "require(",
    ];
    marks.iter().any(|mark| text.contains(mark))
        && !(looks_like_es_module(text) && imports::is_es_module(text))
}

fn looks_like_es_module(text: &str) -> bool {
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
/// must name its exports before anything runs; and they are those that somebody asks for, because bundles do not show theirs.
pub(crate) fn bridge_to_common(id: &str, text: &str, asked: &BTreeSet<String>) -> String {
    let mut bridge = format!(
        "const e = require({id:?}); export default e && e.default !== undefined ? e.default : e;"
    );
    let asked = asked.iter().map(String::as_str);
    let names: BTreeSet<&str> = names_exported(text).into_iter().chain(asked).collect();
    let names = names.into_iter().filter(|name| *name != "default");
    for (index, name) in names.enumerate() {
        // By a name of our own: theirs may be a word that no variable can have.
        let _infallible = write!(
            bridge,
            "const e{index} = e[{name:?}]; export {{ e{index} as {name:?} }};"
        );
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
    names.retain(|name| !name.is_empty());
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
    // `asyncRequest` is among them by its name.
    ["async", "await", "Promise", ".then(", "import("]
        .iter()
        .any(|mark| text.contains(mark))
}

/// Whether the text may ask which members an object has, such as `{ ...res }`. A false alarm costs each response about
/// two microseconds.
pub(crate) fn looks_at_members(text: &str) -> bool {
    let asks = [
        "...",
        "Object.keys",
        "Object.entries",
        "Object.values",
        "Object.assign",
        "getOwnProperty",
        "hasOwn",
        "propertyIsEnumerable",
        "ownKeys",
    ];
    let is_loop = |line: &str| line.contains("for") && line.contains(" in ");
    asks.iter().any(|mark| text.contains(mark)) || text.lines().any(is_loop)
}

/// The members of `__ENV` that the text names; none if it may read others, too.
pub(crate) fn variables_named(text: &str) -> Option<Vec<&str>> {
    let makes_code = ["eval(", "Function("]
        .iter()
        .any(|mark| text.contains(mark));
    let mut names = Vec::new();
    for (at, mark) in text.match_indices("__ENV") {
        let rest = text.get(at + mark.len()..).unwrap_or_default();
        let member = rest.strip_prefix("?.").or(rest.strip_prefix('.'));
        let quoted = |quote| rest.strip_prefix('[')?.strip_prefix(quote);
        let name = match (member, quoted('"').or_else(|| quoted('\''))) {
            (Some(member), _) => leading_name(member),
            (None, Some(quoted)) => quoted.split(['"', '\'']).next().unwrap_or_default(),
            (None, None) => return None,
        };
        if name.is_empty() {
            return None;
        }
        names.push(name);
    }
    (!makes_code).then_some(names)
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

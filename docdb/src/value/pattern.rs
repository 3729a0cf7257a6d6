//! Regular expressions of `$regex` and BSON's own: Perl's syntax and options over a bounded engine.

#[cfg(test)]
mod tests;

use fancy_regex::{Regex, RegexBuilder};

use super::Value;
use crate::error::{Code, CommandError, Result};

/// Steps back that one match may take before it counts as none; the engine's default is a million.
const BACKTRACK_MAX: usize = 100_000;
/// Bytes of pattern (MongoDB's limit).
const LENGTH_MAX: usize = 16_384;
/// What a pattern without options cannot hold if it stands for itself.
const SPECIAL: &str = "\\^$.|?*+()[]{}";

/// A compiled pattern with what it was made of: a stored regular expression equals it by that.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: Box<str>,
    options: Box<str>,
    engine: Engine,
}

#[derive(Debug, Clone)]
enum Engine {
    /// `^text`: no engine needed.
    Prefix(Box<str>),
    Compiled(Box<Regex>),
}

impl Pattern {
    /// `options` of `imsx`, and `u`, which is always on.
    pub(crate) fn new(source: &str, options: &str) -> Result<Self> {
        check(source, options)?;
        let engine = if let Some(prefix) = plain_prefix(source, options) {
            Engine::Prefix(prefix.into())
        } else {
            Engine::Compiled(Box::new(build(source, options)?))
        };
        Ok(Self {
            source: source.into(),
            options: options.into(),
            engine,
        })
    }

    /// Whether it occurs in a string or symbol, or is itself the value.
    pub(crate) fn matches(&self, value: &Value<'_>) -> bool {
        match value {
            Value::String(text) | Value::Symbol(text) => match &self.engine {
                Engine::Prefix(prefix) => text.starts_with(prefix.as_bytes()),
                Engine::Compiled(regex) => std::str::from_utf8(text)
                    .is_ok_and(|text| regex.is_match(text).unwrap_or(false)),
            },
            Value::Regex { pattern, options } => {
                *pattern == self.source.as_bytes() && *options == self.options.as_bytes()
            }
            _ => false,
        }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn options(&self) -> &str {
        &self.options
    }

    /// Text that every match begins with, and whether beginning with it is all there is to a match.
    pub(crate) fn prefix(&self) -> (String, bool) {
        match &self.engine {
            Engine::Prefix(prefix) => (prefix.to_string(), true),
            Engine::Compiled(_) if self.options.is_empty() => (literal_start(&self.source), false),
            Engine::Compiled(_) => (String::new(), false),
        }
    }
}

/// Compiles a pattern for expressions such as `$regexFind`, which need more than whether it matches.
pub(crate) fn compile(source: &str, options: &str) -> Result<Regex> {
    check(source, options)?;
    build(source, options)
}

fn invalid(why: &str) -> CommandError {
    Code::Location(51091).error(format!("Regular expression is invalid: {why}"))
}

fn check(source: &str, options: &str) -> Result<()> {
    if let Some(flag) = options.chars().find(|flag| !"imsxu".contains(*flag)) {
        let text = format!("invalid flag in regex options: {flag}");
        return Err(Code::Location(51108).error(text));
    }
    if source.contains('\0') {
        return Err(Code::BadValue.error("Regular expression cannot contain an embedded null byte"));
    }
    if source.len() > LENGTH_MAX {
        return Err(invalid("pattern string too long"));
    }
    Ok(())
}

fn build(source: &str, options: &str) -> Result<Regex> {
    let has_lines = options.contains('m');
    RegexBuilder::new(&translate(source, has_lines))
        .case_insensitive(options.contains('i'))
        .multi_line(has_lines)
        .dot_matches_new_line(options.contains('s'))
        .ignore_whitespace(options.contains('x'))
        .backtrack_limit(BACKTRACK_MAX)
        .build()
        .map_err(|error| invalid(&error.to_string()))
}

/// The text of a pattern that only asks for how a string begins.
fn plain_prefix<'a>(source: &'a str, options: &str) -> Option<&'a str> {
    let text = source.strip_prefix('^')?;
    let is_plain = options.is_empty() && !text.contains(|part| SPECIAL.contains(part));
    is_plain.then_some(text)
}

/// The literal text after `^`, up to the first character that means something else or may be left out.
fn literal_start(source: &str) -> String {
    let Some(text) = source.strip_prefix('^') else {
        return String::new();
    };
    // With an alternative, not every match begins with the first one.
    if source.contains('|') {
        return String::new();
    }
    let end = text
        .find(|part| SPECIAL.contains(part))
        .unwrap_or(text.len());
    let mut literal = text.get(..end).unwrap_or_default().to_owned();
    if text
        .get(end..)
        .is_some_and(|rest| rest.starts_with(['?', '*', '{']))
    {
        literal.pop();
    }
    literal
}

/// Rewrites what Perl and the engine read differently: `\d \w \s` mean ASCII, `$` also stands
/// before a line end that ends the text, `\<` is a plain character.
fn translate(source: &str, has_lines: bool) -> String {
    let keeps_end = has_lines || source.contains("(?");
    let mut out = String::with_capacity(source.len() + 16);
    let mut in_class = false;
    let mut rest = source.chars().peekable();
    while let Some(part) = rest.next() {
        match part {
            '\\' => match rest.next() {
                Some(escaped) => escape(escaped, in_class, &mut out),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // First in a class, a bracket is a plain character.
                if rest.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            // The engine would take a class within the class; Perl has none but `[:name:]`.
            '[' if rest.peek() != Some(&':') => out.push_str("\\["),
            '[' => posix_class(&mut rest, &mut out),
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' | '-' if in_class && rest.peek() == Some(&part) => {
                out.push('\\');
                out.push(part);
            }
            '$' if !in_class && !keeps_end => out.push_str("(?:\\n?\\z)"),
            part => out.push(part),
        }
    }
    out
}

/// Copies `[:name:]` within a class as a whole, so that its bracket does not end the class.
fn posix_class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    out.push('[');
    for part in rest.by_ref() {
        out.push(part);
        if part == ']' {
            return;
        }
    }
}

fn escape(escaped: char, in_class: bool, out: &mut String) {
    let ascii = match escaped {
        'd' => "0-9",
        'w' => "A-Za-z0-9_",
        's' => r"\t\n\v\f\r ",
        'D' if !in_class => "^0-9",
        'W' if !in_class => "^A-Za-z0-9_",
        'S' if !in_class => r"^\t\n\v\f\r ",
        '<' | '>' => {
            out.push(escaped);
            return;
        }
        _ => {
            out.push('\\');
            out.push(escaped);
            return;
        }
    };
    if in_class {
        out.push_str(ascii);
    } else {
        out.push('[');
        out.push_str(ascii);
        out.push(']');
    }
}

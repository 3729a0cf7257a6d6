//! Regular expressions of `$regex` and BSON's own: Perl's syntax and options, and a bound of the work of one match. Beyond
//! it a pattern has neither matched nor not matched: that is an error.

mod machine;
mod program;
mod regex;
mod steps;
#[cfg(test)]
mod tests;
mod translate;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) use self::regex::Regex;
pub(crate) use self::steps::{GaveUp, Groups, Steps};
use super::Value;
use crate::error::{Code, CommandError, Result};

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
    /// A match took too many steps since [`Self::take_failure`] was asked.
    gave_up: Arc<AtomicBool>,
    /// Steps since [`Self::begin`]: a thousand strings of a document share what one may take.
    taken: Arc<AtomicU64>,
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
            Engine::Compiled(Box::new(Regex::new(source, options)?))
        };
        Ok(Self {
            source: source.into(),
            options: options.into(),
            engine,
            gave_up: Arc::default(),
            taken: Arc::default(),
        })
    }

    /// Whether it occurs in a string or symbol, or is itself the value. [`Self::take_failure`] says whether that is known.
    pub(crate) fn matches(&self, value: &Value<'_>) -> bool {
        match value {
            Value::String(text) | Value::Symbol(text) => match &self.engine {
                Engine::Prefix(prefix) => text.starts_with(prefix.as_bytes()),
                Engine::Compiled(regex) => {
                    let found = std::str::from_utf8(text).map(|text| self.look(regex, text));
                    let found = found.unwrap_or(Ok(false));
                    if found.is_err() {
                        self.gave_up.store(true, Ordering::Relaxed);
                    }
                    found.unwrap_or(false)
                }
            },
            Value::Regex { pattern, options } => {
                *pattern == self.source.as_bytes() && *options == self.options.as_bytes()
            }
            _ => false,
        }
    }

    fn look(&self, regex: &Regex, text: &str) -> Result<bool, GaveUp> {
        let before = self.taken.load(Ordering::Relaxed);
        let mut steps = Steps::after(before, text);
        let found = regex.is_match(text, &mut steps);
        self.taken.store(steps.taken(), Ordering::Relaxed);
        found
    }

    /// Matches from here on are about another document.
    pub(crate) fn begin(&self) {
        self.taken.store(0, Ordering::Relaxed);
    }

    /// Whether a match can fail for its work.
    pub(crate) fn is_bounded(&self) -> bool {
        matches!(self.engine, Engine::Compiled(_))
    }

    /// The error of a match that took too many steps, once.
    pub(crate) fn take_failure(&self) -> Option<CommandError> {
        let gave_up = self.gave_up.load(Ordering::Relaxed);
        gave_up.then(|| {
            self.gave_up.store(false, Ordering::Relaxed);
            GaveUp::error(&self.source)
        })
    }

    /// Bytes of memory.
    pub(crate) fn held(&self) -> usize {
        let engine = match &self.engine {
            Engine::Prefix(prefix) => prefix.len(),
            Engine::Compiled(regex) => regex.held(),
        };
        // What two counters take, each with its own count of owners.
        let counters = 2 * (2 * size_of::<usize>() + size_of::<AtomicU64>());
        size_of::<Self>() + self.source.len() + self.options.len() + engine + counters
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
    Regex::new(source, options)
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

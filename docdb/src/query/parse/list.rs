//! Reads a long `$in` or `$nin` piece by piece.

use std::sync::Arc;

use super::{bad_value, begins_with_operator, text};
use crate::error::Result;
use crate::query::bounds::PARTS_MAX;
use crate::query::condition::{Set, Values};
use crate::query::list::Draft;
use crate::value::pattern::Pattern;
use crate::value::{Element, Fields, Value};

/// So many values are read at once.
const PIECE: usize = 64;
/// Fewer, if they have more bytes.
const PIECE_BYTES: usize = 16 << 10;

/// A list that is being read.
#[derive(Debug)]
pub(in crate::query) struct Reading {
    draft: Draft,
    patterns: Vec<Pattern>,
    /// Bytes of memory that these take, compiled.
    compiled: usize,
    has_null: bool,
    /// Bytes of the list that are done with.
    used: usize,
    /// Of these, the bytes of the values, which are kept as keys.
    listed: usize,
    /// How many values these are.
    values: usize,
}

impl Reading {
    pub(in crate::query) fn new() -> Self {
        Self {
            draft: Draft::new(),
            patterns: Vec::new(),
            compiled: 0,
            has_null: false,
            used: 0,
            listed: 0,
            values: 0,
        }
    }

    /// Goes on with the `array` of `operator` for a piece. True if that was the last.
    pub(in crate::query) fn step(&mut self, operator: &str, array: Fields<'_>) -> Result<bool> {
        let mut elements = array.after(self.used).elements().take(PIECE).peekable();
        if elements.peek().is_none() {
            return Ok(self.draft.order());
        }
        let most = self.used + PIECE_BYTES;
        for element in elements {
            self.used += element.size();
            let is_pattern = self.add(operator, &element)?;
            if !is_pattern {
                self.listed += element.size();
                self.values += 1;
            }
            // To compile one costs what many values do.
            if is_pattern || self.used > most {
                break;
            }
        }
        Ok(false)
    }

    /// True if it is a pattern.
    fn add(&mut self, operator: &str, element: &Element<'_>) -> Result<bool> {
        match element.value() {
            Value::Document(fields) if begins_with_operator(fields) => {
                return Err(bad_value(format!("cannot nest $ under {operator}")));
            }
            Value::Regex { pattern, options } => {
                let pattern = Pattern::new(text(pattern), text(options))?;
                self.compiled += pattern.held();
                self.patterns.push(pattern);
                return Ok(true);
            }
            Value::Undefined => return Err(bad_value("cannot compare to undefined")),
            value => {
                self.has_null |= matches!(value, Value::Null);
                self.draft.add(&value);
            }
        }
        Ok(false)
    }

    pub(in crate::query) fn finish(self) -> Set {
        Set {
            values: Values::Many(Arc::new(self.draft.finish())),
            patterns: Arc::new(self.patterns),
            has_null: self.has_null,
        }
    }

    /// Bytes of memory, beside what a pattern takes as any condition does.
    pub(in crate::query) fn held(&self) -> usize {
        self.draft.held() + self.compiled
    }

    /// Bytes of the list that these stand for: those of its values, but not of as many as a plan may have as intervals of their own,
    /// because the list `is_choice` of an `$or` or has patterns.
    pub(in crate::query) fn listed(&self, is_choice: bool) -> usize {
        if !is_choice && self.patterns.is_empty() {
            return self.listed;
        }
        let kept = self.values.saturating_sub(PARTS_MAX);
        // A list has 16 MiB.
        self.listed * kept / self.values.max(1)
    }
}

/// Reads all of it.
pub(super) fn whole(operator: &str, array: Fields<'_>) -> Result<Set> {
    #[cfg(test)]
    crate::query::lists::tests::count(0, 1);
    let mut reading = Reading::new();
    while !reading.step(operator, array)? {}
    Ok(reading.finish())
}

//! The variables that an expression sees, and how much it may copy.

use std::cell::Cell;
use std::collections::BTreeMap;

use bson::raw::RawDocument;
use bson::{Bson, DateTime};

use crate::error::{Code, Result};

/// The variables of a command: its `let` and the time at which it began.
#[derive(Debug, Clone)]
pub(crate) struct Variables {
    /// What `$$NOW` is.
    pub now: DateTime,
    values: BTreeMap<String, Bson>,
}

impl Default for Variables {
    fn default() -> Self {
        Self::at(DateTime::from_millis(0))
    }
}

impl Variables {
    /// No variables but `$$NOW`.
    pub(crate) fn at(now: DateTime) -> Self {
        Self {
            now,
            values: BTreeMap::new(),
        }
    }

    /// Defines `$$name`.
    pub(crate) fn set(&mut self, name: impl Into<String>, value: Bson) {
        self.values.insert(name.into(), value);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Bson> {
        self.values.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}

/// How many bytes of memory one evaluation may copy out of variables and build anew: `$reduce` and
/// `$map` could otherwise double a value with each step.
const WORK_BYTES_MAX: usize = 1 << 30;

/// How many bytes of memory the values of one evaluation may take at once (MongoDB's limit for what an operator makes).
const HELD_BYTES_MAX: usize = 100 << 20;

/// What one evaluation sees: the document, the command's variables, and those of enclosing expressions.
pub(super) struct Scope<'a> {
    pub(super) root: &'a RawDocument,
    pub(super) variables: &'a Variables,
    local: Option<Local<'a>>,
    work: &'a Work,
}

/// A variable's name and value; `None` is missing.
pub(super) type Binding<'a> = (&'a str, Option<&'a Bson>);

#[derive(Clone, Copy)]
struct Local<'a> {
    bindings: &'a [Binding<'a>],
    outer: Option<&'a Local<'a>>,
}

/// Bytes copied so far, and bytes held now.
#[derive(Debug, Default)]
pub(super) struct Work {
    copied: Cell<usize>,
    held: Cell<usize>,
}

/// Values on their way into a larger one, for as long as that is made.
#[derive(Debug)]
pub(super) struct Held<'a> {
    work: &'a Work,
    bytes: usize,
}

impl Held<'_> {
    pub(super) fn add(&mut self, value: Option<&Bson>) -> Result<()> {
        let bytes = value.map_or(0, footprint);
        let held = self.work.held.get().saturating_add(bytes);
        if held > HELD_BYTES_MAX {
            return Err(Code::ExceededMemoryLimit.error(format!(
                "Evaluating the expression would hold more than {HELD_BYTES_MAX} bytes at once"
            )));
        }
        self.work.held.set(held);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let held = self.work.held.get();
        self.work.held.set(held.saturating_sub(self.bytes));
    }
}

impl<'a> Scope<'a> {
    pub(super) fn new(root: &'a RawDocument, variables: &'a Variables, work: &'a Work) -> Self {
        Self {
            root,
            variables,
            local: None,
            work,
        }
    }

    /// This scope with more variables.
    pub(super) fn with<'b>(&'b self, bindings: &'b [Binding<'b>]) -> Scope<'b>
    where
        'a: 'b,
    {
        Scope {
            root: self.root,
            variables: self.variables,
            local: Some(Local {
                bindings,
                outer: self.local.as_ref(),
            }),
            work: self.work,
        }
    }

    /// A variable of an enclosing expression, if there is one of that name.
    pub(super) fn local(&self, name: &str) -> Option<Binding<'_>> {
        let mut local = self.local.as_ref();
        while let Some(one) = local {
            let found = one.bindings.iter().find(|(bound, _)| *bound == name);
            if let Some(binding) = found {
                return Some(*binding);
            }
            local = one.outer;
        }
        None
    }

    /// Counts values until it goes.
    pub(super) fn held(&self) -> Held<'a> {
        Held {
            work: self.work,
            bytes: 0,
        }
    }

    /// Counts a copy of `value`; an error once there were too many.
    pub(super) fn charge(&self, value: &Bson) -> Result<()> {
        self.charge_bytes(footprint(value))
    }

    pub(super) fn charge_bytes(&self, bytes: usize) -> Result<()> {
        let sum = self.work.copied.get().saturating_add(bytes);
        self.work.copied.set(sum);
        if sum > WORK_BYTES_MAX {
            return Err(Code::ExceededMemoryLimit.error(format!(
                "Evaluating the expression would copy more than {WORK_BYTES_MAX} bytes"
            )));
        }
        Ok(())
    }
}

/// What the allocator adds to a small piece, and rounds it up by.
const PIECE_BYTES: usize = 16;
/// A field's place in the map of its document, which has room for half as many again, and the piece of its name.
const FIELD_BYTES: usize = 56 + PIECE_BYTES;

/// About how many bytes of memory `value` takes.
pub(crate) fn footprint(value: &Bson) -> usize {
    let inner = match value {
        Bson::Document(document) => document
            .iter()
            .map(|(name, value)| FIELD_BYTES + name.len() + footprint(value))
            .sum(),
        Bson::Array(array) => array.iter().map(footprint).sum(),
        Bson::String(text) | Bson::Symbol(text) | Bson::JavaScriptCode(text) => {
            PIECE_BYTES + text.len()
        }
        Bson::Binary(binary) => binary.bytes.len(),
        _ => 0,
    };
    size_of::<Bson>() + inner
}

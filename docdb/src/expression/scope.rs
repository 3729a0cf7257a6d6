//! The variables that an expression sees, and how much it may copy.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use bson::raw::RawDocument;
use bson::{Bson, DateTime};

use crate::error::{Code, Result};
use crate::value::pattern::{self, Regex};
use crate::value::{MADE_DEPTH_MAX, too_deep};

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

/// Bytes copied so far, bytes held now, and the patterns that were compiled last.
#[derive(Debug, Default)]
pub(super) struct Work {
    copied: Cell<usize>,
    held: Cell<usize>,
    patterns: RefCell<VecDeque<Pattern>>,
}

/// Source and options of a pattern, and what was made of them.
#[derive(Debug)]
struct Pattern {
    source: String,
    options: String,
    regex: Rc<Regex>,
}

/// So many compiled patterns are kept, because a loop asks for the same ones each time.
const PATTERNS_KEPT: usize = 8;
/// What compiling a pattern counts as, and beside that each instruction and each range of it: about the time that copying so
/// many bytes takes.
const COMPILE_BYTES: usize = 64 << 10;
const WEIGHT_BYTES: usize = 256;

/// Values on their way into a larger one, for as long as that is made.
#[derive(Debug)]
pub(super) struct Held<'a> {
    work: &'a Work,
    bytes: usize,
}

impl Held<'_> {
    /// Counts a part of a larger value. A part that nests too deep is refused here, before values grow around it without end.
    pub(super) fn add(&mut self, value: Option<&Bson>) -> Result<()> {
        let (bytes, depth) = value.map_or((0, 0), measure);
        if depth > MADE_DEPTH_MAX {
            return Err(too_deep());
        }
        self.add_bytes(bytes)
    }

    /// Counts so many bytes.
    pub(super) fn add_bytes(&mut self, bytes: usize) -> Result<()> {
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

    /// The compiled pattern.
    pub(super) fn regex(&self, source: &str, options: &str) -> Result<Rc<Regex>> {
        let mut kept = self.work.patterns.borrow_mut();
        let is_it = |one: &&Pattern| one.source == source && one.options == options;
        if let Some(found) = kept.iter().find(is_it) {
            return Ok(Rc::clone(&found.regex));
        }
        self.charge_bytes(COMPILE_BYTES)?;
        let regex = Rc::new(pattern::compile(source, options)?);
        self.charge_bytes(regex.weight().saturating_mul(WEIGHT_BYTES))?;
        if kept.len() == PATTERNS_KEPT {
            kept.pop_front();
        }
        kept.push_back(Pattern {
            source: source.to_owned(),
            options: options.to_owned(),
            regex: Rc::clone(&regex),
        });
        Ok(regex)
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
    measure(value).0
}

/// About how many bytes of memory `value` takes, and how many levels of documents and arrays it has.
fn measure(value: &Bson) -> (usize, usize) {
    let within = |(bytes, depth): (usize, usize), (own, value): (usize, &Bson)| {
        let (inner, deeper) = measure(value);
        (bytes + own + inner, depth.max(deeper))
    };
    let (inner, depth) = match value {
        Bson::Document(document) => {
            let fields = document.iter();
            let fields = fields.map(|(name, value)| (FIELD_BYTES + name.len(), value));
            let (bytes, depth) = fields.fold((0, 0), within);
            (bytes, depth + 1)
        }
        Bson::Array(array) => {
            let elements = array.iter().map(|value| (0, value));
            let (bytes, depth) = elements.fold((0, 0), within);
            (bytes, depth + 1)
        }
        Bson::String(text) | Bson::Symbol(text) | Bson::JavaScriptCode(text) => {
            (PIECE_BYTES + text.len(), 0)
        }
        Bson::Binary(binary) => (binary.bytes.len(), 0),
        _ => (0, 0),
    };
    (size_of::<Bson>() + inner, depth)
}

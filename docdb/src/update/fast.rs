//! `$set`, `$inc` and `$unset` of top-level fields on the document's bytes: what an update mostly is.
//!
//! One pass copies the document and swaps elements on the way; nothing is decoded but the numbers
//! that `$inc` needs. Whatever is not plain (another type under `$inc`, an overflow, a document
//! that becomes too large) is left to the walk over owned values, which also words the errors.

use std::ops::Range;

use bson::RawDocumentBuf;

use super::limits;
use super::operator::Operator;
use super::path::{Name, Part};
use super::tree::{Children, UpdateNode};
use crate::value::{Element, Fields, Number, kind};

/// The changes in the order in which new fields are added.
#[derive(Debug)]
pub(super) struct Plan {
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    name: String,
    operator: PlainOperator,
    /// The whole element that stands there afterwards, or that is added if there is none.
    element: Vec<u8>,
}

#[derive(Debug)]
enum PlainOperator {
    Set,
    Unset,
    Increment(Number),
}

/// What the pass over the bytes came to.
pub(super) enum Applied {
    Unchanged,
    Changed(RawDocumentBuf),
    /// The walk over owned values has to do it.
    Declined,
}

/// More fields than this are found faster by name than one after another.
const CHANGES_MAX: usize = 16;

impl Plan {
    /// `None` if any operator is another one, its field is no plain one, or it is `_id`.
    pub(super) fn from_tree(root: &Children) -> Option<Self> {
        if root.len() > CHANGES_MAX {
            return None;
        }
        let changes: Option<Vec<Change>> = root.iter().map(change).collect();
        Some(Self { changes: changes? })
    }

    pub(super) fn apply(&self, document: &[u8]) -> Applied {
        let mut out = Vec::with_capacity(document.len() + self.added_bytes_max());
        out.extend_from_slice(&[0; 4]);
        let mut pass = Pass {
            document,
            out,
            copied: 4,
            changed: false,
            met: 0,
        };
        let mut at = 4;
        for element in Fields::from_bytes(document).elements() {
            let end = at + 2 + element.name.len() + element.bytes.len();
            if !self.swap(&mut pass, &element, at..end) {
                return Applied::Declined;
            }
            at = end;
        }
        if at + 1 != document.len() {
            return Applied::Declined;
        }
        pass.swap_nothing(at);
        for (index, change) in self.changes.iter().enumerate() {
            if pass.met & (1 << index) == 0 && !change.element.is_empty() {
                pass.out.extend_from_slice(&change.element);
                pass.changed = true;
            }
        }
        pass.finish()
    }

    /// Changes the element at `place` if it is to change; false where the bytes do not suffice.
    fn swap(&self, pass: &mut Pass<'_>, element: &Element<'_>, place: Range<usize>) -> bool {
        let name = element.name;
        let found = self
            .changes
            .iter()
            .position(|change| change.name.as_bytes() == name);
        // A name that comes twice, which drivers do not send, is changed where it comes first.
        let Some(index) = found.filter(|index| pass.met & (1 << index) == 0) else {
            return true;
        };
        pass.met |= 1 << index;
        match self.changes.get(index).map(|change| change.on(element)) {
            None => {}
            Some(Swap::With(bytes)) => pass.swap(place, bytes),
            Some(Swap::Number(kind, bytes, length)) => {
                let bytes = bytes.get(..length).unwrap_or_default();
                pass.swap_value(place, &Element { kind, name, bytes });
            }
            Some(Swap::Decline) => return false,
        }
        true
    }

    fn added_bytes_max(&self) -> usize {
        self.changes
            .iter()
            .map(|change| change.element.len() + 4)
            .sum()
    }
}

/// The copy in the making.
struct Pass<'a> {
    document: &'a [u8],
    out: Vec<u8>,
    /// Up to where the document was copied or swapped.
    copied: usize,
    changed: bool,
    /// A bit for each change whose field was there.
    met: u32,
}

impl Pass<'_> {
    /// Copies what stands before `at`.
    fn swap_nothing(&mut self, at: usize) {
        let kept = self.document.get(self.copied..at).unwrap_or_default();
        self.out.extend_from_slice(kept);
        self.copied = at;
    }

    fn swap(&mut self, place: Range<usize>, element: &[u8]) {
        if self.document.get(place.clone()) == Some(element) {
            return;
        }
        self.swap_nothing(place.start);
        self.out.extend_from_slice(element);
        self.copied = place.end;
        self.changed = true;
    }

    /// As [`Self::swap`], for another value under the same name.
    fn swap_value(&mut self, place: Range<usize>, new: &Element<'_>) {
        let old = self.document.get(place.clone()).unwrap_or_default();
        if old.first() == Some(&new.kind) && old.ends_with(new.bytes) {
            return;
        }
        self.swap_nothing(place.start);
        self.out.push(new.kind);
        self.out.extend_from_slice(new.name);
        self.out.push(0);
        self.out.extend_from_slice(new.bytes);
        self.copied = place.end;
        self.changed = true;
    }

    fn finish(self) -> Applied {
        if !self.changed {
            return Applied::Unchanged;
        }
        let mut bytes = self.out;
        bytes.push(0);
        if limits::check_size(bytes.len()).is_err() {
            return Applied::Declined;
        }
        let Ok(length) = i32::try_from(bytes.len()) else {
            return Applied::Declined;
        };
        if let Some(place) = bytes.first_chunk_mut() {
            *place = length.to_le_bytes();
        }
        match RawDocumentBuf::from_bytes(bytes) {
            Ok(document) => Applied::Changed(document),
            Err(_) => Applied::Declined,
        }
    }
}

/// What becomes of an element.
enum Swap<'a> {
    With(&'a [u8]),
    Number(u8, [u8; 8], usize),
    Decline,
}

/// Type byte, bytes, and how many of them count; `None` for a decimal.
fn encode(number: Number) -> Option<(u8, [u8; 8], usize)> {
    Some(match number {
        Number::Int(number) => (kind::INT, i64::from(number).to_le_bytes(), 4),
        Number::Long(number) => (kind::LONG, number.to_le_bytes(), 8),
        Number::Double(number) => (kind::DOUBLE, number.to_le_bytes(), 8),
        Number::Decimal(_) => return None,
    })
}

impl Change {
    fn on(&self, element: &Element<'_>) -> Swap<'_> {
        match &self.operator {
            PlainOperator::Set => Swap::With(&self.element),
            PlainOperator::Unset => Swap::With(&[]),
            PlainOperator::Increment(by) => Number::from_value(&element.value())
                .and_then(|number| number.checked_add(*by))
                .and_then(encode)
                .map_or(Swap::Decline, |(kind, bytes, length)| {
                    Swap::Number(kind, bytes, length)
                }),
        }
    }
}

fn change((part, node): (&Part, &UpdateNode)) -> Option<Change> {
    let (Part::Name(Name(name)), UpdateNode::Leaf(operator)) = (part, node) else {
        return None;
    };
    if name == "_id" {
        return None;
    }
    let (operator, value) = match operator {
        Operator::Unset => (PlainOperator::Unset, None),
        Operator::Set(value) => {
            limits::check_depth(value, limits::DEPTH_MAX - 1).ok()?;
            (PlainOperator::Set, Some(value.clone()))
        }
        Operator::Increment(by) => {
            encode(*by)?;
            (PlainOperator::Increment(*by), Some(by.to_bson()))
        }
        _ => return None,
    };
    let element = match value {
        None => Vec::new(),
        Some(value) => {
            let alone = RawDocumentBuf::try_from(bson::doc! { name: value }).ok()?;
            Fields::new(&alone).bytes().to_vec()
        }
    };
    Some(Change {
        name: name.clone(),
        operator,
        element,
    })
}

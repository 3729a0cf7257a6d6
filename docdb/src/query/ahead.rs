//! Looks through the filters of a command for long lists of `$in` and `$nin`, and reads them piece by piece, before the command begins.

mod part;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use self::part::Part;
use super::condition::Set;
use super::list;
use super::lists::Lists;
use super::parse::list::Reading;
use crate::error::Result;
use crate::value::{Element, Fields, kind};

/// So many elements are looked at in one step.
const PIECE: usize = 64;
/// What is shorter has no long list in it.
const SHORT_BYTES: usize = 4 << 10;

/// The search, and the list that is read.
#[derive(Debug)]
pub(crate) struct Ahead {
    bytes: Arc<Vec<u8>>,
    /// The documents and arrays around the place that was reached.
    open: Vec<Open>,
    current: Option<Current>,
    found: BTreeMap<usize, Result<Set>>,
    /// By where the lists lie that were read: the bytes in the command of their values.
    listed: BTreeMap<usize, usize>,
    /// Bytes of memory that these take.
    held: usize,
}

#[derive(Debug)]
struct Open {
    place: Range<usize>,
    /// Bytes of its elements that are done with.
    used: usize,
    part: Part,
    /// It is in a branch of an `$or`.
    is_choice: bool,
}

#[derive(Debug)]
struct Current {
    is_choice: bool,
    operator: &'static str,
    place: Range<usize>,
    reading: Reading,
}

impl Ahead {
    /// The parts of the command lie in `bytes`.
    pub(crate) fn new<'a>(
        bytes: &Arc<Vec<u8>>,
        parts: impl Iterator<Item = (&'a Range<usize>, Part)>,
    ) -> Self {
        let long = parts.filter(|(place, _)| place.len() > SHORT_BYTES);
        let open = long.map(|(place, part)| Open {
            place: place.clone(),
            used: 0,
            part,
            is_choice: false,
        });
        Self {
            bytes: Arc::clone(bytes),
            open: open.collect(),
            current: None,
            found: BTreeMap::new(),
            listed: BTreeMap::new(),
            held: 0,
        }
    }

    /// Goes on for some microseconds, a fraction of a millisecond at most. True if all is read.
    pub(crate) fn step(&mut self) -> bool {
        let Some(current) = &mut self.current else {
            return self.look();
        };
        let bytes = self.bytes.get(current.place.clone()).unwrap_or_default();
        let read = current
            .reading
            .step(current.operator, Fields::from_bytes(bytes));
        if let Ok(false) = read {
            return false;
        }
        if let Some(current) = self.current.take() {
            let Current { place, reading, .. } = current;
            // One with an error is not read again: the filter ends there.
            let listed = match &read {
                Ok(_) => reading.listed(current.is_choice),
                Err(_) => place.len(),
            };
            self.listed.insert(place.start, listed);
            let outcome = read.map(|_| {
                self.held += reading.held();
                reading.finish()
            });
            self.found.insert(place.start, outcome);
        }
        false
    }

    fn look(&mut self) -> bool {
        let Some(open) = self.open.last_mut() else {
            return true;
        };
        let Open { place, used, .. } = open;
        let bytes = self.bytes.get(place.clone()).unwrap_or_default();
        let rest = Fields::from_bytes(bytes).after(*used);
        let mut seen = 0;
        for element in rest.elements().take(PIECE) {
            seen += 1;
            *used += element.size();
            let is_open = matches!(element.kind, kind::DOCUMENT | kind::ARRAY);
            if !is_open || element.bytes.len() <= SHORT_BYTES {
                continue;
            }
            // Before its elements a document has its length.
            let end = place.start + 4 + *used;
            let inner = end - element.bytes.len()..end;
            if let Some(operator) = list_operator(open.part, &element) {
                self.current = Some(Current {
                    is_choice: open.is_choice,
                    operator,
                    place: inner,
                    reading: Reading::new(),
                });
                return false;
            }
            if let Some(part) = open.part.inner(&element, place.len()) {
                let is_or = open.part == Part::Filter && element.name == b"$or";
                let is_choice = open.is_choice || is_or;
                self.open.push(Open {
                    place: inner,
                    used: 0,
                    part,
                    is_choice,
                });
                return false;
            }
        }
        if seen == 0 {
            self.open.pop();
        }
        false
    }

    /// Of the longest of these documents of the command, its bytes without the values of the lists.
    pub(crate) fn others<'a>(&self, documents: impl Iterator<Item = &'a Range<usize>>) -> usize {
        documents.fold(0, |most, place| {
            if place.len() <= most {
                return most;
            }
            let listed: usize = self
                .listed
                .range(place.clone())
                .map(|(_, bytes)| bytes)
                .sum();
            most.max(place.len() - listed)
        })
    }

    /// Bytes of memory that the lists take so far.
    pub(crate) fn held(&self) -> usize {
        self.held + self.current.as_ref().map_or(0, |one| one.reading.held())
    }

    pub(crate) fn finish(self) -> Lists {
        Lists::new(self.bytes, self.found)
    }
}

/// The operator whose long list the element is.
fn list_operator(part: Part, element: &Element<'_>) -> Option<&'static str> {
    let operator = match (part, element.name) {
        (Part::Operators, b"$in") => "$in",
        (Part::Operators, b"$nin") => "$nin",
        _ => return None,
    };
    let is_list = element.kind == kind::ARRAY && list::is_long(Fields::from_bytes(element.bytes));
    is_list.then_some(operator)
}

//! Looks through a command for long lists of `$in` and `$nin`, and reads them piece by piece, before the command begins.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::condition::Set;
use super::list;
use super::lists::Lists;
use super::parse::list::Reading;
use crate::error::Result;
use crate::value::{Fields, kind};

/// So many elements are looked at in one step.
const PIECE: usize = 64;
/// What is shorter has no long list in it.
const SHORT_BYTES: usize = 4 << 10;

/// The search, and the list that is read.
#[derive(Debug)]
pub(crate) struct Ahead {
    bytes: Arc<Vec<u8>>,
    /// The documents and arrays around the place that was reached: where they lie, and bytes of their elements that are done with.
    open: Vec<(Range<usize>, usize)>,
    current: Option<Current>,
    found: BTreeMap<usize, Result<Set>>,
    /// Bytes in the command of the values in the lists that were read.
    listed: usize,
    /// Bytes of memory that these take.
    held: usize,
}

#[derive(Debug)]
struct Current {
    operator: &'static str,
    place: Range<usize>,
    reading: Reading,
}

impl Ahead {
    /// `documents` lie in `bytes`.
    pub(crate) fn new<'a>(
        bytes: &Arc<Vec<u8>>,
        documents: impl Iterator<Item = &'a Range<usize>>,
    ) -> Self {
        let long = documents.filter(|one| one.len() > SHORT_BYTES);
        Self {
            bytes: Arc::clone(bytes),
            open: long.map(|place| (place.clone(), 0)).collect(),
            current: None,
            found: BTreeMap::new(),
            listed: 0,
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
        if let Some(Current { place, reading, .. }) = self.current.take() {
            // One with an error is not read again: the filter ends there.
            self.listed += match &read {
                Ok(_) => reading.listed(),
                Err(_) => place.len(),
            };
            let outcome = read.map(|_| {
                self.held += reading.held();
                reading.finish()
            });
            self.found.insert(place.start, outcome);
        }
        false
    }

    fn look(&mut self) -> bool {
        let Some((place, used)) = self.open.last_mut() else {
            return true;
        };
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
            let operator = match element.name {
                b"$in" => Some("$in"),
                b"$nin" => Some("$nin"),
                _ => None,
            };
            let fields = Fields::from_bytes(element.bytes);
            match operator {
                Some(operator) if element.kind == kind::ARRAY && list::is_long(fields) => {
                    self.current = Some(Current {
                        operator,
                        place: inner,
                        reading: Reading::new(),
                    });
                }
                _ => self.open.push((inner, 0)),
            }
            return false;
        }
        if seen == 0 {
            self.open.pop();
        }
        false
    }

    /// Bytes in the command of the values in the lists.
    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    /// Bytes of memory that the lists take so far.
    pub(crate) fn held(&self) -> usize {
        self.held + self.current.as_ref().map_or(0, |one| one.reading.held())
    }

    pub(crate) fn finish(self) -> Lists {
        Lists::new(self.bytes, self.found)
    }
}

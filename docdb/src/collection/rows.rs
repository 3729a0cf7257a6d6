//! A selection in order, with some skipped and a limit: what `find` and `findAndModify` go through.

use std::collections::BinaryHeap;

use super::selection::{Advance, Selection, stored};
use crate::error::{Code, Result};
use crate::query::SortOrder;
use crate::store::{Slice, Store};

/// Bytes that one sort may hold (MongoDB's limit).
const SORT_MEMORY: usize = 100 * 1024 * 1024;

/// Documents in order, resumable.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) selection: Selection,
    order: Option<Sorter>,
    skip: u64,
    /// Documents still to be given; `None` for all.
    limit: Option<u64>,
}

#[derive(Debug)]
struct Sorter {
    order: SortOrder,
    /// The smallest keys so far, largest on top. The number makes the sort stable.
    heap: BinaryHeap<Row>,
    /// Only this many are asked for.
    keep: Option<usize>,
    taken: u64,
    bytes: usize,
    /// Once everything was seen: the rows, smallest last.
    sorted: Option<Vec<Row>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    key: Vec<u8>,
    number: u64,
    document: Document,
}

/// A document that never decides an order.
#[derive(Debug)]
struct Document(Slice);

impl PartialEq for Document {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Document {}

impl PartialOrd for Document {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Document {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Rows {
    /// `order` is `None` if the selection comes in the order that is asked for.
    pub(crate) fn new(
        selection: Selection,
        order: Option<SortOrder>,
        skip: u64,
        limit: Option<u64>,
    ) -> Self {
        let keep = limit.and_then(|limit| usize::try_from(limit.checked_add(skip)?).ok());
        Self {
            selection,
            order: order.map(|order| Sorter {
                order,
                heap: BinaryHeap::new(),
                keep,
                taken: 0,
                bytes: 0,
                sorted: None,
            }),
            skip,
            limit,
        }
    }

    /// Whether it is known without looking that nothing is left.
    pub(crate) fn is_done(&self) -> bool {
        let sorted = self.order.as_ref().and_then(|order| order.sorted.as_ref());
        self.limit == Some(0) || sorted.is_some_and(Vec::is_empty)
    }

    pub(crate) fn sorts(&self) -> bool {
        self.order.is_some()
    }

    pub(crate) fn next(&mut self, store: &Store, budget: &mut usize) -> Result<Advance> {
        while self.limit != Some(0) {
            let next = match &mut self.order {
                None => self.selection.next(store, budget)?,
                Some(sorter) => sorter.next(&mut self.selection, store, budget)?,
            };
            let Advance::Document(document) = next else {
                return Ok(next);
            };
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            if let Some(limit) = &mut self.limit {
                *limit -= 1;
            }
            return Ok(Advance::Document(document));
        }
        Ok(Advance::End)
    }

    pub(crate) fn pause(&mut self) {
        self.selection.pause();
    }
}

impl Sorter {
    fn next(
        &mut self,
        selection: &mut Selection,
        store: &Store,
        budget: &mut usize,
    ) -> Result<Advance> {
        while self.sorted.is_none() {
            match selection.next(store, budget)? {
                Advance::Later => return Ok(Advance::Later),
                Advance::Document(document) => self.add(document)?,
                Advance::End => {
                    selection.pause();
                    let mut rows = std::mem::take(&mut self.heap).into_sorted_vec();
                    rows.reverse();
                    self.sorted = Some(rows);
                }
            }
        }
        let row = self.sorted.as_mut().and_then(Vec::pop);
        Ok(row.map_or(Advance::End, |row| Advance::Document(row.document.0)))
    }

    fn add(&mut self, document: Slice) -> Result<()> {
        let key = self.order.key(stored(&document)?);
        let full = self.keep.is_some_and(|keep| self.heap.len() >= keep);
        if full && self.heap.peek().is_none_or(|largest| key >= largest.key) {
            return Ok(());
        }
        self.bytes += key.len() + document.len();
        let number = self.taken;
        self.taken += 1;
        self.heap.push(Row {
            key,
            number,
            document: Document(document),
        });
        if full && let Some(dropped) = self.heap.pop() {
            let freed = dropped.key.len() + dropped.document.0.len();
            self.bytes = self.bytes.saturating_sub(freed);
        }
        if self.bytes > SORT_MEMORY {
            return Err(Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                "Sort exceeded memory limit of {SORT_MEMORY} bytes, but did not opt in to external sorting."
            )));
        }
        Ok(())
    }
}

//! A selection in order, with some skipped and a limit: what `find` and `findAndModify` go through.

use super::selection::{Advance, Selection, stored};
use crate::budget::Budget;
use crate::error::{Code, Result};
use crate::memory::Room;
use crate::query::SortOrder;
use crate::spill::{Next, Sorted};
use crate::store::{Slice, Store};

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
    rows: Sorted,
    /// Everything was seen.
    ended: bool,
    /// A row that was given back.
    again: Option<Slice>,
}

impl Rows {
    /// `order` is `None` if the selection comes in the order that is asked for.
    pub(crate) fn new(
        selection: Selection,
        order: Option<SortOrder>,
        skip: u64,
        limit: Option<u64>,
        room: Room,
    ) -> Self {
        let keep = limit.and_then(|limit| usize::try_from(limit.checked_add(skip)?).ok());
        Self {
            selection,
            order: order.map(|order| Sorter {
                order,
                rows: Sorted::new(room, keep),
                ended: false,
                again: None,
            }),
            skip,
            limit,
        }
    }

    /// Whether it is known without looking that nothing is left.
    pub(crate) fn is_done(&self) -> bool {
        let sorted = self.order.as_ref();
        let is_used_up = |order: &Sorter| order.again.is_none() && order.rows.is_done();
        self.limit == Some(0) || sorted.is_some_and(is_used_up)
    }

    /// Takes back the document that came last, for which there was no room: it comes again. Of a walk the position is kept, so
    /// that a cursor that waits does not hold a large document.
    pub(crate) fn unread(&mut self, document: Slice) {
        if let Some(limit) = &mut self.limit {
            *limit += 1;
        }
        match &mut self.order {
            Some(sorter) => sorter.again = Some(document),
            None => self.selection.unread(),
        }
    }

    /// Bytes that are held between batches and counted nowhere else.
    pub(crate) fn held(&self) -> usize {
        let again = self.order.as_ref().and_then(|order| order.again.as_ref());
        again.map_or(0, |document| document.len())
    }

    pub(crate) fn sorts(&self) -> bool {
        self.order.is_some()
    }

    pub(crate) fn next(&mut self, store: &Store, budget: &mut Budget) -> Result<Advance> {
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
        budget: &mut Budget,
    ) -> Result<Advance> {
        loop {
            if self.rows.has_work() && !self.rows.work(&mut || budget.take())? {
                return Ok(Advance::Later);
            }
            if self.ended {
                break;
            }
            match selection.next(store, budget)? {
                Advance::Later => return Ok(Advance::Later),
                Advance::Document(document) => self.add(&document)?,
                Advance::End => {
                    selection.pause();
                    self.ended = true;
                }
            }
        }
        if let Some(document) = self.again.take() {
            return Ok(Advance::Document(document));
        }
        if !budget.take() {
            return Ok(Advance::Later);
        }
        Ok(match self.rows.next()? {
            Next::Row(_, document) => Advance::Document(Slice::from(&document[..])),
            Next::End => Advance::End,
        })
    }

    fn add(&mut self, document: &Slice) -> Result<()> {
        let key = self.order.key(stored(document)?);
        self.rows.add(key, || document.to_vec(), |limit| {
            Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                "Sort exceeded memory limit of {limit} bytes, but did not opt in to external sorting."
            ))
        })
    }
}

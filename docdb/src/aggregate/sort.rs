//! `$sort`, with the `$limit` after it: what cannot come first is dropped at once.

use bson::{Bson, Document, RawDocumentBuf};

use super::Foreign;
use super::output::Output;
use crate::error::{Code, Result};
use crate::memory::Room;
use crate::query::SortOrder;
use crate::spill::{Next, Sorted};

#[derive(Debug, Clone)]
pub(super) struct Sort {
    order: SortOrder,
    /// How many documents are wanted, if a `$limit` follows.
    limit: Option<u64>,
}

impl Sort {
    pub(super) fn parse(argument: &Bson) -> Result<Self> {
        match argument {
            Bson::Document(order) => Self::from_document(order),
            _ => Err(Code::Location(15973).error("the $sort key specification must be an object")),
        }
    }

    pub(super) fn from_document(order: &Document) -> Result<Self> {
        let raw = RawDocumentBuf::try_from(order)?;
        let order = SortOrder::parse(&raw)?;
        if order.is_empty() {
            return Err(Code::Location(15976).error("$sort stage must have at least one sort key"));
        }
        Ok(Self { order, limit: None })
    }

    /// Only so many documents are wanted; `None`: all.
    pub(super) fn stop_after(&mut self, limit: Option<u64>) {
        self.limit = limit;
    }

    /// The order, if it is one of fields and not that of the store (`$natural`).
    pub(super) fn field_order(&self) -> Option<&SortOrder> {
        Some(&self.order).filter(|order| order.natural().is_none())
    }
}

/// The documents so far, by sort key and then by the order in which they came.
#[derive(Debug)]
pub(super) struct Sorting {
    order: SortOrder,
    rows: Sorted,
}

impl Sorting {
    pub(super) fn new(sort: Sort, room: &Room) -> Self {
        let keep = sort.limit.and_then(|limit| usize::try_from(limit).ok());
        Self {
            order: sort.order,
            rows: Sorted::new(room.clone(), keep),
        }
    }

    pub(super) fn add(&mut self, document: RawDocumentBuf) -> Result<()> {
        let key = self.order.key(&document);
        self.rows.add(key, || document.into_bytes(), |limit| {
            Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                "PlanExecutor error during aggregation :: caused by :: Sort exceeded memory limit of {limit} bytes, but did not opt in to external sorting."
            ))
        })
    }

    /// The next document in order, once the input has `ended`; before that, what does not fit is written.
    pub(super) fn next(&mut self, ended: bool, foreign: &mut dyn Foreign) -> Result<Output> {
        if self.rows.has_work() && !self.rows.work(&mut || foreign.take())? {
            return Ok(Output::Later);
        }
        if !ended {
            return Ok(Output::Nothing);
        }
        Ok(match self.rows.next()? {
            Next::Row(_, document) => Output::Document(RawDocumentBuf::from_bytes(document)?),
            Next::End => Output::Nothing,
        })
    }
}

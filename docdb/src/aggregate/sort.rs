//! `$sort`, with the `$limit` after it: what cannot come first is dropped at once.

use std::collections::BTreeMap;

use bson::{Bson, Document, RawDocumentBuf};

use super::MEMORY_BYTES_MAX;
use crate::error::{Code, Result};
use crate::query::SortOrder;

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
    sort: Sort,
    documents: BTreeMap<(Vec<u8>, u64), RawDocumentBuf>,
    arrived: u64,
    bytes: usize,
}

impl Sorting {
    pub(super) fn new(sort: Sort) -> Self {
        Self {
            sort,
            documents: BTreeMap::new(),
            arrived: 0,
            bytes: 0,
        }
    }

    pub(super) fn add(&mut self, document: RawDocumentBuf) -> Result<()> {
        let key = (self.sort.order.key(&document), self.arrived);
        self.arrived += 1;
        if self.is_full() {
            // Equal keys keep the order in which they came, so the later one is the one to go.
            match self.documents.last_entry() {
                Some(last) if key < *last.key() => {
                    self.bytes = self.bytes.saturating_sub(size(&last.key().0, last.get()));
                    last.remove();
                }
                _ => return Ok(()),
            }
        }
        self.bytes += size(&key.0, &document);
        self.documents.insert(key, document);
        if self.bytes > MEMORY_BYTES_MAX {
            return Err(Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                "PlanExecutor error during aggregation :: caused by :: Sort exceeded memory limit of {MEMORY_BYTES_MAX} bytes, but did not opt in to external sorting."
            )));
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let count = u64::try_from(self.documents.len()).unwrap_or(u64::MAX);
        self.sort.limit.is_some_and(|limit| count >= limit)
    }

    pub(super) fn next(&mut self) -> Option<RawDocumentBuf> {
        self.documents.pop_first().map(|(_, document)| document)
    }
}

fn size(key: &[u8], document: &RawDocumentBuf) -> usize {
    // The two vectors and the tree's share of a node are about a hundred bytes.
    key.len() + document.as_bytes().len() + 100
}

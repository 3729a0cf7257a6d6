//! The documents that a plan selects, one by one: a resumable walk over key ranges, and the filter over it.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use bson::raw::RawDocument;

use super::Collection;
use super::plan::{Access, KeyRange, Plan};
use super::writer::id_of_entry;
use crate::budget::Budget;
use crate::error::{Code, Result};
use crate::memory::{Claim, Memory};
use crate::query::Filter;
use crate::store::{Scan, Slice, Space, Store};

/// Bytes of `_id`s remembered by one walk over a multikey index (MongoDB's limit for what a query holds in memory).
const REMEMBERED: usize = 100 * 1024 * 1024;
/// So few may be remembered however little memory others left.
const REMEMBERED_LEAST: usize = 1 << 20;
/// What an entry of the set costs beside its bytes, roughly.
const OVERHEAD: usize = 48;
/// The budget is told each time so many more are remembered.
const TOLD: usize = 64 << 10;

/// What a walk came to.
#[derive(Debug)]
pub(crate) enum Advance {
    Document(Slice),
    End,
    /// The budget of documents is used up; ask again later.
    Later,
}

/// What a look at the next key came to.
enum Entry {
    Pair(Slice, Slice),
    End,
    Later,
}

/// A walk over a plan's documents that match its filter. Between two calls other writes may happen: the walk goes on
/// where it was, and each document is checked as it is when it comes up.
#[derive(Debug)]
pub(crate) struct Selection {
    plan: Plan,
    filter: Option<Filter>,
    /// How many ranges are done. A backward walk begins with the last one.
    range: usize,
    /// Key that was looked at last; kept as the scan's own bytes.
    last: Option<Slice>,
    scan: Option<Scan>,
    /// Range and key before the entry that came last.
    before: (usize, Option<Slice>),
    /// The `_id` that was remembered last.
    remembered: Vec<u8>,
    /// Documents already given, for an index with several entries per document.
    seen: BTreeSet<Vec<u8>>,
    seen_bytes: usize,
    claim: Option<Claim>,
    told: usize,
    pub(crate) keys_examined: u64,
    pub(crate) documents_examined: u64,
}

impl Selection {
    /// `filter` is checked for each document, `None` if all match.
    pub(crate) fn new(plan: Plan, filter: Option<Filter>) -> Self {
        Self {
            plan,
            filter,
            range: 0,
            last: None,
            scan: None,
            before: (0, None),
            remembered: Vec::new(),
            seen: BTreeSet::new(),
            seen_bytes: 0,
            claim: None,
            told: 0,
            keys_examined: 0,
            documents_examined: 0,
        }
    }

    /// What it remembers is counted.
    pub(crate) fn counted(mut self, memory: &Arc<Memory>) -> Self {
        self.claim = Some(memory.claim());
        self
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }

    /// Refuses to go on if the collection, as the catalogue has it now, or the index was dropped meanwhile.
    pub(crate) fn check(&self, collection: Option<&Collection>) -> Result<()> {
        let killed = |what| Err(Code::QueryPlanKilled.error(format!("{what} dropped")));
        let Some(collection) = collection else {
            return killed("collection");
        };
        match self.plan.access {
            Access::Index { id, .. } if !collection.indexes.iter().any(|one| one.id == id) => {
                killed("index")
            }
            _ => Ok(()),
        }
    }

    /// The next matching document. Each document, index entry, deleted key or empty range looked at takes one off `budget`.
    pub(crate) fn next(&mut self, store: &Store, budget: &mut Budget) -> Result<Advance> {
        loop {
            if !budget.take() {
                return Ok(Advance::Later);
            }
            let (key, value) = match self.next_entry(store, budget)? {
                Entry::Pair(key, value) => (key, value),
                Entry::End => return Ok(Advance::End),
                Entry::Later => return Ok(Advance::Later),
            };
            let document = match self.plan.access {
                Access::Collection { bounded } => {
                    self.keys_examined += u64::from(bounded);
                    Some(value)
                }
                Access::Index {
                    unique, multikey, ..
                } => {
                    self.keys_examined += 1;
                    let id = id_of_entry(unique, &key, &value)
                        .ok_or_else(|| Code::InternalError.error("an index entry is damaged"))?;
                    if multikey && !self.is_new(id)? {
                        continue;
                    }
                    let mut place = self.plan.collection.to_be_bytes().to_vec();
                    place.extend_from_slice(id);
                    store.get(Space::Documents, &place)?
                }
            };
            let Some(document) = document else { continue };
            self.documents_examined += 1;
            let matches = match &self.filter {
                Some(filter) => filter.try_matches(stored(&document)?)?,
                None => true,
            };
            if matches {
                return Ok(Advance::Document(document));
            }
        }
    }

    fn is_new(&mut self, id: &[u8]) -> Result<bool> {
        if self.seen.contains(id) {
            return Ok(false);
        }
        self.seen_bytes += id.len() + OVERHEAD;
        if self.seen_bytes > REMEMBERED {
            return Err(
                Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                    "the query remembers more than {REMEMBERED} bytes of _ids over a multikey index"
                )),
            );
        }
        if self.seen_bytes > self.told + TOLD {
            self.told = self.seen_bytes;
            if let Some(claim) = &mut self.claim
                && !claim.hold(self.seen_bytes)
                && self.seen_bytes > REMEMBERED_LEAST
            {
                return Err(claim.exceeded("a walk over a multikey index"));
            }
        }
        self.remembered.clear();
        self.remembered.extend_from_slice(id);
        Ok(self.seen.insert(id.to_vec()))
    }

    fn next_entry(&mut self, store: &Store, budget: &mut Budget) -> Result<Entry> {
        while let Some(range) = self.plan.range(self.range) {
            let next = match single(&range) {
                Some(key) if self.last.is_none() => {
                    let value = store.get(space(&self.plan), key)?;
                    value.map(|value| (Slice::from(key), Some(value)))
                }
                Some(_) => None,
                None => {
                    let (plan, last) = (&self.plan, self.last.as_deref());
                    let scan = self
                        .scan
                        .get_or_insert_with(|| open(store, plan, &range, last));
                    scan.entry(plan.backward).transpose()?
                }
            };
            match next {
                Some((key, Some(value))) => {
                    self.before = (self.range, self.last.replace(key.clone()));
                    return Ok(Entry::Pair(key, value));
                }
                // A deleted key: the walk goes on after it, also where it is paused here.
                Some((key, None)) => {
                    self.last = Some(key);
                    if !budget.take() {
                        return Ok(Entry::Later);
                    }
                }
                None => {
                    let was_empty = self.last.is_none();
                    self.range += 1;
                    self.last = None;
                    self.scan = None;
                    if was_empty && !budget.take() {
                        return Ok(Entry::Later);
                    }
                }
            }
        }
        Ok(Entry::End)
    }

    /// Goes back to before the document that came last: it comes again, as it is then.
    pub(super) fn unread(&mut self) {
        (self.range, self.last) = self.before.clone();
        self.scan = None;
        if self.seen.remove(&self.remembered[..]) {
            self.seen_bytes -= self.remembered.len() + OVERHEAD;
        }
    }

    /// Lets go of the store's snapshot. The walk goes on after the entry that came last, over what is there then.
    pub(crate) fn pause(&mut self) {
        self.scan = None;
    }
}

/// The key of a range that holds only one.
fn single(range: &KeyRange) -> Option<&[u8]> {
    match range {
        (Bound::Included(key), Bound::Included(same)) if key == same => Some(key),
        _ => None,
    }
}

fn open(store: &Store, plan: &Plan, range: &KeyRange, last: Option<&[u8]>) -> Scan {
    let (mut lower, mut upper) = (as_slice(&range.0), as_slice(&range.1));
    if let Some(last) = last {
        if plan.backward {
            upper = Bound::Excluded(last);
        } else {
            lower = Bound::Excluded(last);
        }
    }
    store.scan(space(plan), lower, upper)
}

fn space(plan: &Plan) -> Space {
    match plan.access {
        Access::Collection { .. } => Space::Documents,
        Access::Index { .. } => Space::Indexes,
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// A stored document. What is stored was checked when it came in, and the store checks its bytes.
pub(crate) fn stored(bytes: &[u8]) -> Result<&RawDocument> {
    RawDocument::from_bytes(bytes).map_err(|error| {
        Code::InternalError.error(format!("a stored document is damaged: {error}"))
    })
}

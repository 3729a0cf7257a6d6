//! Cursors: what a query still has to give after its first batch, and whose it is.

mod batch;
mod ended;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use plimsoll_base::Nanos;
use plimsoll_base::random::Rng;

pub(crate) use self::batch::{Batch, FIRST_BATCH};
pub(crate) use self::ended::EndedSessions;
use crate::budget::Budget;
use crate::catalog::Catalog;
use crate::error::{Code, Result};
use crate::memory::{Claim, Memory};
use crate::scheduler::Context;
use crate::store::Store;
use crate::wire::Request;

/// Cursors that nobody asked for this long are closed (MongoDB's `cursorTimeoutMillis`, 10 minutes).
const IDLE: Nanos = Nanos(600_000_000_000);
/// What a cursor takes beside what it was asked for.
const WEIGHT: usize = 2048;
/// Open cursors per shard; one more is refused. Bounds the memory of clients that never finish.
const MOST: usize = 10_000;

/// What a producer may read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub store: &'a Store,
    pub(crate) catalog: &'a Catalog,
}

/// Whether a batch is as far as it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// The batch is full; more may follow.
    Full,
    /// Nothing is left.
    End,
    /// The budget is used up: go on later.
    Later,
}

/// Gives documents, batch by batch.
pub(crate) trait Producer: Debug + Send {
    fn fill(
        &mut self,
        source: Source<'_>,
        batch: &mut Batch,
        budget: &mut Budget,
    ) -> Result<Filled>;

    /// The client may take its time: let go of what would hold the store's memory.
    fn pause(&mut self);

    /// Bytes that it holds between batches and that nothing else counts.
    fn held(&self) -> usize {
        0
    }
}

/// An open cursor.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub database: String,
    pub collection: String,
    /// The session that opened it; nobody else may use it.
    pub session: Option<[u8; 16]>,
    pub(crate) producer: Box<dyn Producer>,
    /// Never times out.
    pub keep: bool,
    /// What `maxTimeMS` leaves for all of its batches together; time in which nobody asks does not count.
    time: Option<Nanos>,
    used: Nanos,
    /// About what its filter, pipeline and plan take.
    weight: usize,
    claim: Option<Claim>,
}

/// All open cursors of a shard.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: BTreeMap<i64, Cursor>,
    memory: Arc<Memory>,
}

impl Cursor {
    pub(crate) fn new(
        (database, collection): (&str, &str),
        context: &Context,
        producer: Box<dyn Producer>,
    ) -> Self {
        Self {
            database: database.to_owned(),
            collection: collection.to_owned(),
            session: context.session,
            producer,
            keep: false,
            time: None,
            used: Nanos(0),
            weight: WEIGHT,
            claim: None,
        }
    }

    /// As long as `limit` is given to its batches together.
    pub(crate) fn limit(&mut self, limit: Option<Nanos>) {
        self.time = limit;
    }

    /// When the time that is left is over, if it goes on now.
    pub(crate) fn deadline(&self, now: Nanos) -> Option<Nanos> {
        self.time.map(|time| Nanos(now.0.saturating_add(time.0)))
    }

    /// It waits for its client from now on.
    pub(crate) fn rest(&mut self, deadline: Option<Nanos>, now: Nanos) {
        self.time = deadline.map(|deadline| Nanos(deadline.0.saturating_sub(now.0)));
    }

    /// Counts what it keeps of the request: read, a filter or a pipeline takes several times its bytes.
    pub(crate) fn weigh(&mut self, request: &Request) {
        self.weight = WEIGHT + 4 * request.body().as_bytes().len();
    }
}

impl Cursors {
    pub(crate) fn new(memory: Arc<Memory>) -> Self {
        Self {
            open: BTreeMap::new(),
            memory,
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// An id for a new cursor: positive and unguessable enough not to be hit by accident.
    pub(crate) fn new_id(&self, rng: &mut Rng) -> Result<i64> {
        if self.open.len() >= MOST {
            return Err(Code::ExceededMemoryLimit.error(format!("{MOST} cursors are open already")));
        }
        loop {
            let id = (rng.next_u64() >> 1).cast_signed();
            if id > 0 && !self.open.contains_key(&id) {
                return Ok(id);
            }
        }
    }

    /// Keeps a cursor for `getMore`; an error if it holds more than there is memory for.
    pub(crate) fn put(&mut self, id: i64, mut cursor: Cursor, now: Nanos) -> Result<()> {
        cursor.used = now;
        let held = cursor.weight + cursor.producer.held();
        let mut claim = cursor.claim.take().unwrap_or_else(|| self.memory.claim());
        // A small one is no danger, and who opens it did not take the memory.
        if !claim.hold(held) && held > WEIGHT * 4 {
            return Err(self.memory.exceeded("a cursor"));
        }
        cursor.claim = Some(claim);
        self.open.insert(id, cursor);
        Ok(())
    }

    pub(crate) fn get(&self, id: i64) -> Option<&Cursor> {
        self.open.get(&id)
    }

    pub(crate) fn take(&mut self, id: i64) -> Option<Cursor> {
        self.open.remove(&id)
    }

    /// Closes what nobody asked for in ten minutes.
    pub(crate) fn expire(&mut self, now: Nanos) {
        self.open
            .retain(|_, cursor| cursor.keep || now.0.saturating_sub(cursor.used.0) < IDLE.0);
    }

    pub(crate) fn end_sessions(&mut self, ended: &BTreeSet<[u8; 16]>) {
        self.open
            .retain(|_, cursor| cursor.session.is_none_or(|one| !ended.contains(&one)));
    }

    /// Closes the cursors of a dropped collection (`None`: of the whole database).
    pub(crate) fn close_of(&mut self, database: &str, collection: Option<&str>) {
        self.open.retain(|_, cursor| {
            cursor.database != database || collection.is_some_and(|name| name != cursor.collection)
        });
    }
}

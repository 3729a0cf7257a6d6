//! Cursors: what a query still has to give after its first batch, and whose it is.

mod batch;
mod ended;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use plimsoll_base::Nanos;
use plimsoll_base::random::Rng;

pub(crate) use self::batch::{Batch, FIRST_BATCH};
pub(crate) use self::ended::EndedSessions;
use crate::budget::Budget;
use crate::catalog::Catalog;
use crate::error::{Code, Result};
use crate::memory::{Claim, Memory, READ_TIMES};
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
    /// While a batch of it is filled in slices: set by who closes it meanwhile.
    closed: Option<Arc<AtomicBool>>,
}

/// A cursor that is away, because a batch of it is filled in slices.
#[derive(Debug)]
struct Away {
    /// `None` before its first batch.
    id: Option<i64>,
    database: String,
    collection: String,
    session: Option<[u8; 16]>,
    closed: Weak<AtomicBool>,
}

/// All open cursors of a shard.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: BTreeMap<i64, Cursor>,
    away: Vec<Away>,
    memory: Arc<Memory>,
    /// What the query under way is counted with until a cursor keeps it, which counts the same.
    pub(crate) reading: Option<Claim>,
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
            closed: None,
        }
    }

    /// Whether it was closed while it was away.
    pub(crate) fn is_closed(&self) -> bool {
        let closed = self.closed.as_ref();
        closed.is_some_and(|closed| closed.load(Ordering::Relaxed))
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

    /// Counts what it keeps of the request: what a long one was counted with that is being `read`; read, a short filter or pipeline
    /// takes several times its bytes.
    pub(crate) fn weigh(&mut self, request: &Request, read: Option<&Claim>) {
        let short = || READ_TIMES * request.body().as_bytes().len();
        self.weight = WEIGHT + read.map_or_else(short, Claim::bytes);
    }
}

impl Cursors {
    pub(crate) fn new(memory: Arc<Memory>) -> Self {
        Self {
            open: BTreeMap::new(),
            away: Vec::new(),
            memory,
            reading: None,
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
        self.reading = None;
        let held = cursor.weight + cursor.producer.held();
        let mut claim = cursor.claim.take().unwrap_or_else(|| self.memory.claim());
        // A small one is no danger, and who opens it did not take the memory.
        if !claim.hold(held) && held > WEIGHT * 4 {
            return Err(self.memory.exceeded("a cursor"));
        }
        cursor.claim = Some(claim);
        cursor.closed = None;
        self.open.insert(id, cursor);
        Ok(())
    }

    pub(crate) fn get(&self, id: i64) -> Option<&Cursor> {
        self.open.get(&id)
    }

    pub(crate) fn take(&mut self, id: i64) -> Option<Cursor> {
        self.open.remove(&id)
    }

    /// Remembers a cursor of which a batch is filled in slices, so that it can be closed meanwhile.
    pub(crate) fn lend(&mut self, id: Option<i64>, cursor: &mut Cursor) {
        if cursor.closed.is_some() {
            return;
        }
        let closed = Arc::<AtomicBool>::default();
        // Those that came back, or whose command ended, are gone.
        self.away.retain(|one| one.closed.strong_count() > 0);
        self.away.push(Away {
            id,
            database: cursor.database.clone(),
            collection: cursor.collection.clone(),
            session: cursor.session,
            closed: Arc::downgrade(&closed),
        });
        cursor.closed = Some(closed);
    }

    /// Closes a cursor of a collection; one that is away ends at its next slice. False if there is no such cursor.
    pub(crate) fn close(&mut self, id: i64, (database, collection): (&str, &str)) -> bool {
        if let Some(cursor) = self.open.get(&id) {
            let is_it = cursor.database == database && cursor.collection == collection;
            return is_it && self.open.remove(&id).is_some();
        }
        let is_it = |one: &Away| {
            one.id == Some(id) && one.database == database && one.collection == collection
        };
        self.close_away(is_it)
    }

    /// False if there was none.
    fn close_away(&self, is_meant: impl Fn(&Away) -> bool) -> bool {
        let meant = self.away.iter().filter(|one| is_meant(one));
        let closed: Vec<_> = meant.filter_map(|one| one.closed.upgrade()).collect();
        for one in &closed {
            one.store(true, Ordering::Relaxed);
        }
        !closed.is_empty()
    }

    /// Closes what nobody asked for in ten minutes.
    pub(crate) fn expire(&mut self, now: Nanos) {
        self.open
            .retain(|_, cursor| cursor.keep || now.0.saturating_sub(cursor.used.0) < IDLE.0);
    }

    pub(crate) fn end_sessions(&mut self, ended: &BTreeSet<[u8; 16]>) {
        let has_ended = |session: Option<[u8; 16]>| session.is_some_and(|one| ended.contains(&one));
        self.open.retain(|_, cursor| !has_ended(cursor.session));
        self.close_away(|one| has_ended(one.session));
    }

    /// Closes the cursors of a dropped collection (`None`: of the whole database).
    pub(crate) fn close_of(&mut self, database: &str, collection: Option<&str>) {
        self.open.retain(|_, cursor| {
            cursor.database != database || collection.is_some_and(|name| name != cursor.collection)
        });
    }
}

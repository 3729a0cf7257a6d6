//! Opens cursors: fills the first batch, and keeps what is left for `getMore`.

use std::collections::VecDeque;

use bson::RawDocumentBuf;
use plimsoll_base::Nanos;

use crate::budget::Budget;
use crate::cursor::{Batch, Cursor, Filled, Producer, Source};
use crate::error::{Code, Result};
use crate::memory::Claim;
use crate::shard::{Flow, Resumable, Shard};

/// Answers with the first batch of a cursor. A `single` one is closed after it.
pub(super) fn open(shard: &mut Shard, cursor: Cursor, first: u64, single: bool) -> Result<Flow> {
    let fill = Fill {
        claim: shard.memory().claim(),
        deadline: cursor.deadline(shard.clock.now()),
        id: None,
        cursor,
        batch: Batch::new("firstBatch", first).in_pieces(shard.memory()),
        single,
    };
    Box::new(fill).go_on(shard)
}

/// Answers with the next batch of the cursor that was open under `id`.
pub(super) fn go_on(shard: &mut Shard, id: i64, cursor: Cursor, most: u64) -> Result<Flow> {
    let now = shard.clock.now();
    let deadline = cursor.deadline(now);
    if deadline.is_some_and(|deadline| deadline <= now) {
        return Err(Code::MaxTimeMSExpired.error("operation exceeded time limit"));
    }
    let fill = Fill {
        claim: shard.memory().claim(),
        deadline,
        id: Some(id),
        cursor,
        batch: Batch::new("nextBatch", most).in_pieces(shard.memory()),
        single: false,
    };
    Box::new(fill).go_on(shard)
}

/// A batch that is being filled. Meanwhile nobody else finds the cursor, but it can be closed.
#[derive(Debug)]
struct Fill {
    id: Option<i64>,
    cursor: Cursor,
    batch: Batch,
    single: bool,
    claim: Claim,
    /// When `maxTimeMS` of its cursor is over.
    deadline: Option<Nanos>,
}

impl Resumable for Fill {
    /// Forty that copy 16 MB in turns would hold all of it at once.
    fn keeps_turn(&self) -> bool {
        self.batch.is_copying()
    }

    fn deadline(&self) -> Option<Nanos> {
        self.deadline
    }

    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        if self.cursor.is_closed() {
            return Err(
                Code::CursorKilled.error("the cursor was killed while its batch was filled")
            );
        }
        let mut budget = shard.budget();
        let source = Source {
            store: &shard.store,
            catalog: &shard.catalog,
        };
        let producer = &mut self.cursor.producer;
        let is_open = match producer.fill(source, &mut self.batch, &mut budget)? {
            Filled::Later => {
                let held = self.batch.len() + producer.held();
                let fits = self.claim.hold(held);
                // Where memory is short, what is there goes out: a batch may be as short as it likes, but not empty.
                if fits || self.single || self.batch.is_empty() || self.batch.is_copying() {
                    shard.cursors.lend(self.id, &mut self.cursor);
                    return Ok(Flow::More(self));
                }
                true
            }
            Filled::Full => !self.single,
            Filled::End => false,
        };
        producer.pause();
        let Self {
            id,
            mut cursor,
            batch,
            deadline,
            ..
        } = *self;
        let id = match id {
            _ if !is_open => 0,
            Some(id) => id,
            None => shard.cursors.new_id(&mut shard.rng)?,
        };
        let reply = batch.finish(id, &cursor.database, &cursor.collection);
        if is_open {
            let now = shard.clock.now();
            cursor.rest(deadline, now);
            shard.cursors.put(id, cursor, now)?;
        }
        Ok(Flow::Done(reply))
    }
}

/// Documents that are there already, as of `listCollections`.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    documents: VecDeque<RawDocumentBuf>,
}

impl Prepared {
    pub(super) fn boxed(documents: impl IntoIterator<Item = RawDocumentBuf>) -> Box<dyn Producer> {
        let documents = documents.into_iter().collect();
        Box::new(Self { documents })
    }
}

impl Producer for Prepared {
    fn fill(&mut self, _: Source<'_>, batch: &mut Batch, _: &mut Budget) -> Result<Filled> {
        while let Some(document) = self.documents.front() {
            if !batch.push(document) {
                return Ok(Filled::Full);
            }
            self.documents.pop_front();
        }
        Ok(Filled::End)
    }

    fn pause(&mut self) {}

    fn held(&self) -> usize {
        let documents = self.documents.iter();
        let bytes = documents.map(|one| size_of::<RawDocumentBuf>() + one.as_bytes().len());
        bytes.sum()
    }
}

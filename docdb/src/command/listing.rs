//! Opens cursors: fills the first batch, and keeps what is left for `getMore`.

use std::collections::VecDeque;

use bson::RawDocumentBuf;

use crate::cursor::{Batch, Cursor, Filled, Producer, Source};
use crate::error::Result;
use crate::shard::{Flow, Resumable, Shard};

/// What becomes of a cursor after its first batch.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub database: String,
    pub collection: String,
    pub session: Option<[u8; 16]>,
    /// Never times out.
    pub keep: bool,
    pub(crate) single_batch: bool,
}

/// Answers with the first batch of `producer`.
pub(super) fn open(
    shard: &mut Shard,
    opening: Opening,
    producer: Box<dyn Producer>,
    first: u64,
) -> Result<Flow> {
    let first = First {
        opening,
        producer,
        batch: Batch::new("firstBatch", first),
    };
    Box::new(first).go_on(shard)
}

/// A first batch that is being filled.
#[derive(Debug)]
struct First {
    opening: Opening,
    producer: Box<dyn Producer>,
    batch: Batch,
}

impl Resumable for First {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.slice;
        let source = Source {
            store: &shard.store,
            catalog: &shard.catalog,
        };
        let filled = self.producer.fill(source, &mut self.batch, &mut budget)?;
        let Self {
            opening,
            mut producer,
            batch,
        } = *self;
        let id = match filled {
            Filled::Later => {
                return Ok(Flow::More(Box::new(Self {
                    opening,
                    producer,
                    batch,
                })));
            }
            Filled::Full if !opening.single_batch => {
                producer.pause();
                let (database, collection) = (&opening.database, &opening.collection);
                let mut cursor = Cursor::new(database, collection, opening.session, producer);
                cursor.keep = opening.keep;
                let now = shard.clock.now();
                shard.cursors.add(cursor, &mut shard.rng, now)?
            }
            Filled::Full | Filled::End => 0,
        };
        let reply = batch.finish(id, &opening.database, &opening.collection);
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
    fn fill(&mut self, _: Source<'_>, batch: &mut Batch, _: &mut usize) -> Result<Filled> {
        while let Some(document) = self.documents.front() {
            if !batch.push(document) {
                return Ok(Filled::Full);
            }
            self.documents.pop_front();
        }
        Ok(Filled::End)
    }

    fn pause(&mut self) {}
}

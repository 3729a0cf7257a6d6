//! One shard: what an executor's thread owns, and what a command over it comes to.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use bson::raw::RawBsonRef;
use bson::{RawDocumentBuf, rawdoc};
use plimsoll_base::Nanos;
use plimsoll_base::clock::Clock;
use plimsoll_base::random::Rng;

use crate::budget::{Budget, SLICE_TIME};
use crate::catalog::Catalog;
use crate::collection::document_key;
use crate::cursor::{Cursors, EndedSessions};
use crate::error::{CommandError, Result};
use crate::expiry::Expiry;
use crate::memory::{Memory, Room};
use crate::query::Lists;
use crate::scheduler::{DatabaseSize, Operations};
use crate::store::{Slice, Space, Store, StoreError, StoreOptions};

/// Documents that a command examines before it gives way to others, at about a microsecond each; where they cost more,
/// the slice ends by time.
const SLICE: usize = 1000;
/// Keys of dropped collections deleted per slice of background work.
const SWEEP: usize = 1000;

/// What bounds a shard.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    pub store: StoreOptions,
    /// Documents that a command examines in one go.
    pub slice: usize,
    /// How long one go takes at most.
    pub(crate) slice_time: Nanos,
    /// Written into replies to writes that are acknowledged before they are durable.
    pub label: Option<String>,
    /// Where connections tell which sessions ended.
    pub ended: Arc<EndedSessions>,
    /// What queries may hold, all shards together.
    pub memory: Arc<Memory>,
    /// What is under way on all shards.
    pub(crate) operations: Arc<Operations>,
}

impl Default for ShardOptions {
    fn default() -> Self {
        Self {
            store: StoreOptions::default(),
            slice: SLICE,
            slice_time: SLICE_TIME,
            label: None,
            ended: Arc::default(),
            memory: Arc::default(),
            operations: Arc::default(),
        }
    }
}

/// How far a command came.
#[derive(Debug)]
pub(crate) enum Flow {
    Done(RawDocumentBuf),
    More(Box<dyn Resumable>),
}

/// A command that can go on later.
pub(crate) trait Resumable: Debug + Send {
    fn go_on(self: Box<Self>, shard: &mut Shard) -> Result<Flow>;

    /// When its time is over, where that is not what its own command says.
    fn deadline(&self) -> Option<Nanos> {
        None
    }

    /// It is to end before other long commands go on.
    fn keeps_turn(&self) -> bool {
        false
    }

    /// Ends it half-way; takes back what must not stay so.
    fn give_up(self: Box<Self>, _: &mut Shard) {}
}

/// The databases of one executor.
#[derive(Debug)]
pub struct Shard {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) cursors: Cursors,
    /// The long lists of the command under way, read before it began.
    pub(crate) lists: Lists,
    pub(crate) rng: Rng,
    pub(crate) clock: Clock,
    pub(crate) slice: usize,
    slice_time: Nanos,
    /// What is under way on all shards.
    pub(crate) operations: Arc<Operations>,
    memory: Arc<Memory>,
    folder: Arc<Path>,
    expiry: Expiry,
    ended: Arc<EndedSessions>,
    /// How many ended sessions this shard has heard of.
    heard: u64,
    /// `{ durability: … }` of replies to writes; `None` where they are durable, as everyone expects.
    pub(crate) label: Option<RawDocumentBuf>,
    /// Sizes changed since the census was last taken.
    pub(crate) sizes_changed: bool,
    /// Commits that failed. A command that was on its way then lost what it had written since the commit before.
    pub(crate) failures: u64,
    /// Why the last of them failed.
    pub(crate) failure: Option<CommandError>,
}

impl Shard {
    /// Opens the shard in `dir`, creating it if there is none, and recovers what was committed.
    pub fn open(dir: &Path, options: &ShardOptions, clock: Clock) -> Result<Self, StoreError> {
        let mut store = Store::open(dir, &options.store)?;
        let mut catalog = Catalog::load(&mut store).map_err(|error| StoreError::Corrupted {
            file: dir.join(Space::Catalog.name()),
            offset: 0,
            problem: error.message,
            fix: "restore the directory from a copy, or move it away to start empty",
        })?;
        catalog.names_changed = true;
        let seed = u128::from_le_bytes(bson::Uuid::new().bytes()) as u64;
        Ok(Self {
            store,
            catalog,
            cursors: Cursors::new(Arc::clone(&options.memory)),
            lists: Lists::default(),
            operations: Arc::clone(&options.operations),
            memory: Arc::clone(&options.memory),
            folder: dir.into(),
            rng: Rng::new(seed, 0),
            clock,
            slice: options.slice.max(1),
            slice_time: options.slice_time,
            expiry: Expiry::default(),
            ended: Arc::clone(&options.ended),
            heard: 0,
            label: options
                .label
                .as_ref()
                .map(|label| rawdoc! { "durability": label.as_str() }),
            sizes_changed: true,
            failures: 0,
            failure: None,
        })
    }

    /// A slice of the shard's own work; true if more is waiting.
    pub(crate) fn tend_once(&mut self, now: bson::DateTime) -> Result<bool> {
        self.cursors.expire(self.clock.now());
        let ended = self.ended.since(&mut self.heard);
        if !ended.is_empty() {
            self.cursors.end_sessions(&ended);
        }
        let sweeping = self.catalog.sweep(&mut self.store, SWEEP)?;
        let expiring = self
            .expiry
            .tend(&mut self.store, &mut self.catalog, now, self.clock)?;
        Ok(sweeping || expiring)
    }

    /// A slice that begins now.
    pub(crate) fn budget(&self) -> Budget {
        Budget::new(self.slice, self.slice_time, self.clock)
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// What a sort or a group may use; the disk too, unless it is to stay `in_memory`.
    pub(crate) fn room(&self, in_memory: bool) -> Room {
        Room {
            memory: Arc::clone(&self.memory),
            folder: (!in_memory).then(|| Arc::clone(&self.folder)),
        }
    }

    /// The databases of this shard with their sizes, in order of names.
    pub fn databases(&self) -> Vec<DatabaseSize> {
        self.catalog
            .databases()
            .map(|(name, collections)| DatabaseSize {
                name: name.to_owned(),
                bytes: collections
                    .iter()
                    .map(|one| one.bytes + one.index_bytes())
                    .sum(),
                empty: collections.is_empty(),
            })
            .collect()
    }

    /// The document with this `_id`.
    pub(crate) fn document(&self, collection: u32, id: RawBsonRef<'_>) -> Result<Option<Slice>> {
        let mut key = Vec::with_capacity(32);
        document_key(collection, id, &mut key);
        Ok(self.store.get(Space::Documents, &key)?)
    }

    /// Cursors that are open.
    #[cfg(test)]
    pub(crate) fn open_cursors(&self) -> usize {
        self.cursors.len()
    }

    pub fn store(&self) -> &Store {
        &self.store
    }
}

//! One shard: what an executor's thread owns. Commands are carried out here; nothing counts before the next commit.

use std::path::Path;

use bson::RawDocumentBuf;
use plimsoll_core::Nanos;
use plimsoll_core::rng::Rng;
use plimsoll_net::clock::Clock;

use crate::catalog::Catalog;
use crate::command::{self, Flow, Job};
use crate::cursor::Cursors;
use crate::error::{Code, CommandError};
use crate::expiry::Expiry;
use crate::scheduler::{Backend, Committed, Context, Step};
use crate::store::{self, Store};
use crate::wire::Request;

/// Documents that a command examines before it gives way to others; at about a microsecond each, a millisecond.
const SLICE: usize = 1000;
/// Keys of dropped collections deleted per call of [`Shard::tend`].
const SWEEP: usize = 1000;

/// What bounds a shard.
#[derive(Debug, Clone)]
pub struct Options {
    pub store: store::Options,
    /// Documents that a command examines in one go.
    pub slice: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            store: store::Options::default(),
            slice: SLICE,
        }
    }
}

/// The databases of one executor.
#[derive(Debug)]
pub struct Shard {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) cursors: Cursors,
    pub(crate) rng: Rng,
    pub(crate) clock: Clock,
    pub(crate) slice: usize,
    expiry: Expiry,
}

/// A command that gave way to others.
#[derive(Debug)]
pub struct Task {
    job: Box<dyn Job>,
    /// When `maxTimeMS` is over, by the shard's clock.
    deadline: Option<Nanos>,
}

/// A database as `listDatabases` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseSize {
    pub name: String,
    pub collections: u64,
    pub documents: u64,
    /// Bytes of documents and index keys.
    pub bytes: u64,
}

impl Shard {
    /// Opens the shard in `dir`, creating it if there is none, and recovers what was committed.
    pub fn open(dir: &Path, options: &Options, clock: Clock) -> Result<Self, CommandError> {
        let mut store = Store::open(dir, &options.store)?;
        let catalog = Catalog::load(&mut store)?;
        let [a, b, c, d, e, f, g, h, ..] = bson::Uuid::new().bytes();
        let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        Ok(Self {
            store,
            catalog,
            cursors: Cursors::default(),
            rng: Rng::new(seed, 0),
            clock,
            slice: options.slice.max(1),
            expiry: Expiry::default(),
        })
    }

    fn step(&mut self, flow: Result<Flow, CommandError>, deadline: Option<Nanos>) -> Step<Task> {
        match flow {
            Ok(Flow::Done(reply)) => Step::Done(reply),
            Ok(Flow::More(job)) if deadline.is_some_and(|time| self.clock.now() > time) => {
                drop(job);
                let error = Code::MaxTimeMSExpired.error("operation exceeded time limit");
                Step::Done(error.reply())
            }
            Ok(Flow::More(job)) => Step::More(Task { job, deadline }),
            Err(error) => Step::Done(error.reply()),
        }
    }

    /// Work of its own: expired documents, cursors nobody asked for, keys of dropped collections. A bounded slice per
    /// call; true if more is waiting. What it deleted needs a commit as commands do.
    pub fn tend(&mut self, now: bson::DateTime) -> Result<bool, CommandError> {
        self.cursors.expire(self.clock.now());
        let sweeping = self.catalog.sweep(&mut self.store, SWEEP)?;
        let time = self.clock.now();
        let expiring = self
            .expiry
            .tend(&mut self.store, &mut self.catalog, now, time)?;
        Ok(sweeping || expiring)
    }

    /// The databases of this shard with their sizes, in order of names.
    pub fn databases(&self) -> Vec<DatabaseSize> {
        self.catalog
            .databases()
            .map(|(name, collections)| DatabaseSize {
                name: name.to_owned(),
                collections: collections.len() as u64,
                documents: collections.iter().map(|one| one.count).sum(),
                bytes: collections
                    .iter()
                    .map(|one| one.bytes + one.index_bytes())
                    .sum(),
            })
            .collect()
    }

    /// Cursors that are open.
    pub fn open_cursors(&self) -> usize {
        self.cursors.len()
    }

    /// Ends the cursors of a session (`endSessions`, `killSessions`).
    pub fn end_session(&mut self, session: [u8; 16]) {
        self.cursors.end_session(session);
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }
}

impl Backend for Shard {
    type Task = Task;

    fn begin(&mut self, request: &Request, context: &Context) -> Step<Task> {
        let flow = command::begin(self, request, context);
        let deadline = match &flow {
            Ok(Flow::More(_)) => command::max_time(request)
                .map(|limit| Nanos(self.clock.now().0.saturating_add(limit.0))),
            _ => None,
        };
        self.step(flow, deadline)
    }

    fn go_on(&mut self, task: Task, _context: &Context) -> Step<Task> {
        let flow = task.job.go_on(self);
        self.step(flow, task.deadline)
    }

    fn commit(&mut self) -> Result<Committed, CommandError> {
        self.catalog.put_counts(&mut self.store);
        match self.store.commit() {
            Ok(_commit) => Ok(Committed::default()),
            Err(error) => {
                // What was not committed never was: names, counts and multikey marks go back with it.
                if let Ok(catalog) = Catalog::load(&mut self.store) {
                    self.catalog = catalog;
                }
                Err(error.into())
            }
        }
    }
}

/// A reply without anything but its success.
pub(crate) fn ok_reply() -> RawDocumentBuf {
    let mut writer = crate::bson_writer::DocumentWriter::with_capacity(32);
    writer.double("ok", 1.0);
    writer.finish()
}

impl From<store::StoreError> for CommandError {
    fn from(error: store::StoreError) -> Self {
        Code::InternalError.error(error.to_string())
    }
}

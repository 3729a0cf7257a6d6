//! One shard: what an executor's thread owns. Commands are carried out here; nothing counts before the next commit.

use std::path::Path;
use std::sync::Arc;

use bson::raw::cstr;
use bson::{RawDocumentBuf, rawdoc};
use plimsoll_core::Nanos;
use plimsoll_core::rng::Rng;
use plimsoll_net::clock::Clock;

use crate::catalog::Catalog;
use crate::command::{self, Flow, Job};
use crate::cursor::{Cursors, EndedSessions};
use crate::error::{Code, CommandError};
use crate::expiry::Expiry;
use crate::scheduler::{Backend, Committed, Context, DatabaseSize, Step};
use crate::store::{self, Space, Store, StoreError};
use crate::wire::Request;

/// Documents that a command examines before it gives way to others; at about a microsecond each, a millisecond.
const SLICE: usize = 1000;
/// Keys of dropped collections deleted per call of [`Shard::tend`].
const SWEEP: usize = 1000;

/// Time that one call of [`Backend::tend`] may take before it leaves the rest to the next.
const TEND: Nanos = Nanos(2_000_000);

/// What bounds a shard.
#[derive(Debug, Clone)]
pub struct Options {
    pub store: store::Options,
    /// Documents that a command examines in one go.
    pub slice: usize,
    /// Written into replies to writes that are acknowledged before they are durable.
    pub label: Option<String>,
    /// Where connections tell which sessions ended.
    pub ended: Arc<EndedSessions>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            store: store::Options::default(),
            slice: SLICE,
            label: None,
            ended: Arc::default(),
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
    ended: Arc<EndedSessions>,
    /// How many ended sessions this shard has heard of.
    heard: u64,
    /// `{ durability: … }` of replies to writes; `None` where they are durable, as everyone expects.
    label: Option<RawDocumentBuf>,
    /// Sizes changed since the census was last taken.
    sizes_changed: bool,
    /// Commits that failed. A command that was on its way then lost what it had written since the commit before.
    failures: u64,
}

/// A command that gave way to others.
#[derive(Debug)]
pub struct Task {
    job: Box<dyn Job>,
    /// It is a write.
    is_write: bool,
    /// [`Shard::failures`] when it gave way.
    failures: u64,
    /// When `maxTimeMS` is over, by the shard's clock.
    deadline: Option<Nanos>,
}

impl Shard {
    /// Opens the shard in `dir`, creating it if there is none, and recovers what was committed.
    pub fn open(dir: &Path, options: &Options, clock: Clock) -> Result<Self, StoreError> {
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
            cursors: Cursors::default(),
            rng: Rng::new(seed, 0),
            clock,
            slice: options.slice.max(1),
            expiry: Expiry::default(),
            ended: Arc::clone(&options.ended),
            heard: 0,
            label: options
                .label
                .as_ref()
                .map(|label| rawdoc! { "durability": label.as_str() }),
            sizes_changed: true,
            failures: 0,
        })
    }

    fn step(
        &mut self,
        flow: Result<Flow, CommandError>,
        deadline: Option<Nanos>,
        is_write: bool,
    ) -> Step<Task> {
        match flow {
            Ok(Flow::Done(mut reply)) => {
                if let Some(label) = self.label.as_ref().filter(|_| is_write) {
                    reply.append(cstr!("docdb"), label);
                }
                Step::Done(reply)
            }
            Ok(Flow::More(job)) if deadline.is_some_and(|time| self.clock.now() > time) => {
                drop(job);
                let error = Code::MaxTimeMSExpired.error("operation exceeded time limit");
                Step::Done(error.reply())
            }
            Ok(Flow::More(job)) => Step::More(Task {
                job,
                is_write,
                failures: self.failures,
                deadline,
            }),
            Err(error) => Step::Done(error.reply()),
        }
    }

    /// A slice of the shard's own work; true if more is waiting.
    pub(crate) fn tend_once(&mut self, now: bson::DateTime) -> Result<bool, CommandError> {
        self.cursors.expire(self.clock.now());
        let ended = self.ended.since(&mut self.heard);
        if !ended.is_empty() {
            self.cursors.end_sessions(&ended);
        }
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
                bytes: collections
                    .iter()
                    .map(|one| one.bytes + one.index_bytes())
                    .sum(),
                empty: collections.is_empty(),
            })
            .collect()
    }

    /// Cursors that are open.
    pub fn open_cursors(&self) -> usize {
        self.cursors.len()
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
        let is_write = self.label.is_some() && command::is_write(request.name());
        self.step(flow, deadline, is_write)
    }

    fn go_on(&mut self, task: Task, _context: &Context) -> Step<Task> {
        let flow = if task.failures == self.failures {
            task.job.go_on(self)
        } else {
            Err(Code::Interrupted.error(
                "a part of this command could not be made durable, so the rest was not done",
            ))
        };
        self.step(flow, task.deadline, task.is_write)
    }

    fn commit(&mut self) -> Result<Committed, CommandError> {
        self.sizes_changed |= self.catalog.put_counts(&mut self.store);
        match self.store.commit() {
            Ok(commit) => Ok(Committed {
                writes: usize::try_from(commit.operations).unwrap_or(usize::MAX),
                bytes: commit.bytes,
                fsync: (commit.is_durable && commit.bytes > 0).then_some(commit.sync_time),
            }),
            Err(error) => {
                // What was not committed never was: names, counts and multikey marks go back with it.
                self.failures += 1;
                self.catalog.reload(&mut self.store);
                Err(error.into())
            }
        }
    }

    fn sync(&mut self) -> Result<Committed, CommandError> {
        let time = self.store.sync()?;
        Ok(Committed {
            fsync: Some(time),
            ..Committed::default()
        })
    }

    /// Expired documents, cursors nobody asked for, keys of dropped collections.
    fn tend(&mut self, now: bson::DateTime) {
        let begun = self.clock.now();
        // An error of the store comes up again in the commit that follows, and in commands.
        while self.tend_once(now).unwrap_or(false) {
            if self.clock.now().0.saturating_sub(begun.0) > TEND.0 {
                break;
            }
        }
        self.catalog.names_changed |= std::mem::take(&mut self.sizes_changed);
    }

    /// Changed names are told at once, changed sizes after the next [`Backend::tend`]: every write changes some.
    fn census(&mut self) -> Option<Vec<DatabaseSize>> {
        std::mem::take(&mut self.catalog.names_changed).then(|| self.databases())
    }
}

/// A reply without anything but its success.
pub(crate) fn ok_reply() -> RawDocumentBuf {
    let mut writer = crate::bson_writer::DocumentWriter::with_capacity(32);
    writer.double("ok", 1.0);
    writer.finish()
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::OutOfSpace { .. } => Code::OutOfDiskSpace,
            _ => Code::InternalError,
        };
        code.error(error.to_string())
    }
}

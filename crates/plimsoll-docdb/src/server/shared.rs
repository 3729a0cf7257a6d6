//! What all threads of a server share: read by everyone, changed by few.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use plimsoll_core::Nanos;
use plimsoll_net::clock::Clock;

use super::dispatch::{Dispatch, Letter, LocalExecutor};
use super::inbox::Inbox;
use super::layout::Layout;
use super::session::Session;
use super::stream::Stream;
use super::{Config, Durability, ServerError};
use crate::auth::{User, Users};
use crate::cursor::EndedSessions;
use crate::error::{Code, CommandError};
use crate::metrics::{Meter, Snapshot, Surroundings, write};
use crate::scheduler::{Census, DatabaseSize, Executor, Limits};
use crate::shard::{self, Shard};
use crate::store;

/// A shard with less would flush all the time.
const MEMTABLE_BYTES_MIN: u64 = 8 << 20;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) inboxes: Arc<Vec<Inbox<Letter>>>,
    pub(crate) dispatch: Dispatch,
    pub(crate) executors: ExecutorMaker,
    pub(crate) users: RwLock<Users>,
    /// Raised by every change of the users, so that sessions look again.
    pub(crate) users_version: AtomicU64,
    /// For names that are no users: the same salt each time.
    pub(crate) secret: [u8; 32],
    pub(crate) connections: AtomicUsize,
    pub(crate) connections_made: AtomicI32,
    next_loop: AtomicUsize,
    request_id: AtomicI32,
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        (clock, inboxes): (Clock, Arc<Vec<Inbox<Letter>>>),
        (dispatch, executors): (Dispatch, ExecutorMaker),
        (users, secret): (Users, [u8; 32]),
    ) -> Self {
        Self {
            config,
            clock,
            inboxes,
            dispatch,
            executors,
            users: RwLock::new(users),
            users_version: AtomicU64::new(1),
            secret,
            connections: AtomicUsize::new(0),
            connections_made: AtomicI32::new(0),
            next_loop: AtomicUsize::new(0),
            request_id: AtomicI32::new(1),
        }
    }

    pub(crate) fn connections_full(&self) -> bool {
        self.connections.load(Ordering::Relaxed) >= self.config.connections
    }

    /// Counts the connection; [`Self::connection_closed`] takes it off again.
    pub(crate) fn session(&self, stream: &Stream) -> Session {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let id = self
            .connections_made
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1);
        Session::new(id, stream.peer(), stream.is_local())
    }

    pub(crate) fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Connections are dealt out in turn.
    pub(crate) fn next_loop(&self) -> usize {
        self.next_loop.fetch_add(1, Ordering::Relaxed) % self.inboxes.len()
    }

    pub(crate) fn next_request_id(&self) -> i32 {
        self.request_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn users(&self) -> RwLockReadGuard<'_, Users> {
        self.users.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the users, on disk first; every session looks its user up again.
    pub(crate) fn change_users(
        &self,
        change: impl FnOnce(&mut BTreeMap<(String, String), User>),
    ) -> Result<(), CommandError> {
        let mut users = self.users.write().unwrap_or_else(PoisonError::into_inner);
        users
            .change(change)
            .map_err(|error| Code::InternalError.error(error.to_string()))?;
        self.users_version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The counts of all executors.
    pub(crate) fn counts(&self) -> Snapshot {
        let mut all = Snapshot::default();
        for meter in self.executors.meters() {
            all.add(&meter.snapshot());
        }
        all
    }

    /// What Prometheus reads.
    pub(crate) fn metrics(&self) -> String {
        let durability = self.config.durability.to_string();
        let connections = self.connections.load(Ordering::Relaxed);
        let scheduler = self.config.scheduler.name();
        write(
            &self.counts(),
            Surroundings {
                durability: &durability,
                scheduler,
                connections,
            },
        )
    }
}

/// Opens stores and gives each an executor, a meter and a census.
#[derive(Debug)]
pub(crate) struct ExecutorMaker {
    config: Config,
    clock: Clock,
    /// Cache and background thread of all stores.
    background: Arc<store::Shared>,
    /// Every executor hears here which sessions ended.
    ended: Arc<EndedSessions>,
    made: Mutex<Vec<(Arc<Meter>, Arc<Census>)>>,
}

impl ExecutorMaker {
    pub(crate) fn new(config: Config, clock: Clock) -> Self {
        let background = store::Shared::start(config.cache_bytes);
        Self {
            config,
            clock,
            background,
            ended: Arc::default(),
            made: Mutex::new(Vec::new()),
        }
    }

    /// The executor of a database with a store of its own.
    pub(crate) fn for_database(&self, name: &str) -> Result<LocalExecutor, ServerError> {
        self.open(&Layout::database(&self.config.data, name), 1)
    }

    /// The executor of a shard, one of `shards`.
    pub(crate) fn for_shard(
        &self,
        index: usize,
        shards: usize,
    ) -> Result<LocalExecutor, ServerError> {
        self.open(&Layout::shard(&self.config.data, index), shards)
    }

    fn open(&self, path: &Path, shares: usize) -> Result<LocalExecutor, ServerError> {
        let options = self.options(shares);
        let shard = Shard::open(path, &options, self.clock)?;
        let (meter, census) = (Arc::new(Meter::default()), Arc::new(Census::default()));
        let limits = Limits {
            queue: self.config.queue,
            ..Limits::default()
        };
        let shared = (Arc::clone(&meter), Arc::clone(&census));
        let executor = Executor::new(shard, limits, self.clock, shared);
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((meter, census));
        let interval = match self.config.durability {
            Durability::Always => None,
            Durability::Interval(milliseconds) => Some(Nanos::from_millis(milliseconds)),
        };
        Ok(LocalExecutor::new(executor, interval))
    }

    /// Memory for writes is shared out among the shards; the cache is one for all.
    fn options(&self, shares: usize) -> shard::Options {
        let mut options = store::Options::new(Arc::clone(&self.background));
        options.durability = self.config.durability;
        options.memtable_bytes =
            (store::Options::DEFAULT_MEMTABLE_BYTES / shares as u64).max(MEMTABLE_BYTES_MIN);
        if !self.config.slow_fsync.is_zero() {
            options.disk = Arc::new(store::SlowDisk {
                delay: self.config.slow_fsync,
            });
        }
        let label = match self.config.durability {
            Durability::Always => None,
            Durability::Interval(_) => Some(self.config.durability.to_string()),
        };
        shard::Options {
            store: options,
            label,
            ended: Arc::clone(&self.ended),
            ..shard::Options::default()
        }
    }

    pub(crate) fn ended_sessions(&self) -> &EndedSessions {
        &self.ended
    }

    pub(crate) fn meters(&self) -> Vec<Arc<Meter>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.iter().map(|(meter, _)| Arc::clone(meter)).collect()
    }

    /// Every database of every executor, by name.
    pub(crate) fn databases(&self) -> Vec<DatabaseSize> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = made.iter().flat_map(|(_, census)| census.sizes()).collect();
        all.sort_by(|left, right| left.name.cmp(&right.name));
        all
    }

    /// The databases of the executor that was made last.
    pub(crate) fn last_databases(&self) -> Vec<String> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.last().map_or_else(Vec::new, |(_, census)| {
            census.sizes().into_iter().map(|size| size.name).collect()
        })
    }
}

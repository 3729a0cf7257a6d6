//! Opens the stores of a data directory and gives each an executor, a meter and a census.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_base::Nanos;
use plimsoll_base::clock::Clock;

use super::layout::Layout;
use super::letter::ShardExecutor;
use super::{Config, ServerError};
use crate::cursor::EndedSessions;
use crate::memory::Memory;
use crate::metrics::Meter;
use crate::scheduler::{Census, DatabaseSize, Executor, Limits, Operations};
use crate::shard::{Shard, ShardOptions};
use crate::store::{self, Durability, StoreOptions};

/// A shard with less would flush all the time.
const MEMTABLE_BYTES_MIN: u64 = 8 << 20;

/// Makes executors, and keeps what each tells of itself.
#[derive(Debug)]
pub(crate) struct Executors {
    config: Config,
    clock: Clock,
    /// Cache and background thread of all stores.
    background: Arc<store::Shared>,
    /// Every executor hears here which sessions ended.
    ended: Arc<EndedSessions>,
    operations: Arc<Operations>,
    memory: Arc<Memory>,
    made: Mutex<Vec<(Arc<Meter>, Arc<Census>)>>,
}

impl Executors {
    pub(crate) fn new(config: Config, clock: Clock) -> Self {
        let background = store::Shared::start(config.cache_bytes);
        let memory = usize::try_from(config.memory_bytes).unwrap_or(usize::MAX);
        Self {
            config,
            clock,
            background,
            ended: Arc::default(),
            operations: Arc::default(),
            memory: Arc::new(Memory::new(memory)),
            made: Mutex::new(Vec::new()),
        }
    }

    /// The executor of a database with a store of its own.
    pub(crate) fn for_database(&self, name: &str) -> Result<ShardExecutor, ServerError> {
        self.open(&Layout::database(&self.config.data, name), 1)
    }

    /// The executor of a shard, one of `shards`.
    pub(crate) fn for_shard(
        &self,
        index: usize,
        shards: usize,
    ) -> Result<ShardExecutor, ServerError> {
        self.open(&Layout::shard(&self.config.data, index), shards)
    }

    fn open(&self, path: &Path, shares: usize) -> Result<ShardExecutor, ServerError> {
        let options = self.options(shares);
        let shard = Shard::open(path, &options, self.clock)?;
        let (meter, census) = (Arc::new(Meter::default()), Arc::new(Census::default()));
        let limits = Limits {
            queue: self.config.queue,
            sync_every: match self.config.durability {
                Durability::Always => None,
                Durability::Interval(milliseconds) => Some(Nanos::from_millis(milliseconds)),
            },
            ..Limits::default()
        };
        let operations = Arc::clone(&self.operations);
        let shared = (Arc::clone(&meter), Arc::clone(&census), operations);
        let executor = Executor::new(shard, limits, self.clock, shared);
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((meter, census));
        Ok(executor)
    }

    /// Memory for writes is shared out among the shards; the cache is one for all.
    fn options(&self, shares: usize) -> ShardOptions {
        let mut options = StoreOptions::new(Arc::clone(&self.background));
        options.durability = self.config.durability;
        options.memtable_bytes =
            (StoreOptions::DEFAULT_MEMTABLE_BYTES / shares as u64).max(MEMTABLE_BYTES_MIN);
        options.disk = Arc::new(store::RealDisk {
            sync_delay: self.config.slow_fsync,
        });
        let label = match self.config.durability {
            Durability::Always => None,
            Durability::Interval(_) => Some(self.config.durability.to_string()),
        };
        ShardOptions {
            store: options,
            label,
            ended: Arc::clone(&self.ended),
            memory: Arc::clone(&self.memory),
            operations: Arc::clone(&self.operations),
            ..ShardOptions::default()
        }
    }

    pub(crate) fn ended_sessions(&self) -> &EndedSessions {
        &self.ended
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    pub(crate) fn operations(&self) -> &Operations {
        &self.operations
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

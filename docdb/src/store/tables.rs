//! The sorted table files of one space: an LSM tree whose own memtable stays empty.
//!
//! The tree's crate (`lsm-tree`) leaves the journal to its caller. Here it leaves the memtable too: `flush` hands it
//! sorted entries, which become tables of level zero at once.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsm_tree::compaction::Leveled;
use lsm_tree::config::CompressionPolicy;
use lsm_tree::{
    AbstractTree as _, AnyTree, CompressionType, Config, InternalValue, IterGuardImpl, SeqNo,
    SequenceNumberCounter, ValueType,
};
use xxhash_rust::xxh3::xxh3_128;

use super::disk::{self, Disk, TableStep};
use super::memtable::Memtable;
use super::{Slice, Space, StoreError, StoreOptions};

/// Reads see everything in the tables; snapshots are taken in memtables and by holding on to tables.
const NEWEST: SeqNo = SeqNo::MAX >> 1;
/// Size of a table file in bytes, when it is not a flushed memtable. The crate's default.
const TABLE_BYTES: u64 = 64 << 20;
/// Runs in level zero that begin a merge.
const LEVEL_ZERO_RUNS: u8 = 4;

pub(super) struct Tables {
    tree: AnyTree,
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl fmt::Debug for Tables {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tables")
            .field("path", &self.path)
            .field("tables", &self.tree.table_count())
            .finish_non_exhaustive()
    }
}

impl Tables {
    /// Opens the tables of a space, or makes an empty set.
    pub(super) fn open(
        directory: &Path,
        space: Space,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let (path, shared) = (directory.join(space.name()), &options.shared);
        check_manifest(&*options.disk, &path)?;
        // The numbers of the tree's versions begin at zero and are its own; ours begin far above.
        let versions = SequenceNumberCounter::default();
        let tree = Config::new(&path, versions, SequenceNumberCounter::default())
            .use_cache(Arc::clone(&shared.cache))
            .use_descriptor_table(Some(Arc::clone(&shared.descriptors)))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
            .open()
            .map_err(|failure| error("open", &path, failure))?;
        let disk = Arc::clone(&options.disk);
        Ok(Self { tree, disk, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Slice>, StoreError> {
        let value = self
            .tree
            .get(key, NEWEST)
            .map_err(|failure| error("read", &self.path, failure))?;
        Ok(value.map(Slice))
    }

    /// Pairs of a range that is not reversed, from the files as they are now.
    pub(super) fn scan(
        &self,
        range: &(Bound<Slice>, Bound<Slice>),
    ) -> Box<dyn DoubleEndedIterator<Item = IterGuardImpl> + Send> {
        self.tree.range(range.clone(), NEWEST, None)
    }

    /// Highest sequence number in a table; can fall when a merge drops the deletion that had it.
    pub(super) fn persisted(&self) -> u64 {
        self.tree.get_highest_persisted_seqno().unwrap_or_default()
    }

    /// Writes a memtable to new tables and makes them part of the tree, durably.
    pub(super) fn flush(&self, memtable: &Memtable) -> Result<(), StoreError> {
        if memtable.is_empty() {
            return Ok(());
        }
        let entries = memtable.newest().map(|(key, version)| {
            let key = key.0.clone();
            Ok(match &version.value {
                Some(value) => InternalValue::from_components(
                    key,
                    value.0.clone(),
                    version.sequence,
                    ValueType::Value,
                ),
                None => InternalValue::new_tombstone(key, version.sequence),
            })
        });
        let flush = || {
            self.disk.before_tables(TableStep::Write, &self.path)?;
            if let Some((tables, blobs)) = self.tree.flush_to_tables(entries)? {
                self.disk.before_tables(TableStep::List, &self.path)?;
                self.tree
                    .register_tables(&tables, blobs.as_deref(), None, &[], NEWEST)?;
            }
            Ok(())
        };
        flush().map_err(|failure| error("flush to", &self.path, failure))
    }

    /// Does one merge if one is due; returns whether it did.
    pub(super) fn compact(&self) -> Result<bool, StoreError> {
        let before = self.tree.current_version().id();
        let strategy = Leveled::default()
            .with_l0_threshold(LEVEL_ZERO_RUNS)
            .with_table_target_size(TABLE_BYTES);
        let merge = || {
            self.disk.before_tables(TableStep::Merge, &self.path)?;
            self.tree.compact(Arc::new(strategy), NEWEST)
        };
        merge().map_err(|failure| error("merge tables of", &self.path, failure))?;
        Ok(self.tree.current_version().id() != before)
    }

    /// The number that the next table file gets.
    pub(super) fn next_number(&self) -> u64 {
        self.tree.next_table_id()
    }

    /// Removes table files from number `first` on that are not part of the tree.
    pub(super) fn remove_unlisted(&self, first: u64) {
        let version = self.tree.current_version();
        let listed: BTreeSet<u64> = version.iter_tables().map(lsm_tree::Table::id).collect();
        let directory = self.path.join("tables");
        for name in disk::names(&*self.disk, &directory).unwrap_or_default() {
            let number = name.parse::<u64>();
            if number.is_ok_and(|number| number >= first && !listed.contains(&number)) {
                // What cannot be removed now is when the store is opened again.
                drop(self.disk.remove(&directory.join(name)));
            }
        }
    }

    /// How far merging is behind.
    pub(super) fn level_zero_runs(&self) -> usize {
        self.tree.l0_run_count()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.tree.disk_space()
    }

    pub(super) fn count(&self) -> usize {
        self.tree.table_count()
    }
}

/// Compares the list of tables with the checksum that its crate writes beside it but does not check.
fn check_manifest(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    let read = |path: &Path| {
        disk::read(disk, path).map_err(|failure| StoreError::io("read", path, failure))
    };
    let current = path.join("current");
    let Some(bytes) = read(&current)? else {
        return Ok(());
    };
    let damaged = || StoreError::corrupted(&current, 0, "it does not name a list of tables");
    let (version, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
    let (sum, kind) = rest.split_first_chunk().ok_or_else(damaged)?;
    if kind != [0] {
        return Err(damaged());
    }
    let list = path.join(format!("v{}", u64::from_le_bytes(*version)));
    let bytes = read(&list)?.ok_or_else(damaged)?;
    if xxh3_128(&bytes) != u128::from_le_bytes(*sum) {
        let problem = "the list of tables does not match its checksum";
        return Err(StoreError::corrupted(&list, 0, problem));
    }
    Ok(())
}

/// An error of the crate. Whatever is not I/O means that a file is damaged, and so does I/O at a place that a
/// sound file does not have.
pub(super) fn error(action: &'static str, path: &Path, failure: lsm_tree::Error) -> StoreError {
    use std::io::ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
    let problem = match failure {
        lsm_tree::Error::Io(source) => match source.kind() {
            InvalidData | InvalidInput | NotFound | UnexpectedEof => source.to_string(),
            _ => return StoreError::io(action, path, source),
        },
        other => format!("{other:?}"),
    };
    StoreError::corrupted(path, 0, format!("a table file is damaged ({problem})"))
}

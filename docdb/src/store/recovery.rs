//! Opens the directory of a store: makes a new one, or reads tables and journal back.

use std::path::Path;
use std::sync::Arc;

use plimsoll_base::clock::Clock;

use super::directory::{Directory, new_store_id};
use super::disk;
use super::journal::{self, Journal, Replayed};
use super::memtable::Memtable;
use super::tables::Tables;
use super::{Slice, Space, Statistics, StoreError, StoreOptions};

/// The sequence number before the first. The table crate numbers its versions from zero at each start and compares
/// them with sequence numbers; from here on ours are always larger.
const BEFORE_FIRST: u64 = 1 << 32;
const JOURNAL: &str = "journal";

/// What a store begins with.
pub(super) struct Recovered {
    pub(super) directory: Directory,
    pub(super) journal: Journal,
    pub(super) tables: [Tables; Space::ALL.len()],
    pub(super) memtables: [Memtable; Space::ALL.len()],
    pub(super) flushed: u64,
    pub(super) statistics: Statistics,
}

pub(super) fn open(
    path: &Path,
    options: &StoreOptions,
    clock: Clock,
) -> Result<Recovered, StoreError> {
    let directory = Directory::lock(path)?;
    let mut recovered = match directory.read_format(&*options.disk)? {
        Some(store) => reopen(directory, store, options)?,
        None => create(directory, options)?,
    };
    recovered.statistics.open_time = clock.now();
    Ok(recovered)
}

fn create(directory: Directory, options: &StoreOptions) -> Result<Recovered, StoreError> {
    let store = new_store_id();
    let journal_path = directory.path().join(JOURNAL);
    let spaces = Space::ALL.map(Space::name);
    directory.clear_unfinished(&*options.disk, &journal_path, &spaces)?;
    let tables = open_tables(directory.path(), options)?;
    let journal = Journal::create(
        Arc::clone(&options.disk),
        &journal_path,
        store,
        options.segment_bytes,
        BEFORE_FIRST + 1,
    )?;
    directory.sync_above()?;
    directory.write_format(&*options.disk, store)?;
    Ok(Recovered {
        directory,
        journal,
        tables,
        memtables: Default::default(),
        flushed: BEFORE_FIRST,
        statistics: Statistics::default(),
    })
}

fn reopen(
    directory: Directory,
    store: u64,
    options: &StoreOptions,
) -> Result<Recovered, StoreError> {
    for space in Space::ALL {
        let tables = directory.path().join(space.name());
        let names = disk::names(&*options.disk, &tables)
            .map_err(|error| StoreError::io("list", &tables, error))?;
        if !names.iter().any(|name| name == "current") {
            let current = tables.join("current");
            return Err(StoreError::corrupted(&current, 0, "the file is missing"));
        }
    }
    let tables = open_tables(directory.path(), options)?;
    let persisted = [0, 1, 2].map(|index: usize| tables[index].persisted());
    let mut memtables: [Memtable; Space::ALL.len()] = Default::default();
    let journal_path = directory.path().join(JOURNAL);
    let disk = Arc::clone(&options.disk);
    let replayed = journal::open(
        disk,
        &journal_path,
        store,
        options.segment_bytes,
        |record| {
            for (sequence, operation) in (record.first..).zip(record.operations.clone()) {
                let index = operation.space.index();
                if sequence > persisted[index] {
                    let value = operation.value.map(Slice::from);
                    memtables[index].put(operation.key.into(), value, sequence, sequence);
                }
            }
        },
    )?;
    let Replayed {
        journal,
        batches,
        operations,
        flushed,
    } = replayed;
    check_end(&journal, persisted.into_iter().max().unwrap_or_default())?;
    Ok(Recovered {
        directory,
        journal,
        tables,
        memtables,
        flushed,
        statistics: Statistics {
            replayed_batches: batches,
            replayed_operations: operations,
            ..Statistics::default()
        },
    })
}

/// Only what the journal holds durably is flushed; so a journal that ends before has lost acknowledged batches.
fn check_end(journal: &Journal, persisted: u64) -> Result<(), StoreError> {
    if persisted <= journal.written() {
        return Ok(());
    }
    let problem = format!(
        "records {} to {persisted} were acknowledged and are missing",
        journal.written() + 1
    );
    Err(StoreError::corrupted(
        &journal.path(),
        journal.end(),
        problem,
    ))
}

fn open_tables(
    directory: &Path,
    options: &StoreOptions,
) -> Result<[Tables; Space::ALL.len()], StoreError> {
    let open = |space| Tables::open(directory, space, options);
    Ok([
        open(Space::Catalog)?,
        open(Space::Documents)?,
        open(Space::Indexes)?,
    ])
}

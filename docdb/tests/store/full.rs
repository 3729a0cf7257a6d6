//! Table files that cannot be written: a full disk and a failing one, while the journal is still writable.

use std::fs;
use std::path::Path;

use plimsoll_docdb::internals::store::{Store, StoreError};

use super::folder::Folder;
use super::hooks::{begin_failing, end_failing, watch};
use super::workload::{Model, options};

/// Commits batches until one fails or `most` are done; a failed one is undone in the model too.
fn write_until_refused(store: &mut Store, model: &mut Model, most: u64) -> Option<StoreError> {
    for _ in 0..most {
        let before = model.clone();
        model.write_next(Some(store));
        if let Err(error) = store.commit() {
            *model = before;
            return Some(error);
        }
    }
    None
}

fn table_files(directory: &Path) -> u64 {
    let spaces = ["catalog", "documents", "indexes"];
    let files = spaces.map(|space| {
        fs::read_dir(directory.join(space).join("tables"))
            .unwrap()
            .count()
    });
    files.iter().sum::<usize>() as u64
}

#[test]
fn when_tables_find_no_space_nothing_is_lost_and_writing_resumes() {
    let folder = Folder::new("full");
    let _watching = watch(folder.path(), |_, _| {});
    let mut store = Store::open(folder.path(), &options()).unwrap();
    let mut model = Model::default();
    assert!(write_until_refused(&mut store, &mut model, 60).is_none());
    begin_failing("/tables/", false, libc::ENOSPC);
    let error = write_until_refused(&mut store, &mut model, 2_000).expect("memory is bounded");
    assert!(error.is_out_of_space(), "{error}");
    assert!(store.statistics().memtable_bytes < options().memtable_bytes + (64 << 10));
    model.compare(&store, "while it is full");
    let (tables, files) = (store.statistics().tables, table_files(folder.path()));
    for _ in 0..2 {
        std::thread::sleep(std::time::Duration::from_millis(600));
        assert!(store.flush().is_err());
        assert!(
            table_files(folder.path()) <= files.max(tables),
            "a failed try leaves files"
        );
    }
    drop(store);
    let mut store = Store::open(folder.path(), &options()).unwrap();
    model.compare(&store, "opened while it is full");
    end_failing();
    // The next try is at most half a second away.
    while let Some(error) = write_until_refused(&mut store, &mut model, 200) {
        assert!(error.is_out_of_space(), "{error}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    model.compare(&store, "with space again");
    drop(store);
    model.compare(
        &Store::open(folder.path(), &options()).unwrap(),
        "at the end",
    );
}

#[test]
fn when_a_table_fails_to_sync_writing_stops_and_nothing_is_lost() {
    let folder = Folder::new("eio");
    let _watching = watch(folder.path(), |_, _| {});
    let mut store = Store::open(folder.path(), &options()).unwrap();
    let mut model = Model::default();
    begin_failing("/tables/", true, libc::EIO);
    let error = write_until_refused(&mut store, &mut model, 2_000).expect("it stops");
    assert!(
        error.is_read_only() && error.to_string().contains("cannot flush to"),
        "{error}"
    );
    model.compare(&store, "read-only");
    end_failing();
    assert!(write_until_refused(&mut store, &mut model, 1).is_some());
    drop(store);
    let mut store = Store::open(folder.path(), &options()).unwrap();
    model.compare(&store, "opened again");
    assert!(write_until_refused(&mut store, &mut model, 100).is_none());
}

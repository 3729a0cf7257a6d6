//! A disk that fails to sync or is full, a second process, a directory that cannot be written.

use std::io::ErrorKind;
use std::sync::Arc;

use super::simulated::{SimulatedDisk, Survives, World};
use super::support::{Folder, all, options, pairs};
use crate::store::{Durability, Space, Store, StoreError, StoreOptions};

fn on(disk: &SimulatedDisk) -> StoreOptions {
    StoreOptions {
        disk: Arc::new(disk.clone()),
        segment_bytes: 16 << 10,
        ..options()
    }
}

fn put(store: &mut Store, key: &str, value: &str) {
    store.put(Space::Documents, key.as_bytes(), value.as_bytes());
}

fn get(store: &Store, key: &str) -> Option<String> {
    let value = store.get(Space::Documents, key.as_bytes()).unwrap()?;
    Some(String::from_utf8(value.to_vec()).unwrap())
}

#[test]
fn after_a_failed_sync_nothing_is_written_and_only_durable_data_is_read() {
    let (folder, disk) = (Folder::new("sync"), SimulatedDisk::new(World::default()));
    let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
    put(&mut store, "a", "old");
    put(&mut store, "b", "kept");
    store.commit().unwrap();
    disk.world().sync_fails = true;
    put(&mut store, "a", "new");
    store.delete(Space::Documents, b"b");
    put(&mut store, "c", "new");
    assert!(store.commit().unwrap_err().is_read_only());
    let syncs = disk.world().syncs;
    disk.world().sync_fails = false;
    for _ in 0..3 {
        put(&mut store, "d", "later");
        let error = store.commit().unwrap_err();
        assert!(error.is_read_only(), "{error}");
        assert!(store.sync().unwrap_err().is_read_only());
    }
    assert_eq!(disk.world().syncs, syncs, "a sync is never tried again");
    assert_eq!(get(&store, "a").as_deref(), Some("old"));
    assert_eq!(get(&store, "b").as_deref(), Some("kept"));
    assert_eq!((get(&store, "c"), get(&store, "d")), (None, None));
    assert_eq!(pairs(all(&store, Space::Documents)).len(), 2);
    assert!(
        store
            .read_only_reason()
            .is_some_and(|reason| reason.contains("sync"))
    );
}

#[test]
fn with_an_interval_a_failed_sync_takes_back_what_was_not_durable() {
    let (folder, disk) = (
        Folder::new("interval"),
        SimulatedDisk::new(World::default()),
    );
    let options = StoreOptions {
        durability: Durability::Interval(50),
        ..on(&disk)
    };
    let mut store = Store::open(folder.path(), &options).unwrap();
    put(&mut store, "a", "durable");
    assert!(!store.commit().unwrap().is_durable);
    store.sync().unwrap();
    for value in ["one", "two"] {
        put(&mut store, "a", value);
        store.commit().unwrap();
    }
    assert_eq!(get(&store, "a").as_deref(), Some("two"));
    disk.world().sync_fails = true;
    store.sync().unwrap_err();
    assert_eq!(get(&store, "a").as_deref(), Some("durable"));
}

#[test]
fn on_a_full_disk_a_batch_fails_whole_and_writes_go_on_when_there_is_space() {
    let (folder, disk) = (Folder::new("full"), SimulatedDisk::new(World::default()));
    let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
    let value = "x".repeat(3_000);
    disk.world().capacity = Some(40_000);
    let mut committed = 0;
    let error = loop {
        put(&mut store, &format!("k{committed}"), &value);
        put(&mut store, "last", &committed.to_string());
        match store.commit() {
            Ok(_) => committed += 1,
            Err(error) => break error,
        }
    };
    assert!(error.is_out_of_space() && committed > 3, "{error}");
    for _ in 0..3 {
        assert_eq!(get(&store, "last"), Some((committed - 1).to_string()));
        assert_eq!(get(&store, &format!("k{committed}")), None);
        put(&mut store, "last", "again");
        put(&mut store, "big", &value.repeat(20));
        assert!(store.commit().unwrap_err().is_out_of_space());
    }
    // It opens while it is full, also after a crash.
    drop(store);
    let mut world = disk.world().after_cut(Survives::Nothing);
    world.capacity = Some(0);
    let disk = SimulatedDisk::new(world);
    let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
    assert_eq!(get(&store, "last"), Some((committed - 1).to_string()));
    disk.world().capacity = None;
    put(&mut store, "big", &value.repeat(20));
    store.commit().unwrap();
    assert_eq!(pairs(all(&store, Space::Documents)).len(), committed + 2);
}

#[test]
fn a_partly_written_record_is_undone_and_the_next_takes_its_place() {
    for (written, kind) in [
        (0, ErrorKind::StorageFull),
        (100, ErrorKind::StorageFull),
        (100, ErrorKind::QuotaExceeded),
    ] {
        let (folder, disk) = (Folder::new("partial"), SimulatedDisk::new(World::default()));
        let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
        put(&mut store, "a", "1");
        store.commit().unwrap();
        disk.world().next_write = Some((written, kind));
        put(&mut store, "a", &"2".repeat(400));
        assert!(store.commit().unwrap_err().is_out_of_space());
        put(&mut store, "b", "3");
        store.commit().unwrap();
        drop(store);
        let disk = SimulatedDisk::new(disk.world().after_cut(Survives::Nothing));
        let store = Store::open(folder.path(), &on(&disk)).unwrap();
        assert_eq!(get(&store, "a").as_deref(), Some("1"));
        assert_eq!(get(&store, "b").as_deref(), Some("3"));
    }
}

#[test]
fn a_write_that_fails_otherwise_makes_the_store_read_only() {
    let (folder, disk) = (Folder::new("eio"), SimulatedDisk::new(World::default()));
    let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
    put(&mut store, "a", "1");
    store.commit().unwrap();
    disk.world().next_write = Some((10, ErrorKind::Other));
    put(&mut store, "a", "2");
    assert!(store.commit().unwrap_err().is_read_only());
    assert_eq!(get(&store, "a").as_deref(), Some("1"));
}

#[test]
fn a_second_opening_is_refused_until_the_store_and_its_scans_are_gone() {
    let folder = Folder::new("locked");
    let store = Store::open(folder.path(), &options()).unwrap();
    let scan = all(&store, Space::Documents);
    for _ in 0..2 {
        let error = Store::open(folder.path(), &options()).unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }));
        let text = error.to_string();
        let process = format!("(process {})", std::process::id());
        assert!(
            text.contains("in use by another process") && text.contains(&process),
            "{text}"
        );
    }
    drop(store);
    Store::open(folder.path(), &options()).unwrap_err();
    drop(scan);
    Store::open(folder.path(), &options()).unwrap();
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    // Root may write anywhere, but not make a directory in a file or in /proc.
    let folder = Folder::new("unwritable");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [file.join("data"), "/proc/plimsoll".into()] {
        let error = Store::open(&path, &options()).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        assert!(
            error.to_string().contains(&*path.to_string_lossy()),
            "{error}"
        );
    }
}

#[test]
fn what_cannot_be_stored_fails_the_batch_and_not_the_store() {
    let folder = Folder::new("refused");
    let mut store = Store::open(folder.path(), &options()).unwrap();
    put(&mut store, "a", "1");
    put(&mut store, "", "no key");
    put(&mut store, "b", "2");
    assert!(matches!(store.commit(), Err(StoreError::Size { .. })));
    assert_eq!(pairs(all(&store, Space::Documents)).len(), 0);
    put(&mut store, "a", "3");
    store.commit().unwrap();
    assert_eq!(get(&store, "a").as_deref(), Some("3"));
}

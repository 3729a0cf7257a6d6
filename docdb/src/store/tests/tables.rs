//! Table files under the simulated disk: cut off before every step of their crate and at operations beside them, and
//! failing at each kind of step. Without threads, so that a cut has one order of events.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::crash::Content;
use super::simulated::{Random, SimulatedDisk, Survives, World};
use super::support::{Folder, options};
use crate::store::{Shared, Space, Store, StoreError, StoreOptions, TableStep};

/// Operations beside the tables of which one is looked at.
const EVERY: usize = 5;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What a cut leaves: journal and format file, table files, and between which batches the content must be.
struct Image {
    world: World,
    tables: Files,
    durable: usize,
    begun: usize,
}

fn on(disk: &SimulatedDisk) -> StoreOptions {
    StoreOptions {
        // A flush every few batches, a merge every few flushes.
        memtable_bytes: 64 << 10,
        segment_bytes: 8 << 10,
        shared: Shared::without_threads(1 << 20),
        disk: Arc::new(disk.clone()),
        ..options()
    }
}

fn table_files(root: &Path) -> Files {
    let mut found = Files::new();
    let mut folders: Vec<PathBuf> = Space::ALL.map(|space| root.join(space.name())).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

fn restore(root: &Path, tables: &Files) {
    for space in Space::ALL {
        drop(fs::remove_dir_all(root.join(space.name())));
    }
    for (path, bytes) in tables {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Runs batches from the making of the store on; returns images and the content after each batch.
fn record(root: &Path, seed: u64) -> (Vec<Image>, Vec<Content>) {
    let disk = SimulatedDisk::new(World::default());
    let images: Arc<Mutex<Vec<Image>>> = Arc::default();
    let (durable, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (mut operations, mut steps) = (0, 0);
    disk.watch({
        let (images, root) = (images.clone(), root.to_path_buf());
        let (durable, begun) = (durable.clone(), begun.clone());
        move |world| {
            operations += 1;
            let is_step = std::mem::replace(&mut steps, world.table_steps) != world.table_steps;
            if is_step || operations % EVERY == 0 {
                images.lock().unwrap().push(Image {
                    world: world.clone(),
                    tables: table_files(&root),
                    durable: durable.load(Ordering::SeqCst),
                    begun: begun.load(Ordering::SeqCst),
                });
            }
        }
    });
    let mut store = Store::open(root, &on(&disk)).unwrap();
    let mut random = Random(seed);
    let mut contents = vec![Content::default()];
    for batch in 1..=50 {
        let mut content = contents.last().unwrap().clone();
        for _ in 0..=random.below(6) {
            content.change(&mut store, &mut random);
        }
        contents.push(content);
        begun.store(batch, Ordering::SeqCst);
        store.commit().unwrap();
        durable.store(batch, Ordering::SeqCst);
    }
    let statistics = store.statistics();
    assert!(
        statistics.flushes > 4 && statistics.compactions > 0,
        "{statistics:?}"
    );
    drop(store);
    let images = std::mem::take(&mut *images.lock().unwrap());
    (images, contents)
}

fn check(root: &Path, image: &Image, contents: &[Content], survives: Survives, note: &str) {
    restore(root, &image.tables);
    let disk = SimulatedDisk::new(image.world.after_cut(survives));
    let mut store = match Store::open(root, &on(&disk)) {
        Ok(store) => store,
        Err(error) => panic!("{note}, {survives:?}: {error}"),
    };
    let found = (image.durable..=image.begun).rfind(|state| contents[*state].is_in(&store));
    let found = found.unwrap_or_else(|| {
        let (durable, begun) = (image.durable, image.begun);
        panic!("{note}, {survives:?}: neither of {durable} to {begun}");
    });
    let mut content = contents[found].clone();
    content.change(&mut store, &mut Random(image.begun as u64 + 99));
    store.commit().unwrap();
    store.flush().unwrap();
    drop(store);
    let files = table_files(root).len();
    let disk = SimulatedDisk::new(disk.world().after_cut(Survives::Nothing));
    let store = Store::open(root, &on(&disk)).unwrap();
    assert!(content.is_in(&store), "{note}: the second time");
    assert!(table_files(root).len() <= files, "{note}: files are left");
}

#[test]
fn no_acknowledged_batch_is_lost_wherever_flushes_and_merges_are_cut() {
    let folder = Folder::new("tables");
    let (images, contents) = record(folder.path(), 21);
    assert!(images.len() > 60, "{} images", images.len());
    for (index, image) in images.iter().enumerate() {
        let note = format!("image {index}");
        let ways = [
            Survives::Nothing,
            Survives::Everything,
            Survives::Pieces(512, index as u64),
        ];
        // One way for each image: its neighbours are cut in the other ways.
        check(folder.path(), image, &contents, ways[index % 3], &note);
    }
}

/// Commits batches until one fails, and takes that one out of the content; `None` if none did.
fn write_until_refused(store: &mut Store, content: &mut Content) -> Option<StoreError> {
    let mut random = Random(5);
    for _ in 0..600 {
        let before = content.clone();
        content.change(store, &mut random);
        if let Err(error) = store.commit() {
            *content = before;
            return Some(error);
        }
    }
    None
}

#[test]
fn without_space_for_tables_nothing_is_lost_and_writing_resumes() {
    for step in [TableStep::Write, TableStep::List] {
        let (folder, disk) = (
            Folder::new("no-space"),
            SimulatedDisk::new(World::default()),
        );
        let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
        let mut content = Content::default();
        disk.world().table_failure = Some((step, ErrorKind::StorageFull));
        let error = write_until_refused(&mut store, &mut content).expect("memory is bounded");
        assert!(error.is_out_of_space(), "{step:?}: {error}");
        assert!(content.is_in(&store), "{step:?}: while it is full");
        drop(store);
        let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
        assert!(content.is_in(&store), "{step:?}: opened while it is full");
        disk.world().table_failure = None;
        // A flush that found no space is tried again after half a second.
        while let Some(error) = write_until_refused(&mut store, &mut content) {
            assert!(error.is_out_of_space(), "{step:?}: {error}");
            std::thread::sleep(Duration::from_millis(50));
        }
        store.flush().unwrap();
        assert!(content.is_in(&store), "{step:?}: at the end");
    }
}

#[test]
fn when_a_step_of_the_tables_fails_writing_stops_and_nothing_is_lost() {
    for step in [TableStep::Write, TableStep::List, TableStep::Merge] {
        let (folder, disk) = (Folder::new("broken"), SimulatedDisk::new(World::default()));
        let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
        let mut content = Content::default();
        disk.world().table_failure = Some((step, ErrorKind::Other));
        let error = write_until_refused(&mut store, &mut content).expect("it stops");
        assert!(error.is_read_only(), "{step:?}: {error}");
        assert!(content.is_in(&store), "{step:?}: read-only");
        drop(store);
        disk.world().table_failure = None;
        let mut store = Store::open(folder.path(), &on(&disk)).unwrap();
        assert!(content.is_in(&store), "{step:?}: opened again");
        assert!(write_until_refused(&mut store, &mut content).is_none());
        store.flush().unwrap();
        assert!(content.is_in(&store), "{step:?}: at the end");
    }
}

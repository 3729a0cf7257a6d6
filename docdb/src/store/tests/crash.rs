//! The journal cut off at every operation, with unsynced data lost or torn in all ways that a disk knows.
//!
//! The tables lie in a real directory and stay empty; only the journal is on the simulated disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::simulated::{Random, SimulatedDisk, Survives, World};
use super::support::{Folder, Pairs, all, options, pairs};
use crate::store::{Durability, Space, Store, StoreOptions};

/// Documents and the index entries that belong to them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Content {
    documents: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Content {
    fn index_entry(id: &[u8], document: &[u8]) -> Vec<u8> {
        [&document[..8], id].concat()
    }

    fn expected(&self, space: Space) -> Pairs {
        let documents = self.documents.iter();
        let mut pairs: Pairs = match space {
            Space::Catalog => Vec::new(),
            Space::Documents => documents.map(|(id, d)| (id.clone(), d.clone())).collect(),
            Space::Indexes => documents
                .map(|(id, document)| (Self::index_entry(id, document), Vec::new()))
                .collect(),
        };
        pairs.sort();
        pairs
    }

    /// One insertion, update or deletion, of the document and its index entry together.
    pub(super) fn change(&mut self, store: &mut Store, random: &mut Random) {
        let id = format!("id{:03}", random.below(40)).into_bytes();
        if let Some(old) = self.documents.remove(&id) {
            store.delete(Space::Indexes, &Self::index_entry(&id, &old));
        }
        if random.below(4) == 0 {
            store.delete(Space::Documents, &id);
            return;
        }
        let mut document = (random.0).to_be_bytes().to_vec();
        document.resize(8 + random.below(1_500), random.0 as u8);
        store.put(Space::Documents, &id, &document);
        store.put(Space::Indexes, &Self::index_entry(&id, &document), b"");
        self.documents.insert(id, document);
    }

    pub(super) fn is_in(&self, store: &Store) -> bool {
        let is_equal = |space| pairs(all(store, space)) == self.expected(space);
        Space::ALL.into_iter().all(is_equal)
    }
}

/// A world at some operation, and which states may be found in it: from the last acknowledged as durable to the
/// last begun.
struct Moment {
    world: World,
    durable: usize,
    begun: usize,
}

fn simulated(disk: &SimulatedDisk, durability: Durability) -> StoreOptions {
    StoreOptions {
        durability,
        // Four or so batches in a segment, so that beginning one is cut too.
        segment_bytes: 8 << 10,
        disk: Arc::new(disk.clone()),
        ..options()
    }
}

/// Runs batches and returns the moment after every disk operation, and the content after each batch.
fn record(path: &Path, durability: Durability, seed: u64) -> (Vec<Moment>, Vec<Content>) {
    let disk = SimulatedDisk::new(World::default());
    let mut store = Store::open(path, &simulated(&disk, durability)).unwrap();
    let moments: Arc<Mutex<Vec<Moment>>> = Arc::default();
    let (durable, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    {
        let (moments, durable, begun) = (moments.clone(), durable.clone(), begun.clone());
        disk.watch(move |world| {
            moments.lock().unwrap().push(Moment {
                world: world.clone(),
                durable: durable.load(Ordering::SeqCst),
                begun: begun.load(Ordering::SeqCst),
            });
        });
    }
    let mut random = Random(seed);
    let mut contents = vec![Content::default()];
    for batch in 1..=24 {
        let mut content = contents.last().unwrap().clone();
        for _ in 0..=random.below(4) {
            content.change(&mut store, &mut random);
        }
        contents.push(content);
        begun.store(batch, Ordering::SeqCst);
        let commit = store.commit().unwrap();
        assert_eq!(commit.is_durable, durability == Durability::Always);
        if durability != Durability::Always && batch % 3 == 0 {
            store.sync().unwrap();
        }
        if store.is_synced() {
            durable.store(batch, Ordering::SeqCst);
        }
    }
    let moments = std::mem::take(&mut *moments.lock().unwrap());
    (moments, contents)
}

/// Opens what a cut left, compares, goes on writing, and opens again.
fn check(path: &Path, moment: &Moment, contents: &[Content], survives: Survives, note: &str) {
    let disk = SimulatedDisk::new(moment.world.after_cut(survives));
    let options = simulated(&disk, Durability::Always);
    let mut store = match Store::open(path, &options) {
        Ok(store) => store,
        Err(error) => panic!("{note}, {survives:?}: {error}"),
    };
    let found = (moment.durable..=moment.begun).rfind(|state| contents[*state].is_in(&store));
    let Some(found) = found else {
        panic!(
            "{note}, {survives:?}: neither of {} to {}",
            moment.durable, moment.begun
        );
    };
    let mut content = contents[found].clone();
    let mut random = Random(moment.begun as u64 + 99);
    for _ in 0..3 {
        content.change(&mut store, &mut random);
        store.commit().unwrap();
    }
    drop(store);
    let files = disk.world().files();
    for _ in 0..2 {
        let world = disk.world().after_cut(Survives::Nothing);
        let disk = SimulatedDisk::new(world);
        let store = Store::open(path, &simulated(&disk, Durability::Always)).unwrap();
        assert!(
            content.is_in(&store),
            "{note}, {survives:?}: the second time"
        );
        assert_eq!(disk.world().files(), files, "reopening makes no files");
    }
}

fn cut_everywhere(durability: Durability, seed: u64) {
    let folder = Folder::new("crash");
    let (moments, contents) = record(folder.path(), durability, seed);
    assert!(moments.len() > 50);
    for (index, moment) in moments.iter().enumerate() {
        let note = format!("{durability}, seed {seed}, operation {index}");
        let mut ways = vec![Survives::Nothing, Survives::Everything];
        for seed in 0..2 {
            ways.push(Survives::Pieces(4096, seed + index as u64));
            ways.push(Survives::Pieces(512, seed + index as u64));
        }
        let sectors = moment.world.unsynced_sectors();
        ways.extend((0..sectors.min(6)).map(|turn| Survives::AllButSector(sectors * turn / 6)));
        for survives in ways {
            check(folder.path(), moment, &contents, survives, &note);
        }
    }
}

#[test]
fn no_acknowledged_batch_is_lost_wherever_the_journal_is_cut() {
    cut_everywhere(Durability::Always, 11);
}

#[test]
fn with_an_interval_whole_batches_are_lost_from_the_end_only() {
    cut_everywhere(Durability::Interval(50), 12);
}

/// Three unsynced batches of one sector each, of which the first is lost. A new batch of the same size in its place
/// ends exactly where the second begins, which must not come back with it.
#[test]
fn what_was_written_behind_a_lost_batch_does_not_come_back() {
    let folder = Folder::new("behind");
    let disk = SimulatedDisk::new(World::default());
    let durability = Durability::Interval(50);
    let mut store = Store::open(folder.path(), &simulated(&disk, durability)).unwrap();
    let write = |store: &mut Store, key: &[u8; 2]| {
        // Head, tag and lengths take 47 bytes.
        store.put(Space::Documents, key, &[7; 512 - 47 - 2]);
        assert_eq!(store.commit().unwrap().bytes, 512);
    };
    for key in [b"k1", b"k2", b"k3"] {
        write(&mut store, key);
    }
    let cut = disk.world().after_cut(Survives::AllButSector(0));
    drop(store);
    let disk = SimulatedDisk::new(cut);
    let mut store = Store::open(folder.path(), &simulated(&disk, durability)).unwrap();
    assert_eq!(pairs(all(&store, Space::Documents)).len(), 0);
    write(&mut store, b"k4");
    drop(store);
    let store = Store::open(folder.path(), &simulated(&disk, durability)).unwrap();
    let found = pairs(all(&store, Space::Documents));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, b"k4");
}

//! The whole store, journal and table files, as a power cut would leave it at any system call.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_docdb::internals::store::Store;

use super::folder::Folder;
use super::hooks::{Survives, watch};
use super::workload::{Model, Random, options, rounds};

/// A directory as it was left, and between which numbers of batches it must be.
struct Image {
    path: PathBuf,
    acknowledged: u64,
    begun: u64,
    note: String,
}

const WAYS: [Survives; 4] = [
    Survives::Nothing,
    Survives::Some(4096),
    Survives::Some(512),
    Survives::Everything,
];

/// Writes batches and makes an image before every `spacing`-th call, from a start that is itself watched.
fn run(data: &Path, images: &Path, batches: u64, spacing: u64, seed: u64) -> Vec<Image> {
    let made: Arc<Mutex<Vec<Image>>> = Arc::default();
    let (acknowledged, begun) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut random = Random(seed);
    let watching = {
        let (made, images) = (made.clone(), images.to_path_buf());
        let (acknowledged, begun) = (acknowledged.clone(), begun.clone());
        watch(data, move |watch, call| {
            if random.below(spacing) != 0 {
                return;
            }
            let mut made = made.lock().unwrap();
            let survives = WAYS[random.below(4) as usize];
            let path = images.join(format!("{seed}-{call}"));
            fs::create_dir_all(&path).unwrap();
            watch.image(&path, survives, |limit| random.below(limit));
            made.push(Image {
                path,
                acknowledged: acknowledged.load(Ordering::SeqCst),
                begun: begun.load(Ordering::SeqCst),
                note: format!("seed {seed}, call {call}, {survives:?}"),
            });
        })
    };
    let mut store = Store::open(data, &options()).unwrap();
    let mut model = Model::default();
    for batch in 1..=batches {
        model.write_next(Some(&mut store));
        begun.store(batch, Ordering::SeqCst);
        store.commit().unwrap();
        acknowledged.store(batch, Ordering::SeqCst);
    }
    let statistics = store.statistics();
    assert!(
        statistics.flushes > 3 && statistics.compactions > 3,
        "{statistics:?}"
    );
    drop(store);
    drop(watching);
    std::mem::take(&mut *made.lock().unwrap())
}

fn check(image: &Image) {
    let note = &image.note;
    let mut model = Model::default();
    let mut files = 0;
    for opening in 0..3 {
        let mut store = match Store::open(&image.path, &options()) {
            Ok(store) => store,
            Err(error) => panic!("{note}, opening {opening}: {error}"),
        };
        if opening == 0 {
            model.follow(&store, image.acknowledged, image.begun, note);
            for _ in 0..5 {
                model.write_next(Some(&mut store));
                store.commit().unwrap();
            }
            // What would be left to the background is done before the files are counted.
            store.flush().unwrap();
        }
        model.compare(&store, note);
        drop(store);
        let found = count_files(&image.path);
        assert!(
            opening < 2 || found == files,
            "{note}: reopening leaves more files"
        );
        files = found;
    }
    fs::remove_dir_all(&image.path).unwrap();
}

fn count_files(directory: &Path) -> usize {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let count = |path: PathBuf| if path.is_dir() { count_files(&path) } else { 1 };
    entries.map(count).sum()
}

#[test]
fn a_power_cut_at_any_system_call_leaves_what_was_acknowledged() {
    for seed in 1..=rounds(1, 12) {
        let (data, images) = (Folder::new("data"), Folder::new("images"));
        let made = run(data.path(), images.path(), 250, rounds(50, 6), seed);
        assert!(made.len() > 20, "{} images", made.len());
        made.iter().for_each(check);
    }
}

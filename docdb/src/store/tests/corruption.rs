//! Damaged files: the end of the journal recovers, damage to what was acknowledged is refused with its place, and
//! nothing panics or passes for sound.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::simulated::{SimulatedDisk, World};
use super::support::{Folder, Pairs, all, options, pairs};
use crate::store::{Space, Store, StoreError, StoreOptions, replay_hostile};

fn on(disk: &SimulatedDisk, segment_bytes: u64) -> StoreOptions {
    StoreOptions {
        disk: Arc::new(disk.clone()),
        segment_bytes,
        ..options()
    }
}

fn content(store: &Store) -> Pairs {
    pairs(all(store, Space::Documents))
}

/// Five batches of one document; the content after each, beginning with none.
fn write_five(store: &mut Store) -> Vec<Pairs> {
    let mut contents = vec![content(store)];
    for number in 0..5_u8 {
        store.put(Space::Documents, &[1, number], &[number; 90]);
        store.commit().unwrap();
        contents.push(content(store));
    }
    contents
}

const SEGMENT: &str = "00000000000000000001";

#[test]
fn every_damaged_byte_of_the_journal_is_refused_or_only_costs_the_last_batch() {
    let (folder, disk) = (Folder::new("bytes"), SimulatedDisk::new(World::default()));
    let mut store = Store::open(folder.path(), &on(&disk, 4 << 10)).unwrap();
    let contents = write_five(&mut store);
    drop(store);
    let sound = disk.world().clone();
    let (records, length) = (2048, 2048 + 5 * 144);
    assert!(
        sound.clone().file(SEGMENT).unwrap()[length..]
            .iter()
            .all(|byte| *byte == 0)
    );
    let (mut refused, mut shortened, mut whole) = (0, 0, 0);
    for at in 0..length {
        let mut world = sound.clone();
        world.file(SEGMENT).unwrap()[at] ^= 0x10;
        let disk = SimulatedDisk::new(world);
        match Store::open(folder.path(), &on(&disk, 4 << 10)) {
            Ok(store) => {
                let found = content(&store);
                if found == contents[5] {
                    // A sector of the header that holds nothing, or padding.
                    whole += 1;
                } else {
                    assert!(
                        at >= records + 4 * 144,
                        "byte {at} lost an acknowledged batch"
                    );
                    assert_eq!(found, contents[4]);
                    shortened += 1;
                }
            }
            Err(StoreError::Corrupted { file, offset, .. }) => {
                assert!(file.ends_with(SEGMENT));
                let record = at.saturating_sub(records) / 144 * 144 + records;
                let place = if at < records { 0 } else { record };
                assert_eq!(offset, place as u64, "byte {at}");
                refused += 1;
            }
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert!(
        refused > 4 * 130 && shortened > 130 && whole > 1_900,
        "{refused} {shortened} {whole}"
    );
}

#[test]
fn a_missing_segment_is_refused() {
    for lost in 0..3 {
        let (folder, disk) = (Folder::new("segment"), SimulatedDisk::new(World::default()));
        let mut store = Store::open(folder.path(), &on(&disk, 2_400)).unwrap();
        let contents = write_five(&mut store);
        drop(store);
        let mut names = disk.world().files();
        names.sort();
        assert_eq!(names.len(), 3);
        crate::store::Disk::remove(&disk, &folder.path().join("journal").join(&names[lost]))
            .unwrap();
        match Store::open(folder.path(), &on(&disk, 2_400)) {
            Err(StoreError::Corrupted { problem, .. }) => assert!(problem.contains("missing")),
            // Nothing but its name told of the newest; what it held had not been flushed.
            Ok(store) => assert!(lost == 2 && content(&store) == contents[4]),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_journal_that_ends_before_what_the_tables_hold_is_refused() {
    let (folder, disk) = (Folder::new("behind"), SimulatedDisk::new(World::default()));
    let mut store = Store::open(folder.path(), &on(&disk, 4 << 10)).unwrap();
    write_five(&mut store);
    store.flush().unwrap();
    drop(store);
    let at = 2048 + 4 * 144 + 60;
    disk.world().file(SEGMENT).unwrap()[at] ^= 1;
    let error = Store::open(folder.path(), &on(&disk, 4 << 10)).unwrap_err();
    let StoreError::Corrupted {
        offset, problem, ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(offset, 2048 + 4 * 144);
    assert!(
        problem.contains("were acknowledged and are missing"),
        "{problem}"
    );
}

#[test]
fn the_format_file_is_checked() {
    let folder = Folder::new("format");
    drop(write_five(
        &mut Store::open(folder.path(), &options()).unwrap(),
    ));
    let path = folder.path().join("FORMAT");
    let sound = fs::read_to_string(&path).unwrap();
    let open = |text: &str| {
        fs::write(&path, text).unwrap();
        Store::open(folder.path(), &options()).map(|store| content(&store).len())
    };
    let newer = open(&sound.replace("format 1", "format 2")).unwrap_err();
    assert!(
        newer
            .to_string()
            .contains("has format 2, this version reads format 1"),
        "{newer}"
    );
    for text in [
        "",
        "something else\n",
        "plimsoll docdb store\nformat 1\n",
        "plimsoll docdb store\n",
    ] {
        assert!(matches!(
            open(text),
            Err(StoreError::Corrupted { .. } | StoreError::UnknownFormat { .. })
        ));
    }
    // Another store's id: its journal is not taken for this one's.
    let (head, _) = sound.split_at(sound.len() - 2);
    let other = open(&format!("{head}{}\n", u8::from(sound.ends_with("0\n")))).unwrap_err();
    assert!(
        other.to_string().contains("is not that of this store"),
        "{other}"
    );
    fs::remove_file(&path).unwrap();
    let missing = Store::open(folder.path(), &options()).unwrap_err();
    assert!(
        missing.to_string().contains("there is data beside it"),
        "{missing}"
    );
    assert_eq!(open(&sound).unwrap(), 5);
}

#[test]
fn an_interrupted_creation_is_begun_again() {
    let (folder, other) = (Folder::new("begun"), Folder::new("whole"));
    drop(Store::open(other.path(), &options()).unwrap());
    for part in ["journal", "documents"] {
        fs::rename(other.path().join(part), folder.path().join(part)).unwrap();
    }
    let mut store = Store::open(folder.path(), &options()).unwrap();
    write_five(&mut store);
    drop(store);
    assert_eq!(
        content(&Store::open(folder.path(), &options()).unwrap()).len(),
        5
    );
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Opens and reads everything; `Ok` is what was read.
fn read_all(path: &Path) -> Result<Pairs, StoreError> {
    let options = StoreOptions {
        // A cache of its own: blocks read before the damage must not hide it.
        shared: crate::store::Shared::start(1 << 20),
        ..options()
    };
    let store = Store::open(path, &options)?;
    let scan = all(&store, Space::Documents);
    scan.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())))
        .collect()
}

#[test]
fn a_damaged_table_file_is_an_error_and_never_a_panic_or_other_data() {
    let folder = Folder::new("table");
    let mut store = Store::open(folder.path(), &options()).unwrap();
    for number in 0..200_u16 {
        store.put(
            Space::Documents,
            &number.to_be_bytes(),
            &[number as u8; 300],
        );
    }
    store.commit().unwrap();
    store.flush().unwrap();
    let expected = content(&store);
    drop(store);
    let mut harmless = 0;
    let mut refused = 0;
    for file in files(&folder.path().join("documents")) {
        let sound = fs::read(&file).unwrap();
        let step = (sound.len() / 150).max(1);
        let mut damage: Vec<Vec<u8>> = (0..sound.len())
            .step_by(step)
            .map(|at| {
                let mut bytes = sound.clone();
                bytes[at] ^= 0x41;
                bytes
            })
            .collect();
        damage.push(Vec::new());
        damage.push(sound[..sound.len() / 2].to_vec());
        damage.push(sound[..sound.len() - 1].to_vec());
        for bytes in damage {
            fs::write(&file, &bytes).unwrap();
            match read_all(folder.path()) {
                Ok(found) => {
                    assert!(found == expected, "{} reads as other data", file.display());
                    harmless += 1;
                }
                Err(StoreError::Corrupted { file: named, .. }) => {
                    assert!(named.starts_with(folder.path()));
                    refused += 1;
                }
                Err(error) => panic!("{}: {error}", file.display()),
            }
        }
        fs::write(&file, &sound).unwrap();
        fs::remove_file(&file).unwrap();
        let error = read_all(folder.path()).unwrap_err();
        assert!(error.to_string().contains("documents"), "{error}");
        fs::write(&file, &sound).unwrap();
    }
    assert_eq!(read_all(folder.path()).unwrap(), expected);
    assert!(refused > 150, "{refused} refused, {harmless} harmless");
}

#[test]
fn hostile_journals_are_read_without_panic() {
    let (folder, disk) = (Folder::new("hostile"), SimulatedDisk::new(World::default()));
    let mut store = Store::open(folder.path(), &on(&disk, 4 << 10)).unwrap();
    write_five(&mut store);
    let bytes = disk.world().file(SEGMENT).unwrap().clone();
    for end in (0..bytes.len()).step_by(7) {
        replay_hostile(&bytes[..end]);
    }
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] = 0xff;
        replay_hostile(&bytes);
    }
}

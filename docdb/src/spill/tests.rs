//! Sorting with less memory than rows.

use super::*;
use crate::folder::Folder;
use crate::memory::Memory;

fn room(folder: &Folder, bytes: usize) -> Room {
    Room {
        memory: Arc::new(Memory::new(bytes)),
        folder: Some(folder.path().into()),
    }
}

fn refused(_: usize) -> CommandError {
    Code::QueryExceededMemoryLimitNoDiskUseAllowed.error("too much")
}

fn fill(sorted: &mut Sorted, keys: &[u32]) {
    for (number, key) in keys.iter().enumerate() {
        let payload = format!("{key} {number} {}", "x".repeat(1000)).into_bytes();
        sorted
            .add(key.to_be_bytes().to_vec(), || payload, refused)
            .unwrap();
        // Every third row ends a slice.
        let mut taken = 0;
        while sorted.has_work() {
            sorted
                .work(&mut || {
                    taken += 1;
                    taken % 3 != 0
                })
                .unwrap();
        }
    }
}

fn drain(sorted: &mut Sorted) -> Vec<(u32, usize)> {
    let mut found = Vec::new();
    while let Next::Row(key, payload) = sorted.next().unwrap() {
        let text = String::from_utf8(payload).unwrap();
        let mut words = text.split(' ');
        let word = words.next().unwrap();
        assert_eq!(word.parse::<u32>().unwrap().to_be_bytes(), *key);
        found.push((
            word.parse().unwrap(),
            words.next().unwrap().parse().unwrap(),
        ));
    }
    found
}

#[test]
fn rows_come_in_order_however_little_memory_there_is() {
    let folder = Folder::new("spill");
    let mut rng = plimsoll_base::random::Rng::new(3, 0);
    let keys: Vec<u32> = (0..6000).map(|_| (rng.next_u64() % 500) as u32).collect();
    let mut expected: Vec<(u32, usize)> = keys.iter().copied().zip(0..).collect();
    expected.sort_by_key(|(key, _)| *key);
    for bytes in [1 << 30, 16 << 20, 1 << 20] {
        let room = room(&folder, bytes);
        let mut sorted = Sorted::new(room.clone(), None);
        fill(&mut sorted, &keys);
        assert!(
            room.memory
                .has_room(bytes - bytes.min((bytes / 8).max(RUN_BYTES_MIN) + 4096))
        );
        assert_eq!(drain(&mut sorted), expected, "{bytes}");
        assert!(sorted.is_done());
        drop(sorted);
        assert!(room.memory.has_room(bytes), "all was given back");
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "files have no names"
    );
}

#[test]
fn of_a_few_least_rows_only_those_are_kept() {
    let folder = Folder::new("spill");
    let keys: Vec<u32> = (0..5000).rev().collect();
    let mut sorted = Sorted::new(room(&folder, 1 << 20), Some(10));
    fill(&mut sorted, &keys);
    assert!(sorted.runs.is_none());
    let found: Vec<u32> = drain(&mut sorted).into_iter().map(|(key, _)| key).collect();
    assert_eq!(found, (0..10).collect::<Vec<_>>());
}

#[test]
fn without_the_disk_too_much_is_refused() {
    let memory = Arc::new(Memory::new(8 << 20));
    let mut sorted = Sorted::new(
        Room {
            memory,
            folder: None,
        },
        None,
    );
    let error = (0..20_000_u32).find_map(|key| {
        sorted
            .add(key.to_be_bytes().to_vec(), || vec![0; 1000], refused)
            .err()
    });
    assert_eq!(error.unwrap().code, Code::ExceededMemoryLimit);
}

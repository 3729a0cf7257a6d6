//! Kills the server at any moment under load, over and over: nothing acknowledged may be lost, nothing old may come back.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use bson::{Bson, Document, doc};
use plimsoll_base::random::Rng;

use super::Server;
use super::client::Client;
use super::sorters;
use crate::support::Folder;

const WRITERS: i64 = 6;
/// Each writer has its own, so that it knows the order of what happens to them.
const KEYS_PER_WRITER: u64 = 40;
const SEED: u64 = 0x0d0c_db00;

fn rounds() -> u32 {
    if std::env::var_os("PLIMSOLL_SOAK").is_some() {
        300
    } else {
        12
    }
}

/// What one writer knows of its keys.
struct Ledger {
    writer: i64,
    rng: Rng,
    /// Rises with every write and is used by nobody else, so that an old version is seen as old.
    version: i64,
    /// Key and version of every document that the server said it has.
    acknowledged: BTreeMap<i64, i64>,
    /// What the write under way when the server died may have made of its keys; `None` is deleted.
    doubtful: BTreeMap<i64, Option<i64>>,
    answers: u64,
}

impl Ledger {
    fn new(writer: i64) -> Self {
        Self {
            writer,
            rng: Rng::new(SEED, writer.unsigned_abs()),
            version: writer * 1_000_000_000,
            acknowledged: BTreeMap::new(),
            doubtful: BTreeMap::new(),
            answers: 0,
        }
    }

    fn any_key(&mut self) -> i64 {
        let key = i64::try_from(self.rng.below(KEYS_PER_WRITER)).unwrap();
        self.writer * 1_000 + key
    }

    /// Writes until the connection breaks.
    fn write_until_killed(&mut self, address: &str) {
        let Ok(mut client) = Client::connect(address) else {
            return;
        };
        while self.write_once(&mut client).is_ok() {
            self.answers += 1;
        }
    }

    /// One write. What it would do is doubtful until the answer, and certain after it.
    fn write_once(&mut self, client: &mut Client) -> io::Result<()> {
        let (command, expected) = match self.rng.below(10) {
            0..=5 => self.upsert(),
            6..=7 => self.delete(),
            _ => self.insert_many(),
        };
        let answer = client.command(&command)?;
        assert_eq!(answer.get_f64("ok").ok(), Some(1.0), "{command}\n{answer}");
        assert!(!answer.contains_key("writeErrors"), "{command}\n{answer}");
        assert_eq!(
            answer.get_i32("n").ok(),
            Some(expected),
            "{command}\n{answer}"
        );
        for (key, version) in std::mem::take(&mut self.doubtful) {
            match version {
                Some(version) => drop(self.acknowledged.insert(key, version)),
                None => drop(self.acknowledged.remove(&key)),
            }
        }
        Ok(())
    }

    fn document(&mut self, key: i64) -> Document {
        self.version += 1;
        self.doubtful.insert(key, Some(self.version));
        let length = usize::try_from(self.rng.below(900)).unwrap();
        doc! { "_id": key, "version": self.version, "cargo": "x".repeat(length) }
    }

    fn upsert(&mut self) -> (Document, i32) {
        let key = self.any_key();
        let u = self.document(key);
        let update = doc! { "q": { "_id": key }, "u": u, "upsert": true };
        (
            doc! { "update": "ships", "updates": [update], "$db": "fleet" },
            1,
        )
    }

    fn delete(&mut self) -> (Document, i32) {
        let key = self.any_key();
        self.doubtful.insert(key, None);
        let n = i32::from(self.acknowledged.contains_key(&key));
        let delete = doc! { "q": { "_id": key }, "limit": 1 };
        (
            doc! { "delete": "ships", "deletes": [delete], "$db": "fleet" },
            n,
        )
    }

    /// Up to five keys that are free, in one command: after a kill any first part of them may be there.
    fn insert_many(&mut self) -> (Document, i32) {
        let mut documents = Vec::new();
        for _ in 0..5 {
            let key = self.any_key();
            if !self.acknowledged.contains_key(&key) && !self.doubtful.contains_key(&key) {
                documents.push(Bson::Document(self.document(key)));
            }
        }
        if documents.is_empty() {
            return self.upsert();
        }
        let n = i32::try_from(documents.len()).unwrap();
        (
            doc! { "insert": "ships", "documents": documents, "$db": "fleet" },
            n,
        )
    }

    /// Compares with what is stored, and takes over what the doubtful writes turned out to be.
    fn settle(&mut self, stored: &BTreeMap<i64, i64>, round: u32) {
        let low = self.writer * 1_000;
        let found: BTreeMap<i64, i64> = stored
            .range(low..low + 1_000)
            .map(|(key, version)| (*key, *version))
            .collect();
        let doubtful = std::mem::take(&mut self.doubtful);
        let keys = found
            .keys()
            .chain(self.acknowledged.keys())
            .chain(doubtful.keys());
        for key in keys {
            let (now, known) = (found.get(key).copied(), self.acknowledged.get(key).copied());
            let may_be = doubtful.get(key).copied();
            assert!(
                now == known || may_be == Some(now),
                "round {round}, key {key}: acknowledged {known:?}, doubtful {may_be:?}, but stored {now:?}"
            );
        }
        self.acknowledged = found;
    }
}

/// Every document's key and version, once by scan and once through the index, which must agree.
fn stored(address: &str) -> BTreeMap<i64, i64> {
    let mut client = Client::connect(address).unwrap();
    let by_scan = documents(
        &mut client,
        doc! { "find": "ships", "sort": { "_id": 1 }, "$db": "fleet" },
    );
    let by_index = documents(
        &mut client,
        doc! { "find": "ships", "filter": { "version": { "$gt": 0 } }, "hint": "version_1", "$db": "fleet" },
    );
    assert_eq!(by_scan, by_index, "documents and index agree");
    by_scan
}

fn documents(client: &mut Client, mut command: Document) -> BTreeMap<i64, i64> {
    command.insert("batchSize", 100_000);
    let answer = client.command(&command).unwrap();
    let cursor = answer.get_document("cursor").expect("a cursor");
    assert_eq!(cursor.get_i64("id").ok(), Some(0), "all in one batch");
    let batch = cursor.get_array("firstBatch").unwrap().iter();
    let pairs = batch.map(|one| {
        let one = one.as_document().unwrap();
        (one.get_i64("_id").unwrap(), one.get_i64("version").unwrap())
    });
    let count = pairs.len();
    let found: BTreeMap<i64, i64> = pairs.collect();
    assert_eq!(found.len(), count, "no key twice");
    found
}

/// Bytes that the folder's files take on disk.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Files that queries left behind; they have names only where a file system knows no others.
fn left_by_sorts(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => left_by_sorts(&entry.path()),
            _ => usize::from(entry.file_name().to_string_lossy().starts_with("sorting-")),
        })
        .sum()
}

fn make_index(server: &Server) {
    let mut client = Client::connect(&server.address).unwrap();
    let index = doc! { "key": { "version": 1 }, "name": "version_1", "unique": true };
    let answer =
        client.command(&doc! { "createIndexes": "ships", "indexes": [index], "$db": "fleet" });
    assert_eq!(answer.unwrap().get_f64("ok").ok(), Some(1.0));
}

#[test]
fn killed_at_any_moment_it_keeps_what_it_acknowledged_and_nothing_older() {
    let folder = Folder::new();
    let data = folder.0.join("data");
    let mut rng = Rng::new(SEED, u64::MAX);
    let mut ledgers: Vec<Ledger> = (0..WRITERS).map(Ledger::new).collect();
    let mut server = Server::start(&data, &sorters::MEMORY);
    make_index(&server);
    sorters::fill(&mut Client::connect(&server.address).unwrap());
    let (mut spilled, mut rounds_spilled, mut whole) = (0, 0, 0);
    for round in 0..rounds() {
        let pause = Duration::from_micros(2_000 + rng.below(120_000));
        let address = server.address.clone();
        std::thread::scope(|scope| {
            for ledger in &mut ledgers {
                let address = address.as_str();
                scope.spawn(move || ledger.write_until_killed(address));
            }
            let sorter = scope.spawn(|| sorters::until_killed(&address));
            std::thread::sleep(pause);
            let bytes = sorters::spilled(&address);
            spilled += bytes;
            rounds_spilled += u32::from(bytes > 0);
            server.kill();
            whole += sorter.join().unwrap();
        });
        assert_eq!(left_by_sorts(&data), 0, "round {round}");
        // A recovery that is itself cut short must leave what the next one needs.
        if rng.below(4) == 0 {
            Server::kill_while_starting(&data, Duration::from_micros(rng.below(20_000)));
        }
        server = Server::start(&data, &sorters::MEMORY);
        let found = stored(&server.address);
        for ledger in &mut ledgers {
            ledger.settle(&found, round);
        }
    }
    let mut client = Client::connect(&server.address).unwrap();
    sorters::sort(&mut client).unwrap();
    sorters::group(&mut client).unwrap();
    let answers: u64 = ledgers.iter().map(|one| one.answers).sum();
    println!(
        "{} rounds, {answers} acknowledged writes, none lost, none old; {rounds_spilled} rounds spilled {} MiB, {whole} times to the end",
        rounds(),
        spilled >> 20
    );
    assert!(
        rounds_spilled * 3 > rounds(),
        "{rounds_spilled} of {} rounds spilled",
        rounds()
    );
    assert!(
        answers > u64::from(rounds()),
        "the writers wrote: {answers}"
    );
}

#[test]
fn opening_again_and_again_grows_nothing_and_changes_nothing() {
    let folder = Folder::new();
    let data = folder.0.join("data");
    let server = Server::start(&data, &[]);
    make_index(&server);
    let mut ledger = Ledger::new(1);
    std::thread::scope(|scope| {
        let address = server.address.clone();
        let ledger = &mut ledger;
        scope.spawn(move || ledger.write_until_killed(&address));
        std::thread::sleep(Duration::from_millis(300));
        server.kill();
    });
    let server = Server::start(&data, &[]);
    let first = stored(&server.address);
    server.kill();
    let size_after_one = size(&data);
    for _ in 0..5 {
        let server = Server::start(&data, &[]);
        assert_eq!(stored(&server.address), first);
        server.kill();
    }
    let grown = size(&data).saturating_sub(size_after_one);
    assert!(
        grown <= size_after_one / 10,
        "{size_after_one} bytes grew by {grown} in five openings"
    );
}

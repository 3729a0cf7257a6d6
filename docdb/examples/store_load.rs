//! Loads one store as an executor does and prints what an operation costs: 40 % reads, 30 % inserts, 20 % updates,
//! 10 % deletes of 1 KB documents with one index entry each, committed in batches.
//!
//! `cargo run --release -p plimsoll-docdb --example store_load -- DIR [batch=30] [rate=5000] [seconds=120]
//! [preload=200000] [keys=ascending|random] [sync_ms=0] [memtable_mb=64] [cache_mb=64]`; rate 0 is as fast as it goes.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_base::clock::{Clock, thread_run_time};
use plimsoll_docdb::internals::store::{RealDisk, Shared, Space, Store, StoreOptions};

struct Arguments(Vec<String>);

impl Arguments {
    fn text(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().filter_map(|word| word.split_once('='));
        values
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value)
            .next_back()
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        self.text(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    }
}

/// Xorshift; fixed seed, so that runs compare.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

struct Load {
    store: Store,
    random: Random,
    is_random: bool,
    next: u64,
    live: Vec<u64>,
    missing: u64,
}

impl Load {
    /// Collection id, type tag and twelve bytes as an `ObjectId` has them, ascending or spread.
    fn key(&self, number: u64) -> Vec<u8> {
        let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let number = if self.is_random { spread } else { number };
        let mut key = vec![0, 0, 0, 1, 7, 0x65, 1, 2, 3];
        key.extend(number.to_be_bytes());
        key
    }

    /// About half of it compresses.
    fn document(&mut self, field: u64) -> Vec<u8> {
        let mut document = field.to_be_bytes().to_vec();
        for _ in 0..62 {
            document.extend(self.random.next().to_le_bytes());
        }
        document.resize(1000, b'a');
        document
    }

    fn entry(field: u64, key: &[u8]) -> Vec<u8> {
        let mut entry = vec![0, 0, 0, 9, 4];
        entry.extend(field.to_be_bytes());
        entry.extend(key.iter().skip(4));
        entry
    }

    fn insert(&mut self) {
        let field = self.random.next();
        let (key, document) = (self.key(self.next), self.document(field));
        self.store.put(Space::Documents, &key, &document);
        self.store
            .put(Space::Indexes, &Self::entry(field, &key), b"");
        self.live.push(self.next);
        self.next += 1;
    }

    fn operation(&mut self) -> Result<(), Box<dyn Error>> {
        let kind = self.random.below(100);
        if (40..70).contains(&kind) {
            self.insert();
            return Ok(());
        }
        let chosen = self.random.below(self.live.len());
        let key = self.key(*self.live.get(chosen).ok_or("no documents")?);
        let Some(old) = self.store.get(Space::Documents, &key)? else {
            self.missing += 1;
            return Ok(());
        };
        let old_field = old
            .first_chunk()
            .map_or(0, |field| u64::from_be_bytes(*field));
        if kind < 40 {
            return Ok(());
        }
        if kind < 90 {
            // Every other update changes the indexed field.
            let field = if kind.is_multiple_of(2) {
                self.random.next()
            } else {
                old_field
            };
            let document = self.document(field);
            self.store.put(Space::Documents, &key, &document);
            if field != old_field {
                self.store
                    .delete(Space::Indexes, &Self::entry(old_field, &key));
                self.store
                    .put(Space::Indexes, &Self::entry(field, &key), b"");
            }
            return Ok(());
        }
        self.store.delete(Space::Documents, &key);
        self.store
            .delete(Space::Indexes, &Self::entry(old_field, &key));
        self.live.swap_remove(chosen);
        Ok(())
    }
}

/// User and system time of the process in microseconds, in clock ticks of 10 ms.
fn process_time() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = text.rsplit_once(')').ok_or("no process name")?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(ticks * 10_000)
}

fn written() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/io")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.ok_or("no write_bytes")?.parse()?)
}

fn at(sorted: &[u64], share: f64) -> f64 {
    let index = (sorted.len() as f64 * share) as usize;
    sorted
        .get(index.min(sorted.len().saturating_sub(1)))
        .map_or(0.0, |nanos| *nanos as f64 / 1e6)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments(std::env::args().skip(1).collect());
    let directory = PathBuf::from(arguments.0.first().ok_or("name a directory")?);
    let (batch, rate) = (
        arguments.number("batch", 30),
        arguments.number("rate", 5000),
    );
    let mut options = StoreOptions::new(Shared::start(arguments.number("cache_mb", 64) << 20));
    options.memtable_bytes = arguments.number("memtable_mb", 64) << 20;
    let delay = Duration::from_millis(arguments.number("sync_ms", 0));
    if !delay.is_zero() {
        options.disk = Arc::new(RealDisk { sync_delay: delay });
    }
    let mut load = Load {
        store: Store::open(&directory, &options)?,
        random: Random(88_172_645_463_325_252),
        is_random: arguments.text("keys") == Some("random"),
        next: 0,
        live: Vec::new(),
        missing: 0,
    };
    for number in 0..arguments.number("preload", 200_000) {
        load.insert();
        if number % 200 == 199 {
            load.store.commit()?;
        }
    }
    load.store.commit()?;
    let clock = Clock::start();
    let (cpu, thread, bytes) = (process_time()?, thread_run_time(), written()?);
    let (mut commits, mut operations, end) = (
        Vec::new(),
        0,
        arguments.number("seconds", 120) * 1_000_000_000,
    );
    while clock.now().0 < end {
        for _ in 0..batch {
            load.operation()?;
        }
        operations += batch;
        let begun = clock.now().0;
        load.store.commit()?;
        commits.push(clock.now().0 - begun);
        if let Some(due) = (operations * 1_000_000_000).checked_div(rate) {
            std::thread::sleep(Duration::from_nanos(due.saturating_sub(clock.now().0)));
        }
    }
    let seconds = clock.now().0 as f64 / 1e9;
    let thread = thread_run_time().0 - thread.0;
    let (cpu, bytes) = (process_time()? - cpu, written()? - bytes);
    commits.sort_unstable();
    let per = |total: u64| total as f64 / operations as f64;
    println!(
        "batch {batch}: {:.0} op/s, CPU {:.1} µs/op (executor {:.1}), {:.2} kB/op; commit p50 {:.2} p99 {:.2} p99.9 {:.2} longest {:.1} ms; {} missing",
        operations as f64 / seconds,
        per(cpu),
        per(thread) / 1e3,
        per(bytes) / 1e3,
        at(&commits, 0.5),
        at(&commits, 0.99),
        at(&commits, 0.999),
        at(&commits, 1.0),
        load.missing,
    );
    println!("{:?}", load.store.statistics());
    Ok(())
}

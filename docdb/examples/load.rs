//! A load driver that speaks the wire protocol directly, for measuring servers that one core of a full driver cannot fill.
//!
//! `load ADDRESS [name=value]…`: databases=1 workers=30 (per database) seconds=5 preload=10000 (per database) mix=mixed|insert
//! rate=0 (operations a second per database on a schedule; 0 is a closed loop) noisy=1 (the first database has so many times
//! the workers or the rate). It preloads, prints `{"phase":"ready"}`, waits for a line on stdin, runs, and prints what it
//! measured. The mix is that of bench/docdb/mix.mjs: 40 % read, 30 % create, 20 % update, 10 % delete of 1 KB documents.
#![expect(
    clippy::print_stdout,
    reason = "an example that prints what it measured"
)]

use std::error::Error;
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};
use plimsoll_base::Nanos;
use plimsoll_base::clock::Clock;
use plimsoll_base::random::Rng;

type Fault = Box<dyn Error + Send + Sync>;

const OP_MSG: i32 = 2013;
const HEAD: usize = 21;
/// Half of a document: compresses well. The other half is noise.
const FILLER: &str = "the quick ship sails over the lazy sea; ";
const HALF: usize = 480;
/// Keys this close to either end may be under way in another worker.
const MARGIN: i64 = 200;
const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Clone)]
struct Asked {
    address: String,
    databases: u64,
    workers: u64,
    seconds: u64,
    preload: i64,
    insert_only: bool,
    rate: u64,
    noisy: u64,
}

/// The live keys of one database: the least, and the next fresh one.
#[derive(Debug, Default)]
struct Keys {
    head: AtomicI64,
    tail: AtomicI64,
}

/// What one worker measured: nanoseconds of each operation that succeeded, and how many did not.
#[derive(Debug, Default)]
struct Measured {
    latencies: Vec<u64>,
    failures: u64,
}

struct Connection {
    stream: TcpStream,
    database: String,
    request: i32,
    rng: Rng,
}

fn main() -> Result<(), Fault> {
    let asked = parse(std::env::args().skip(1))?;
    let keys: Vec<Arc<Keys>> = (0..asked.databases).map(|_| Arc::default()).collect();
    for (index, keys) in (0..).zip(&keys) {
        fill(&asked, index, keys)?;
    }
    println!("{{\"phase\":\"ready\"}}");
    std::io::stdin().lock().read_line(&mut String::new())?;
    let all = (0..asked.databases).map(|index| workers_of(&asked, index).0);
    // Connections are made before: who connects first would otherwise run longer.
    let together = Arc::new(Start {
        clock: Clock::start(),
        barrier: Barrier::new(usize::try_from(all.sum::<u64>() + 1)?),
        began: OnceLock::new(),
    });
    let mut running: Vec<Vec<JoinHandle<Result<Measured, Fault>>>> = Vec::new();
    for (index, keys) in (0..).zip(&keys) {
        let (workers, factor) = workers_of(&asked, index);
        let start = |worker| {
            let (asked, keys, together) = (asked.clone(), Arc::clone(keys), Arc::clone(&together));
            std::thread::spawn(move || work(&asked, (index, worker), factor, &keys, &together))
        };
        running.push((0..workers).map(start).collect());
    }
    together.barrier.wait();
    let mut rows = Vec::new();
    for (index, workers) in running.into_iter().enumerate() {
        rows.push(row(index, workers)?);
    }
    let seconds = together.now().0 as f64 / SECOND as f64;
    println!(
        "{{\"seconds\":{seconds},\"databases\":[{}]}}",
        rows.join(",")
    );
    Ok(())
}

/// Workers of a database, and by how much more load than the others it has.
fn workers_of(asked: &Asked, index: u64) -> (u64, u64) {
    let factor = if index == 0 { asked.noisy } else { 1 };
    let workers = asked.workers * if asked.rate == 0 { factor } else { 1 };
    (workers, factor)
}

/// Where all workers begin at once.
struct Start {
    clock: Clock,
    barrier: Barrier,
    began: OnceLock<Nanos>,
}

impl Start {
    /// Since the first worker came from the barrier.
    fn now(&self) -> Nanos {
        let now = self.clock.now();
        Nanos(now.0.saturating_sub(self.began.get_or_init(|| now).0))
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Asked, Fault> {
    let address = arguments
        .next()
        .ok_or("usage: load ADDRESS [name=value]…")?;
    let mut asked = Asked {
        address,
        databases: 1,
        workers: 30,
        seconds: 5,
        preload: 10_000,
        insert_only: false,
        rate: 0,
        noisy: 1,
    };
    for argument in arguments {
        match argument.split_once('=') {
            Some(("databases", value)) => asked.databases = value.parse()?,
            Some(("workers", value)) => asked.workers = value.parse()?,
            Some(("seconds", value)) => asked.seconds = value.parse()?,
            Some(("preload", value)) => asked.preload = value.parse()?,
            Some(("rate", value)) => asked.rate = value.parse()?,
            Some(("noisy", value)) => asked.noisy = value.parse()?,
            Some(("mix", value)) => asked.insert_only = value == "insert",
            _ => return Err(format!("{argument}: not known").into()),
        }
    }
    Ok(asked)
}

/// Inserts the documents that are there from the start, a thousand at a time.
fn fill(asked: &Asked, index: u64, keys: &Keys) -> Result<(), Fault> {
    let mut connection = Connection::open(asked, index, u64::MAX)?;
    let mut from = 0;
    while from < asked.preload {
        let to = asked.preload.min(from + 1_000);
        let documents: Vec<Bson> = (from..to)
            .map(|number| Bson::Document(connection.document(number)))
            .collect();
        let n = connection.n("insert", doc! { "documents": documents })?;
        if i64::from(n) != to - from {
            return Err(format!("{n} of {} documents were taken", to - from).into());
        }
        from = to;
    }
    keys.tail.store(asked.preload, Ordering::Relaxed);
    Ok(())
}

/// One worker: operation after operation, or each at its time on the schedule, until the time is over.
fn work(
    asked: &Asked,
    (index, worker): (u64, u64),
    factor: u64,
    keys: &Keys,
    together: &Start,
) -> Result<Measured, Fault> {
    let connection = Connection::open(asked, index, worker);
    together.barrier.wait();
    let mut connection = connection?;
    let mut measured = Measured::default();
    let interval = (asked.workers * SECOND)
        .checked_div(asked.rate * factor)
        .unwrap_or(0);
    let mut due = interval * worker / asked.workers.max(1);
    let end = asked.seconds * SECOND;
    loop {
        let now = together.now();
        if now.0.max(due) >= end {
            return Ok(measured);
        }
        let begun = if interval == 0 { now } else { Nanos(due) };
        if interval > 0 {
            std::thread::sleep(Duration::from_nanos(due.saturating_sub(now.0)));
            due += interval;
        }
        if connection.operation(asked.insert_only, keys)? {
            measured
                .latencies
                .push(together.now().0.saturating_sub(begun.0));
        } else {
            measured.failures += 1;
        }
    }
}

impl Connection {
    fn open(asked: &Asked, index: u64, worker: u64) -> Result<Self, Fault> {
        let stream = TcpStream::connect(&asked.address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            database: format!("bench{index}"),
            request: 0,
            rng: Rng::new(index, worker),
        })
    }

    fn document(&mut self, number: i64) -> Document {
        let text = FILLER.repeat(HALF / FILLER.len());
        doc! { "_id": key(number), "n": number, "text": text, "noise": self.noise() }
    }

    fn noise(&mut self) -> Bson {
        let bytes = (0..HALF / 8)
            .flat_map(|_| self.rng.next_u64().to_le_bytes())
            .collect();
        Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes,
        })
    }

    /// One of the mix; whether it did what it should have done.
    fn operation(&mut self, insert_only: bool, keys: &Keys) -> Result<bool, Fault> {
        let at = if insert_only { 50 } else { self.rng.below(100) };
        if (40..70).contains(&at) {
            let fresh = self.document(keys.tail.fetch_add(1, Ordering::Relaxed));
            return Ok(self.n("insert", doc! { "documents": [fresh] })? == 1);
        }
        if at >= 90 {
            let q = doc! { "_id": key(keys.head.fetch_add(1, Ordering::Relaxed)) };
            return Ok(self.n("delete", doc! { "deletes": [{ "q": q, "limit": 1 }] })? == 1);
        }
        let low = keys.head.load(Ordering::Relaxed) + MARGIN;
        let span = keys.tail.load(Ordering::Relaxed) - MARGIN - low;
        let chosen = low + i64::try_from(self.rng.below(u64::try_from(span.max(1))?))?;
        let filter = doc! { "_id": key(chosen) };
        if at < 40 {
            let answer = self.command(
                "find",
                doc! { "filter": filter, "limit": 1, "singleBatch": true },
            )?;
            let batch = answer
                .get_document("cursor")
                .and_then(|cursor| cursor.get_array("firstBatch"));
            return Ok(batch.is_ok_and(|batch| batch.len() == 1));
        }
        let u = doc! { "$set": { "noise": self.noise() }, "$inc": { "n": 1 } };
        Ok(self.n("update", doc! { "updates": [{ "q": filter, "u": u }] })? == 1)
    }

    /// A write; how many documents it changed, 0 if it failed.
    fn n(&mut self, name: &str, fields: Document) -> Result<i32, Fault> {
        let answer = self.command(name, fields)?;
        let failed = answer.get_f64("ok").ok() != Some(1.0) || answer.contains_key("writeErrors");
        Ok(if failed { 0 } else { answer.get_i32("n")? })
    }

    fn command(&mut self, name: &str, fields: Document) -> Result<Document, Fault> {
        let mut command = doc! { name: "documents" };
        command.extend(fields);
        command.insert("$db", self.database.as_str());
        let body = command.to_vec()?;
        self.request += 1;
        let mut message = Vec::with_capacity(HEAD + body.len());
        for number in [
            i32::try_from(HEAD + body.len())?,
            self.request,
            0,
            OP_MSG,
            0,
        ] {
            message.extend_from_slice(&number.to_le_bytes());
        }
        message.push(0);
        message.extend_from_slice(&body);
        self.stream.write_all(&message)?;
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head)?;
        let length = head
            .first_chunk()
            .map_or(0, |four| i32::from_le_bytes(*four));
        let rest = usize::try_from(length)?
            .checked_sub(HEAD)
            .ok_or("a short answer")?;
        let mut body = vec![0; rest];
        self.stream.read_exact(&mut body)?;
        Ok(Document::from_reader(body.as_slice())?)
    }
}

fn key(number: i64) -> String {
    format!("k{number:012}")
}

/// One database's figures as JSON.
fn row(index: usize, workers: Vec<JoinHandle<Result<Measured, Fault>>>) -> Result<String, Fault> {
    let (mut latencies, mut failures) = (Vec::new(), 0);
    for worker in workers {
        let measured = worker.join().map_err(|_| "a worker panicked")??;
        latencies.extend(measured.latencies);
        failures += measured.failures;
    }
    latencies.sort_unstable();
    let at = |percent: usize| {
        let found = latencies.get(latencies.len() * percent / 100);
        found.map_or(0.0, |nanos| *nanos as f64 / 1e6)
    };
    let (operations, p50, p95, p99) = (latencies.len(), at(50), at(95), at(99));
    Ok(format!(
        "{{\"database\":{index},\"operations\":{operations},\"failures\":{failures},\
         \"p50_ms\":{p50},\"p95_ms\":{p95},\"p99_ms\":{p99}}}"
    ))
}

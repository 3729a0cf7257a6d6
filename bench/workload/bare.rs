//! The bare official driver in a loop, with the mix and the documents of a workload: what an operation costs without plimsoll.
//!
//! `bare STORE DATABASES WORKERS SECONDS` prints operations and processor time; `bench/workload/run.sh` holds plimsoll against it.
//! With `BARE_ALONE=1` the load is on the only thread of the process.

#![expect(clippy::print_stdout, reason = "its one line is what it is for")]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, RawDocumentBuf, doc};
use mongodb::options::ClientOptions;
use mongodb::{Client, Collection};
use plimsoll_base::clock::{Clock, thread_run_time};
use plimsoll_base::random::Rng;
use tokio::task::LocalSet;

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// As a workload's default.
const PAYLOAD_BYTES: usize = 1024 - 46;
const DOCUMENTS: i64 = 100;

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [store, databases, workers, seconds] = words.as_slice() else {
        return Err("bare STORE DATABASES WORKERS SECONDS".into());
    };
    let (databases, workers): (u32, u32) = (databases.parse()?, workers.parse()?);
    let seconds: u64 = seconds.parse()?;
    if std::env::var_os("BARE_ALONE").is_some() {
        return load(store, databases, workers, seconds);
    }
    // In a process with one thread glibc's allocator takes no locks, which saves a twentieth of what the driver costs. No client
    // that has several threads is spared them.
    let store = store.clone();
    let loader = std::thread::spawn(move || load(&store, databases, workers, seconds));
    loader.join().map_err(|_| "the load ended in a panic")?
}

fn load(store: &str, databases: u32, workers: u32, seconds: u64) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let sessions = LocalSet::new();
    let (count, failed) = (Rc::new(Cell::new(0_u64)), Rc::new(Cell::new(0_u64)));
    let mut clients = Vec::new();
    for database in 0..databases {
        let opened = runtime.block_on(open(store, database, workers));
        let (client, documents) = opened?;
        clients.push(client);
        for worker in 0..workers {
            let first = i64::from(worker) << 32;
            runtime.block_on(fill(&documents, first))?;
            let number = u64::from(database * workers + worker);
            let session = session(
                documents.clone(),
                first,
                Rng::new(7, number),
                (count.clone(), failed.clone()),
            );
            sessions.spawn_local(session);
        }
    }
    let (clock, before) = (Clock::start(), thread_run_time());
    runtime.block_on(
        sessions.run_until(async { tokio::time::sleep(Duration::from_secs(seconds)).await }),
    );
    let spent = thread_run_time() - before;
    let took = clock.now().as_secs_f64();
    let operations = count.get();
    println!(
        "{operations} operations in {took:.2} s, {} failed, {:.2} us of processor time each",
        failed.get(),
        spent.as_secs_f64() * 1e6 / operations.max(1) as f64
    );
    // They hold every connection of the pools.
    drop(sessions);
    for (client, database) in clients.iter().zip(0..databases) {
        runtime.block_on(client.database(&name(database)).drop().into_future())?;
    }
    Ok(())
}

fn name(database: u32) -> String {
    format!("plimsoll_bare_{database}")
}

async fn open(
    store: &str,
    database: u32,
    workers: u32,
) -> Result<(Client, Collection<RawDocumentBuf>), Failed> {
    let mut options = ClientOptions::parse(store).await?;
    options.max_pool_size = Some(workers);
    options.min_pool_size = Some(workers);
    let client = Client::with_options(options)?;
    let found = client.database(&name(database));
    found.drop().await?;
    client.warm_connection_pool().await;
    Ok((client.clone(), found.collection("documents")))
}

fn document(key: i64, payload: &[u8]) -> Result<RawDocumentBuf, Failed> {
    let payload = Bson::Binary(Binary {
        subtype: BinarySubtype::Generic,
        bytes: payload.to_vec(),
    });
    Ok(RawDocumentBuf::try_from(
        &doc! { "_id": key, "n": 0_i64, "p": payload },
    )?)
}

fn noise() -> Vec<u8> {
    let mut rng = Rng::new(1, 0);
    (0..PAYLOAD_BYTES.div_ceil(8))
        .flat_map(|_| rng.next_u64().to_le_bytes())
        .take(PAYLOAD_BYTES)
        .collect()
}

async fn fill(documents: &Collection<RawDocumentBuf>, first: i64) -> Result<(), Failed> {
    let noise = noise();
    let all: Result<Vec<_>, _> = (first..first + DOCUMENTS)
        .map(|key| document(key, &noise))
        .collect();
    documents.insert_many(all?).await?;
    Ok(())
}

/// Reads, inserts, updates and deletes documents of its own, 40, 30, 20 and 10 of a hundred.
async fn session(
    documents: Collection<RawDocumentBuf>,
    first: i64,
    mut rng: Rng,
    (count, failed): (Rc<Cell<u64>>, Rc<Cell<u64>>),
) {
    let noise = noise();
    let (mut oldest, mut next) = (first, first + DOCUMENTS);
    loop {
        let key = oldest + rng.below((next - oldest) as u64).cast_signed();
        let is_fine = match rng.below(100) {
            0..40 => documents
                .find_one(doc! { "_id": key })
                .await
                .is_ok_and(|found| found.is_some()),
            40..70 => {
                next += 1;
                match document(next - 1, &noise) {
                    Ok(document) => documents.insert_one(document).await.is_ok(),
                    Err(_) => false,
                }
            }
            70..90 => {
                let payload = Bson::Binary(Binary {
                    subtype: BinarySubtype::Generic,
                    bytes: noise.clone(),
                });
                let change = doc! { "$inc": { "n": 1_i64 }, "$set": { "p": payload } };
                documents
                    .update_one(doc! { "_id": key }, change)
                    .await
                    .is_ok_and(|it| it.matched_count == 1)
            }
            _ => {
                oldest += 1;
                documents
                    .delete_one(doc! { "_id": oldest - 1 })
                    .await
                    .is_ok_and(|it| it.deleted_count == 1)
            }
        };
        count.set(count.get() + 1);
        failed.set(failed.get() + u64::from(!is_fine));
    }
}

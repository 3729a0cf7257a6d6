//! What the everyday commands cost without sockets: CPU nanoseconds per command of one shard, the commit of a batch of 30
//! shown apart. Run with `cargo run --release -p plimsoll-docdb --example point_operations`.

#![expect(
    clippy::print_stdout,
    clippy::cast_possible_wrap,
    clippy::needless_pass_by_value,
    reason = "its output is what it is for; its numbers are small"
)]

use std::error::Error;
use std::path::PathBuf;

use bson::oid::ObjectId;
use bson::{RawDocumentBuf, rawdoc};
use plimsoll_base::clock::{Clock, thread_run_time};
use plimsoll_docdb::internals::shard::{Shard, ShardOptions};
use plimsoll_docdb::internals::{Backend, Context, Request, Step};

/// Few enough to stay in memory: the cost of the commands shows, not that of reading table files.
const DOCUMENTS: usize = 8000;
const BATCH: usize = 30;

struct Bench {
    shard: Shard,

    context: Context,
}

/// A document of about 1 KB with nine fields.
fn document(id: ObjectId, number: usize) -> RawDocumentBuf {
    let text = "x".repeat(150);
    let t = text.as_str();
    rawdoc! {
        "_id": id, "number": number as i32, "group": (number % 100) as i32, "a": t, "b": t, "c": t, "d": t, "e": t, "f": t,
    }
}

impl Bench {
    /// Runs prepared commands in batches; prints nanoseconds per command and per commit.
    fn measure(&mut self, name: &str, commands: Vec<Request>) -> Result<(), Box<dyn Error>> {
        let (mut running, mut committing) = (0, 0);
        let count = commands.len();
        for batch in commands.chunks(BATCH) {
            let begun = thread_run_time().0;
            for request in batch {
                let step = self.shard.begin(request, &self.context);
                let Step::Done(reply) = step else {
                    return Err("a point operation gave way".into());
                };
                let failed = reply.get("writeErrors")?.is_some();
                if failed || reply.get_f64("ok")? < 1.0 {
                    return Err(format!("{name} failed: {reply:?}").into());
                }
            }
            let done = thread_run_time().0;
            self.shard.commit()?;
            running += done - begun;
            committing += thread_run_time().0 - done;
        }
        let per = |total: u64| total / count as u64;
        println!(
            "{name:24} {:6} ns, commit {:6} ns",
            per(running),
            per(committing)
        );
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory: PathBuf = std::env::temp_dir().join(format!("docdb-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let clock = Clock::start();
    let context = Context {
        now: bson::DateTime::from_millis(1_700_000_000_000),
        session: None,
    };
    let shard = Shard::open(&directory, &ShardOptions::default(), clock)?;
    let mut bench = Bench { shard, context };
    let outcome = everything(&mut bench);
    drop(bench);
    std::fs::remove_dir_all(&directory)?;
    outcome
}

fn everything(bench: &mut Bench) -> Result<(), Box<dyn Error>> {
    for indexed in [false, true] {
        println!(
            "{}",
            if indexed {
                "with an index on number"
            } else {
                "without further indexes"
            }
        );
        round(bench, if indexed { "indexed" } else { "plain" }, indexed)?;
    }
    Ok(())
}

fn round(bench: &mut Bench, name: &str, indexed: bool) -> Result<(), Box<dyn Error>> {
    let ids: Vec<ObjectId> = (0..DOCUMENTS).map(|_| ObjectId::new()).collect();
    // A fixed stride visits every document once in an order of its own.
    let shuffled: Vec<ObjectId> = (0..DOCUMENTS)
        .map(|at| ids[at * 7919 % DOCUMENTS])
        .collect();
    if indexed {
        let command = rawdoc! { "createIndexes": name, "indexes": [{ "key": { "number": 1 }, "name": "number_1" }], "$db": "db" };
        bench.measure("createIndexes", vec![Request::from_document(&command)])?;
    }
    let each = |ids: &[ObjectId], command: &dyn Fn(ObjectId, usize) -> RawDocumentBuf| {
        let commands = ids.iter().enumerate();
        commands
            .map(|(at, id)| Request::from_document(&command(*id, at)))
            .collect::<Vec<_>>()
    };
    let insert = |id, at| rawdoc! { "insert": name, "documents": [document(id, at)], "$db": "db" };
    bench.measure("insert", each(&ids, &insert))?;
    let find = |id, _| rawdoc! { "find": name, "filter": { "_id": id }, "limit": 1, "singleBatch": true, "$db": "db" };
    bench.measure("find by _id", each(&shuffled, &find))?;
    let set = |id, at: usize| {
        rawdoc! { "update": name, "updates": [{ "q": { "_id": id }, "u": { "$set": { "group": at as i32 } } }], "$db": "db" }
    };
    bench.measure("update $set by _id", each(&shuffled, &set))?;
    let inc = |id, _| rawdoc! { "update": name, "updates": [{ "q": { "_id": id }, "u": { "$inc": { "number": 1 } } }], "$db": "db" };
    bench.measure("update $inc by _id", each(&shuffled, &inc))?;
    if indexed {
        let find = |_, at: usize| rawdoc! { "find": name, "filter": { "number": (at * 7 % DOCUMENTS) as i32 }, "$db": "db" };
        bench.measure("find by number", each(&shuffled, &find))?;
    }
    let delete = |id, _| rawdoc! { "delete": name, "deletes": [{ "q": { "_id": id }, "limit": 1 }], "$db": "db" };
    bench.measure("delete by _id", each(&shuffled, &delete))
}

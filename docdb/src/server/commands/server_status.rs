//! `serverStatus`: the counters, for a person or a monitoring tool; Prometheus reads `/metrics`.

use std::sync::atomic::Ordering;

use bson::{Document, doc};

use super::{VERSION, int};
use crate::error::Result;
use crate::metrics::Snapshot;
use crate::scheduler::wall_time;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(shared: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    let seconds = shared.clock.now().0 / 1_000_000_000;
    let open = int(shared.connections.load(Ordering::Relaxed));
    let made = shared.connections_made.load(Ordering::Relaxed);
    let counts = shared.counts();
    Ok(doc! {
        "host": rustix::system::uname().nodename().to_string_lossy().into_owned(),
        "version": VERSION,
        "process": "plimsoll docdb",
        "pid": i64::from(std::process::id()),
        "uptime": seconds as f64,
        "uptimeMillis": (shared.clock.now().0 / 1_000_000).cast_signed(),
        "localTime": wall_time(),
        "connections": { "current": open, "available": int(shared.config.connections).saturating_sub(open), "totalCreated": made },
        "storageEngine": { "name": "docdb", "persistent": true, "readOnly": false },
        "docdb": docdb(shared, &counts),
    })
}

fn docdb(shared: &Shared, counts: &Snapshot) -> Document {
    let databases: Document = counts
        .databases
        .iter()
        .map(|(name, one)| {
            let row = doc! {
                "succeeded": one.succeeded.count().cast_signed(),
                "failed": one.failed.count().cast_signed(),
                "refused": one.refused.cast_signed(),
                "queued": one.depth.cast_signed(),
            };
            (name.clone(), row.into())
        })
        .collect();
    doc! {
        "durability": shared.config.durability.to_string(),
        "scheduler": shared.config.scheduler.name(),
        "fsyncs": counts.fsyncs.count().cast_signed(),
        "commits": counts.commits.count().cast_signed(),
        "failedCommits": counts.failed_commits.cast_signed(),
        "journalBytes": counts.journal_bytes.cast_signed(),
        "databases": databases,
    }
}

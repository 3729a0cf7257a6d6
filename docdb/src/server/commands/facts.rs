//! What the server says of itself: version, options, parameters, host, counters.

use std::sync::atomic::Ordering;

use bson::{Bson, Document, doc};

use super::{VERSION, VERSION_PARTS, int, subject};
use crate::error::{Code, Result};
use crate::metrics::Snapshot;
use crate::scheduler::wall_time;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::{DOCUMENT_BYTES_MAX, Request};

/// `buildInfo`: the release that is followed, and what this server really is.
pub(crate) fn build_info(_: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    Ok(doc! {
        "version": VERSION,
        "versionArray": VERSION_PARTS.to_vec(),
        "gitVersion": "plimsoll",
        "modules": [],
        "docdb": { "version": env!("CARGO_PKG_VERSION") },
        "bits": 64,
        "debug": cfg!(debug_assertions),
        "maxBsonObjectSize": int(DOCUMENT_BYTES_MAX),
        "storageEngines": ["docdb"],
    })
}

/// `getCmdLineOpts`: what the server was started with.
pub(crate) fn get_cmd_line_opts(shared: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    let config = &shared.config;
    Ok(doc! {
        "argv": ["plimsoll", "docdb"],
        "parsed": {
            "net": { "bindIp": config.listen.ip().to_string(), "port": i32::from(config.listen.port()) },
            "storage": { "dbPath": config.data.display().to_string(), "engine": "docdb", "durability": config.durability.to_string() },
            "security": { "authorization": if config.auth { "enabled" } else { "disabled" } },
            "scheduler": config.scheduler.name(),
        },
    })
}

/// `getLog`: warnings go to standard error, so there is nothing to return; mongosh asks at every start.
pub(crate) fn get_log(_: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    match subject(request)?.as_str() {
        "*" => Ok(doc! { "names": ["global", "startupWarnings"] }),
        "global" | "startupWarnings" => {
            Ok(doc! { "totalLinesWritten": 0, "log": Vec::<Bson>::new() })
        }
        other => Err(Code::OperationFailed.error(format!("No log named '{other}'"))),
    }
}

/// `getParameter`: the few parameters that tools ask for.
pub(crate) fn get_parameter(_: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    let known = doc! {
        "featureCompatibilityVersion": { "version": "7.0" },
        "authenticationMechanisms": ["SCRAM-SHA-256"],
    };
    let body = request.body();
    if matches!(body.get_str("getParameter"), Ok("*")) {
        return Ok(known);
    }
    let found: Document = known
        .into_iter()
        .filter(|(name, _)| matches!(body.get(name), Ok(Some(_))))
        .collect();
    if found.is_empty() {
        Err(Code::InvalidOptions.error("no option found to get"))
    } else {
        Ok(found)
    }
}

/// `hostInfo`: the machine, as far as it matters here.
pub(crate) fn host_info(_: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let system = rustix::system::uname();
    Ok(doc! {
        "system": {
            "currentTime": wall_time(),
            "hostname": system.nodename().to_string_lossy().into_owned(),
            "cpuAddrSize": 64,
            "numCores": int(cores),
            "cpuArch": std::env::consts::ARCH,
        },
        "os": { "type": "Linux", "name": "Linux", "version": system.release().to_string_lossy().into_owned() },
        "extra": {},
    })
}

/// `ping`: the server is there.
pub(crate) fn ping(_: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    Ok(Document::new())
}

/// `serverStatus`: the counters, for a person or a monitoring tool; Prometheus reads `/metrics`.
pub(crate) fn server_status(shared: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
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

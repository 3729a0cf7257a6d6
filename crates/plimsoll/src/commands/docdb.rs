//! `plimsoll docdb`: the document database, until a signal ends it.

use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use plimsoll_core::units::parse_duration;
use plimsoll_docdb::server::{Config, Durability, Scheduler, Server, ServerError};

use crate::args::DocdbArgs;
use crate::exit::{Exit, Failure};
use crate::machine::raise_descriptors;
use crate::session::interrupt_flag;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn execute(args: &DocdbArgs) -> Result<Exit> {
    let config = config(args)?;
    // A second signal ends the process at once, which loses nothing that was acknowledged as durable.
    let stop = interrupt_flag()?;
    // Fewer than asked for is no error: further clients are refused until some leave.
    let _descriptors = raise_descriptors();
    let label = config.durability.to_string();
    let server = Server::start(config)?;
    announce(args, &server, &label)?;
    while !stop.load(Ordering::Relaxed) && server.is_running() {
        std::thread::sleep(LOOK);
    }
    match server.stop() {
        Err(error @ ServerError::Died(_)) => {
            Err(Failure::new(Exit::InternalPanic, error.to_string()).into())
        }
        stopped => stopped.map(|()| Exit::Passed).map_err(Into::into),
    }
}

fn config(args: &DocdbArgs) -> Result<Config> {
    let Some(scheduler) = Scheduler::named(&args.scheduler) else {
        bail!(
            "--scheduler {}: not one of sharded, per-database, shared",
            args.scheduler
        );
    };
    if args.shards.is_some() && scheduler != Scheduler::Sharded {
        bail!("--shards belongs to --scheduler sharded; leave it out");
    }
    let slow_fsync = args
        .slow_fsync
        .as_deref()
        .map(|text| duration("--slow-fsync", text))
        .transpose()?;
    Ok(Config {
        listen: listen(&args.listen)?,
        unix: args.unix.clone(),
        data: args.data.clone(),
        durability: durability(&args.durability)?,
        scheduler,
        shards: args.shards.map(usize::from),
        auth: args.auth,
        queue: args.queue as usize,
        connections: args.connections as usize,
        cache_bytes: u64::from(args.cache) << 20,
        slow_fsync: slow_fsync.unwrap_or_default(),
        log: warn,
    })
}

fn listen(text: &str) -> Result<SocketAddr> {
    let mut found = text
        .to_socket_addrs()
        .with_context(|| format!("--listen {text}: write HOST:PORT, such as 127.0.0.1:27017"))?;
    found
        .next()
        .with_context(|| format!("--listen {text}: the name has no address"))
}

fn durability(text: &str) -> Result<Durability> {
    match text.split_once('=') {
        None if text == "always" => Ok(Durability::Always),
        Some(("interval", time)) => {
            let time = duration("--durability interval", time)?;
            if time < Duration::from_millis(1) {
                bail!("--durability {text}: the shortest interval is 1ms");
            }
            Ok(Durability::Interval(
                u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            ))
        }
        _ => bail!("--durability {text}: write always, or interval=50ms"),
    }
}

fn duration(flag: &str, text: &str) -> Result<Duration> {
    let time = parse_duration(text).with_context(|| flag.to_owned())?;
    Ok(Duration::from_nanos(time.0))
}

/// One line to connect with, on stdout so that a script can wait for it.
fn announce(args: &DocdbArgs, server: &Server, durability: &str) -> Result<()> {
    let address = server.address();
    let data = args.data.display();
    let mut out = std::io::stdout().lock();
    writeln!(out, "docdb: mongodb://{address}/?directConnection=true  (data in {data}, durability {durability})")
        .and_then(|()| out.flush())
        .context("write to stdout")
}

#[expect(clippy::print_stderr, reason = "warnings of a server go to stderr")]
fn warn(line: &str) {
    eprintln!("docdb: {line}");
}

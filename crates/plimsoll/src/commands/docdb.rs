//! `plimsoll docdb`: the document database, until a signal ends it.

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use plimsoll_docdb::server::{Config, Scheduler, Server, ServerError, TlsFiles};

use crate::args::DocdbArgs;
use crate::exit::{Exit, Failure};
use crate::machine::raise_descriptors;
use crate::session::interrupt_flag;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn execute(args: DocdbArgs) -> Result<Exit> {
    let DocdbArgs {
        config,
        tls_cert,
        tls_key,
    } = args;
    let tls = match (tls_cert, tls_key) {
        (None, None) => None,
        (None, Some(_)) => bail!("--tls-key needs --tls-cert, the certificate that the key is for"),
        (Some(certificate), key) => Some(TlsFiles {
            key: key.unwrap_or_else(|| certificate.clone()),
            certificate,
        }),
    };
    if config.shards.is_some() && config.scheduler != Scheduler::Sharded {
        bail!("--shards belongs to --scheduler sharded; leave it out");
    }
    let config = Config {
        log: warn,
        tls,
        ..config
    };
    // A second signal ends the process at once, which loses nothing that was acknowledged as durable.
    let stop = interrupt_flag()?;
    // Fewer than asked for is no error: further clients are refused until some leave.
    let _descriptors = raise_descriptors();
    let server = Server::start(config.clone())?;
    announce(&config, &server)?;
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

/// One line to connect with, on stdout so that a script can wait for it.
fn announce(config: &Config, server: &Server) -> Result<()> {
    let (address, durability) = (server.address(), config.durability);
    let data = config.data.display();
    let tls = if config.tls.is_some() {
        "&tls=true"
    } else {
        ""
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "docdb: mongodb://{address}/?directConnection=true{tls}  (data in {data}, durability {durability})")
        .and_then(|()| out.flush())
        .context("write to stdout")
}

#[expect(clippy::print_stderr, reason = "warnings of a server go to stderr")]
fn warn(line: &str) {
    eprintln!("docdb: {line}");
}

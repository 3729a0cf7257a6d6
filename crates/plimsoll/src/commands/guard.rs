//! `plimsoll guard`: a proxy that lets in what the service behind it can do, until a signal ends it.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use plimsoll_guard::{Config, Listening};

use crate::args::GuardArgs;
use crate::exit::Exit;
use crate::machine::raise_descriptors;

/// Descriptors for everything but connections of clients and those they need to the upstream.
const DESCRIPTORS_OURS: u64 = 64;

pub(crate) fn execute(args: &GuardArgs) -> Result<Exit> {
    let upstream = args
        .upstream
        .context("guard needs the service to protect: --upstream http://127.0.0.1:3000")?;
    let each = raise_descriptors().saturating_sub(DESCRIPTORS_OURS) / 2;
    let config = Config {
        listen: args
            .listen
            .unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080))),
        upstream,
        admin: args.admin,
        rule: args.rule,
        class_header: args.class_header.clone(),
        tenant_header: args.tenant_header.clone(),
        connections_max: each.clamp(1, 1 << 20) as usize,
        drain: args.drain,
    };
    plimsoll_guard::run(&config, |listening| announce(listening, upstream))?;
    Ok(Exit::Passed)
}

/// One line on stdout, so that a script can wait for it. Nobody may be reading: the guard works all the same.
fn announce(listening: Listening, upstream: SocketAddr) {
    let admin = listening
        .admin
        .map_or(String::new(), |admin| format!(", admin http://{admin}"));
    let mut out = std::io::stdout().lock();
    let line = writeln!(
        out,
        "guard: http://{} before http://{upstream}{admin}",
        listening.proxy
    );
    drop(line.and_then(|()| out.flush()));
}

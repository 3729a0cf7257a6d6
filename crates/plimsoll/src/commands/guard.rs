//! `plimsoll guard`: a proxy that lets in what the service behind it can do, until a signal ends it.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use plimsoll_guard::{AccessLogConfig, Certificate, Config, Dial, Listening, Place};

use crate::args::{GuardArgs, Service};
use crate::exit::Exit;
use crate::machine::raise_descriptors;
use crate::secrets::masked_url;

/// Descriptors for everything but connections of clients and those they need to the upstream.
const DESCRIPTORS_OURS: u64 = 64;

pub(crate) fn execute(args: &GuardArgs) -> Result<Exit> {
    let service = args
        .upstream
        .as_ref()
        .context("guard needs the service to protect: --upstream http://127.0.0.1:3000")?;
    let listen = SocketAddr::from(([127, 0, 0, 1], 8080));
    let each = raise_descriptors().saturating_sub(DESCRIPTORS_OURS) / 2;
    let config = Config {
        listen: args.listen.clone().unwrap_or(Place::Tcp(listen)),
        certificates: certificates(&args.tls_cert, &args.tls_key)?,
        http2: !args.no_http2,
        upstream: dial(service, args.upstream_ca.as_deref())?,
        admin: args.admin,
        rule: args.rule,
        class_header: args.class_header.clone(),
        tenant_header: args.tenant_header.clone(),
        connections_max: each.clamp(1, 1 << 20) as usize,
        drain: args.drain,
        stream_idle: args.stream_idle,
        access_log: args.access_log.clone().map(|to| AccessLogConfig {
            to,
            mask: masked_url,
        }),
    };
    plimsoll_guard::run(&config, |listening| announce(&listening, &config))?;
    Ok(Exit::Passed)
}

/// Keys belong to certificates by their order; without any, each file holds both.
fn certificates(chains: &[PathBuf], keys: &[PathBuf]) -> Result<Vec<Certificate>> {
    if !keys.is_empty() && keys.len() != chains.len() {
        bail!(
            "--tls-cert is given {} times and --tls-key {}: give a key for each certificate, in the same order, or none",
            chains.len(),
            keys.len()
        );
    }
    let certificate = |(index, chain): (usize, &PathBuf)| Certificate {
        chain: chain.clone(),
        key: keys.get(index).cloned(),
    };
    Ok(chains.iter().enumerate().map(certificate).collect())
}

fn dial(service: &Service, authorities: Option<&Path>) -> Result<Dial> {
    let Some(name) = &service.tls_name else {
        if authorities.is_some() {
            bail!("--upstream-ca is for an https upstream");
        }
        return Ok(Dial::plain(service.place.clone()));
    };
    let authorities = match authorities {
        None => String::new(),
        Some(path) => fs::read_to_string(path)
            .with_context(|| format!("cannot read --upstream-ca {}", path.display()))?,
    };
    Ok(Dial::secure(service.place.clone(), name, &authorities)?)
}

/// One line on stdout, so that a script can wait for it. Nobody may be reading: the guard works all the same.
fn announce(listening: &Listening, config: &Config) {
    let admin = listening
        .admin
        .map_or(String::new(), |admin| format!(", admin http://{admin}"));
    let scheme = match (&listening.proxy, config.certificates.is_empty()) {
        (_, false) => "https://",
        (Place::Tcp(_), true) => "http://",
        (Place::Unix(_), true) => "",
    };
    let mut out = std::io::stdout().lock();
    let line = writeln!(
        out,
        "guard: {scheme}{} before {}{admin}",
        listening.proxy, config.upstream
    );
    drop(line.and_then(|()| out.flush()));
}

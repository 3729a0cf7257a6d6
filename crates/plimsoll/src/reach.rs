//! Whether a target may be loaded and can be, said in words before any load is put on it.

use std::io::IsTerminal as _;
use std::net::SocketAddr;

use anyhow::{Result, bail};
use plimsoll_core::Outcome;
use plimsoll_core::test::{How, Over, Test};
use plimsoll_engine::preflight::preflight;

use crate::exit::{Exit, Failure};
use crate::output;
use crate::prepared::{Prepared, Subject};

/// One request of a URL must be answered, with any status. Where a script goes is known once it runs.
pub(crate) fn check(prepared: &Prepared, may_load_remote: bool) -> Result<()> {
    let Subject::Url(options) = &prepared.subject else {
        return Ok(());
    };
    let address = options.setup.address;
    ask_for_remote(&prepared.test, address, may_load_remote)?;
    let (_, url) = prepared.test.what.request_line();
    match preflight(options) {
        Ok(answer) => {
            if Outcome::from_status(answer.status).is_failure() {
                output::progress(&format!(
                    "plimsoll: {url} answers {}: every such answer counts as a failure",
                    answer.status
                ));
            }
            Ok(())
        }
        Err(failure) => {
            let fix = fix_of(failure.outcome, options.setup.tls.is_some());
            let message = format!("{url} ({address}): {}; {fix}", failure.reason);
            Err(Failure::new(Exit::Unreachable, message).into())
        }
    }
}

/// A target that is not on this host is searched only after a yes.
pub(crate) fn ask_for_remote(test: &Test, address: SocketAddr, may_load: bool) -> Result<()> {
    let How::Search { settings, .. } = &test.how else {
        return Ok(());
    };
    if may_load || address.ip().is_loopback() {
        return Ok(());
    }
    let most = match settings.over {
        Over::Rate {
            max_per_s: Some(rate),
            ..
        } => format!("{rate}/s"),
        Over::Rate { .. } => "as much as this generator can send".to_owned(),
        Over::Vus { .. } => format!("{} virtual users", test.generator.connections_max),
    };
    let question = format!(
        "{address} is not this host. The search may offer up to {most}, beyond what the target carries."
    );
    if !std::io::stdin().is_terminal() {
        bail!("{question} Say --yes if you may do that, and --max-rate to bound it");
    }
    output::progress(&format!("{question} Go on? [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    Err(Failure::new(Exit::Interrupted, "not started").into())
}

fn fix_of(outcome: Outcome, tls: bool) -> &'static str {
    match outcome {
        Outcome::Refused => "is the service running, and is the port right?",
        Outcome::ConnectTimeout => "is the address right, and does a firewall drop packets?",
        Outcome::Timeout => "try it with curl; a service that needs longer needs --timeout",
        Outcome::Tls => "is it an https port with a certificate you trust? -k accepts any",
        Outcome::Eof | Outcome::Reset if !tls => {
            "does it speak HTTP/1.1 on this port? an https port needs https://"
        }
        Outcome::Eof | Outcome::Reset => "look into the service's log",
        Outcome::Protocol => "does it speak HTTP/1.1 on this port?",
        Outcome::Dropped => "this host cannot open a connection; see plimsoll doctor",
        _ => "try it with curl",
    }
}

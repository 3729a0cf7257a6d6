//! Says in words why a target cannot be loaded, before any load is put on it.

use anyhow::Result;
use plimsoll_core::Outcome;
use plimsoll_core::plan::Plan;
use plimsoll_engine::Options;
use plimsoll_engine::preflight::preflight;

use crate::exit::{Exit, Failure};
use crate::output;

/// One request must be answered, with any status.
pub(crate) fn check(plan: &Plan, options: &Options) -> Result<()> {
    let url = &plan.request.url;
    match preflight(options) {
        Ok(answer) => {
            if Outcome::of_status(answer.status).is_failure() {
                output::progress(&format!(
                    "plimsoll: {url} answers {}: every such answer counts as a failure",
                    answer.status
                ));
            }
            Ok(())
        }
        Err(failure) => {
            let fix = fix_of(failure.outcome, options.setup.tls.is_some());
            let address = options.setup.address;
            let message = format!("{url} ({address}): {}; {fix}", failure.reason);
            Err(Failure::new(Exit::Unreachable, message).into())
        }
    }
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

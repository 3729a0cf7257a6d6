//! Whether a target may be loaded and can be, said in words before any load is put on it.

use std::io::IsTerminal as _;

use anyhow::{Result, bail};
use plimsoll_core::Outcome;
use plimsoll_core::secrets::masked_url;
use plimsoll_core::test::{How, Over, Test};
use plimsoll_engine::Options;
use plimsoll_engine::preflight::{Greeting, Preflight};
use plimsoll_net::{Culprit, Endpoint};

use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::measure::greet_store;
use crate::output;
use crate::prepared::{Prepared, Subject};
use crate::recipe::address_of_store;

/// What may be done before the load.
#[derive(Clone, Copy)]
pub(crate) struct Leave {
    /// A target on another host may be loaded without asking.
    pub(crate) may_load_remote: bool,
    /// One request may be sent.
    pub(crate) sends: bool,
}

impl Leave {
    /// The target has been loaded already, and is looked at again.
    pub(crate) const AGAIN: Self = Self {
        may_load_remote: true,
        sends: true,
    };

    pub(crate) const fn of(args: &Args) -> Self {
        Self {
            may_load_remote: args.yes,
            sends: !args.request.no_preflight,
        }
    }
}

/// One request of a URL must be answered, with any status, unless none is to be sent; a store must let us in. Where a script goes is known once it
/// runs.
pub(crate) fn check(prepared: &mut Prepared, leave: Leave) -> Result<()> {
    let Leave {
        may_load_remote,
        sends,
    } = leave;
    let options = match &mut prepared.subject {
        Subject::Url(options) => options,
        Subject::Workload(workload) => {
            if let Some(address) = address_of_store(&workload.store)
                && !address.ip().is_loopback()
            {
                ask_for(&prepared.test, &address.to_string(), may_load_remote)?;
            }
            return greet_store(workload);
        }
        Subject::Script(_) => return Ok(()),
    };
    for origin in &*options.origins {
        ask_for_remote(&prepared.test, &origin.endpoint, may_load_remote)?;
    }
    if !sends {
        return Ok(());
    }
    let (method, url) = prepared.test.what.request_line();
    let url = &*masked_url(url);
    let mut preflight = Preflight::new(options);
    loop {
        let sent = preflight.send(options);
        let greeting = sent.map_err(|failure| unreachable(url, options, &failure))?;
        prepared.greeting = Some(words(method, url, &greeting));
        // A place that a redirect leads to which is to be followed, and that no request of the test goes to.
        let Some(target) = greeting.unknown.clone() else {
            warn_of(url, options, &greeting);
            return Ok(());
        };
        let endpoint = options.resolve(target)?;
        ask_for_remote(&prepared.test, &endpoint, may_load_remote)?;
        options.add_place(endpoint)?;
    }
}

fn words(method: &str, url: &str, greeting: &Greeting) -> String {
    let leads = greeting.location.as_ref();
    let leads = leads.map_or(String::new(), |to| {
        format!(", leading to {}", masked_url(to))
    });
    let (status, time) = (greeting.answer.status, greeting.time);
    format!("{method} {url} answered {status}{leads} in {time}")
}

fn warn_of(url: &str, options: &Options, greeting: &Greeting) {
    let status = greeting.answer.status;
    match options.outcome(status) {
        Outcome::Http3xx => {
            let to = masked_url(greeting.location.as_deref().unwrap_or("nowhere"));
            output::progress(&format!(
                "plimsoll: {url} answers {status}, leading to {to}: such answers count as failures (http_3xx). \
                 --redirects 5 follows them; an objective with status={status} takes them as right"
            ));
        }
        outcome if outcome.is_failure() => output::progress(&format!(
            "plimsoll: {url} answers {status}: every such answer counts as a failure"
        )),
        _ => {}
    }
}

fn unreachable(url: &str, options: &Options, failure: &plimsoll_net::Failure) -> anyhow::Error {
    let endpoint = options.endpoint();
    let tls = endpoint.is_some_and(|endpoint| endpoint.target.tls);
    let at = endpoint.map(ToString::to_string).unwrap_or_default();
    let fix = match failure.culprit {
        Some(Culprit::Proxy) => {
            "may it lead there, and does it want a user, as in http://USER:PASSWORD@HOST:PORT? NO_PROXY goes around it"
        }
        Some(Culprit::OwnCertificate) => {
            "the server asks who you are: show a certificate that it trusts, with --cert and --key"
        }
        None => fix_of(failure.outcome, tls),
    };
    let message = format!("{url} ({at}): {}; {fix}", failure.reason);
    Failure::new(Exit::Unreachable, message).into()
}

/// A target that is not on this host is searched only after a yes.
fn ask_for_remote(test: &Test, endpoint: &Endpoint, may_load: bool) -> Result<()> {
    if endpoint.is_here() {
        return Ok(());
    }
    ask_for(test, &endpoint.to_string(), may_load)
}

/// The same for an address that a script went to.
pub(crate) fn ask_for(test: &Test, address: &str, may_load: bool) -> Result<()> {
    let How::Search { settings, .. } = &test.how else {
        return Ok(());
    };
    if may_load {
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
        Outcome::Tls => {
            "a plain port needs http://; a certificate of your own needs --cacert, and -k accepts any"
        }
        Outcome::Eof | Outcome::Reset if !tls => {
            "does it speak HTTP/1.1 on this port? an https port needs https://"
        }
        Outcome::Eof | Outcome::Reset => "look into the service's log",
        Outcome::Protocol => "does it speak HTTP/1.1 on this port?",
        Outcome::Dropped => "this host cannot open a connection; see plimsoll doctor",
        _ => "try it with curl",
    }
}

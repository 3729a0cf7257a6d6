//! `plimsoll guard`: a proxy that lets in what the service behind it can do, until a signal ends it.

use std::os::fd::OwnedFd;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use plimsoll_base::inherited;
use plimsoll_core::guarding::{self, StartFrom};
use plimsoll_core::secrets::masked_url;
use plimsoll_core::verdict::Bounds;
use plimsoll_guard::settings::{self, Flags, Settings, Shown};
use plimsoll_guard::{Config, Host, Listener, Listening, Place, Scheme};

use crate::args::GuardArgs;
use crate::exit::Exit;
use crate::machine::raise_descriptors;
use crate::{output, records};

/// Descriptors for everything but connections of clients and those they need to the upstream.
const DESCRIPTORS_OURS: u64 = 64;

pub(crate) fn execute(args: &GuardArgs) -> Result<Exit> {
    let each = raise_descriptors().saturating_sub(DESCRIPTORS_OURS) / 2;
    let mut flags = Flags {
        listen: args.listen.clone(),
        tls_cert: args.tls_cert.clone(),
        tls_key: args.tls_key.clone(),
        no_http2: args.no_http2,
        upstream_ca: args.upstream_ca.clone(),
        stream_idle: args.stream_idle,
        access_log: args.access_log.clone(),
        mask: Some(masked_url),
        upstreams: args.upstreams.clone(),
        admin: args.admin,
        rule: args.rule,
        class_header: args.class_header.clone(),
        tenant_header: args.tenant_header.clone(),
        shadow: args.shadow,
        drain: args.drain,
        measured: None,
        start: None,
        connections_most: each.clamp(1, 1 << 20) as usize,
    };
    if let Some(path) = &args.from {
        take_from(path, args.config.is_some(), &mut flags)?;
    }
    let settings = read(args.config.as_deref(), &flags)?;
    if args.check {
        plimsoll_guard::check(&settings.config)?;
        output::data(&table(&settings.shown));
        return Ok(Exit::Passed);
    }
    let mut told = Told {
        config: args.config.as_deref(),
        flags: &flags,
        before: before(&settings.config),
        listeners: settings.config.listeners.clone(),
        sockets: inherited::sockets()?,
    };
    plimsoll_guard::run(&settings.config, &mut told)?;
    Ok(Exit::Passed)
}

fn read(path: Option<&Path>, flags: &Flags) -> Result<Settings> {
    let Some(path) = path else {
        return Ok(settings::read(None, flags)?);
    };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("read the settings {shown}; docs/guard.md says what to write"))?;
    Ok(settings::read(Some((&shown, &text)), flags)?)
}

/// Begins where a search found the load line, and says what was taken from it.
fn take_from(path: &Path, has_file: bool, flags: &mut Flags) -> Result<()> {
    let record = records::read(path)?;
    let shown = path.display();
    let start = guarding::guard_start(&record).with_context(|| format!("--from {shown}"))?;
    let measured = guarding::upstream(&record);
    if flags.upstreams.is_empty() && !has_file && measured.is_none() {
        bail!(
            "--from {shown}: a script was measured, which says no service: name it with --upstream \
             http://127.0.0.1:3000"
        );
    }
    flags.measured = measured.map(|measured| (measured, shown.to_string()));
    flags.start = Some((start.limit, shown.to_string()));
    let at = match start.from {
        StartFrom::Knee => "at its knee",
        StartFrom::LoadLine => "at its load line",
    };
    let verdict = record.verdict.as_ref();
    output::progress(&format!(
        "guard: {shown} {}; the limit begins with the {:.0} requests in flight {at}, and moves on by itself",
        carried(
            verdict.and_then(|verdict| verdict.found.capacity()),
            start.load_line_per_s
        ),
        start.limit
    ));
    for advice in verdict.into_iter().flat_map(|verdict| &verdict.advice) {
        if advice.action.contains("timeout") {
            output::progress(&format!("guard: {}: {}", advice.action, advice.because));
        }
    }
    if let Some(slowest) = verdict.and_then(|verdict| verdict.response_time_ns.p99_9?.finite()) {
        output::progress(&format!(
            "guard: the slowest of a thousand answers took {slowest} there; clients that wait for less give up on work \
             that is done"
        ));
    }
    Ok(())
}

/// What a search says of the rate: only a claim was held.
fn carried(capacity: Option<Bounds>, load_line_per_s: f64) -> String {
    match capacity.and_then(|bounds| bounds.lower) {
        Some(_) => format!("held {load_line_per_s:.0}/s"),
        None => format!("held no load, and found the limit at about {load_line_per_s:.0}/s"),
    }
}

/// Every value, as wide as it needs to be.
fn table(shown: &[Shown]) -> String {
    let wide = |of: fn(&Shown) -> &str| shown.iter().map(|one| of(one).chars().count()).max();
    let key = wide(|one| &one.key).unwrap_or_default();
    let value = wide(|one| &one.value).unwrap_or_default().min(48);
    let line = |one: &Shown| format!("{:<key$}  {:<value$}  {}\n", one.key, one.value, one.origin);
    shown.iter().map(line).collect()
}

/// The services, for people.
fn before(config: &Config) -> String {
    let upstreams = config.groups.iter().flat_map(|group| &group.upstreams);
    let names: Vec<String> = upstreams
        .map(|origin| match origin.scheme {
            Scheme::Http => format!("http://{origin}"),
            Scheme::Https | Scheme::Unix => origin.to_string(),
        })
        .collect();
    names.join(", ")
}

/// How clients speak to a listener, which may be elsewhere than the settings say.
fn scheme(place: &Place, listener: &Listener) -> &'static str {
    match (place, listener.certificates.is_empty()) {
        (_, false) => "https://",
        (Place::Tcp(_), true) => "http://",
        (Place::Unix(_), true) => "",
    }
}

/// Reads the settings again when it is asked to, and tells people.
struct Told<'a> {
    config: Option<&'a Path>,
    flags: &'a Flags,
    before: String,
    listeners: Vec<Listener>,
    sockets: Vec<OwnedFd>,
}

impl Host for Told<'_> {
    fn sockets(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.sockets)
    }

    /// One line on stdout, so that a script can wait for it. Nobody may be reading: the guard works all the same.
    fn listens(&mut self, listening: &Listening) {
        let proxies: Vec<String> = listening
            .proxies
            .iter()
            .zip(&self.listeners)
            .map(|(proxy, listener)| format!("{}{proxy}", scheme(proxy, listener)))
            .collect();
        let admin = listening
            .admin
            .map_or(String::new(), |admin| format!(", admin http://{admin}"));
        let shadow = if self.flags.shadow {
            ", shadow: nobody is refused"
        } else {
            ""
        };
        output::data(&format!(
            "guard: {} before {}{admin}{shadow}\n",
            proxies.join(" and "),
            self.before
        ));
    }

    fn reload(&mut self) -> Result<Config, String> {
        let settings = read(self.config, self.flags).map_err(|error| format!("{error:#}"))?;
        Ok(settings.config)
    }

    fn says(&mut self, line: &str) {
        output::progress(&format!("guard: {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_held_is_not_called_held() {
        let found = |lower| {
            let bounds = Bounds {
                estimate: 118.4,
                lower,
                upper: Some(130.1),
            };
            carried(Some(bounds), 118.4)
        };
        assert_eq!(found(Some(118.4)), "held 118/s");
        let unheld = "held no load, and found the limit at about 118/s";
        assert_eq!(found(None), unheld);
        assert_eq!(carried(None, 118.4), unheld);
    }
}

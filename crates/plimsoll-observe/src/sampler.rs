//! Samples every tier at the caller's pace and turns what was read into observations.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use plimsoll_core::Nanos;
use plimsoll_core::record::{Observation, Seen};
use thiserror::Error;

use crate::batch::Batch;
use crate::discover::listeners;
use crate::host::HostCounters;
use crate::metrics::since as metrics_since;
use crate::neighbours::Neighbours;
use crate::nginx::{LOG_FORMAT, LogTail};
use crate::procfs::ProcFs;
use crate::scrape::{Answer, Scraper};
use crate::socket::traffic;
use crate::table::Sockets;
use crate::tier::{Roots, Tier};
use crate::waiting::Waits;
use crate::watch::{Subject, Watch};

/// The tier of the address that the load goes to, unless a watch on its port renames it.
pub(crate) const TARGET_TIER: &str = "target";
/// Tiers found by following connections end here; named ones are always sampled.
const TIERS_MAX: usize = 8;
const HOST_TIER: &str = "host";
/// A look at this many connections costs 2 ms (0.3 ms and 1.6 µs each, measured): a fiftieth of the time between two looks.
const CONNECTIONS_PER_LOOK: usize = 1_000;

/// Why something that was asked for cannot be watched.
#[derive(Debug, Error)]
pub enum ObserveError {
    #[error("process {0} does not exist; look up its number again, or use port:N or name:STR")]
    NoProcess(u32),
    #[error(
        "no process is named `{0}`; the name is the command's own (as in ps -o comm), not its arguments"
    )]
    NoName(String),
    #[error("nothing listens on local port {0}; start the tier first, or watch it by pid:N")]
    NoListener(u16),
    #[error("cannot follow the log {path}: {source}; its format needs the line {LOG_FORMAT}")]
    Log { path: String, source: io::Error },
    #[error("cannot start a thread for metrics: {0}")]
    Thread(io::Error),
}

struct Log {
    tier: String,
    tail: LogTail,
}

/// Reads all sources once per call. Differences are between two calls.
pub struct Sampler {
    proc: ProcFs,
    /// The port under test, where it is this host's.
    target: Option<u16>,
    tiers: Vec<Tier>,
    logs: Vec<Log>,
    scrapers: Vec<(String, Scraper)>,
    host: Option<HostCounters>,
    last: Nanos,
    neighbours: Neighbours,
    waits: Waits,
    /// Looks until the connections are looked at again.
    looks_to_skip: usize,
    /// By tier and subject, what was recorded as absent: each is once.
    absent: BTreeSet<(String, String)>,
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tiers: Vec<&str> = self.tiers.iter().map(Tier::name).collect();
        f.debug_struct("Sampler")
            .field("tiers", &tiers)
            .finish_non_exhaustive()
    }
}

impl Sampler {
    /// `target` is the address that the load goes to; only a local one is sampled.
    ///
    /// A watch that cannot be followed at all is an error; a target whose process is hidden is not,
    /// it becomes an `absent` observation that says how to name it.
    pub fn new(target: Option<SocketAddr>, watches: &[Watch]) -> Result<Self, ObserveError> {
        let proc = ProcFs::at("/proc");
        let mut sampler = Self {
            proc,
            target: None,
            tiers: Vec::new(),
            logs: Vec::new(),
            scrapers: Vec::new(),
            host: None,
            last: Nanos::ZERO,
            neighbours: Neighbours::default(),
            waits: Waits::default(),
            looks_to_skip: 0,
            absent: BTreeSet::new(),
        };
        let local = target.filter(|address| is_local(address.ip()));
        if let Some(address) = local {
            let port = address.port();
            sampler.target = Some(port);
            let renamed = watches
                .iter()
                .find(|watch| watch.subject == Subject::Port(port))
                .and_then(|watch| watch.tier.clone());
            let name = renamed.unwrap_or_else(|| TARGET_TIER.to_owned());
            sampler.tiers.push(Tier::new(name, Roots::Port(port)));
        }
        for watch in watches {
            sampler.add(watch)?;
        }
        for watch in watches {
            if let Subject::Pid(pid) = watch.subject {
                sampler
                    .tiers
                    .iter_mut()
                    .for_each(|tier| tier.leave_out(pid));
            }
        }
        Ok(sampler)
    }

    fn add(&mut self, watch: &Watch) -> Result<(), ObserveError> {
        let named = |default: String| watch.tier.clone().unwrap_or(default);
        match &watch.subject {
            Subject::Pid(pid) => {
                if self.proc.process_file(*pid, "stat").is_err() {
                    return Err(ObserveError::NoProcess(*pid));
                }
                let name = named(self.name_of_process(format!("pid-{pid}")));
                self.add_tier(name, Roots::Pid(*pid));
            }
            Subject::Port(port) => {
                let found = listeners(&self.proc, *port).unwrap_or_default();
                if found.sockets == 0 {
                    return Err(ObserveError::NoListener(*port));
                }
                self.add_tier(named(format!("port-{port}")), Roots::Port(*port));
            }
            Subject::Name(name) => {
                if crate::discover::named(&self.proc, name).is_empty() {
                    return Err(ObserveError::NoName(name.clone()));
                }
                let tier = named(self.name_of_process(name.clone()));
                self.add_tier(tier, Roots::Name(name.clone()));
            }
            Subject::NginxLog(path) => {
                let tail = LogTail::open_at_end(path).map_err(|source| ObserveError::Log {
                    path: path.display().to_string(),
                    source,
                })?;
                let tier = named(self.target_name());
                self.logs.push(Log { tier, tail });
            }
            Subject::Metrics(url) => {
                let tier = named(self.name_of_port(url.port));
                let scraper = Scraper::spawn(url.clone()).map_err(ObserveError::Thread)?;
                self.scrapers.push((tier, scraper));
            }
        }
        Ok(())
    }

    /// A name said twice is one tier; a port that is sampled already is not sampled again.
    fn add_tier(&mut self, name: String, roots: Roots) {
        if self.tiers.iter().any(|tier| tier.has(&roots)) {
            return;
        }
        match self.tiers.iter_mut().find(|tier| tier.name() == name) {
            Some(tier) => tier.add(roots),
            None => self.tiers.push(Tier::new(name, roots)),
        }
    }

    /// A local port that a tier calls is a tier too, also when nobody named it.
    fn add_behind(&mut self, port: u16) {
        if self.tiers.len() < TIERS_MAX {
            self.add_tier(format!("port-{port}"), Roots::Port(port));
        }
    }

    /// Logs and gauges without a tier of their own belong to what the load goes to.
    fn target_name(&self) -> String {
        let first = self.tiers.first().map(Tier::name);
        first.unwrap_or(TARGET_TIER).to_owned()
    }

    /// A process named without a tier is the target's where that could not be found by its port:
    /// this is what the `absent` observation tells to do.
    fn name_of_process(&self, own: String) -> String {
        match self.target {
            Some(port) if self.target_is_hidden(port) => self.target_name(),
            _ => own,
        }
    }

    fn target_is_hidden(&self, port: u16) -> bool {
        listeners(&self.proc, port).is_ok_and(|found| found.pids.is_empty())
    }

    fn name_of_port(&self, port: u16) -> String {
        let roots = Roots::Port(port);
        let tier = self.tiers.iter().find(|tier| tier.has(&roots));
        tier.map_or_else(|| self.target_name(), |tier| tier.name().to_owned())
    }

    /// Looks at what threads are doing and where requests wait; several looks per sample make the counts finer. Looks should
    /// not come in step with the load.
    pub fn look(&mut self) {
        for tier in &mut self.tiers {
            tier.look(&self.proc);
        }
        self.looks_to_skip = match self.looks_to_skip {
            0 if self.waits.is_needed() => self.look_at_connections(),
            skip => skip.saturating_sub(1),
        };
    }

    /// How many looks to leave out after this one.
    fn look_at_connections(&mut self) -> usize {
        // A kernel that does not tell: its listeners have no such figures, and what needs them says nothing.
        let Ok(connections) = traffic() else { return 0 };
        self.waits.look(&connections);
        connections.len() / CONNECTIONS_PER_LOOK
    }

    /// What happened since the last call, which was at `self.last`; the first call only sets the
    /// starting point. `now` counts from the start of the run and must not go back.
    pub fn sample(&mut self, now: Nanos) -> Vec<Observation> {
        self.look();
        let mut batch = Batch {
            at_ns: now,
            length_ns: now - self.last,
            is_first: self.host.is_none(),
            observations: Vec::new(),
            recorded_absent: std::mem::take(&mut self.absent),
        };
        self.last = now;
        self.sample_host(&mut batch);
        let cores = self.host.as_ref().map_or(1, HostCounters::cores).max(1);
        let sockets = Sockets::read(&self.proc);
        let mut behind = BTreeSet::new();
        for tier in &mut self.tiers {
            behind.extend(tier.sample(&self.proc, cores, &sockets, &self.waits, &mut batch));
        }
        self.waits.restart();
        let listening = self.tiers.iter().flat_map(Tier::listening);
        self.waits.follow(listening.collect());
        for port in behind {
            self.add_behind(port);
        }
        self.sample_logs(&mut batch);
        self.sample_metrics(&mut batch);
        self.absent = batch.recorded_absent;
        batch.observations
    }

    fn sample_host(&mut self, batch: &mut Batch) {
        let now = HostCounters::read(&self.proc);
        for (what, reason) in now.absent() {
            batch.absent(HOST_TIER, what, reason.to_owned());
        }
        if let Some(earlier) = &self.host {
            let seconds = batch.length_ns.as_secs_f64();
            let mut host = now.since(earlier, seconds);
            let tiers = self.tiers.iter().flat_map(Tier::pids);
            let known = tiers.chain([std::process::id()]).collect();
            host.neighbours = self.neighbours.sample(&self.proc, seconds, &known);
            batch.see(HOST_TIER, Seen::Host(host));
        }
        self.host = Some(now);
    }

    fn sample_logs(&mut self, batch: &mut Batch) {
        for log in &mut self.logs {
            match log.tail.read_new() {
                Ok((sample, unknown)) => {
                    if unknown > 0 {
                        let reason = format!("lines without timing fields; use {LOG_FORMAT}");
                        batch.absent(&log.tier, "log fields", reason);
                    }
                    batch.see(&log.tier, Seen::Proxy(sample));
                }
                Err(error) => batch.absent(&log.tier, "log", error.to_string()),
            }
        }
    }

    fn sample_metrics(&mut self, batch: &mut Batch) {
        for (tier, scraper) in &mut self.scrapers {
            match scraper.exchange() {
                Answer::Fresh(scrape) => {
                    if scrape.left_out_count > 0 {
                        let reason = format!("{} series more than are kept", scrape.left_out_count);
                        batch.absent(tier, "metrics series", reason);
                    }
                    if let Some((at, earlier)) = &scraper.earlier {
                        let length = batch.at_ns - *at;
                        let sample = metrics_since(&scrape, earlier);
                        batch.see_over(length, tier, Seen::Metrics(sample));
                    }
                    scraper.earlier = Some((batch.at_ns, scrape));
                }
                Answer::Failed(reason) => batch.absent(tier, "metrics", reason),
                Answer::Pending if batch.is_first => {}
                Answer::Pending => {
                    let reason = format!("{} had not answered after an interval", scraper.url);
                    batch.absent(tier, "metrics in time", reason);
                }
            }
        }
    }
}

/// An address is this host's own exactly if a socket can be bound to it.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests;

//! The test of a workload: what is left open follows from where the store is, and how many databases there are.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::{NonZeroU32, NonZeroU64};

use anyhow::{Result, bail};
use plimsoll_control::search::{Config, Search};
use plimsoll_core::test::{Generator, How, Load, Test, Until, What, Workload};
use plimsoll_core::{Nanos, Objectives};

use super::load::LoadPlan;
use super::url::within_descriptors;
use crate::machine;
use crate::prepared::{Prepared, Subject};

#[derive(Clone)]
pub(crate) struct WorkloadTest {
    pub(crate) workload: Workload,
    pub(crate) load: LoadPlan,
    pub(crate) threads: Option<NonZeroU32>,
    /// Said by the file.
    pub(crate) seed: Option<u64>,
}

/// Connections that a driver opens beside those of its pool, to watch the server.
const WATCHING: u32 = 1;

/// Whether this host may open so many connections.
pub(crate) fn check_descriptors(workload: &Workload) -> Result<(), String> {
    let databases = workload.databases.len() as u32;
    let all = workload.connections.get().saturating_add(WATCHING);
    let all = NonZeroU32::new(all.saturating_mul(databases)).unwrap_or(NonZeroU32::MIN);
    let available = within_descriptors(all);
    available.map(drop).map_err(|available| {
        format!(
            "{} connections for each of {databases} databases need {all} open files with those that watch the server, and the \
             limit is {available}; raise it with ulimit -n, or give fewer",
            workload.connections
        )
    })
}

/// Where the store is, as far as it is one address.
pub(crate) fn address(store: &str) -> Option<SocketAddr> {
    let hosts = plimsoll_workload::hosts(store);
    let [(host, port)] = hosts.as_slice() else {
        return None;
    };
    let mut found = (host.as_str(), *port).to_socket_addrs().ok()?;
    found.next()
}

impl WorkloadTest {
    pub(super) fn prepare(&self, seed: u64) -> Result<Prepared> {
        let workload = &self.workload;
        let status = self.load.objectives().and_then(Objectives::status);
        if let Some(status) = status {
            bail!(
                "the objective status={status} is for URLs and scripts: the answers of a workload have no status code; errors \
                 counts what its store refused"
            );
        }
        let (how, timeout) = self.load.how(Load::Closed {
            in_flight: workload.in_flight(),
        });
        let generator = Generator {
            connections_max: workload.connections_max(),
            workers: self.threads(),
            timeout,
            seed: self.seed.unwrap_or(seed),
            ..Generator::default()
        };
        let test = Test {
            what: What::Workload(Box::new(workload.clone())),
            how,
            generator,
        };
        // Refused now rather than after the self-check.
        if let Some(config) = Config::from_test(&test) {
            Search::new(config)?;
        }
        let subject = Subject::Workload(Box::new(workload.clone()));
        Ok(Prepared::new(test, subject))
    }

    /// The load itself for a while, without a look at what is stored.
    pub(super) fn warm_up(&self, seed: u64, time: Nanos) -> Result<Prepared> {
        let mut short = self.clone();
        short.workload.verify = false;
        short.load.last(time)?;
        short.prepare(seed)
    }

    /// So many operations of the load, and no longer than this.
    pub(super) fn few(&self, seed: u64, count: NonZeroU64, most: Nanos) -> Result<Prepared> {
        let mut prepared = self.warm_up(seed, most)?;
        if let How::Set { until, .. } = &mut prepared.test.how {
            *until = Some(Until::AttemptsCount(count));
        }
        Ok(prepared)
    }

    /// Half of the cores for a store on this host, so that it is not starved; else all. A database belongs to one thread.
    fn threads(&self) -> NonZeroU32 {
        let cores = machine::cores() as u32;
        let is_here = plimsoll_workload::hosts(&self.workload.store)
            .iter()
            .all(|(host, _)| is_loopback(host));
        let usual = NonZeroU32::new(if is_here { cores / 2 } else { cores });
        let databases = NonZeroU32::new(self.workload.databases.len() as u32);
        let databases = databases.unwrap_or(NonZeroU32::MIN);
        self.threads
            .or(usual)
            .unwrap_or(NonZeroU32::MIN)
            .min(databases)
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

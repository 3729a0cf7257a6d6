//! The test of a URL: what is left open follows from the load, and from where the URL leads.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use anyhow::{Result, bail};
use plimsoll_control::search::{Config, Search};
use plimsoll_core::Nanos;
use plimsoll_core::test::{Generator, How, Http, Load, Request, Test, Until, Url, Variation, What};
use plimsoll_engine::{Options, Places};
use plimsoll_net::Endpoint;

use super::load::LoadPlan;
use crate::machine;
use crate::prepared::{Prepared, Subject};

/// Connections of an open loop unless said otherwise. Below the 15,000 that one address pair carries well (half of the
/// default port range).
const OPEN_CONNECTIONS: u32 = 10_000;
const CLOSED_CONNECTIONS: u32 = 16;
/// Streams of a connection where in-flight follows from the load: what servers commonly allow.
const OPEN_STREAMS: u32 = 100;
/// In flight while a few requests are sent: far from a load test.
const FEW: u32 = 4;

#[derive(Clone)]
pub(crate) struct UrlTest {
    pub(crate) request: Request,
    pub(crate) variation: Variation,
    /// Where requests lead: resolved once for all runs.
    pub(crate) places: Places,
    /// Where every attempt is written by itself.
    pub(crate) csv: Option<PathBuf>,
    pub(crate) protocol: Protocol,
    pub(crate) load: LoadPlan,
    pub(crate) connections: Option<NonZeroU32>,
    pub(crate) workers: Option<NonZeroU32>,
    pub(crate) keepalive: bool,
    pub(crate) insecure: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Protocol {
    Http1,
    /// Unless said, as many streams as go well with the load.
    Http2 {
        streams: Option<NonZeroU32>,
    },
}

impl UrlTest {
    pub(super) fn prepare(&self, seed: u64) -> Result<Prepared> {
        let is_open = self.load.is_open();
        let http = self.http(is_open)?;
        let connections = self.connections(is_open)?;
        let (how, timeout) = self.load.how(closed(connections, http));
        let generator = Generator {
            connections_max: connections,
            workers: self.workers(connections),
            timeout,
            keepalive: self.keepalive,
            insecure: self.insecure,
            seed,
        };
        self.prepared(http, how, generator)
    }

    /// The load itself for a while.
    pub(super) fn warm_up(&self, seed: u64, time: Nanos) -> Result<Prepared> {
        let mut short = self.clone();
        short.csv = None;
        short.load.last(time)?;
        short.prepare(seed)
    }

    /// So many requests, a few at a time over one stream each.
    pub(super) fn few_requests(
        &self,
        seed: u64,
        count: NonZeroU64,
        most: Nanos,
    ) -> Result<Prepared> {
        let mut few = self.clone();
        few.csv = None;
        few.connections = NonZeroU32::new(FEW);
        few.workers = Some(NonZeroU32::MIN);
        if let Protocol::Http2 { streams } = &mut few.protocol {
            *streams = Some(NonZeroU32::MIN);
        }
        let timeout = few.load.timeout();
        few.load = LoadPlan::Set {
            rate: None,
            until: Until::after(most)?,
            timeout,
            objectives: None,
        };
        let mut prepared = few.prepare(seed)?;
        if let Subject::Url(options) = &mut prepared.subject {
            options.attempts_max = Some(count.get());
        }
        Ok(prepared)
    }

    fn prepared(&self, http: Http, how: How, generator: Generator) -> Result<Prepared> {
        let url = Url {
            request: self.request.clone(),
            http,
            variation: self.variation.clone(),
        };
        let attempts_max = match &how {
            How::Set { until, .. } => until.and_then(Until::attempts),
            How::Search { .. } => None,
        };
        let objectives = match &how {
            How::Set { objectives, .. } => objectives.as_ref(),
            How::Search { objectives, .. } => Some(objectives),
        };
        let mut options = Options::new(&url, &self.places, &generator, objectives)?;
        options.attempts_max = attempts_max;
        let test = Test {
            what: What::Url(url),
            how,
            generator,
        };
        // Refused now rather than after the self-check.
        if let Some(config) = Config::from_test(&test) {
            Search::new(config)?;
        }
        Ok(Prepared {
            csv: self.csv.clone(),
            ..Prepared::new(test, Subject::Url(Box::new(options)))
        })
    }

    /// A connection that carries one request and no other has one stream: with more, a closed loop would have more in flight
    /// than its connections carry.
    fn http(&self, is_open: bool) -> Result<Http> {
        let is_shared = is_open && self.keepalive;
        let usual = number(if is_shared { OPEN_STREAMS } else { 1 });
        Ok(match self.protocol {
            Protocol::Http1 => Http::One,
            Protocol::Http2 { streams } => {
                let streams = streams.unwrap_or(usual);
                if !self.keepalive && streams > NonZeroU32::MIN {
                    bail!(
                        "--streams {streams} needs connections that carry more than one request, and --no-keepalive \
                         makes a new one for each: leave one of the two out"
                    );
                }
                Http::Two { streams }
            }
        })
    }

    fn connections(&self, is_open: bool) -> Result<NonZeroU32> {
        match self.connections {
            Some(count) => connections_within(count),
            None if is_open => most_in_flight(None),
            None => connections_within(number(CLOSED_CONNECTIONS)),
        }
    }

    /// Half of the cores for a target on this host, so that it is not starved; else all.
    fn workers(&self, connections: NonZeroU32) -> NonZeroU32 {
        let cores = machine::cores() as u32;
        let is_here = self.places.endpoints.iter().all(Endpoint::is_here);
        let usual = number(if is_here { cores / 2 } else { cores });
        // A worker without a connection would only watch.
        self.workers.unwrap_or(usual).min(connections)
    }
}

fn closed(connections: NonZeroU32, http: Http) -> Load {
    let in_flight = match http {
        Http::One => connections,
        Http::Two { streams } => connections.saturating_mul(streams),
    };
    Load::Closed { in_flight }
}

/// Connections, or virtual users, that a load may take which is not set by them.
pub(crate) fn most_in_flight(said: Option<NonZeroU32>) -> Result<NonZeroU32> {
    if let Some(count) = said {
        return connections_within(count);
    }
    let available = machine::raise_descriptors().saturating_sub(RESERVED);
    Ok(number(available.min(OPEN_CONNECTIONS.into()) as u32))
}

/// Descriptors for files and the process itself.
const RESERVED: u64 = 64;

fn connections_within(connections: NonZeroU32) -> Result<NonZeroU32> {
    let Err(limit) = within_descriptors(connections) else {
        return Ok(connections);
    };
    bail!(
        "-c {connections} needs more open files than the limit of {limit} allows; raise it with ulimit -n"
    );
}

/// Every connection is a descriptor; else the limit.
pub(super) fn within_descriptors(connections: NonZeroU32) -> Result<NonZeroU32, u64> {
    let available = machine::raise_descriptors().saturating_sub(RESERVED);
    if u64::from(connections.get()) <= available {
        return Ok(connections);
    }
    Err(available + RESERVED)
}

/// The constants and clamped values here are never zero.
fn number(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests;

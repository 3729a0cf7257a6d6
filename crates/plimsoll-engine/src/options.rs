//! What the workers need to know of a plan, with names resolved and bytes encoded.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_core::plan::Plan;
use plimsoll_core::{Nanos, Objectives};
use plimsoll_net::connection::Setup;
use plimsoll_net::h1::{HeaderError, encode_request};
use plimsoll_net::h2::EncodedRequest;
use plimsoll_net::target::{Target, TargetError};
use plimsoll_net::tls::{self, Offer, TlsError};
use thiserror::Error;

use crate::shared::Streams;

/// Why a plan cannot be executed.
#[derive(Debug, Error)]
pub enum OptionsError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// One plan, ready to execute; cheap to clone for each worker.
#[derive(Debug, Clone)]
pub struct Options {
    pub setup: Setup,
    /// The request as HTTP/1.1 sends it.
    pub request: Arc<[u8]>,
    /// With HTTP/2, the request as that sends it.
    pub streams: Option<Streams>,
    pub keepalive: bool,
    /// Connections of all workers together.
    pub connections_max: u32,
    pub workers: u32,
    pub timeout: Nanos,
    /// Response-time bounds whose ok answers are counted exactly.
    pub bounds: Vec<Nanos>,
    pub seed: u64,
    /// Attempts of all levels together; `None` is without end.
    pub attempts_max: Option<u64>,
}

impl Options {
    /// Resolves the target's name and encodes the request.
    pub fn new(plan: &Plan, attempts_max: Option<u64>) -> Result<Self, OptionsError> {
        let target = Target::parse(&plan.request.url)?;
        let addresses = target.resolve()?;
        let address = preferred(&addresses);
        Self::with_address(plan, &target, address, attempts_max)
    }

    fn with_address(
        plan: &Plan,
        target: &Target,
        address: SocketAddr,
        attempts_max: Option<u64>,
    ) -> Result<Self, OptionsError> {
        let tls = if target.tls {
            let offer = if plan.streams_per_connection.is_some() {
                Offer::Both
            } else {
                Offer::Http1
            };
            Some((
                tls::client_config(plan.insecure, offer)?,
                tls::server_name(&target.host)?,
            ))
        } else {
            None
        };
        let streams = match plan.streams_per_connection {
            None => None,
            Some(most) => Some(Streams {
                request: Arc::new(EncodedRequest::new(&plan.request, target)?),
                per_connection: if plan.keepalive { most.get() } else { 1 },
            }),
        };
        let head_request = plan.request.method == "HEAD";
        Ok(Self {
            setup: Setup {
                address,
                tls,
                head_request,
            },
            request: encode_request(&plan.request, target, plan.keepalive)?.into(),
            streams,
            keepalive: plan.keepalive,
            connections_max: plan.connections_max.get(),
            workers: plan.workers.get(),
            timeout: plan.timeout_ns,
            bounds: plan
                .objectives
                .as_ref()
                .map(Objectives::bounds)
                .unwrap_or_default(),
            seed: plan.seed,
            attempts_max,
        })
    }
}

/// `localhost` often resolves to `::1` first while the service listens on 127.0.0.1 only: IPv4 first.
fn preferred(addresses: &[SocketAddr]) -> SocketAddr {
    let v4 = addresses.iter().find(|address| address.is_ipv4());
    *v4.or(addresses.first())
        .expect("resolve never returns an empty list")
}

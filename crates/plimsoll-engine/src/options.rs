//! What the workers need to know of the test of a URL, with its bytes encoded.

use std::sync::Arc;

use plimsoll_core::test::{Generator, Http, Url};
use plimsoll_core::{Nanos, Objectives};
use plimsoll_net::Setup;
use plimsoll_net::h1::{HeaderError, encode_request};
use plimsoll_net::h2::EncodedRequest;
use plimsoll_net::target::Endpoint;
use plimsoll_net::tls::{self, Offer, TlsError};
use thiserror::Error;

/// Why a URL cannot be loaded.
#[derive(Debug, Error)]
pub enum OptionsError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// How requests go over HTTP/2.
#[derive(Debug, Clone)]
pub struct Http2 {
    pub(crate) request: Arc<EncodedRequest>,
    /// On one connection at once, if the server allows so many.
    pub(crate) per_connection: u32,
}

/// One test, ready to execute; cheap to clone for each worker.
#[derive(Debug, Clone)]
pub struct Options {
    pub setup: Setup,
    /// The request as HTTP/1.1 sends it.
    pub request: Arc<[u8]>,
    /// With HTTP/2, the request as that sends it.
    pub http2: Option<Http2>,
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
    /// Encodes the request for the endpoint that its URL was resolved to.
    pub fn new(
        url: &Url,
        endpoint: &Endpoint,
        generator: &Generator,
        objectives: Option<&Objectives>,
    ) -> Result<Self, OptionsError> {
        let target = &endpoint.target;
        let (offer, http2) = match url.http {
            Http::One => (Offer::Http1, None),
            Http::Two { streams } => {
                let http2 = Http2 {
                    request: Arc::new(EncodedRequest::new(&url.request, target)?),
                    per_connection: if generator.keepalive {
                        streams.get()
                    } else {
                        1
                    },
                };
                (Offer::Both, Some(http2))
            }
        };
        Ok(Self {
            setup: Setup {
                address: endpoint.address,
                tls: tls::setup(target, generator.insecure, offer)?,
                head_request: url.request.method == "HEAD",
            },
            request: encode_request(&url.request, target, generator.keepalive)?.into(),
            http2,
            keepalive: generator.keepalive,
            connections_max: generator.connections_max.get(),
            workers: generator.workers.get(),
            timeout: generator.timeout,
            bounds: objectives.map(Objectives::bounds).unwrap_or_default(),
            seed: generator.seed,
            attempts_max: None,
        })
    }
}

//! What the workers need to know of the test of a URL, with its bytes encoded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use plimsoll_base::random::Rng;
use plimsoll_core::status::StatusSet;
use plimsoll_core::test::{Generator, Http, Request, RequestMix, Url};
use plimsoll_core::{Nanos, Objectives, Outcome};
use plimsoll_net::h1::{HeaderError, encode_request};
use plimsoll_net::h2::EncodedRequest;
use plimsoll_net::resolve::Ways;
use plimsoll_net::tls::{self, Offer, TlsChoice, TlsError};
use plimsoll_net::{Endpoint, Setup, Target, TargetError};
use thiserror::Error;

use crate::recorder::Listed;
use crate::source::Turn;
use crate::template::{Misplaced, Rows, Template};

/// Why a URL cannot be loaded.
#[derive(Debug, Error)]
pub enum OptionsError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Which request, then what.
    #[error("{0}: {1}")]
    Template(String, Misplaced),
}

/// How requests go over HTTP/2.
#[derive(Debug, Clone)]
pub struct Http2 {
    pub(crate) request: Arc<EncodedRequest>,
    /// On one connection at once, if the server allows so many.
    pub(crate) per_connection: u32,
}

/// A scheme, host and port that connections lead to.
#[derive(Debug, Clone)]
pub struct Origin {
    pub endpoint: Endpoint,
    /// One for each address: connections take them in turn.
    pub(crate) setups: Vec<Setup>,
}

/// One test, ready to execute; cheap to clone for each worker.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where requests go; that of the first request first.
    pub origins: Arc<[Origin]>,
    pub method: Arc<str>,
    /// The first request as HTTP/1.1 sends it.
    pub request: Arc<[u8]>,
    /// With HTTP/2, the first request as that sends it.
    pub http2: Option<Http2>,
    /// What requests are made of where they are not all the same, or redirects are followed.
    pub(crate) varied: Arc<Varied>,
    pub keepalive: bool,
    /// Connections of all workers together.
    pub connections_max: u32,
    pub workers: u32,
    pub timeout: Nanos,
    /// Response-time bounds whose ok answers are counted exactly.
    pub bounds: Vec<Nanos>,
    /// The codes of right answers, where the objectives name them.
    pub right: Option<StatusSet>,
    pub seed: u64,
    /// How TLS is spoken.
    tls: TlsChoice,
    /// How places are looked up that only an answer names.
    ways: Arc<Ways>,
    /// Attempts of all levels together; `None` is without end.
    pub attempts_max: Option<u64>,
    /// Every attempt is reported here by itself, too.
    pub listing: Option<Sender<Vec<Listed>>>,
    /// Refusals that said that a guard made them.
    pub(crate) guarded: Arc<AtomicU64>,
    /// Rows that the workers of a closed loop have taken together; none where a worker knows its next row by itself.
    rows_taken: Option<Arc<AtomicU64>>,
}

/// Where the requests of a URL go, and what fills their templates.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Of each request in turn, then those that redirects may lead to.
    pub endpoints: Vec<Endpoint>,
    pub tls: TlsChoice,
    pub rows: Option<Arc<Rows>>,
    /// By which the endpoints were found.
    ways: Arc<Ways>,
}

impl Places {
    /// Looks up where every request goes. Blocks; called once before a run.
    pub fn resolve(url: &Url, ways: &Ways) -> Result<Self, TargetError> {
        let mut endpoints: Vec<Endpoint> = Vec::new();
        for request in url.requests() {
            let target = Target::parse(&request.url)?;
            let is_same = |known: &&Endpoint| known.target.is_same_origin(&target);
            let known = endpoints.iter().find(is_same).cloned();
            endpoints.push(match known {
                None => ways.resolve(target)?,
                Some(known) => Endpoint {
                    target: known.target.with_path_of(&target),
                    ..known
                },
            });
        }
        Ok(Self {
            endpoints,
            ways: Arc::new(ways.clone()),
            ..Self::default()
        })
    }
}

/// Requests that take turns, or are drawn by their shares.
#[derive(Debug)]
pub(crate) struct Varied {
    pub(crate) makers: Vec<Maker>,
    pub(crate) mix: Option<RequestMix>,
    pub(crate) redirects_max: u32,
}

/// So that the draw of a request does not decide what its templates draw.
const OF_MIX: u64 = 0x6d69_7800;

impl Varied {
    /// What makes the request of that turn, and its place in the mix.
    pub(crate) fn maker(&self, turn: Turn, seed: u64) -> (u8, &Maker) {
        let Some(mix) = &self.mix else {
            let place = turn.place % self.makers.len() as u64;
            return (0, &self.makers[place as usize]);
        };
        let unit = Rng::new(seed ^ OF_MIX, turn.number).unit();
        let place = mix.draw(turn.since, unit).min(self.makers.len() - 1);
        (place as u8, &self.makers[place])
    }
}

/// What makes one of the requests.
#[derive(Debug)]
pub(crate) struct Maker {
    pub(crate) origin: u32,
    pub(crate) target: Arc<Target>,
    pub(crate) request: Arc<Request>,
    pub(crate) template: Option<Template>,
    /// Encoded once, without a template.
    pub(crate) wire: Wire,
}

/// A request as it goes over the wire.
#[derive(Debug, Clone)]
pub(crate) enum Wire {
    Http1(Arc<[u8]>),
    Http2(Arc<EncodedRequest>),
}

/// What the bytes of a request depend on beside what it says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    pub(crate) is_http2: bool,
    pub(crate) keepalive: bool,
}

impl Wire {
    pub(crate) fn encode(
        request: &Request,
        target: &Target,
        dialect: Dialect,
    ) -> Result<Self, HeaderError> {
        Ok(if dialect.is_http2 {
            Self::Http2(Arc::new(EncodedRequest::new(request, target)?))
        } else {
            Self::Http1(encode_request(request, target, dialect.keepalive)?.into())
        })
    }
}

impl Options {
    /// Encodes the requests for the endpoints that their URLs were resolved to.
    pub fn new(
        url: &Url,
        places: &Places,
        generator: &Generator,
        objectives: Option<&Objectives>,
    ) -> Result<Self, OptionsError> {
        let is_http2 = url.http != Http::One;
        let tls = TlsChoice {
            insecure: generator.insecure,
            offer: if is_http2 { Offer::Both } else { Offer::Http1 },
            ..places.tls.clone()
        };
        let dialect = Dialect {
            is_http2,
            keepalive: generator.keepalive,
        };
        let mut origins = Vec::new();
        for endpoint in &places.endpoints {
            let is_known = |known: &Origin| known.endpoint.target.is_same_origin(&endpoint.target);
            if !origins.iter().any(is_known) {
                origins.push(Origin::new(endpoint.clone(), &tls, &url.request.method)?);
            }
        }
        let makers = makers(url, places, &origins, dialect)?;
        let varied = Varied {
            redirects_max: url.variation.redirects_max,
            mix: url.variation.mix.clone(),
            makers,
        };
        let first = varied.makers.first().map(|maker| maker.wire.clone());
        let (request, http2) = match first {
            Some(Wire::Http1(bytes)) => (bytes, None),
            Some(Wire::Http2(request)) => {
                let per_connection = match url.http {
                    Http::Two { streams } if generator.keepalive => streams.get(),
                    _ => 1,
                };
                let http2 = Http2 {
                    request,
                    per_connection,
                };
                (Arc::default(), Some(http2))
            }
            None => (Arc::default(), None),
        };
        Ok(Self {
            method: url.request.method.as_str().into(),
            request,
            http2,
            varied: Arc::new(varied),
            origins: origins.into(),
            keepalive: generator.keepalive,
            connections_max: generator.connections_max.get(),
            workers: generator.workers.get(),
            timeout: generator.timeout,
            bounds: objectives.map(Objectives::bounds).unwrap_or_default(),
            right: objectives.and_then(Objectives::status).cloned(),
            seed: generator.seed,
            tls,
            ways: Arc::clone(&places.ways),
            attempts_max: None,
            listing: None,
            guarded: Arc::default(),
            rows_taken: None,
        })
    }

    /// For one run of its own.
    pub(crate) fn for_run(&self) -> Self {
        let mut templates = self
            .varied
            .makers
            .iter()
            .filter_map(|it| it.template.as_ref());
        let takes_turns = self.workers > 1 && templates.any(Template::has_rows);
        Self {
            rows_taken: takes_turns.then(Arc::default),
            ..self.clone()
        }
    }

    /// The row of an attempt, counted on over all rows. Workers of a closed loop are not equally fast, so by their numbers
    /// some rows would be sent more often than others; requests without rows never come here.
    pub(crate) fn row_of(&self, is_closed: bool, number: u64) -> u64 {
        match &self.rows_taken {
            Some(taken) if is_closed => taken.fetch_add(1, Ordering::Relaxed),
            _ => number,
        }
    }

    /// So many refusals came from a guard, by their own word; of HTTP/1.1 only.
    pub fn guarded_count(&self) -> u64 {
        self.guarded.load(Ordering::Relaxed)
    }

    /// What an answer of that code came to.
    #[inline]
    pub fn outcome(&self, status: u16) -> Outcome {
        outcome(self.right.as_ref(), status)
    }

    /// Looks up a place that no request of the test names, by the ways of those that one does. Blocks.
    pub fn resolve(&self, target: Target) -> Result<Endpoint, TargetError> {
        self.ways.resolve(target)
    }

    /// Redirects that lead there are followed, too.
    pub fn add_place(&mut self, endpoint: Endpoint) -> Result<(), TlsError> {
        let origin = Origin::new(endpoint, &self.tls, &self.method)?;
        self.origins = self.origins.iter().cloned().chain([origin]).collect();
        Ok(())
    }

    /// Attempts differ, or may go on elsewhere.
    pub(crate) fn varies(&self) -> bool {
        let Varied {
            makers,
            redirects_max,
            ..
        } = &*self.varied;
        let has_template = makers.iter().any(|maker| maker.template.is_some());
        *redirects_max > 0 || makers.len() > 1 || has_template
    }

    /// Where the first request goes.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.origins.first().map(|origin| &origin.endpoint)
    }
}

/// What an answer of that code comes to where the objective names the `right` ones.
#[inline]
pub(crate) fn outcome(right: Option<&StatusSet>, status: u16) -> Outcome {
    let usual = Outcome::from_status(status);
    match right {
        None => usual,
        Some(right) if right.contains(status) => Outcome::Ok,
        Some(_) if usual.is_failure() => usual,
        Some(_) => Outcome::CheckFailed,
    }
}

impl Origin {
    fn new(endpoint: Endpoint, tls: &TlsChoice, method: &str) -> Result<Self, TlsError> {
        let tls = tls::setup_of(&endpoint.target, tls)?;
        let setup = |address: &plimsoll_net::Address| Setup {
            address: address.clone(),
            tunnel: endpoint.tunnel.clone(),
            tls: tls.clone(),
            head_request: method == "HEAD",
        };
        Ok(Self {
            setups: endpoint.addresses.iter().map(setup).collect(),
            endpoint,
        })
    }
}

fn makers(
    url: &Url,
    places: &Places,
    origins: &[Origin],
    dialect: Dialect,
) -> Result<Vec<Maker>, OptionsError> {
    let mut makers = Vec::new();
    for (request, endpoint) in url.requests().zip(&places.endpoints) {
        let template = if url.variation.literal {
            None
        } else {
            Template::of(request, places.rows.as_ref()).map_err(|error| {
                let named = format!("{} {}", request.method, request.url);
                OptionsError::Template(named, error)
            })?
        };
        let target = Arc::new(endpoint.target.clone());
        let same = |origin: &Origin| origin.endpoint.target.is_same_origin(&target);
        let origin = origins.iter().position(same).unwrap_or_default();
        makers.push(Maker {
            origin: origin as u32,
            wire: Wire::encode(request, &target, dialect)?,
            request: Arc::new(request.clone()),
            template,
            target,
        });
    }
    Ok(makers)
}

//! What goes over the wire for one attempt: the same bytes every time, or bytes of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_base::random::Rng;
use plimsoll_core::test::Request;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::h1::{Head, Sink};
use plimsoll_net::{Connection, Failure, Progress, Target, h2};

use super::way::ORIGIN;
use crate::options::{Dialect, Options, Wire};
use crate::pool::Call;
use crate::source::{Arrival, Turn};
use crate::template::Filling;

/// A request of the load.
pub(crate) trait Shot: Call<Common = Options, Peer = (), Body = Arc<[u8]>> {
    fn new(arrival: Arrival, turn: Turn, options: &Options) -> Self;
    fn arrival(&self) -> Arrival;
    /// The place of its request among those of a mix.
    fn operation(&self) -> u8 {
        0
    }
    /// When its first byte was written first; none if it never was.
    fn sent(&self) -> Option<Nanos>;
    fn note_sent(&mut self, now: Nanos);
    /// It is written once more, to another connection; how often that has been.
    fn try_again(&mut self) -> u8;
    fn tries(&self) -> u8;
    fn origin(&self) -> u32 {
        ORIGIN
    }
    fn method<'a>(&'a self, options: &'a Options) -> &'a str {
        &options.method
    }
    /// Answered with that code and so many bytes: true if it goes on where the answer leads.
    fn follow(&mut self, _status: u16, _bytes: u64, _options: &Options) -> bool {
        false
    }
    /// Bytes of answers that led elsewhere.
    fn earlier_bytes(&self) -> u64 {
        0
    }
}

/// An attempt at the one request that is always the same; 32 bytes, and nothing of it on the heap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    arrival: Arrival,
    sent: Nanos,
    is_sent: bool,
    tries: u8,
}

const _: () = assert!(size_of::<Attempt>() <= 32, "it is copied for every request");

impl Shot for Attempt {
    #[inline]
    fn new(arrival: Arrival, _turn: Turn, _options: &Options) -> Self {
        Self {
            arrival,
            sent: Nanos::ZERO,
            is_sent: false,
            tries: 0,
        }
    }

    #[inline]
    fn arrival(&self) -> Arrival {
        self.arrival
    }

    #[inline]
    fn sent(&self) -> Option<Nanos> {
        self.is_sent.then_some(self.sent)
    }

    #[inline]
    fn note_sent(&mut self, now: Nanos) {
        if !self.is_sent {
            (self.sent, self.is_sent) = (now, true);
        }
    }

    fn try_again(&mut self) -> u8 {
        self.tries = self.tries.saturating_add(1);
        self.tries
    }

    #[inline]
    fn tries(&self) -> u8 {
        self.tries
    }
}

impl Call for Attempt {
    type Common = Options;
    type Peer = ();
    type Body = Arc<[u8]>;
    const IS_WATCHED: bool = false;

    fn deadline(&self, options: &Options) -> Nanos {
        self.arrival.intended + options.timeout
    }

    fn is_sent(&self) -> bool {
        true
    }

    #[inline]
    fn send(
        &mut self,
        options: &Options,
        connection: &mut Connection,
        _now: Nanos,
    ) -> Result<(), Failure> {
        connection.send(&options.request)
    }

    #[inline]
    fn ready(
        &mut self,
        options: &Options,
        connection: &mut Connection,
        hung_up: bool,
        scratch: &mut [u8],
    ) -> Progress {
        let mut guards = Guards(&options.guarded);
        connection.ready_into(&options.request, hung_up, scratch, &mut guards)
    }

    #[inline]
    fn start_stream(
        &mut self,
        options: &Options,
        connection: &mut h2::Connection,
        owner: u64,
        _now: Nanos,
    ) -> u32 {
        let http2 = options.http2.as_ref();
        let http2 = http2.expect("streams are started where the options have them");
        connection.start(&http2.request, owner)
    }
}

/// Counts the refusals of guards.
struct Guards<'a>(&'a AtomicU64);

impl Guards<'_> {
    /// A refusal is rare, or the load is beyond what anybody measures the generator by.
    #[cold]
    fn look(&self, head: &Head<'_, '_>) {
        let is_mark = |(name, _): (&str, &[u8])| name.eq_ignore_ascii_case("x-plimsoll");
        if head.lines().any(is_mark) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Sink for Guards<'_> {
    #[inline]
    fn head(&mut self, head: &Head<'_, '_>) {
        if Outcome::from_status(head.status) == Outcome::Shed {
            self.look(head);
        }
    }
}

/// An attempt with bytes of its own. In a box, because it moves between connections and lists.
#[derive(Debug, Clone)]
pub(crate) struct Crafted(Box<Craft>);

#[derive(Debug, Clone)]
struct Craft {
    arrival: Arrival,
    sent: Option<Nanos>,
    tries: u8,
    origin: u32,
    operation: u8,
    request: Arc<Request>,
    target: Arc<Target>,
    wire: Wire,
    /// Redirects that it has followed.
    followed: u32,
    earlier_bytes: u64,
    /// What the answer says of where to go.
    location: Location,
}

/// The first `Location` of an answer.
#[derive(Debug, Clone, Default)]
struct Location(Option<String>);

impl Location {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        if self.0.is_none() && name.eq_ignore_ascii_case(b"location") {
            self.0 = Some(String::from_utf8_lossy(value).into_owned());
        }
    }
}

/// What a crafted attempt looks for in the head of its answer.
struct Headers<'a>(&'a mut Location, Guards<'a>);

impl Sink for Headers<'_> {
    fn head(&mut self, head: &Head<'_, '_>) {
        self.1.head(head);
        if Outcome::from_status(head.status) == Outcome::Http3xx {
            head.lines()
                .for_each(|(name, value)| self.0.field(name.as_bytes(), value));
        }
    }
}

impl Shot for Crafted {
    fn new(arrival: Arrival, turn: Turn, options: &Options) -> Self {
        let number = turn.number;
        let (place, maker) = options.varied.maker(turn, options.seed);
        let mut craft = Craft {
            arrival,
            sent: None,
            tries: 0,
            origin: maker.origin,
            operation: place,
            request: Arc::clone(&maker.request),
            target: Arc::clone(&maker.target),
            wire: maker.wire.clone(),
            followed: 0,
            earlier_bytes: 0,
            location: Location::default(),
        };
        let row = options.row_of(arrival.closed, number);
        if let Some(template) = &maker.template {
            let rng = Rng::new(options.seed, number);
            let mut filling = Filling { number, row, rng };
            let request = template.fill(&maker.request.method, &mut filling);
            let mut target = (*maker.target).clone();
            target.set_path_of(&request.url);
            craft.carry(request, target, options);
        }
        Self(Box::new(craft))
    }

    fn arrival(&self) -> Arrival {
        self.0.arrival
    }

    fn operation(&self) -> u8 {
        self.0.operation
    }

    fn sent(&self) -> Option<Nanos> {
        self.0.sent
    }

    fn note_sent(&mut self, now: Nanos) {
        self.0.sent.get_or_insert(now);
    }

    fn try_again(&mut self) -> u8 {
        self.0.tries = self.0.tries.saturating_add(1);
        self.0.location.0 = None;
        self.0.tries
    }

    fn tries(&self) -> u8 {
        self.0.tries
    }

    fn origin(&self) -> u32 {
        self.0.origin
    }

    fn method<'a>(&'a self, _options: &'a Options) -> &'a str {
        &self.0.request.method
    }

    fn follow(&mut self, status: u16, bytes: u64, options: &Options) -> bool {
        let next = self.wants_to(status, options);
        let Some((next, origin)) = next.and_then(|next| known(&next, options)) else {
            return false;
        };
        self.0.location.0 = None;
        let request = redirected(&self.0.request, status, self.0.target.is_same_origin(&next));
        self.0.followed += 1;
        // Another request, which has not been tried yet.
        self.0.tries = 0;
        self.0.earlier_bytes += bytes;
        self.0.origin = origin;
        self.0.carry(request, next, options);
        true
    }

    fn earlier_bytes(&self) -> u64 {
        self.0.earlier_bytes
    }
}

impl Crafted {
    /// Where an answer of that code sends its client.
    pub(crate) fn leads_to(&self, status: u16) -> Option<Target> {
        let location = self.0.location.0.as_ref()?;
        let is_redirect = Outcome::from_status(status) == Outcome::Http3xx;
        self.0.target.follow(location).filter(|_| is_redirect)
    }

    /// The same, if it may follow one redirect more.
    pub(crate) fn wants_to(&self, status: u16, options: &Options) -> Option<Target> {
        let may_go = self.0.followed < options.varied.redirects_max;
        self.leads_to(status).filter(|_| may_go)
    }
}

/// The target as connections that are known lead to it. Names that nobody looked up before the run are not followed.
fn known(next: &Target, options: &Options) -> Option<(Target, u32)> {
    let mut origins = options.origins.iter();
    let place = origins.position(|origin| origin.endpoint.target.is_same_origin(next))?;
    let of = &options.origins.get(place)?.endpoint.target;
    Some((of.with_path_of(next), place as u32))
}

/// What is sent where an answer leads: as browsers and Go's client do it (RFC 9110, section 15.4).
fn redirected(request: &Request, status: u16, is_same_origin: bool) -> Request {
    let mut next = request.clone();
    let keeps = matches!(status, 307 | 308);
    if !keeps && next.method != "HEAD" {
        "GET".clone_into(&mut next.method);
    }
    if !keeps {
        next.body.clear();
        next.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
    if !is_same_origin {
        next.headers.retain(|(name, _)| {
            !["authorization", "cookie", "host"].contains(&&*name.to_ascii_lowercase())
        });
    }
    next
}

impl Craft {
    /// From now on this request, to this target. What was checked before the run can be encoded.
    fn carry(&mut self, request: Request, target: Target, options: &Options) {
        let dialect = Dialect {
            is_http2: options.http2.is_some(),
            keepalive: options.keepalive,
        };
        if let Ok(wire) = Wire::encode(&request, &target, dialect) {
            self.wire = wire;
        }
        (self.request, self.target) = (Arc::new(request), Arc::new(target));
    }

    fn http1(&self) -> &[u8] {
        match &self.wire {
            Wire::Http1(bytes) => bytes,
            Wire::Http2(_) => &[],
        }
    }
}

impl Call for Crafted {
    type Common = Options;
    type Peer = ();
    type Body = Arc<[u8]>;
    const IS_WATCHED: bool = true;

    fn deadline(&self, options: &Options) -> Nanos {
        self.0.arrival.intended + options.timeout
    }

    fn is_sent(&self) -> bool {
        true
    }

    fn send(
        &mut self,
        _options: &Options,
        connection: &mut Connection,
        _now: Nanos,
    ) -> Result<(), Failure> {
        connection.expect(self.0.request.method == "HEAD");
        connection.send(self.0.http1())
    }

    fn ready(
        &mut self,
        options: &Options,
        connection: &mut Connection,
        hung_up: bool,
        scratch: &mut [u8],
    ) -> Progress {
        let Craft { wire, location, .. } = &mut *self.0;
        let mut headers = Headers(location, Guards(&options.guarded));
        let bytes: &[u8] = match wire {
            Wire::Http1(bytes) => bytes,
            Wire::Http2(_) => &[],
        };
        connection.ready_into(bytes, hung_up, scratch, &mut headers)
    }

    fn start_stream(
        &mut self,
        _options: &Options,
        connection: &mut h2::Connection,
        owner: u64,
        _now: Nanos,
    ) -> u32 {
        match &self.0.wire {
            Wire::Http2(request) => connection.start(request, owner),
            Wire::Http1(_) => {
                unreachable!("a connection speaks the protocol that it was opened for")
            }
        }
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        self.0.location.field(name, value);
    }
}

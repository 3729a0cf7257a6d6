//! One request through the proxy: a slot, a connection of its own, the answer streamed back.

use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::handshake;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use plimsoll_net::h1::serving::is_of_connection;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::idle::{IdleConnections, Upstream};
use super::log::{Line, Log, UpstreamTimes};
use super::slots::{Guest, Slots, UpstreamSlot};
use crate::serve::clock::now;

/// nginx's defaults for `proxy_connect_timeout` and `proxy_read_timeout`.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Forwarder {
    upstreams: Vec<SocketAddr>,
    /// Requests so far: each goes to the next upstream, as nginx does by default.
    turn: AtomicUsize,
    pub(super) slots: Slots,
    kept: IdleConnections,
    log: Arc<Log>,
}

/// The connection lost its slot before its request was begun: it is closed without an answer.
#[derive(Debug)]
pub(super) struct NoSlot;

impl fmt::Display for NoSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection's slot was given to another")
    }
}

impl std::error::Error for NoSlot {}

impl Forwarder {
    /// `upstreams` is not empty.
    pub(super) fn new(
        upstreams: Vec<SocketAddr>,
        slots: Slots,
        keepalive: usize,
        log: Arc<Log>,
    ) -> Self {
        Self {
            upstreams,
            turn: AtomicUsize::new(0),
            slots,
            kept: IdleConnections::new(keepalive),
            log,
        }
    }

    fn next_upstream(&self) -> SocketAddr {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.upstreams[turn % self.upstreams.len()]
    }

    /// A slot for one more connection to an upstream; an idle one gives way.
    fn slot(&self) -> Option<UpstreamSlot> {
        self.slots.upstream().or_else(|| {
            self.kept.make_room().then_some(())?;
            self.slots.upstream()
        })
    }
}

/// Forwards one request of `guest`.
pub(super) async fn forward(
    forwarder: Arc<Forwarder>,
    request: Request<Incoming>,
    client: SocketAddr,
    guest: Arc<Guest>,
) -> Result<Response<Answer>, NoSlot> {
    if !forwarder.slots.begin(&guest) {
        return Err(NoSlot);
    }
    let upstream = forwarder.next_upstream();
    let mut entry = Entry::new(forwarder, &request, client, guest);
    let way = match entry.forwarder.kept.take(upstream).await {
        Some(kept) => Some(Way::Kept(kept)),
        None => entry.forwarder.slot().map(Way::New),
    };
    let Some(way) = way else {
        return Ok(entry.refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            "no connection slot is free\n",
        ));
    };
    let answer = timeout(TIMEOUT, exchange(request, &mut entry, upstream, way)).await;
    match answer {
        Ok(Ok(answer)) => Ok(entry.pass(answer)),
        Ok(Err(failure)) => {
            let text = format!("upstream {upstream}: {failure}\n");
            Ok(entry.refuse(StatusCode::BAD_GATEWAY, text))
        }
        Err(_) => Ok(entry.refuse(StatusCode::GATEWAY_TIMEOUT, "the upstream took too long\n")),
    }
}

/// How a request gets to its upstream.
#[derive(Debug)]
enum Way {
    Kept(Upstream),
    New(UpstreamSlot),
}

/// Sends the request and waits for the head of the answer.
async fn exchange(
    request: Request<Incoming>,
    entry: &mut Entry,
    address: SocketAddr,
    way: Way,
) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
    let start = now();
    let times = entry.line.upstream.insert(UpstreamTimes {
        connected: None,
        answered: None,
        ended: None,
        status: 502,
    });
    entry.upstream_start = start;
    let mut upstream = match way {
        Way::Kept(upstream) => upstream,
        Way::New(slot) => connect(address, slot).await?,
    };
    times.connected = Some(start.elapsed());
    let keep = entry.forwarder.kept.wants_any();
    let request = outgoing(request, entry.line.client, address, keep);
    let answer = upstream.sender.send_request(request).await?;
    entry.upstream = Some(upstream);
    if let Some(times) = &mut entry.line.upstream {
        times.answered = Some(start.elapsed());
        times.status = answer.status().as_u16();
    }
    Ok(answer)
}

async fn connect(
    address: SocketAddr,
    slot: UpstreamSlot,
) -> Result<Upstream, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // Its end is seen in the answer's body, or by the next request.
    tokio::spawn(async move { drop(connection.await) });
    Ok(Upstream {
        address,
        sender,
        _slot: slot,
    })
}

fn outgoing(
    request: Request<Incoming>,
    client: SocketAddr,
    upstream: SocketAddr,
    keep: bool,
) -> Request<Incoming> {
    let (mut head, body) = request.into_parts();
    as_http1(&mut head, upstream);
    if let Ok(address) = HeaderValue::from_str(&client.ip().to_string()) {
        head.headers.append("x-forwarded-for", address);
    }
    if !keep {
        head.headers
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Request::from_parts(head, body)
}

/// Makes a request one of HTTP/1.1. Over HTTP/2 its host is part of the address, and its cookies may come one by one
/// (RFC 9113, sections 8.3.1 and 8.2.3).
fn as_http1(head: &mut Parts, upstream: SocketAddr) {
    let host = head.uri.authority().map(ToString::to_string);
    // The origin form; a client that took us for a forward proxy sends the absolute one.
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    head.version = Version::HTTP_11;
    remove_hop_by_hop(&mut head.headers);
    let host = host.unwrap_or_else(|| upstream.to_string());
    if !head.headers.contains_key(header::HOST)
        && let Ok(host) = HeaderValue::from_str(&host)
    {
        head.headers.insert(header::HOST, host);
    }
    let cookies = head.headers.get_all(header::COOKIE).iter();
    let cookies: Vec<&[u8]> = cookies.map(HeaderValue::as_bytes).collect();
    if cookies.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..]))
    {
        head.headers.insert(header::COOKIE, joined);
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let is_gone = |name: &&HeaderName| {
        let connection = headers.get_all(header::CONNECTION).iter();
        is_of_connection(name.as_str(), connection.map(HeaderValue::as_bytes))
    };
    let gone: Vec<HeaderName> = headers.keys().filter(is_gone).cloned().collect();
    for name in &gone {
        headers.remove(name);
    }
}

/// A request from its arrival to the last byte of its answer: logged, and its slots freed, when
/// dropped, however it ends.
#[derive(Debug)]
struct Entry {
    line: Line,
    start: Instant,
    upstream_start: Instant,
    upstream: Option<Upstream>,
    /// The answer was passed on whole: its connection can carry another.
    is_whole: bool,
    guest: Arc<Guest>,
    forwarder: Arc<Forwarder>,
}

impl Entry {
    fn new(
        forwarder: Arc<Forwarder>,
        request: &Request<Incoming>,
        client: SocketAddr,
        guest: Arc<Guest>,
    ) -> Self {
        let start = now();
        let line = Line {
            client,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            // nginx's number for a client that left before its answer.
            status: 499,
            bytes: 0,
            request_time: Duration::ZERO,
            upstream: None,
        };
        Self {
            line,
            start,
            upstream_start: start,
            upstream: None,
            is_whole: false,
            guest,
            forwarder,
        }
    }

    fn pass(mut self, answer: Response<Incoming>) -> Response<Answer> {
        let (mut head, body) = answer.into_parts();
        self.line.status = head.status.as_u16();
        self.is_whole = body.is_end_stream();
        head.version = Version::HTTP_11;
        remove_hop_by_hop(&mut head.headers);
        let body = Answer {
            body: Either::Left(body),
            entry: self,
        };
        Response::from_parts(head, body)
    }

    fn refuse(mut self, status: StatusCode, text: impl Into<Bytes>) -> Response<Answer> {
        self.line.status = status.as_u16();
        let body = Answer {
            body: Either::Right(Full::new(text.into())),
            entry: self,
        };
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        answer
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.line.request_time = self.start.elapsed();
        if let Some(times) = &mut self.line.upstream {
            times.ended = Some(self.upstream_start.elapsed());
        }
        match self.upstream.take() {
            Some(upstream) if self.is_whole => self.forwarder.kept.put(upstream),
            // Closed, and its slot free, before the client's connection waits again.
            upstream => drop(upstream),
        }
        self.forwarder.slots.rest(&self.guest);
        self.forwarder.log.write(&self.line);
    }
}

/// The body of an answer, with its log entry.
#[derive(Debug)]
pub(super) struct Answer {
    body: Either<Incoming, Full<Bytes>>,
    entry: Entry,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.entry.line.bytes += data.len() as u64;
        }
        self.entry.is_whole = matches!(frame, Poll::Ready(None)) || self.body.is_end_stream();
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;

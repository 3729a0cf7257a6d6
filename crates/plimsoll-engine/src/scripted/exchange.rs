//! One request on the wire and what has come of its answer: bytes, moments, the final result.

mod encode;
mod words;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::h1::{Answer, Head, Sink};
use plimsoll_net::h2::{self, NewStream, PeerError};
use plimsoll_net::proxy::Proxy;
use plimsoll_net::{Connection, tls::Agreed};
use plimsoll_net::{Culprit, Failure, Progress};
use plimsoll_script::http::{
    BodyUse, Headers, HttpCall, HttpError, HttpResult, Proto, RequestUrl, Timings, TlsInfo,
};

use crate::pool::{Call, Phase};
use encode::{check, encode, encode_fields};

/// What is kept of an answer while it comes.
#[derive(Debug, Default)]
struct PartialAnswer {
    fields: Headers,
    reason: Box<str>,
    is_http10: bool,
    head_bytes: u64,
    body: Vec<u8>,
    body_bytes: u64,
    discards_body: bool,
}

impl PartialAnswer {
    fn field(&mut self, name: &str, value: &[u8]) {
        let value = String::from_utf8_lossy(value);
        if value.contains('\n') {
            // A folded line is one line with a space, as Go reads it.
            let parts: Vec<&str> = value.split('\n').map(str::trim).collect();
            return self.fields.push(name, &parts.join(" "));
        }
        self.fields.push(name, &value);
    }

    /// Forgets what came.
    fn clear(&mut self) {
        *self = Self {
            discards_body: self.discards_body,
            ..Self::default()
        };
    }
}

impl Sink for PartialAnswer {
    fn head(&mut self, head: &Head<'_, '_>) {
        self.reason = head.reason.into();
        self.is_http10 = head.is_http10;
        self.head_bytes = head.length as u64;
        for (name, value) in head.lines() {
            self.field(name, value);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body_bytes += bytes.len() as u64;
        if !self.discards_body {
            self.body.extend_from_slice(bytes);
        }
    }
}

/// When each phase of a request began, on the clock of the run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub(super) called: Nanos,
    /// Only if a connection was opened for this request.
    pub(super) opened: Option<Nanos>,
    pub(super) connected: Option<Nanos>,
    pub(super) secured: Option<Nanos>,
    pub(super) sent: Option<Nanos>,
    pub(super) written: Option<Nanos>,
    pub(super) first_byte: Option<Nanos>,
}

impl Moments {
    fn timings(&self, is_tls: bool, now: Nanos) -> Timings {
        let opened = self.opened.unwrap_or(now);
        let connected = self.connected.unwrap_or(now);
        let (connecting, tls_handshaking) = match (self.opened, is_tls) {
            (None, _) => (Nanos::ZERO, Nanos::ZERO),
            (Some(_), false) => (connected.saturating_sub(opened), Nanos::ZERO),
            (Some(_), true) => {
                let secured = self.secured.unwrap_or(now);
                let shaking = secured.saturating_sub(connected);
                (connected.saturating_sub(opened), shaking)
            }
        };
        let sent = self.sent.unwrap_or(now);
        let written = self.written.unwrap_or(now);
        let first_byte = self.first_byte.unwrap_or(now);
        Timings {
            // All that was before it could be sent: as in k6, connecting and the handshake are in it and beside it.
            blocked: sent.saturating_sub(self.called),
            connecting,
            tls_handshaking,
            sending: written.saturating_sub(sent),
            waiting: first_byte.saturating_sub(written),
            receiving: now.saturating_sub(first_byte),
        }
    }
}

/// Who asked, and from when its response time counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Caller {
    /// The virtual user's place on this worker.
    pub(super) vu: usize,
    /// The call's place in its batch.
    pub(super) place: usize,
    /// The arrival of the iteration, or the call.
    pub(super) intended: Nanos,
    /// In which the call was due.
    pub(super) level: u32,
    /// The number of the call's name.
    pub(super) name: u32,
}

/// One request of one virtual user. Reused, so that a request costs no allocation of its own.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub(super) caller: Caller,
    /// Where it goes.
    pub(super) url: Option<Rc<RequestUrl>>,
    /// Of HTTP/1.1 the whole request, of HTTP/2 its header block.
    request: Vec<u8>,
    /// What it is made of, if that depends on what the server chooses.
    pub(super) call: Option<HttpCall>,
    /// What the request is on the wire, bytes.
    wire_bytes: u64,
    answer: PartialAnswer,
    pub(super) moments: Moments,
    deadline: Nanos,
    pub(super) method: Rc<str>,
    /// How often it was put on another connection, because the first was closed or its server did not look at it.
    pub(super) tries: u8,
    /// A challenge is what it is sent for.
    expects_challenge: bool,
    may_follow: bool,
}

impl Exchange {
    /// Makes it ready for `call`; says why it cannot be sent.
    pub(super) fn prepare(
        &mut self,
        caller: Caller,
        call: HttpCall,
        (user_agent, proxy): (&str, Option<&Proxy>),
        now: Nanos,
    ) -> Result<(), String> {
        self.caller = caller;
        self.deadline = now + call.timeout;
        self.moments = Moments {
            called: now,
            ..Moments::default()
        };
        self.answer.clear();
        self.answer.discards_body = call.body_use == BodyUse::Discard;
        self.method = Rc::clone(&call.method);
        self.expects_challenge = call.expects_challenge;
        self.may_follow = call.may_follow;
        self.tries = 0;
        self.wire_bytes = 0;
        self.call = None;
        self.url = Some(Rc::clone(&call.url));
        self.request.clear();
        check(&call)?;
        if call.url.is_tls {
            // Its bytes depend on the protocol, which may not be chosen yet.
            self.call = Some(call);
        } else {
            encode(&call, user_agent, proxy, &mut self.request);
            self.wire_bytes = self.request.len() as u64;
        }
        Ok(())
    }

    /// Its host speaks TLS.
    pub(super) fn is_tls(&self) -> bool {
        self.url.as_ref().is_some_and(|url| url.is_tls)
    }

    /// Its time is over.
    pub(super) fn is_late(&self, now: Nanos) -> bool {
        self.deadline <= now
    }

    /// The script's side goes on with an answer of that code: to a challenge, or to where it redirects.
    pub(super) fn goes_on(&self, status: u16) -> bool {
        match status {
            401 => self.expects_challenge,
            301 | 302 | 303 | 307 | 308 => {
                self.may_follow && self.answer.fields.get("location").is_some()
            }
            _ => false,
        }
    }

    /// As if it had never been sent.
    pub(super) fn begin_anew(&mut self) {
        self.tries += 1;
        self.moments = Moments {
            called: self.moments.called,
            ..Moments::default()
        };
        self.answer.clear();
    }

    /// Makes the bytes of HTTP/1.1, if they are not made yet.
    fn encode_http1(&mut self, user_agent: &str) {
        if let Some(call) = &self.call {
            self.request.clear();
            encode(call, user_agent, None, &mut self.request);
            self.wire_bytes = self.request.len() as u64;
        }
    }

    /// Makes the header block of HTTP/2; the body that follows it.
    fn encode_http2(&mut self, user_agent: &str) -> Option<Rc<[u8]>> {
        self.request.clear();
        let call = self.call.as_ref()?;
        encode_fields(call, user_agent, &mut self.request);
        let body = call.body.clone().filter(|body| !body.is_empty());
        let length = body.as_ref().map_or(0, |body| body.len());
        self.wire_bytes = h2::request_bytes(self.request.len(), length);
        body
    }

    /// The script asks that the connection ends with this request.
    fn asks_for_close(&self) -> bool {
        let given = self.header("connection");
        given.is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// Why HTTP/2 cannot carry it: it has no change of protocols.
    pub(super) fn refused_by_http2(&self) -> Option<HttpError> {
        let given = self.header("upgrade").filter(|value| !value.is_empty())?;
        Some(HttpError {
            code: 1000,
            message: format!("invalid Upgrade request header: [{given:?}]").into(),
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.call.as_ref()?.headers.get(name)
    }

    /// How it ended with an answer. HTTP/2 has no words for a status: they are Go's, and so k6's.
    pub(super) fn answered(
        &mut self,
        answer: Answer,
        is_http2: bool,
        peer: Peer,
        now: Nanos,
    ) -> HttpResult {
        let mut result = self.result(peer.address, now);
        result.tls = peer.tls;
        result.status = answer.status;
        result.received_bytes = answer.bytes;
        result.headers = std::mem::take(&mut self.answer.fields);
        result.body = std::mem::take(&mut self.answer.body);
        if is_http2 {
            result.proto = Proto::Http2;
            result.reason = words::reason_phrase(answer.status).into();
        } else {
            result.reason = std::mem::take(&mut self.answer.reason);
            if self.answer.is_http10 {
                result.proto = Proto::Http10;
            }
        }
        result
    }

    /// How it ended without one, on a connection to `remote` if there was one.
    pub(super) fn failed(
        &mut self,
        error: HttpError,
        remote: Option<SocketAddr>,
        now: Nanos,
    ) -> HttpResult {
        let mut result = self.result(remote, now);
        result.received_bytes = self.answer.head_bytes + self.answer.body_bytes;
        result.error = Some(error);
        result
    }

    fn result(&self, remote: Option<SocketAddr>, now: Nanos) -> HttpResult {
        let sent = self.moments.written.map_or(0, |_| self.wire_bytes);
        HttpResult {
            remote,
            timings: self.moments.timings(self.is_tls(), now),
            sent_bytes: sent,
            ..HttpResult::default()
        }
    }
}

/// What is known of the connection of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    pub(super) address: Option<SocketAddr>,
    /// What the handshake agreed on.
    pub(super) tls: Option<TlsInfo>,
}

/// In a box, because it moves between connections and lists without a copy.
impl Call for Box<Exchange> {
    /// The user agent.
    type Common = Arc<str>;
    type Peer = Peer;
    type Body = Rc<[u8]>;
    const IS_WATCHED: bool = true;

    fn deadline(&self, _user_agent: &Arc<str>) -> Nanos {
        self.deadline
    }

    fn is_sent(&self) -> bool {
        self.moments.sent.is_some()
    }

    fn send(
        &mut self,
        user_agent: &Arc<str>,
        connection: &mut Connection,
        now: Nanos,
    ) -> Result<(), Failure> {
        self.encode_http1(user_agent);
        self.moments.sent = Some(now);
        connection.expect(&*self.method == "HEAD");
        connection.send(&self.request)
    }

    fn ready(
        &mut self,
        _user_agent: &Arc<str>,
        connection: &mut Connection,
        hung_up: bool,
        scratch: &mut [u8],
    ) -> Progress {
        connection.ready_into(&self.request, hung_up, scratch, &mut self.answer)
    }

    fn start_stream(
        &mut self,
        user_agent: &Arc<str>,
        connection: &mut h2::Connection<Rc<[u8]>>,
        owner: u64,
        now: Nanos,
    ) -> u32 {
        self.moments.sent = Some(now);
        let body = self.encode_http2(user_agent);
        let stream = NewStream {
            body,
            is_head: &*self.method == "HEAD",
            owner,
        };
        connection.start_plain(&self.request, stream)
    }

    fn is_written_to(&self, connection: &Connection) -> bool {
        connection.has_written(&self.request)
    }

    fn is_only_for_http1(&self) -> bool {
        self.refused_by_http2().is_some()
    }

    fn is_last(&self) -> bool {
        self.asks_for_close()
    }

    fn note(&mut self, phase: Phase, now: Nanos) {
        let moments = &mut self.moments;
        let was_opened = moments.opened.is_some();
        match phase {
            Phase::Opened => moments.opened = Some(now),
            Phase::Connected if was_opened => drop(moments.connected.get_or_insert(now)),
            Phase::Secured if was_opened => drop(moments.secured.get_or_insert(now)),
            // It waits for a connection that was opened for another.
            Phase::Connected | Phase::Secured => {}
            Phase::Written => drop(moments.written.get_or_insert(now)),
            Phase::FirstByte => drop(moments.first_byte.get_or_insert(now)),
        }
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        let name = String::from_utf8_lossy(name);
        self.answer.field(&name, value);
    }

    fn body(&mut self, bytes: &[u8]) {
        self.answer.body(bytes);
    }

    fn shake_hands(peer: &mut Peer, agreed: Option<Agreed>) {
        peer.tls = agreed.map(|agreed| TlsInfo {
            version: agreed.version,
            cipher_suite: agreed.suite,
        });
    }
}

/// The code and words that scripts get for a failure (k6's published table).
pub(super) fn http_error(failure: &Failure) -> HttpError {
    if let Some(error) = failure.peer_error {
        return http2_error(error);
    }
    let (code, words) = match failure.outcome {
        // Go's client, and so k6, hands on what the proxy said, and has no code of its own for it.
        _ if failure.culprit == Some(Culprit::Proxy) => (1000, None),
        Outcome::Timeout => (1050, Some("request timeout")),
        Outcome::Dns => (1101, None),
        Outcome::ConnectTimeout => (1211, Some("dial: i/o timeout")),
        Outcome::Refused => (1212, Some("dial: connection refused")),
        Outcome::Reset => (1220, Some("read: connection reset by peer")),
        Outcome::Tls => (1300, None),
        _ => (1000, None),
    };
    HttpError {
        code,
        message: words.unwrap_or(&failure.reason).into(),
    }
}

/// The table has room for the codes of the protocol: what GOAWAY says from 1611 on, what ends a stream from 1631 on, what
/// ends a connection from 1651 on.
fn http2_error(error: PeerError) -> HttpError {
    let place = |code: u32| u16::try_from(code).ok().filter(|code| *code < 14);
    let (code, words) = match error {
        PeerError::GoAway(code) => (
            place(code).map_or(1610, |code| 1611 + code),
            "received GoAway",
        ),
        PeerError::Reset(code) | PeerError::BrokeStream(code) => {
            (place(code).map_or(1630, |code| 1631 + code), "stream error")
        }
        PeerError::BrokeConnection(code) => (
            place(code).map_or(1650, |code| 1651 + code),
            "connection error",
        ),
    };
    HttpError {
        code,
        message: format!("http2: {words} with http2 ErrCode {}", error.name()).into(),
    }
}

//! One request on the wire and what has come of its answer: bytes, moments, the final result.

mod words;

use std::rc::Rc;

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::connection::Failure;
use plimsoll_net::h1::{Answer, Sink};
use plimsoll_net::h2::{self, Said, write_field};
use plimsoll_script::http::{BodyUse, Headers, HttpCall, HttpError, HttpResult, Proto, Timings};

/// Header lines of an answer; the parser of the connection refuses more.
const HEADERS_MAX: usize = 128;

/// What is kept of an answer while it comes.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Of HTTP/1.1.
    head: Vec<u8>,
    /// Of HTTP/2.
    fields: Headers,
    body: Vec<u8>,
    body_bytes: u64,
    discards_body: bool,
}

impl Kept {
    /// A header field of HTTP/2.
    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) {
        let (name, value) = (
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(value),
        );
        self.fields.push(&name, &value);
    }

    /// Forgets what came.
    pub(super) fn clear(&mut self) {
        self.head.clear();
        self.fields = Headers::default();
        self.body = Vec::new();
        self.body_bytes = 0;
    }
}

impl Sink for Kept {
    fn head(&mut self, bytes: &[u8]) {
        self.head.extend_from_slice(bytes);
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
    pub(super) asked: Nanos,
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
        let before = sent.saturating_sub(self.asked);
        Timings {
            blocked: before.saturating_sub(connecting + tls_handshaking),
            connecting,
            tls_handshaking,
            sending: written.saturating_sub(sent),
            waiting: first_byte.saturating_sub(written),
            receiving: now.saturating_sub(first_byte),
        }
    }
}

/// One request of one virtual user. Reused, so that a request costs no allocation of its own.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// Its place in the batch that asked for it.
    pub(super) place: usize,
    /// Of HTTP/1.1 the whole request, of HTTP/2 its header block.
    pub(super) request: Vec<u8>,
    /// What it is made of, if that depends on what the server chooses.
    pub(super) call: Option<HttpCall>,
    /// What the request is on the wire, bytes.
    wire_bytes: u64,
    pub(super) kept: Kept,
    pub(super) moments: Moments,
    pub(super) deadline: Nanos,
    /// From which response time counts: the arrival of the iteration, or the call.
    pub(super) intended: Nanos,
    pub(super) level: u32,
    pub(super) is_head: bool,
    /// How often it was put on another connection, because the first was closed or its server did not look at it.
    pub(super) tries: u8,
}

impl Exchange {
    /// Makes it ready for `call`; says why it cannot be sent.
    pub(super) fn prepare(&mut self, call: &HttpCall, user_agent: &str) -> Result<(), String> {
        self.kept.clear();
        self.kept.discards_body = call.body_use == BodyUse::Discard;
        self.is_head = &*call.method == "HEAD";
        self.tries = 0;
        self.wire_bytes = 0;
        self.call = None;
        self.request.clear();
        check(call)?;
        if !call.url.is_tls {
            encode(call, user_agent, &mut self.request);
            self.wire_bytes = self.request.len() as u64;
        }
        Ok(())
    }

    /// Makes the bytes of HTTP/1.1, if they are not made yet.
    pub(super) fn encode_http1(&mut self, user_agent: &str) {
        if let Some(call) = &self.call {
            self.request.clear();
            encode(call, user_agent, &mut self.request);
            self.wire_bytes = self.request.len() as u64;
        }
    }

    /// Makes the header block of HTTP/2; the body that follows it.
    pub(super) fn encode_http2(&mut self, user_agent: &str) -> Option<Rc<[u8]>> {
        self.request.clear();
        let call = self.call.as_ref()?;
        encode_fields(call, user_agent, &mut self.request);
        let body = call.body.clone().filter(|body| !body.is_empty());
        let length = body.as_ref().map_or(0, |body| body.len());
        self.wire_bytes = h2::request_bytes(self.request.len(), length);
        body
    }

    /// The script asks that the connection ends with this request.
    pub(super) fn asks_for_close(&self) -> bool {
        let asked = self.header("connection");
        asked.is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// Why HTTP/2 cannot carry it: it has no change of protocols.
    pub(super) fn refused_by_http2(&self) -> Option<HttpError> {
        let asked = self.header("upgrade").filter(|value| !value.is_empty())?;
        Some(HttpError {
            code: 1000,
            message: format!("invalid Upgrade request header: [{asked:?}]").into(),
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.call.as_ref()?.headers.get(name)
    }

    /// How it ended with an answer.
    pub(super) fn answered(&mut self, bytes: u64, is_tls: bool, now: Nanos) -> HttpResult {
        let mut result = self.result(is_tls, now);
        result.received_bytes = bytes;
        result.body = std::mem::take(&mut self.kept.body);
        let mut lines = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut lines);
        if head.parse(&self.kept.head).is_ok() {
            result.status = head.code.unwrap_or(0);
            result.reason = head.reason.unwrap_or("").into();
            if head.version == Some(0) {
                result.proto = Proto::Http10;
            }
            for line in head.headers.iter() {
                result
                    .headers
                    .push(line.name, &String::from_utf8_lossy(line.value));
            }
        }
        result
    }

    /// The same over HTTP/2, which has no words for a status: they are Go's, and so k6's.
    pub(super) fn answered_http2(&mut self, answer: Answer, now: Nanos) -> HttpResult {
        let mut result = self.result(true, now);
        result.received_bytes = answer.bytes;
        result.status = answer.status;
        result.reason = words::of_status(answer.status).into();
        result.proto = Proto::Http2;
        result.headers = std::mem::take(&mut self.kept.fields);
        result.body = std::mem::take(&mut self.kept.body);
        result
    }

    /// How it ended without one.
    pub(super) fn failed(&mut self, error: HttpError, is_tls: bool, now: Nanos) -> HttpResult {
        let mut result = self.result(is_tls, now);
        result.received_bytes = self.kept.head.len() as u64 + self.kept.body_bytes;
        result.error = Some(error);
        result
    }

    fn result(&self, is_tls: bool, now: Nanos) -> HttpResult {
        let sent = self.moments.written.map_or(0, |_| self.wire_bytes);
        HttpResult {
            headers: Headers::default(),
            timings: self.moments.timings(is_tls, now),
            sent_bytes: sent,
            ..HttpResult::default()
        }
    }
}

/// Headers of a script may hold anything: what HTTP does not allow is refused.
fn check(call: &HttpCall) -> Result<(), String> {
    check_token(&call.method, "method")?;
    for (name, value) in call.headers.iter() {
        check_token(name, "header name")?;
        if value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(format!("the value of header {name:?} holds a line break"));
        }
    }
    Ok(())
}

/// The length of the body as `Content-Length` says it, if it does.
fn said_length(call: &HttpCall) -> Option<usize> {
    let length = call.body.as_deref().unwrap_or_default().len();
    let has_body = length > 0 || matches!(&*call.method, "POST" | "PUT" | "PATCH");
    has_body.then_some(length)
}

/// The bytes of one request of HTTP/1.1.
fn encode(call: &HttpCall, user_agent: &str, out: &mut Vec<u8>) {
    put(out, &[&call.method, " ", &call.url.target, " HTTP/1.1\r\n"]);
    let host = call.headers.get("host").unwrap_or(&call.url.authority);
    put(out, &["Host: ", host, "\r\n"]);
    if call.headers.get("user-agent").is_none() && !user_agent.is_empty() {
        put(out, &["User-Agent: ", user_agent, "\r\n"]);
    }
    for (name, value) in call.headers.iter() {
        if !(name.eq_ignore_ascii_case("host") || name.eq_ignore_ascii_case("content-length")) {
            put(out, &[name, ": ", value, "\r\n"]);
        }
    }
    if let Some(length) = said_length(call) {
        put(out, &["Content-Length: ", &length.to_string(), "\r\n"]);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(call.body.as_deref().unwrap_or_default());
}

/// The header block of one request of HTTP/2.
fn encode_fields(call: &HttpCall, user_agent: &str, out: &mut Vec<u8>) {
    let host = call.headers.get("host").unwrap_or(&call.url.authority);
    write_field(":method", &call.method, out);
    write_field(":scheme", "https", out);
    write_field(":authority", host, out);
    write_field(":path", &call.url.target, out);
    if call.headers.get("user-agent").is_none() && !user_agent.is_empty() {
        write_field("user-agent", user_agent, out);
    }
    for (name, value) in call.headers.iter() {
        if !is_of_http1(name) {
            write_field(name, value, out);
        }
    }
    if let Some(length) = said_length(call) {
        write_field("content-length", &length.to_string(), out);
    }
}

/// Headers of an HTTP/1.1 connection may not go over HTTP/2 (RFC 9113, section 8.2.2); the others are written apart.
fn is_of_http1(name: &str) -> bool {
    const THOSE: [&str; 7] = [
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
    ];
    THOSE.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn put(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// A token of RFC 9110 section 5.6.2.
fn check_token(text: &str, what: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !text.is_empty() && text.bytes().all(allowed) {
        Ok(())
    } else {
        Err(format!(
            "{what} {text:?} holds a character that HTTP does not allow"
        ))
    }
}

/// The code and words that scripts get for a failure (k6's published table).
pub(super) fn error_of(failure: &Failure) -> HttpError {
    if let Some(said) = failure.said {
        return error_of_http2(said);
    }
    let (code, words) = match failure.outcome {
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

/// The table has room for the codes of the protocol: what GOAWAY says from 1611 on, streams from 1631 on.
fn error_of_http2(said: Said) -> HttpError {
    let place = |code: u32| u16::try_from(code).ok().filter(|code| *code < 14);
    let (code, words) = match said {
        Said::GoAway(code) => (
            place(code).map_or(1610, |code| 1611 + code),
            "received GoAway",
        ),
        Said::Reset(code) => (place(code).map_or(1630, |code| 1631 + code), "stream error"),
    };
    HttpError {
        code,
        message: format!("http2: {words} with http2 ErrCode {}", said.name()).into(),
    }
}

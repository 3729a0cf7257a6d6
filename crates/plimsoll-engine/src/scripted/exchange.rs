//! One request on the wire and what has come of its answer: bytes, moments, the final result.

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::connection::Failure;
use plimsoll_net::h1::Sink;
use plimsoll_script::http::{BodyUse, Headers, HttpCall, HttpError, HttpResult, Proto, Timings};

/// Header lines of an answer; the parser of the connection refuses more.
const HEADERS_MAX: usize = 128;

/// What is kept of an answer while it comes.
#[derive(Debug, Default)]
pub(super) struct Kept {
    head: Vec<u8>,
    body: Vec<u8>,
    body_bytes: u64,
    discards_body: bool,
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
    pub(super) request: Vec<u8>,
    pub(super) kept: Kept,
    pub(super) moments: Moments,
    pub(super) deadline: Nanos,
    /// From which response time counts: the arrival of the iteration, or the call.
    pub(super) intended: Nanos,
    pub(super) level: u32,
    pub(super) is_head: bool,
    /// A new connection has been tried after a kept one turned out to be closed.
    pub(super) retried: bool,
}

impl Exchange {
    /// Makes it ready for `call`; says why it cannot be sent.
    pub(super) fn prepare(&mut self, call: &HttpCall, user_agent: &str) -> Result<(), String> {
        self.kept.head.clear();
        self.kept.body = Vec::new();
        self.kept.body_bytes = 0;
        self.kept.discards_body = call.body_use == BodyUse::Discard;
        self.is_head = &*call.method == "HEAD";
        self.retried = false;
        self.request.clear();
        encode(call, user_agent, &mut self.request)
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

    /// How it ended without one.
    pub(super) fn failed(&mut self, error: HttpError, is_tls: bool, now: Nanos) -> HttpResult {
        let mut result = self.result(is_tls, now);
        result.received_bytes = self.kept.head.len() as u64 + self.kept.body_bytes;
        result.error = Some(error);
        result
    }

    fn result(&self, is_tls: bool, now: Nanos) -> HttpResult {
        let sent = self
            .moments
            .written
            .map_or(0, |_| self.request.len() as u64);
        HttpResult {
            headers: Headers::default(),
            timings: self.moments.timings(is_tls, now),
            sent_bytes: sent,
            ..HttpResult::default()
        }
    }
}

/// The bytes of one request. Headers of a script may hold anything: what HTTP does not allow is refused.
fn encode(call: &HttpCall, user_agent: &str, out: &mut Vec<u8>) -> Result<(), String> {
    check_token(&call.method, "method")?;
    put(out, &[&call.method, " ", &call.url.target, " HTTP/1.1\r\n"]);
    let host = call.headers.get("host").unwrap_or(&call.url.authority);
    put(out, &["Host: ", host, "\r\n"]);
    if call.headers.get("user-agent").is_none() && !user_agent.is_empty() {
        put(out, &["User-Agent: ", user_agent, "\r\n"]);
    }
    for (name, value) in call.headers.iter() {
        check_token(name, "header name")?;
        if value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(format!("the value of header {name:?} holds a line break"));
        }
        if !(name.eq_ignore_ascii_case("host") || name.eq_ignore_ascii_case("content-length")) {
            put(out, &[name, ": ", value, "\r\n"]);
        }
    }
    let body = call.body.as_deref().unwrap_or_default();
    if !body.is_empty() || matches!(&*call.method, "POST" | "PUT" | "PATCH") {
        put(out, &["Content-Length: ", &body.len().to_string(), "\r\n"]);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    Ok(())
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

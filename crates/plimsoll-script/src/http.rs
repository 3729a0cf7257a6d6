//! One request on the wire and its answer, as they cross between a script and whoever owns sockets.
//!
//! The script side owns the cookie jar, follows redirects, answers authentication challenges and
//! compresses: each of those is a call of its own, so one [`HttpCall`] is always exactly one request on the
//! wire and one [`HttpResult`] exactly one answer. The other side owns connections, DNS, TLS, proxies,
//! `hosts` overrides, the limits on concurrent calls of a batch and the clock.

pub(crate) mod address;
pub(crate) mod cookies;
mod headers;
pub(crate) mod session;

use std::net::SocketAddr;
use std::rc::Rc;

use plimsoll_core::Nanos;

use crate::tags::TagSetId;
pub use headers::Headers;

/// Where a request goes, parsed once and shared by every call to the same URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestUrl {
    /// The whole address without user information, as `res.url` shows it.
    pub text: Box<str>,
    pub is_tls: bool,
    /// Without brackets around an IPv6 address.
    pub host: Box<str>,
    pub port: u16,
    /// `host` or `host:port`, as the `Host` header says it.
    pub authority: Box<str>,
    /// Path and query, never empty: what the request line says.
    pub target: Box<str>,
}

/// Whether the body of the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyUse {
    Keep,
    /// Count the bytes and drop them; [`HttpResult::body`] stays empty.
    Discard,
}

/// One request to put on the wire.
#[derive(Debug, Clone)]
pub struct HttpCall {
    /// In capitals.
    pub method: Rc<str>,
    pub url: Rc<RequestUrl>,
    /// To be sent as they are, in this order. The other side adds `Host` (from the URL), `User-Agent` (from the
    /// options) unless named here, and `Content-Length`.
    pub headers: Headers,
    pub body: Option<Rc<[u8]>>,
    /// From the moment the call is yielded to the last byte of the answer.
    pub timeout: Nanos,
    pub body_use: BodyUse,
    /// Group, scenario, method, URL, name and the script's own tags; without what only the answer knows.
    pub tags: TagSetId,
    /// An answer of 401 is what it is sent for: digest authentication goes on with it.
    pub expects_challenge: bool,
    /// An answer that redirects is followed.
    pub may_follow: bool,
}

/// The HTTP version of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Proto {
    Http10,
    #[default]
    Http11,
    Http2,
}

impl Proto {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2.0",
        }
    }
}

/// The phases of one request, in nanoseconds. `http_req_duration` is sending + waiting + receiving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// Until it could be sent: waiting for a connection, and opening one.
    pub blocked: Nanos,
    pub connecting: Nanos,
    pub tls_handshaking: Nanos,
    pub sending: Nanos,
    /// From the last byte written to the first byte read.
    pub waiting: Nanos,
    pub receiving: Nanos,
}

impl Timings {
    pub fn duration(&self) -> Nanos {
        self.sending + self.waiting + self.receiving
    }
}

/// What TLS agreed on, in k6's words (`tls1.3`, `TLS_AES_128_GCM_SHA256`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsInfo {
    pub version: &'static str,
    pub cipher_suite: &'static str,
}

/// Why there is no answer. Codes follow k6's published table (1050 timeout, 1101 DNS, 1211 connect
/// timeout, 1212 refused, 1220 reset, 1300s TLS, …).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    pub code: u16,
    pub message: Box<str>,
}

/// How one [`HttpCall`] ended. Without an answer, `status` is 0 and `error` is set.
#[derive(Debug, Clone, Default)]
pub struct HttpResult {
    pub status: u16,
    /// The words after the status in HTTP/1; may be empty.
    pub reason: Box<str>,
    pub proto: Proto,
    pub headers: Headers,
    /// As it came after the transfer coding was undone, still content-encoded.
    pub body: Vec<u8>,
    pub remote: Option<SocketAddr>,
    pub timings: Timings,
    pub error: Option<HttpError>,
    pub tls: Option<TlsInfo>,
    /// On the wire, heads included.
    pub sent_bytes: u64,
    /// On the wire, heads included.
    pub received_bytes: u64,
    /// The surroundings' own number of the call, by which a check names the answer that it failed.
    pub call: u64,
}

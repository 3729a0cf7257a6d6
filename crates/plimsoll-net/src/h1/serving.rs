//! The server's side of HTTP/1.1: heads of requests, read strictly from raw bytes, and their bodies.
//!
//! Whatever two parsers could read in two ways is refused (RFC 9112 allows much of it): a proxy that guesses lets one
//! request through as two. What passes is written anew for the next hop, never copied.

mod mapped;

use thiserror::Error;

use super::chunked::Chunked;
use super::{HEAD_BYTES_USUAL, ProtocolError, Sink, has_token, parse_length};
pub use mapped::Mapped;

const FIELDS_MAX: usize = 100;
const TARGET_BYTES_MAX: usize = 16 << 10;
/// Empty lines before a request that are passed over: some old clients send one after a body.
const EMPTY_LINES_MAX: usize = 2;

/// Why a head is refused. Each has a status; the connection is closed after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HeadError {
    #[error("the request line is not METHOD TARGET HTTP/1.1")]
    RequestLine,
    #[error("a line ends without CR LF, or a CR stands alone")]
    LineEnd,
    #[error("a header line is not `Name: value`, or is folded")]
    Field,
    #[error("a header value has a control character")]
    Value,
    #[error("Host is missing, given twice, or no host")]
    Host,
    #[error("the host of the target is not the one in Host")]
    OtherHost,
    #[error("Content-Length is not one plain number")]
    ContentLength,
    #[error("Transfer-Encoding with Content-Length, or in HTTP/1.0")]
    TwoFramings,
    #[error("Transfer-Encoding is not chunked, once")]
    TransferEncoding,
    #[error("the target is longer than 16 KiB")]
    LongTarget,
    #[error("the head is longer than 64 KiB, or has more than 100 lines")]
    TooMuch,
    #[error("Expect is not 100-continue")]
    Expectation,
    #[error("the method is not for this server")]
    Method,
    #[error("not HTTP/1.0 or HTTP/1.1")]
    Version,
}

impl HeadError {
    pub const fn status(self) -> u16 {
        match self {
            Self::LongTarget => 414,
            Self::Expectation => 417,
            Self::TooMuch => 431,
            Self::TransferEncoding | Self::Method => 501,
            Self::Version => 505,
            _ => 400,
        }
    }
}

/// How the end of a request's body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Zero for none.
    Length(u64),
    Chunked,
}

/// The head of a request, in pieces of the bytes that it was read from.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestHead<'b> {
    pub method: &'b str,
    /// In origin form (`/path?query`), or `*`.
    pub target: &'b str,
    pub host: Option<&'b str>,
    pub is_http10: bool,
    /// Bytes of the head, with empty lines before it.
    pub length: usize,
    pub fields: Vec<(&'b str, &'b [u8])>,
    pub framing: Framing,
    /// The client wants the connection to be kept.
    pub keepalive: bool,
    pub expects_continue: bool,
    /// The protocol that it asks to go on with, such as `websocket`; only without a body, and never HTTP itself.
    pub upgrade: Option<&'b str>,
}

impl<'b> RequestHead<'b> {
    /// Reads a head; `None` if its end is not there yet.
    pub fn read(bytes: &'b [u8]) -> Result<Option<Self>, HeadError> {
        let before = empty_lines(bytes);
        let rest = bytes.get(before..).unwrap_or_default();
        let Some(end) = end_of_head(rest)? else {
            return Ok(None);
        };
        let head = rest.get(..end).unwrap_or_default();
        let mut lines = Lines(head);
        let (method, target, is_http10) = request_line(lines.next().unwrap_or_default())?;
        let mut fields = Vec::with_capacity(16);
        for line in lines {
            if fields.len() == FIELDS_MAX {
                return Err(HeadError::TooMuch);
            }
            fields.push(field(line)?);
        }
        let mut read = Self {
            method,
            target,
            host: None,
            is_http10,
            length: before + end + 2,
            fields,
            framing: Framing::Length(0),
            keepalive: !is_http10,
            expects_continue: false,
            upgrade: None,
        };
        read.understand()?;
        read.find_target()?;
        read.find_upgrade();
        Ok(Some(read))
    }

    /// The fields that say where the message ends, and what becomes of the connection.
    fn understand(&mut self) -> Result<(), HeadError> {
        let mut length = None;
        let mut chunked = false;
        for (name, value) in &self.fields {
            if is(name, "host") {
                let host = std::str::from_utf8(value).ok().filter(|text| is_host(text));
                if self.host.is_some() || host.is_none() {
                    return Err(HeadError::Host);
                }
                self.host = host;
            } else if is(name, "content-length") {
                let plain = parse_length(value).map_err(|_| HeadError::ContentLength)?;
                if length.replace(plain).is_some() {
                    return Err(HeadError::ContentLength);
                }
            } else if is(name, "transfer-encoding") {
                if chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(HeadError::TransferEncoding);
                }
                chunked = true;
            } else if is(name, "connection") {
                if has_token(value, b"close") {
                    self.keepalive = false;
                } else if self.is_http10 && has_token(value, b"keep-alive") {
                    self.keepalive = true;
                }
            } else if is(name, "expect") {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(HeadError::Expectation);
                }
                self.expects_continue = !self.is_http10;
            }
        }
        if chunked && (length.is_some() || self.is_http10) {
            return Err(HeadError::TwoFramings);
        }
        if self.host.is_none() && !self.is_http10 {
            return Err(HeadError::Host);
        }
        self.framing = if chunked {
            Framing::Chunked
        } else {
            Framing::Length(length.unwrap_or(0))
        };
        Ok(())
    }

    /// An absolute target names the host once more: both must be the same.
    fn find_target(&mut self) -> Result<(), HeadError> {
        if self.method == "CONNECT" {
            return Err(HeadError::Method);
        }
        if self.target.starts_with('/') || (self.target == "*" && self.method == "OPTIONS") {
            return Ok(());
        }
        let scheme = self.target.get(..7).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("http://") {
            return Err(HeadError::RequestLine);
        }
        let rest = self.target.get(7..).unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let authority = rest.get(..end).unwrap_or_default();
        if self
            .host
            .is_none_or(|host| !host.eq_ignore_ascii_case(authority))
        {
            return Err(HeadError::OtherHost);
        }
        let path = rest.get(end..).unwrap_or_default();
        if path.starts_with('?') {
            return Err(HeadError::RequestLine);
        }
        self.target = if path.is_empty() { "/" } else { path };
        Ok(())
    }

    /// Several protocols to choose from, one of the connection's own and a body before it are passed over, as RFC 9110 allows.
    fn find_upgrade(&mut self) {
        if self.is_http10 || self.framing != Framing::Length(0) {
            return;
        }
        let mut asked = self.fields.iter().filter(|(name, _)| is(name, "upgrade"));
        let (Some((_, value)), None) = (asked.next(), asked.next()) else {
            return;
        };
        let is_meant = self
            .fields
            .iter()
            .any(|(name, value)| is(name, "connection") && has_token(value, b"upgrade"));
        let word = std::str::from_utf8(value).unwrap_or_default();
        let (name, version) = word.split_once('/').unwrap_or((word, "-"));
        let is_one = [name, version]
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(is_token));
        let is_http = ["http", "h2c", "h2", "tls"].iter().any(|own| is(name, own));
        if is_meant && is_one && !is_http {
            self.upgrade = Some(word);
        }
    }

    /// Whether it takes trailers behind an answer (`TE: trailers`).
    pub fn takes_trailers(&self) -> bool {
        self.fields
            .iter()
            .any(|(name, value)| is(name, "te") && has_token(value, b"trailers"))
    }

    /// Whether the connection's own fields name this one, so that it is not for the next hop.
    pub fn is_of_connection(&self, name: &str) -> bool {
        let fields = self.fields.iter();
        let connection = fields.filter(|(of, _)| is(of, "connection"));
        is_of_connection(name, connection.map(|(_, value)| *value))
    }
}

/// Whether a field is for one connection only: always, or because a `Connection` field of its message names it.
pub fn is_of_connection<'a>(name: &str, mut connection: impl Iterator<Item = &'a [u8]>) -> bool {
    is_hop_by_hop(name)
        || (!KEPT.iter().any(|kept| is(name, kept))
            && connection.any(|value| has_token(value, name.as_bytes())))
}

/// Whether a field is for one connection only, whatever `Connection` says.
pub fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.iter().any(|known| is(name, known))
}

/// Fields of one connection (RFC 9110 section 7.6.1, and those of old habit).
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// What no `Connection` may take away: a client could strip what the upstream relies on.
const KEPT: [&str; 7] = [
    "host",
    "authorization",
    "cookie",
    "content-length",
    "content-type",
    "forwarded",
    "x-forwarded-for",
];

/// What no trailer may say (RFC 9110 section 6.5.1): it would frame, route or prove who somebody is after the fact.
const NO_TRAILERS: [&str; 31] = [
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "www-authenticate",
];

/// Whether a trailer may have this name.
pub fn may_trail(name: &str) -> bool {
    let refused = |prefix: &str| {
        name.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    !NO_TRAILERS.iter().any(|known| is(name, known)) && !refused("x-forwarded-") && !refused("if-")
}

/// Names and values of trailers, without those that none may have.
pub fn trailers(lines: &[u8]) -> Result<Vec<(&str, &[u8])>, HeadError> {
    let mut found = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r\n").ok_or(HeadError::LineEnd)?;
        if found.len() == FIELDS_MAX {
            return Err(HeadError::TooMuch);
        }
        let (name, value) = field(line)?;
        if may_trail(name) {
            found.push((name, value));
        }
    }
    Ok(found)
}

fn is(name: &str, known: &str) -> bool {
    name.len() == known.len() && name.eq_ignore_ascii_case(known)
}

fn empty_lines(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < 2 * EMPTY_LINES_MAX && bytes.get(at..at + 2) == Some(b"\r\n") {
        at += 2;
    }
    at
}

/// Where the empty line begins that ends the head; every line before it must end properly.
fn end_of_head(bytes: &[u8]) -> Result<Option<usize>, HeadError> {
    let mut line = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if at == 0 || bytes.get(at - 1) != Some(&b'\r') => {
                return Err(HeadError::LineEnd);
            }
            b'\n' if at - 1 == line => return Ok(Some(line)),
            b'\n' => line = at + 1,
            b'\r' if bytes.get(at + 1).is_some_and(|next| *next != b'\n') => {
                return Err(HeadError::LineEnd);
            }
            0 => return Err(HeadError::Value),
            _ => {}
        }
        if at >= HEAD_BYTES_USUAL {
            return Err(HeadError::TooMuch);
        }
        if line == 0 && at > TARGET_BYTES_MAX + 64 {
            return Err(HeadError::LongTarget);
        }
    }
    Ok(None)
}

/// The lines of a whole head, each without its end.
struct Lines<'b>(&'b [u8]);

impl<'b> Iterator for Lines<'b> {
    type Item = &'b [u8];

    fn next(&mut self) -> Option<&'b [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().position(|byte| *byte == b'\r');
        let end = end.unwrap_or(self.0.len());
        let line = self.0.get(..end)?;
        self.0 = self.0.get(end + 2..).unwrap_or_default();
        Some(line)
    }
}

fn request_line(line: &[u8]) -> Result<(&str, &str, bool), HeadError> {
    let text = std::str::from_utf8(line).map_err(|_| HeadError::RequestLine)?;
    let mut words = text.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(HeadError::RequestLine);
    };
    if method.is_empty() || !method.bytes().all(is_token) || target.is_empty() {
        return Err(HeadError::RequestLine);
    }
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) || target.contains('#') {
        return Err(HeadError::RequestLine);
    }
    if target.len() > TARGET_BYTES_MAX {
        return Err(HeadError::LongTarget);
    }
    match version {
        "HTTP/1.1" => Ok((method, target, false)),
        "HTTP/1.0" => Ok((method, target, true)),
        other if other.starts_with("HTTP/") => Err(HeadError::Version),
        _ => Err(HeadError::RequestLine),
    }
}

fn field(line: &[u8]) -> Result<(&str, &[u8]), HeadError> {
    let colon = line.iter().position(|byte| *byte == b':');
    let colon = colon.ok_or(HeadError::Field)?;
    let (name, value) = line.split_at(colon);
    if name.is_empty() || !name.iter().copied().all(is_token) {
        return Err(HeadError::Field);
    }
    let value = value.get(1..).unwrap_or_default();
    if value
        .iter()
        .any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 127)
    {
        return Err(HeadError::Value);
    }
    let name = std::str::from_utf8(name).map_err(|_| HeadError::Field)?;
    Ok((name, value.trim_ascii()))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A host with or without a port; an empty one is for targets that have none.
fn is_host(text: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]%!$&'()*+;=".contains(&byte);
    text.bytes().all(fine)
}

/// Reads the body of a request as it comes.
#[derive(Debug, Clone)]
pub struct BodyParser(State);

#[derive(Debug, Clone)]
enum State {
    Length(u64),
    Chunked(Box<Chunked>),
    Over,
}

impl BodyParser {
    pub fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::Length(0) => State::Over,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Box::new(Chunked::new())),
        })
    }

    pub fn is_over(&self) -> bool {
        matches!(self.0, State::Over)
    }

    /// Gives what `bytes` hold of the body to `sink`; how many of them were of it.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<usize, ProtocolError> {
        match &mut self.0 {
            State::Over => Ok(0),
            State::Length(left) => {
                let taken = (*left).min(bytes.len() as u64);
                *left -= taken;
                let is_over = *left == 0;
                sink.body(bytes.get(..taken as usize).unwrap_or_default());
                if is_over {
                    self.0 = State::Over;
                }
                Ok(taken as usize)
            }
            State::Chunked(chunked) => match chunked.feed(bytes, sink)? {
                None => Ok(bytes.len()),
                Some(taken) => {
                    self.0 = State::Over;
                    Ok(taken)
                }
            },
        }
    }
}

#[cfg(test)]
mod tests;

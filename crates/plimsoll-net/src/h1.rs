//! The HTTP/1.1 codec: requests encoded once, answers parsed from bytes as they come, no I/O.

mod chunked;
pub mod serving;

use std::fmt::Write as _;

use plimsoll_core::test::Request;
use thiserror::Error;

use crate::target::Target;
use chunked::Chunked;

/// A head longer than this is an attack or a bug.
pub(crate) const HEAD_BYTES_MAX: usize = 1 << 20;
/// As much as Go's client takes, and so k6.
const HEAD_BYTES_LENIENT: usize = 10 << 20;
/// Heads of servers are shorter: nginx and Node stop at 8 to 16 KiB.
pub const HEAD_BYTES_USUAL: usize = 64 << 10;
/// Headers that are read without memory of their own.
const HEADERS_USUAL: usize = 128;

type Result<T, E = ProtocolError> = std::result::Result<T, E>;

/// Why bytes are not an HTTP/1.1 answer. Each is the outcome `protocol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProtocolError {
    #[error("the head of the answer is not HTTP")]
    Head,
    #[error("the head of the answer is longer than {} MiB", .0 >> 20)]
    LongHead(usize),
    #[error("Content-Length is not a number, or is given twice with different values")]
    ContentLength,
    #[error("the answer has both Content-Length and Transfer-Encoding")]
    TwoFramings,
    #[error("Transfer-Encoding is not chunked")]
    TransferEncoding,
    #[error("a chunk has no valid size line")]
    ChunkSize,
    #[error("a chunk does not end where its size says")]
    ChunkEnd,
    #[error("trailers are longer than 64 KiB")]
    LongTrailers,
    #[error("bytes follow the end of the answer")]
    Surplus,
    #[error("the server switched protocols unasked")]
    Switched,
}

/// A request header that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    #[error("header `{0}` is not `Name: value`")]
    Shape(String),
    #[error("header name or value `{0}` has a character that HTTP does not allow")]
    Character(String),
    #[error("method `{0}` is not a token such as GET or POST")]
    Method(String),
}

/// Splits `Name: value` as typed after `-H`.
pub fn parse_header(text: &str) -> Result<(String, String), HeaderError> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| HeaderError::Shape(text.to_owned()))?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err(HeaderError::Shape(text.to_owned()));
    }
    http::HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| HeaderError::Character(text.to_owned()))?;
    http::HeaderValue::from_str(value).map_err(|_| HeaderError::Character(text.to_owned()))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The bytes of the request, sent again and again.
pub fn encode_request(
    request: &Request,
    target: &Target,
    keepalive: bool,
) -> Result<Vec<u8>, HeaderError> {
    http::Method::from_bytes(request.method.as_bytes())
        .map_err(|_| HeaderError::Method(request.method.clone()))?;
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, target.path);
    let mut line = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _infallible = write!(head, "{name}: {value}\r\n");
    };
    if header(request, "host").is_none() {
        line("Host", &target.host_header());
    }
    for (name, value) in default_headers(request) {
        line(name, &value);
    }
    if let Some(value) = &target.proxy_authorization {
        line("Proxy-Authorization", value);
    }
    if !keepalive && header(request, "connection").is_none() {
        line("Connection", "close");
    }
    for (name, value) in &request.headers {
        line(name, value);
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&request.body);
    Ok(bytes)
}

/// The value that was given for a header.
pub(crate) fn header<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    let mut headers = request.headers.iter();
    let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// The headers that every request has, as far as they were not given.
pub(crate) fn default_headers(request: &Request) -> Vec<(&'static str, String)> {
    let agent = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));
    let mut headers = vec![
        ("User-Agent", agent.to_owned()),
        ("Accept", "*/*".to_owned()),
    ];
    if !request.body.is_empty() || matches!(&*request.method, "POST" | "PUT" | "PATCH") {
        headers.push(("Content-Length", request.body.len().to_string()));
    }
    headers.retain(|(name, _)| header(request, name).is_none());
    headers
}

/// Where the bytes of an answer go as they come. `()` throws them away, at no cost.
pub trait Sink {
    /// The head of the final answer.
    fn head(&mut self, _head: &Head<'_, '_>) {}
    /// An informational head (1xx) before the final one.
    fn interim(&mut self, _head: &Head<'_, '_>) {}
    /// Some of the body, without the transfer coding.
    fn body(&mut self, _bytes: &[u8]) {}
    /// The lines behind a chunked body, where there are any, as they came: [`serving::trailers`] reads them.
    fn trailers(&mut self, _lines: &[u8]) {}
}

impl Sink for () {}

/// The head of an answer, which is parsed once.
#[derive(Debug)]
pub struct Head<'h, 'b> {
    pub status: u16,
    /// The words after the status; may be empty.
    pub reason: &'b str,
    /// HTTP/1.0, not HTTP/1.1.
    pub is_http10: bool,
    /// Bytes on the wire, status line and empty line included.
    pub length: usize,
    lines: &'h [httparse::Header<'b>],
}

impl<'b> Head<'_, 'b> {
    /// The header lines in the order of the wire.
    pub fn lines(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> {
        self.lines.iter().map(|line| (line.name, line.value))
    }
}

/// A complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Head and body as received.
    pub bytes: u64,
    /// The connection can carry another request.
    pub keepalive: bool,
}

/// Parses one answer after the other on one connection; keeps only an incomplete head.
#[derive(Debug)]
pub struct AnswerParser {
    state: State,
    /// An incomplete head from earlier reads; empty in the common case of one read per answer.
    held: Vec<u8>,
    bytes: u64,
    status: u16,
    keepalive: bool,
    head_request: bool,
    may_switch: bool,
    reading: Reading,
}

/// Which answers are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Strict,
    Lenient,
}

impl Reading {
    const fn head_bytes_max(self) -> usize {
        match self {
            Self::Strict => HEAD_BYTES_MAX,
            Self::Lenient => HEAD_BYTES_LENIENT,
        }
    }
}

/// What comes next: a head, or a body by how its end is known; no body is a length of zero.
#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilEof,
}

impl AnswerParser {
    /// `head_request`: answers to HEAD have no body, whatever their headers say.
    pub fn new(head_request: bool) -> Self {
        Self {
            state: State::Head,
            held: Vec::new(),
            bytes: 0,
            status: 0,
            keepalive: true,
            head_request,
            may_switch: false,
            reading: Reading::Strict,
        }
    }

    /// Reads what Go's client reads, and so k6, and what others then call an answer: a head of 10 MiB, a space behind the name
    /// of a header, a length beside chunks, which decide. Not for whoever passes an answer on, because the next reader may
    /// see another end of it.
    #[must_use]
    pub(crate) fn lenient(mut self) -> Self {
        self.reading = Reading::Lenient;
        self
    }

    /// The request asks for another protocol: after a 101 everything up to the end of the connection is body.
    #[must_use]
    pub fn switching(mut self, may_switch: bool) -> Self {
        self.may_switch = may_switch;
        self
    }

    /// Some bytes of the current answer have come.
    pub fn started(&self) -> bool {
        self.bytes > 0
    }

    /// The next answer belongs to a HEAD request, or not.
    pub fn expect(&mut self, head_request: bool) {
        self.head_request = head_request;
    }

    /// Takes what was read. `None`: more is needed. After bytes behind a complete answer, which nobody asked for, the
    /// connection takes no further request: the answer itself is whole.
    pub fn feed(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Option<Answer>> {
        self.bytes += input.len() as u64;
        let mut rest = input;
        loop {
            match &mut self.state {
                State::Head => {
                    let Some(length) = self.feed_head(rest, sink)? else {
                        return Ok(None);
                    };
                    rest = rest.get(length..).unwrap_or_default();
                }
                State::Length(left) => {
                    let taken = (*left).min(rest.len() as u64);
                    *left -= taken;
                    sink.body(rest.get(..taken as usize).unwrap_or_default());
                    if *left > 0 {
                        return Ok(None);
                    }
                    let surplus = rest.get(taken as usize..).unwrap_or_default();
                    return Ok(Some(self.finish(surplus)));
                }
                State::Chunked(chunked) => {
                    let taken = chunked.feed(rest, sink)?;
                    let surplus = taken.map(|taken| rest.get(taken..).unwrap_or_default());
                    return Ok(surplus.map(|surplus| self.finish(surplus)));
                }
                State::UntilEof => {
                    sink.body(rest);
                    return Ok(None);
                }
            }
        }
    }

    /// The peer closed. An answer framed by the close is complete; anything else is cut off.
    pub fn end(&mut self) -> Option<Answer> {
        if !matches!(self.state, State::UntilEof) {
            return None;
        }
        self.keepalive = false;
        Some(self.finish(&[]))
    }

    fn finish(&mut self, surplus: &[u8]) -> Answer {
        self.keepalive &= surplus.is_empty();
        let answer = Answer {
            status: self.status,
            bytes: self.bytes,
            keepalive: self.keepalive,
        };
        self.state = State::Head;
        self.bytes = 0;
        answer
    }

    /// Reads a head that may have begun in earlier input: how much of the input is of it. `None`: more is needed.
    fn feed_head(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Option<usize>> {
        if self.held.is_empty() {
            let length = self.parse_head(input, sink)?;
            if length.is_none() {
                self.hold(input)?;
            }
            return Ok(length);
        }
        let before = self.held.len();
        self.hold(input)?;
        // A long head is not read again for each of its parts.
        let tail = self.held.get(before.saturating_sub(3)..);
        if before > HEAD_BYTES_USUAL && !ends_head(tail.unwrap_or_default()) {
            return Ok(None);
        }
        let held = std::mem::take(&mut self.held);
        let length = self.parse_head(&held, sink)?;
        if length.is_none() {
            self.held = held;
        }
        // It was incomplete before, so it ends within the new input.
        Ok(length.map(|length| length.saturating_sub(before)))
    }

    fn hold(&mut self, input: &[u8]) -> Result<()> {
        let most = self.reading.head_bytes_max();
        if self.held.len() + input.len() > most {
            return Err(ProtocolError::LongHead(most));
        }
        self.held.extend_from_slice(input);
        Ok(())
    }

    /// Its length once it is whole. After an informational one (1xx) the real one follows.
    fn parse_head(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<Option<usize>> {
        let mut headers = [const { std::mem::MaybeUninit::uninit() }; HEADERS_USUAL];
        let mut head = httparse::Response::new(&mut []);
        let mut rules = httparse::ParserConfig::default();
        // A line that goes on in the next is obsolete, and read by everybody (RFC 9112, section 5.2).
        rules.allow_obsolete_multiline_headers_in_responses(true);
        let is_lenient = self.reading == Reading::Lenient;
        rules.allow_spaces_after_header_name_in_responses(is_lenient);
        let parsed = rules.parse_response_with_uninit_headers(&mut head, bytes, &mut headers);
        match parsed {
            Ok(httparse::Status::Complete(length)) => self.take_head(&head, length, sink),
            Ok(httparse::Status::Partial) => Ok(None),
            Err(httparse::Error::TooManyHeaders) => self.parse_large_head(&rules, bytes, sink),
            Err(_) => Err(ProtocolError::Head),
        }
    }

    /// One with more headers than usual.
    #[cold]
    fn parse_large_head(
        &mut self,
        rules: &httparse::ParserConfig,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<Option<usize>> {
        let lines = bytes.split(|byte| *byte == b'\n').count();
        let mut headers = vec![httparse::EMPTY_HEADER; lines];
        let mut head = httparse::Response::new(&mut headers);
        match rules.parse_response(&mut head, bytes) {
            Ok(httparse::Status::Complete(length)) => self.take_head(&head, length, sink),
            Ok(httparse::Status::Partial) => Ok(None),
            Err(_) => Err(ProtocolError::Head),
        }
    }

    fn take_head(
        &mut self,
        head: &httparse::Response<'_, '_>,
        length: usize,
        sink: &mut impl Sink,
    ) -> Result<Option<usize>> {
        let status = head.code.ok_or(ProtocolError::Head)?;
        let told = Head {
            status,
            reason: head.reason.unwrap_or_default(),
            is_http10: head.version == Some(0),
            length,
            lines: head.headers,
        };
        match status {
            ..100 => return Err(ProtocolError::Head),
            101 if !self.may_switch => return Err(ProtocolError::Switched),
            100 | 102..200 => {
                sink.interim(&told);
                return Ok(Some(length));
            }
            _ => {}
        }
        self.status = status;
        self.keepalive = head.version == Some(1);
        self.state = if status == 101 {
            State::UntilEof
        } else {
            self.read_headers(head.headers)?
        };
        if self.head_request || matches!(status, 204 | 304) {
            self.state = State::Length(0);
        }
        sink.head(&told);
        Ok(Some(length))
    }

    fn read_headers(&mut self, headers: &[httparse::Header<'_>]) -> Result<State> {
        let mut content_length: Option<u64> = None;
        let mut chunked = false;
        for header in headers {
            // Lengths first: three names matter, and most headers differ from them in length.
            match header.name.len() {
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    if has_token(header.value, b"close") {
                        self.keepalive = false;
                    } else if has_token(header.value, b"keep-alive") {
                        self.keepalive = true;
                    }
                }
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    let length = parse_length(header.value)?;
                    if content_length.is_some_and(|known| known != length) {
                        return Err(ProtocolError::ContentLength);
                    }
                    content_length = Some(length);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    if !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") || chunked {
                        return Err(ProtocolError::TransferEncoding);
                    }
                    chunked = true;
                }
                _ => {}
            }
        }
        match (content_length, chunked) {
            (Some(_), true) if self.reading == Reading::Strict => Err(ProtocolError::TwoFramings),
            (_, true) => Ok(State::Chunked(Chunked::new())),
            (Some(length), false) => Ok(State::Length(length)),
            (None, false) => Ok(State::UntilEof),
        }
    }
}

/// The end of a head may be in here.
fn ends_head(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value
        .split(|&byte| byte == b',')
        .any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// The value of `Content-Length`.
pub(crate) fn parse_length(value: &[u8]) -> Result<u64> {
    let digits = value.trim_ascii();
    let add = |number: u64, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    let number = digits.iter().try_fold(0, add);
    number
        .filter(|_| !digits.is_empty())
        .ok_or(ProtocolError::ContentLength)
}

#[cfg(test)]
mod tests;

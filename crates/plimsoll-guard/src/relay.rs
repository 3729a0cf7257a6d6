//! The answer on its way back: its head written anew for the client, its body framed as the client can read it.

use plimsoll_net::h1::serving::HOP_BY_HOP;
use plimsoll_net::h1::{Head, Sink};

use crate::incoming::Incoming;

/// How the end of the answer is shown to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// By its length, or it has no body.
    Counted,
    Chunked,
    /// By the end of the connection: what HTTP/1.0 has.
    Closed,
}

/// Collects bytes for the client.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Relay {
    pub(crate) bytes: Vec<u8>,
    pub(crate) status: Option<u16>,
    /// The client's connection can go on after this answer.
    pub(crate) keepalive: bool,
    /// A stream of events, which may last for ever.
    pub(crate) is_stream: bool,
    is_head: bool,
    is_http10: bool,
    ending: Ending,
}

impl Relay {
    pub(crate) fn new(incoming: &Incoming, keepalive: bool) -> Self {
        Self {
            bytes: Vec::new(),
            status: None,
            keepalive,
            is_stream: false,
            is_head: incoming.is_head,
            is_http10: incoming.is_http10,
            ending: Ending::Counted,
        }
    }

    /// The answer is complete.
    pub(crate) fn finish(&mut self) {
        if self.ending == Ending::Chunked {
            self.bytes.extend_from_slice(b"0\r\n\r\n");
        }
    }

    fn line(&mut self, parts: [&[u8]; 3]) {
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.extend_from_slice(b"\r\n");
    }
}

impl Sink for Relay {
    fn head(&mut self, head: &Head<'_, '_>) {
        self.status = Some(head.status);
        let status = head.status.to_string();
        self.line([
            b"HTTP/1.1 ",
            status.as_bytes(),
            &[b" ", head.reason.as_bytes()].concat(),
        ]);
        let mut has_length = false;
        let of_connection: Vec<&[u8]> = head
            .lines()
            .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
            .flat_map(|(_, value)| value.split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii)
            .collect();
        for (name, value) in head.lines() {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            // How long the body is and what it is, no Connection may take away.
            let is_named = of_connection
                .iter()
                .any(|named| name.as_bytes().eq_ignore_ascii_case(named));
            if is("content-length") {
                has_length = true;
            } else if is("content-type") {
                let event = b"text/event-stream";
                let kind = value.get(..event.len()).unwrap_or_default();
                self.is_stream = kind.eq_ignore_ascii_case(event);
            } else if is_named || HOP_BY_HOP.iter().any(|hop| is(hop)) {
                continue;
            }
            self.line([name.as_bytes(), b": ", value]);
        }
        let has_body = !self.is_head && !matches!(head.status, 204 | 304);
        self.ending = match (has_length || !has_body, self.is_http10) {
            (true, _) => Ending::Counted,
            (false, false) => Ending::Chunked,
            (false, true) => Ending::Closed,
        };
        match self.ending {
            Ending::Counted => {}
            Ending::Chunked => self.line([b"Transfer-Encoding", b": ", b"chunked"]),
            Ending::Closed => self.keepalive = false,
        }
        if !self.keepalive {
            self.line([b"Connection", b": ", b"close"]);
        } else if self.is_http10 {
            self.line([b"Connection", b": ", b"keep-alive"]);
        }
        self.line([b"", b"", b""]);
    }

    fn body(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.ending == Ending::Chunked {
            let size = format!("{:x}\r\n", bytes.len());
            self.bytes.extend_from_slice(size.as_bytes());
            self.bytes.extend_from_slice(bytes);
            self.bytes.extend_from_slice(b"\r\n");
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// The body of a request on its way to the upstream, in the framing that its head announced.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_chunked: bool,
}

impl Upload {
    pub(crate) fn finish(&mut self) {
        if self.is_chunked {
            self.bytes.extend_from_slice(b"0\r\n\r\n");
        }
    }
}

impl Sink for Upload {
    fn body(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.is_chunked {
            let size = format!("{:x}\r\n", bytes.len());
            self.bytes.extend_from_slice(size.as_bytes());
        }
        self.bytes.extend_from_slice(bytes);
        if self.is_chunked {
            self.bytes.extend_from_slice(b"\r\n");
        }
    }
}

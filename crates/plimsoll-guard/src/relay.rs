//! Messages as HTTP/1.1 writes them: the answer for the client, the request's body for the upstream.

use std::borrow::Cow;

use plimsoll_net::h1::serving::{is_hop_by_hop, trailers};
use plimsoll_net::h1::{Head, Sink};

use crate::incoming::Incoming;
use crate::refusal::Persistence;

/// How the end of the answer is shown to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// By its length, or it has no body.
    Counted,
    Chunked,
    /// By the end of the connection: what HTTP/1.0 has, and what a protocol has that was switched to.
    Closed,
}

/// Collects bytes for the client.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Relay {
    pub(crate) bytes: Vec<u8>,
    /// The client's connection can go on after this answer.
    pub(crate) keepalive: bool,
    /// From here on both sides speak another protocol.
    pub(crate) is_tunnel: bool,
    is_head: bool,
    is_http10: bool,
    ending: Ending,
    /// Ready lines for the end of a chunked body.
    trailers: Vec<u8>,
}

/// Whether the connection's own fields, or everybody's habit, keep this one from the next hop.
pub(crate) fn is_of_connection(head: &Head<'_, '_>, name: &str) -> bool {
    // What a body is and how long, no Connection may take away.
    let is_of_body = ["content-length", "content-type", "content-encoding"]
        .iter()
        .any(|kept| name.eq_ignore_ascii_case(kept));
    let named = |(of, value): (&str, &[u8])| {
        of.eq_ignore_ascii_case("connection")
            && value
                .split(|byte| *byte == b',')
                .any(|one| one.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    };
    !is_of_body && (is_hop_by_hop(name) || head.lines().any(named))
}

/// A value that goes on in a second line is one with spaces: nobody else may read it as two (RFC 9112 section 5.2).
pub(crate) fn in_one_line(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
        return Cow::Borrowed(value);
    }
    let spaced = |byte: &u8| {
        if matches!(byte, b'\r' | b'\n') {
            b' '
        } else {
            *byte
        }
    };
    Cow::Owned(value.iter().map(spaced).collect())
}

impl Relay {
    pub(crate) fn new(incoming: &Incoming) -> Self {
        Self {
            bytes: Vec::new(),
            keepalive: incoming.keepalive,
            is_tunnel: false,
            is_head: incoming.is_head,
            is_http10: incoming.is_http10,
            ending: Ending::Counted,
            trailers: Vec::new(),
        }
    }

    /// The answer is complete.
    pub(crate) fn finish(&mut self) {
        if self.ending == Ending::Chunked {
            self.bytes.extend_from_slice(b"0\r\n");
            self.bytes.append(&mut self.trailers);
            self.bytes.extend_from_slice(b"\r\n");
        }
    }

    pub(crate) fn persistence(&self) -> Persistence {
        if self.keepalive {
            Persistence::kept(self.is_http10)
        } else {
            Persistence::Close
        }
    }

    fn put(&mut self, parts: [&[u8]; 4]) {
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
    }

    fn first_line(&mut self, head: &Head<'_, '_>) {
        self.bytes.reserve(head.length + 64);
        let status = digits(head.status);
        self.put([b"HTTP/1.1 ", &status, b" ", head.reason.as_bytes()]);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Ours behind those of the upstream: what the connection needs to know.
    fn last_lines(&mut self, head: &Head<'_, '_>) {
        match self.ending {
            Ending::Counted => {}
            Ending::Chunked => self.put([b"Transfer-Encoding: chunked\r\n", b"", b"", b""]),
            Ending::Closed => self.keepalive = false,
        }
        if self.is_tunnel {
            self.put([b"Connection: Upgrade\r\n", b"", b"", b""]);
            for (_, value) in head
                .lines()
                .filter(|(name, _)| name.eq_ignore_ascii_case("upgrade"))
            {
                self.put([b"Upgrade: ", value, b"\r\n", b""]);
            }
        } else {
            self.put([self.persistence().line().as_bytes(), b"", b"", b""]);
        }
        self.bytes.extend_from_slice(b"\r\n");
    }
}

fn digits(status: u16) -> [u8; 3] {
    [status / 100 % 10, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8)
}

impl Sink for Relay {
    fn interim(&mut self, head: &Head<'_, '_>) {
        // The guard says itself when to go on; and an old client knows nothing of these.
        if self.is_http10 || head.status == 100 {
            return;
        }
        self.first_line(head);
        for (name, value) in head.lines() {
            if !is_of_connection(head, name) {
                self.put([name.as_bytes(), b": ", &in_one_line(value), b"\r\n"]);
            }
        }
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn head(&mut self, head: &Head<'_, '_>) {
        self.first_line(head);
        let mut has_length = false;
        for (name, value) in head.lines() {
            has_length |= name.len() == 14 && name.eq_ignore_ascii_case("content-length");
            if !is_of_connection(head, name) {
                self.put([name.as_bytes(), b": ", &in_one_line(value), b"\r\n"]);
            }
        }
        self.is_tunnel = head.status == 101;
        let has_body = !self.is_head && !matches!(head.status, 204 | 304);
        self.ending = match (has_length || !has_body, self.is_http10) {
            _ if self.is_tunnel => Ending::Closed,
            (true, _) => Ending::Counted,
            (false, false) => Ending::Chunked,
            (false, true) => Ending::Closed,
        };
        self.last_lines(head);
    }

    fn body(&mut self, bytes: &[u8]) {
        if self.ending == Ending::Chunked {
            put_chunk(&mut self.bytes, bytes);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    fn trailers(&mut self, lines: &[u8]) {
        // Those that nobody could read are left out: the body is whole all the same.
        put_trailers(&mut self.trailers, lines);
    }
}

fn put_chunk(into: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let mut size = [0; 16];
    let mut at = size.len();
    let mut left = bytes.len();
    while left > 0 {
        at -= 1;
        if let Some(digit) = size.get_mut(at) {
            *digit = b"0123456789abcdef"[left % 16];
        }
        left /= 16;
    }
    into.reserve(bytes.len() + 20);
    into.extend_from_slice(size.get(at..).unwrap_or_default());
    into.extend_from_slice(b"\r\n");
    into.extend_from_slice(bytes);
    into.extend_from_slice(b"\r\n");
}

/// False if one of them is no field.
fn put_trailers(into: &mut Vec<u8>, lines: &[u8]) -> bool {
    let Ok(read) = trailers(lines) else {
        return false;
    };
    for (name, value) in read {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            into.extend_from_slice(part);
        }
    }
    true
}

/// A request on its way to the upstream, its body in the framing that its head announced.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_chunked: bool,
    /// A trailer was no field.
    pub(crate) is_bad: bool,
    /// Of the body, without its framing.
    pub(crate) body_bytes: u64,
    trailers: Vec<u8>,
}

impl Upload {
    pub(crate) fn new(head: Vec<u8>, is_chunked: bool) -> Self {
        Self {
            bytes: head,
            is_chunked,
            ..Self::default()
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.is_chunked {
            self.bytes.extend_from_slice(b"0\r\n");
            self.bytes.append(&mut self.trailers);
            self.bytes.extend_from_slice(b"\r\n");
        }
    }
}

impl Sink for Upload {
    fn body(&mut self, bytes: &[u8]) {
        self.body_bytes += bytes.len() as u64;
        if self.is_chunked {
            put_chunk(&mut self.bytes, bytes);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    fn trailers(&mut self, lines: &[u8]) {
        self.is_bad |= !put_trailers(&mut self.trailers, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_says_its_size() {
        for (length, size) in [(1, "1"), (15, "f"), (16, "10"), (0x1234, "1234")] {
            let mut bytes = Vec::new();
            put_chunk(&mut bytes, &vec![b'x'; length]);
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(text, format!("{size}\r\n{}\r\n", "x".repeat(length)));
        }
    }

    #[test]
    fn trailers_that_would_frame_or_prove_something_are_left_out() {
        let mut upload = Upload::new(Vec::new(), true);
        upload.body(b"abc");
        upload.trailers(b"X-Sum: 1\r\nContent-Length: 9\r\nAuthorization: b\r\n");
        upload.finish();
        assert_eq!(upload.bytes, b"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n");
        assert!(!upload.is_bad);
        upload.trailers(b"X-Sum : 1\r\n");
        assert!(upload.is_bad);
    }
}

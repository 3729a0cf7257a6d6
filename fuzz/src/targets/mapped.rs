//! Requests of HTTP/2 as a guard maps them: what passes, written down as HTTP/1.1, is read there as the same request.

use plimsoll_net::h1::serving::{Framing, Mapped, RequestHead};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "\nhost: a",
    "\ncontent-length: 1",
    "\ntransfer-encoding: chunked",
    "\nte: trailers",
    "\nconnection: x",
    "\nupgrade: websocket",
    "\nexpect: 100-continue",
    "\ncookie: a=b",
    "\r\n",
    "http://a/b",
    "OPTIONS",
    "CONNECT",
    "a:1",
];

/// Lines: whether a body follows (`!`), method, path, authority (none if empty), then fields.
pub(super) fn read(data: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(data) else {
        return "no text".to_owned();
    };
    let mut lines = text.split('\n');
    let mut word = || lines.next().unwrap_or_default();
    let has_body = word().starts_with('!');
    let (method, path, authority) = (word(), word(), word());
    let said = Mapped {
        method,
        path,
        authority: (!authority.is_empty()).then_some(authority),
        has_body,
    };
    let fields = lines.map(|line| match line.split_once(": ") {
        Some((name, value)) => (name, value.as_bytes()),
        None => (line, &b""[..]),
    });
    let head = match RequestHead::of_http2(&said, fields.collect()) {
        Ok(head) => head,
        Err(error) => return variant(&error),
    };
    let bytes = written(&head);
    let again = RequestHead::read(&bytes).expect("what was mapped is proper");
    let again = again.expect("and whole");
    assert_eq!(again.length, bytes.len(), "one request became two");
    assert_eq!(
        (head.method, head.target, head.host, head.framing),
        (again.method, again.target, again.host, again.framing)
    );
    assert!(again.upgrade.is_none() && again.keepalive);
    format!("{:?}", head.framing)
        .split('(')
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// As the guard writes it: the framing by what was understood, not by what was said.
fn written(head: &RequestHead<'_>) -> Vec<u8> {
    let mut bytes = format!("{} {} HTTP/1.1\r\n", head.method, head.target).into_bytes();
    for (name, value) in &head.fields {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            bytes.extend_from_slice(part);
        }
    }
    if head.framing == Framing::Chunked {
        bytes.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

//! A request as it goes on: its head written anew for the upstream, and what must be known of it here.

use std::net::IpAddr;

use plimsoll_core::Nanos;
use plimsoll_net::h1::serving::{Framing, RequestHead};

use crate::policy::{Asked, Facts, Policy};
use crate::trust::Way;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Incoming {
    /// When its client began to wait.
    pub(crate) came: Nanos,
    /// For the upstream, complete.
    pub(crate) head: Vec<u8>,
    pub(crate) framing: Framing,
    pub(crate) is_head: bool,
    /// May be sent twice: it changes nothing, and has no body.
    pub(crate) is_safe: bool,
    pub(crate) is_http10: bool,
    pub(crate) keepalive: bool,
    pub(crate) expects_continue: bool,
    /// Asks to go on with another protocol.
    pub(crate) is_upgrade: bool,
    /// Where it goes, and as what.
    pub(crate) asked: Asked,
}

/// What a client says about its own way here is not believed: it is written anew, from the word of proxies that are trusted.
const OURS: [&str; 6] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-real-ip",
];

impl Incoming {
    pub(crate) fn is_chunked(&self) -> bool {
        self.framing == Framing::Chunked
    }

    /// Of the body, where it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(length) => Some(length),
            Framing::Chunked => None,
        }
    }

    pub(crate) fn new(came: Nanos, read: &RequestHead<'_>, way: &Way<'_>, asked: Asked) -> Self {
        let is_safe = matches!(read.method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
            && read.framing == Framing::Length(0);
        Self {
            came,
            head: outgoing(read, way),
            framing: read.framing,
            is_head: read.method == "HEAD",
            is_safe,
            is_http10: read.is_http10,
            keepalive: read.keepalive,
            expects_continue: read.expects_continue,
            is_upgrade: read.upgrade.is_some(),
            asked,
        }
    }
}

/// Where a request goes, and as what.
pub(crate) fn asked(read: &RequestHead<'_>, client: IpAddr, policy: &Policy) -> Asked {
    policy.asked(&Facts {
        method: read.method,
        target: read.target,
        host: read.host,
        client,
        is_upgrade: read.upgrade.is_some(),
        field: &|name| value(read, name),
    })
}

fn outgoing(read: &RequestHead<'_>, way: &Way<'_>) -> Vec<u8> {
    let mut head = Vec::with_capacity(read.length + 96);
    let mut put = |parts: [&[u8]; 4]| parts.iter().for_each(|part| head.extend_from_slice(part));
    put([
        read.method.as_bytes(),
        b" ",
        read.target.as_bytes(),
        b" HTTP/1.1\r\n",
    ]);
    let host = read.host.unwrap_or_default();
    put([b"Host: ", host.as_bytes(), b"\r\n", b""]);
    for (name, value) in &read.fields {
        let is_ours = OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours));
        let is_written = ["host", "content-length", "expect"]
            .iter()
            .any(|written| name.eq_ignore_ascii_case(written));
        if !is_ours && !is_written && !read.is_of_connection(name) {
            put([name.as_bytes(), b": ", value, b"\r\n"]);
        }
    }
    match read.framing {
        Framing::Chunked => put([b"Transfer-Encoding: chunked\r\n", b"", b"", b""]),
        Framing::Length(length) => {
            let was_given = read
                .fields
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            if was_given {
                let length = length.to_string();
                put([b"Content-Length: ", length.as_bytes(), b"\r\n", b""]);
            }
        }
    }
    match (read.upgrade, read.takes_trailers()) {
        (Some(protocol), _) => {
            let protocol = protocol.as_bytes();
            put([b"Connection: Upgrade\r\nUpgrade: ", protocol, b"\r\n", b""]);
        }
        (None, true) => put([b"Connection: TE\r\nTE: trailers\r\n", b"", b"", b""]),
        (None, false) => {}
    }
    way.put(host.as_bytes(), &mut head);
    head.extend_from_slice(b"\r\n");
    head
}

fn value<'b>(read: &RequestHead<'b>, name: &str) -> Option<&'b [u8]> {
    let found = read
        .fields
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;
    use std::net::SocketAddr;

    use crate::config::Config;

    use super::*;

    fn incoming(text: &str) -> Incoming {
        let read = RequestHead::read(text.as_bytes()).unwrap().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let config = Config::simple(any.into(), vec![any.into()]);
        let policy = Policy::new(config, Vec::new(), RandomState::new());
        let way = Way::of(&read, IpAddr::from([10, 0, 0, 7]), false, &[]);
        let asked = asked(&read, way.client, &policy);
        Incoming::new(Nanos::ZERO, &read, &way, asked)
    }

    #[test]
    fn a_head_is_written_anew() {
        let request = incoming(
            "GET http://a/users/17/x?y HTTP/1.1\r\nHost: a\r\nConnection: X-Own, keep-alive\r\nX-Own: 1\r\n\
             Keep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nX-Forwarded-For: 1.2.3.4\r\n\
             Authorization: b\r\nAccept:  */* \r\n\r\n",
        );
        let head = String::from_utf8(request.head).unwrap();
        assert_eq!(
            head,
            "GET /users/17/x?y HTTP/1.1\r\nHost: a\r\nAuthorization: b\r\nAccept: */*\r\n\
             Connection: TE\r\nTE: trailers\r\nX-Forwarded-For: 10.0.0.7\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\n\r\n"
        );
        assert_eq!(request.asked.route, "GET /users/:id");
        assert!(request.is_safe && !request.asked.wanted.is_retry);
    }

    #[test]
    fn bodies_keep_their_framing() {
        let post = incoming("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let head = String::from_utf8(post.head).unwrap();
        assert!(head.contains("\r\nTransfer-Encoding: chunked\r\n") && !post.is_safe);
    }
}

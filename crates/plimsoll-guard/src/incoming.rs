//! A request as it goes on: its head written anew for the upstream, and what must be known of it here.

use std::net::IpAddr;

use plimsoll_control::admission::Class;
use plimsoll_net::h1::serving::{Framing, RequestHead};

use crate::Config;

/// Route labels are cut here: they are for people, and must not hold memory.
const ROUTE_BYTES: usize = 48;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Incoming {
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
    /// Says itself that it is not the first attempt.
    pub(crate) is_retry: bool,
    pub(crate) route: String,
    pub(crate) class: Class,
    /// What the tenant's header says.
    pub(crate) tenant: Option<Vec<u8>>,
}

/// What a client says about its own way here is not believed: it is written anew.
const OURS: [&str; 6] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-real-ip",
];

/// Fields that clients and meshes count attempts in; a value above the first of these is a retry.
const ATTEMPTS: [(&str, u32); 4] = [
    ("x-envoy-attempt-count", 1),
    ("x-retry-count", 0),
    ("retry-attempt", 0),
    ("grpc-previous-rpc-attempts", 0),
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

    /// `is_secure`: it came through TLS.
    pub(crate) fn new(
        read: &RequestHead<'_>,
        client: IpAddr,
        is_secure: bool,
        config: &Config,
    ) -> Self {
        let is_safe = matches!(read.method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
            && read.framing == Framing::Length(0);
        Self {
            head: outgoing(read, client, is_secure),
            framing: read.framing,
            is_head: read.method == "HEAD",
            is_safe,
            is_http10: read.is_http10,
            keepalive: read.keepalive,
            expects_continue: read.expects_continue,
            is_upgrade: read.upgrade.is_some(),
            is_retry: is_retry(read),
            route: route(read),
            class: class(read, config.class_header.as_deref()),
            tenant: value(read, config.tenant_header.as_deref()).map(<[u8]>::to_vec),
        }
    }
}

fn outgoing(read: &RequestHead<'_>, client: IpAddr, is_secure: bool) -> Vec<u8> {
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
            put([
                b"Connection: Upgrade\r\nUpgrade: ",
                protocol.as_bytes(),
                b"\r\n",
                b"",
            ]);
        }
        (None, true) => put([b"Connection: TE\r\nTE: trailers\r\n", b"", b"", b""]),
        (None, false) => {}
    }
    let client = client.to_string();
    put([b"X-Forwarded-For: ", client.as_bytes(), b"\r\n", b""]);
    put([b"X-Forwarded-Host: ", host.as_bytes(), b"\r\n", b""]);
    let scheme: &[u8] = if is_secure { b"https" } else { b"http" };
    put([b"X-Forwarded-Proto: ", scheme, b"\r\n\r\n", b""]);
    head
}

fn value<'b>(read: &RequestHead<'b>, name: Option<&str>) -> Option<&'b [u8]> {
    let name = name?;
    let found = read
        .fields
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| *value)
}

/// A word that is no class is no reason to refuse anybody: it counts as `default`.
fn class(read: &RequestHead<'_>, header: Option<&str>) -> Class {
    let word = value(read, header).and_then(|value| std::str::from_utf8(value).ok());
    word.and_then(Class::parse).unwrap_or_default()
}

fn is_retry(read: &RequestHead<'_>) -> bool {
    read.fields.iter().any(|(name, value)| {
        let known = ATTEMPTS
            .iter()
            .find(|(known, _)| name.eq_ignore_ascii_case(known));
        let count = std::str::from_utf8(value).ok();
        let count = count.and_then(|text| text.parse::<u32>().ok());
        known.is_some_and(|(_, first)| count.is_some_and(|count| count > *first))
    })
}

/// Method and the first two parts of the path, without what looks like an id.
fn route(read: &RequestHead<'_>) -> String {
    let path = read.target.split('?').next().unwrap_or_default();
    let mut route = read.method.to_owned();
    route.push(' ');
    for part in path.split('/').skip(1).take(2) {
        let is_id = part.len() > 24 || part.bytes().any(|byte| byte.is_ascii_digit());
        route.push('/');
        route.push_str(if is_id { ":id" } else { part });
    }
    route.truncate(ROUTE_BYTES);
    route
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use plimsoll_control::admission::Rule;

    use super::*;

    fn incoming(text: &str) -> Incoming {
        let read = RequestHead::read(text.as_bytes()).unwrap().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let config = Config {
            listen: any.into(),
            certificates: Vec::new(),
            http2: true,
            upstream: any.into(),
            admin: None,
            rule: Rule::HalfLoad,
            class_header: Some("X-Class".to_owned()),
            tenant_header: Some("X-Tenant".to_owned()),
            connections_max: 1,
            drain: Duration::ZERO,
            stream_idle: Duration::ZERO,
            access_log: None,
        };
        Incoming::new(&read, IpAddr::from([10, 0, 0, 7]), false, &config)
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
        assert_eq!(request.route, "GET /users/:id");
        assert!(request.is_safe && !request.is_retry);
    }

    #[test]
    fn class_and_tenant_are_read_where_they_may_be() {
        let request =
            incoming("GET / HTTP/1.1\r\nHost: a\r\nx-class: critical\r\nX-Tenant: t\r\n\r\n");
        assert_eq!(request.class, Class::Critical);
        assert_eq!(request.tenant.as_deref(), Some(&b"t"[..]));
        let odd = incoming("GET / HTTP/1.1\r\nHost: a\r\nX-Class: best\r\n\r\n");
        assert_eq!((odd.class, odd.tenant), (Class::Default, None));
    }

    #[test]
    fn attempts_are_counted_and_bodies_keep_their_framing() {
        let retry = incoming("GET / HTTP/1.1\r\nHost: a\r\nX-Retry-Count: 1\r\n\r\n");
        assert!(retry.is_retry);
        let first = incoming("GET / HTTP/1.1\r\nHost: a\r\nX-Envoy-Attempt-Count: 1\r\n\r\n");
        assert!(!first.is_retry);
        let post = incoming("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let head = String::from_utf8(post.head).unwrap();
        assert!(head.contains("\r\nTransfer-Encoding: chunked\r\n") && !post.is_safe);
    }
}

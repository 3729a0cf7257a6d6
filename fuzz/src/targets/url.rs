//! URLs and headers as typed: nothing typed can smuggle a second request onto the wire.

use plimsoll_core::test::Request;
use plimsoll_net::Target;
use plimsoll_net::h1::{encode_request, parse_header};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "http://", "https://", "[::1]", ":8080", "/", "?", "#", "@", "%0d%0a", "\r\n", "Host: ", ": ",
    "\u{0}", "é", ":65536",
];

pub(super) fn read_url(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let target = match Target::parse(&text) {
        Ok(target) => target,
        Err(error) => return variant(&error),
    };
    assert!(
        target.path.starts_with('/'),
        "{text:?} has the path {:?}",
        target.path
    );
    assert!(
        !target.host.is_empty() && target.port > 0,
        "{text:?} became {target:?}"
    );
    let lines = encode(&target, Vec::new()).expect("a request without extra headers");
    assert_eq!(lines, 5, "{text:?} changed the shape of the request");
    format!("{} {}", target.tls, target.host.contains(':'))
}

pub(super) fn read_header(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let header = match parse_header(&text) {
        Ok(header) => header,
        Err(error) => return variant(&error),
    };
    let target = Target::parse("http://127.0.0.1/").expect("a plain URL");
    let replaces = ["host", "user-agent", "accept"]
        .iter()
        .any(|name| header.0.eq_ignore_ascii_case(name));
    let lines = encode(&target, vec![header]).expect("a header that was accepted");
    assert_eq!(
        lines,
        if replaces { 5 } else { 6 },
        "{text:?} is more than one header"
    );
    format!("header {replaces}")
}

/// Lines of the encoded request, the empty one included.
fn encode(target: &Target, headers: Vec<(String, String)>) -> Option<usize> {
    let method = "GET".to_owned();
    let request = Request {
        method,
        url: String::new(),
        headers,
        body: Vec::new(),
    };
    let bytes = encode_request(&request, target, true).ok()?;
    Some(bytes.split(|byte| *byte == b'\n').count() - 1)
}

//! Heads that two parsers could read in two ways, and those that are fine.

use proptest::prelude::*;

use super::*;

fn refused(text: &str) -> HeadError {
    match RequestHead::read(text.as_bytes()) {
        Err(error) => error,
        Ok(read) => panic!("{text:?} was read as {read:?}"),
    }
}

fn head(lines: &str) -> String {
    format!("POST /a HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n")
}

#[test]
fn ambiguous_framing_is_refused() {
    for (lines, error) in [
        (
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            HeadError::TwoFramings,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 1",
            HeadError::TwoFramings,
        ),
        (
            "Content-Length: 1\r\nContent-Length: 2",
            HeadError::ContentLength,
        ),
        (
            "Content-Length: 1\r\nContent-Length: 1",
            HeadError::ContentLength,
        ),
        ("Content-Length: 1, 1", HeadError::ContentLength),
        ("Content-Length: +1", HeadError::ContentLength),
        ("Content-Length: -1", HeadError::ContentLength),
        ("Content-Length: 0x1", HeadError::ContentLength),
        ("Content-Length: 1 1", HeadError::ContentLength),
        ("Content-Length:", HeadError::ContentLength),
        (
            "Content-Length: 99999999999999999999",
            HeadError::ContentLength,
        ),
        ("Transfer-Encoding: xchunked", HeadError::TransferEncoding),
        (
            "Transfer-Encoding: chunked, identity",
            HeadError::TransferEncoding,
        ),
        (
            "Transfer-Encoding: gzip, chunked",
            HeadError::TransferEncoding,
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            HeadError::TransferEncoding,
        ),
        (
            "Transfer-Encoding: \"chunked\"",
            HeadError::TransferEncoding,
        ),
        ("Transfer-Encoding:\u{b}chunked", HeadError::Value),
        ("Transfer-Encoding : chunked", HeadError::Field),
        ("Content-Length : 1", HeadError::Field),
        (" Content-Length: 1", HeadError::Field),
        ("X: y\r\n folded", HeadError::Field),
        ("X: y\r\n\tfolded", HeadError::Field),
        ("NoColon", HeadError::Field),
        (": nothing", HeadError::Field),
        ("X: a\rb", HeadError::LineEnd),
        ("X: a\nY: b", HeadError::LineEnd),
        ("X: a\u{0}b", HeadError::Value),
        ("X: a\u{7f}b", HeadError::Value),
        ("Expect: 200-maybe", HeadError::Expectation),
        ("Host: b", HeadError::Host),
    ] {
        assert_eq!(refused(&head(lines)), error, "{lines:?}");
    }
}

#[test]
fn request_lines_are_exact() {
    for (text, error) in [
        ("GET /a HTTP/1.1\nHost: a\r\n\r\n", HeadError::LineEnd),
        (
            "GET  /a HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadError::RequestLine,
        ),
        (
            "GET /a  HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadError::RequestLine,
        ),
        (
            "GET\t/a HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadError::RequestLine,
        ),
        (
            " GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadError::RequestLine,
        ),
        ("G@T /a HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::RequestLine),
        ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::RequestLine),
        (
            "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadError::RequestLine,
        ),
        ("GET /a\r\nHost: a\r\n\r\n", HeadError::RequestLine),
        ("GET /a HTTP/1.2\r\nHost: a\r\n\r\n", HeadError::Version),
        ("GET /a http/1.1\r\nHost: a\r\n\r\n", HeadError::RequestLine),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HeadError::Version),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::RequestLine),
        (
            "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
            HeadError::Method,
        ),
        ("GET /a HTTP/1.1\r\n\r\n", HeadError::Host),
        ("GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n", HeadError::Host),
        (
            "GET http://b/a HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadError::OtherHost,
        ),
        (
            "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            HeadError::TwoFramings,
        ),
    ] {
        assert_eq!(refused(text), error, "{text:?}");
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(17 << 10));
    assert_eq!(refused(&long), HeadError::LongTarget);
    let many = head(&"X: y\r\n".repeat(101));
    assert_eq!(refused(&many), HeadError::TooMuch);
    let large = head(&format!("X: {}", "y".repeat(66 << 10)));
    assert_eq!(refused(&large), HeadError::TooMuch);
}

#[test]
fn a_head_is_read_whole() {
    let text = "\r\nPOST http://A:80/b?c HTTP/1.1\r\nhost: a:80\r\nContent-Length: 3\r\nConnection: close, X-Own\r\nX-Own: 1\r\nExpect: 100-continue\r\n\r\nabc";
    let read = RequestHead::read(text.as_bytes()).unwrap().unwrap();
    assert_eq!((read.method, read.target), ("POST", "/b?c"));
    assert_eq!(read.host, Some("a:80"));
    assert_eq!(read.framing, Framing::Length(3));
    assert_eq!(text.get(read.length..), Some("abc"));
    assert!(!read.keepalive && read.expects_continue && !read.is_http10);
    assert!(read.is_of_connection("x-own") && read.is_of_connection("TE"));
    assert!(!read.is_of_connection("host"));
    let old = RequestHead::read(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(old.unwrap().unwrap().keepalive);
}

#[derive(Default)]
struct Body(Vec<u8>);

impl Sink for Body {
    fn body(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

#[test]
fn bodies_end_where_they_say() {
    for (framing, bytes, body, taken) in [
        (Framing::Length(3), "abcGET /", "abc", 3),
        (
            Framing::Chunked,
            "3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nT: v\r\n\r\nGET /",
            "abcd",
            29,
        ),
    ] {
        for step in 1..bytes.len() {
            let (mut parser, mut sink, mut at) = (BodyParser::new(framing), Body::default(), 0);
            while !parser.is_over() {
                let end = bytes.len().min(at + step);
                at += parser.feed(&bytes.as_bytes()[at..end], &mut sink).unwrap();
            }
            assert_eq!((sink.0.as_slice(), at), (body.as_bytes(), taken));
        }
    }
    for bad in [
        "5\nabcde",
        "g\r\n",
        "-1\r\n",
        "\r\n",
        "ffffffffffffffff\r\n",
        "1\r\nab\r\n",
        "0x1\r\n",
    ] {
        let mut parser = BodyParser::new(Framing::Chunked);
        assert!(
            parser.feed(bad.as_bytes(), &mut Body::default()).is_err(),
            "{bad:?}"
        );
    }
}

proptest! {
    /// Any bytes: no panic, and a prefix of a head that is read is never read as another head.
    #[test]
    fn no_bytes_surprise(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _read = RequestHead::read(&bytes);
    }

    #[test]
    fn a_part_of_a_head_is_no_head(cut in 0..70_usize) {
        let whole = "GET /abc HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nContent-Length: 12\r\n\r\n";
        let part = whole.get(..cut.min(whole.len() - 1)).unwrap_or_default();
        prop_assert_eq!(RequestHead::read(part.as_bytes()), Ok(None));
    }
}

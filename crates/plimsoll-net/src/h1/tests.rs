//! Answers whole and in pieces, and every way a server can lie about them.

use proptest::prelude::*;

use super::*;

fn parse(bytes: &[u8]) -> Result<Option<Answer>, ProtocolError> {
    AnswerParser::new(false).feed(bytes, &mut ())
}

fn in_pieces(bytes: &[u8], size: usize) -> Result<Option<Answer>, ProtocolError> {
    feed_in_pieces(AnswerParser::new(false), bytes, size)
}

fn feed_in_pieces(
    mut parser: AnswerParser,
    bytes: &[u8],
    size: usize,
) -> Result<Option<Answer>, ProtocolError> {
    let mut answer = None;
    for piece in bytes.chunks(size) {
        assert_eq!(answer, None, "an answer ended before its last byte");
        answer = parser.feed(piece, &mut ())?;
    }
    Ok(answer)
}

const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
5;ext=1\r\nhello\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n";

#[test]
fn complete_answers() {
    for (bytes, status, keepalive) in [
        (PLAIN, 200, true),
        (CHUNKED, 200, true),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, true),
        (
            b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            503,
            false,
        ),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 200, false),
        (
            b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
            200,
            true,
        ),
        (
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            304,
            true,
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            200,
            true,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
            200,
            true,
        ),
    ] as [(&[u8], u16, bool); 9]
    {
        let expected = Answer {
            status,
            bytes: bytes.len() as u64,
            keepalive,
        };
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(parse(bytes), Ok(Some(expected)), "{text}");
        for size in 1..bytes.len() {
            assert_eq!(
                in_pieces(bytes, size),
                Ok(Some(expected)),
                "{size} bytes a piece: {text}"
            );
        }
    }
}

#[test]
fn lies_and_nonsense_are_named() {
    let long_head = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(HEAD_BYTES_MAX));
    let trailers = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}",
        "T: x\r\n".repeat(HEAD_BYTES_USUAL / 5)
    );
    for (text, error) in [
        ("SSH-2.0-OpenSSH\r\n\r\n", ProtocolError::Head),
        ("HTTP/1.1 099 Odd\r\n\r\n", ProtocolError::Head),
        (&long_head, ProtocolError::LongHead(HEAD_BYTES_MAX)),
        (&trailers, ProtocolError::LongTrailers),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            ProtocolError::ContentLength,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n",
            ProtocolError::ContentLength,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            ProtocolError::ContentLength,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            ProtocolError::ContentLength,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            ProtocolError::TwoFramings,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            ProtocolError::TransferEncoding,
        ),
        ("HTTP/1.1 101 Switching\r\n\r\n", ProtocolError::Switched),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            ProtocolError::ChunkSize,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
            ProtocolError::ChunkSize,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            ProtocolError::ChunkEnd,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            ProtocolError::ChunkSize,
        ),
    ] {
        let shown: String = text.chars().take(80).collect();
        assert_eq!(parse(text.as_bytes()), Err(error), "{shown}");
        assert_eq!(
            in_pieces(text.as_bytes(), 1000.max(text.len() / 100)).err(),
            Some(error),
            "in pieces: {shown}"
        );
    }
}

/// The generator counts what k6 counts as answered; the guard, which passes answers on, refuses the same.
#[test]
fn a_lenient_reader_takes_what_go_takes() {
    let large = format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 2\r\n\r\nok",
        "a".repeat(3 * HEAD_BYTES_MAX)
    );
    let chunks = "2\r\nok\r\n0\r\n\r\n";
    let both = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"
    );
    let spaced = "HTTP/1.1 200 OK\r\nX : 1\r\nContent-Length : 2\r\n\r\nok";
    for (text, refusal) in [
        (&*large, ProtocolError::LongHead(HEAD_BYTES_MAX)),
        (&both, ProtocolError::TwoFramings),
        (spaced, ProtocolError::Head),
    ] {
        let shown: String = text.chars().take(80).collect();
        assert_eq!(in_pieces(text.as_bytes(), 4096), Err(refusal), "{shown}");
        for size in [4096, text.len()] {
            let lenient = AnswerParser::new(false).lenient();
            let read = feed_in_pieces(lenient, text.as_bytes(), size);
            let answer = read.unwrap().expect("it is whole");
            assert_eq!(answer.bytes, text.len() as u64, "{shown}");
            assert!(answer.keepalive, "{shown}");
        }
    }
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(HEAD_BYTES_LENIENT));
    let refused = AnswerParser::new(false)
        .lenient()
        .feed(endless.as_bytes(), &mut ());
    assert_eq!(refused, Err(ProtocolError::LongHead(HEAD_BYTES_LENIENT)));
    let words = ProtocolError::LongHead(HEAD_BYTES_LENIENT).to_string();
    assert_eq!(words, "the head of the answer is longer than 10 MiB");
}

/// What Go's client, and so k6, takes for an answer is one here.
#[test]
fn odd_answers_are_read_as_others_read_them() {
    let many = format!(
        "HTTP/1.1 200 OK\r\n{}Content-Length: 2\r\n\r\nok",
        "A: b\r\n".repeat(1000)
    );
    let large = format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 2\r\n\r\nok",
        "a".repeat(1 << 19)
    );
    for (text, keepalive) in [
        (&*many, true),
        (&large, true),
        (
            "HTTP/1.1 200 OK\r\nX: a\r\n  b\r\nContent-Length: 2\r\n\r\nok",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more",
            false,
        ),
        (
            "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
            false,
        ),
    ] {
        let shown: String = text.chars().take(80).collect();
        let answer = parse(text.as_bytes()).unwrap().expect("it is whole");
        assert_eq!(answer.keepalive, keepalive, "{shown}");
        assert_eq!(answer.bytes, text.len() as u64, "{shown}");
        if keepalive {
            assert_eq!(
                in_pieces(text.as_bytes(), 4096),
                Ok(Some(answer)),
                "{shown}"
            );
        }
    }
}

#[test]
fn the_end_of_the_connection_completes_only_what_it_frames() {
    let mut parser = AnswerParser::new(false);
    let head = b"HTTP/1.1 200 OK\r\n\r\nsome body";
    assert_eq!(parser.feed(head, &mut ()), Ok(None));
    let answer = parser.end().expect("framed by the close");
    assert_eq!(
        (answer.status, answer.keepalive, answer.bytes),
        (200, false, head.len() as u64)
    );
    let mut parser = AnswerParser::new(false);
    assert_eq!(
        parser.feed(
            b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
            &mut ()
        ),
        Ok(None)
    );
    assert!(parser.started());
    assert_eq!(parser.end(), None);
}

#[test]
fn one_connection_carries_many_answers() {
    let mut parser = AnswerParser::new(false);
    for bytes in [PLAIN, CHUNKED, PLAIN] {
        let answer = parser.feed(bytes, &mut ()).unwrap().unwrap();
        assert_eq!(answer.bytes, bytes.len() as u64);
        assert!(!parser.started());
    }
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n";
    assert!(
        AnswerParser::new(true)
            .feed(head, &mut ())
            .unwrap()
            .is_some(),
        "HEAD has no body"
    );
}

#[test]
fn requests_are_encoded_as_browsers_would() {
    let target = Target::parse("http://shop.test:81/a?b").unwrap();
    let mut request = Request {
        method: "POST".to_owned(),
        url: String::new(),
        headers: vec![("X-A".to_owned(), "1".to_owned())],
        body: b"hi".to_vec(),
    };
    let text = String::from_utf8(encode_request(&request, &target, false).unwrap()).unwrap();
    assert!(
        text.starts_with("POST /a?b HTTP/1.1\r\nHost: shop.test:81\r\n"),
        "{text}"
    );
    assert!(
        text.contains("Content-Length: 2\r\nConnection: close\r\nX-A: 1\r\n\r\nhi"),
        "{text}"
    );
    request.method = "NO SPACE".to_owned();
    assert!(encode_request(&request, &target, true).is_err());
    for bad in ["novalue", ": x", "a b: c", "A: b\r\nEvil: 1"] {
        assert!(parse_header(bad).is_err(), "{bad}");
    }
    assert_eq!(
        parse_header("A:  b ").unwrap(),
        ("A".to_owned(), "b".to_owned())
    );
}

/// Keeps what comes.
#[derive(Default)]
struct Collected {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Sink for Collected {
    fn head(&mut self, head: &Head<'_, '_>) {
        let version = if head.is_http10 { "1.0" } else { "1.1" };
        let (status, reason) = (head.status, head.reason);
        self.head = format!("HTTP/{version} {status} {reason}\r\n").into_bytes();
        for (name, value) in head.lines() {
            let parts = [name.as_bytes(), b": ", value, b"\r\n"];
            self.head.extend_from_slice(&parts.concat());
        }
        self.head.extend_from_slice(b"\r\n");
        assert_eq!(head.length, self.head.len());
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

proptest! {
    #[test]
    fn a_sink_gets_head_and_body_however_they_are_cut(
        body in prop::collection::vec(any::<u8>(), 0..200),
        framing in 0..3,
        piece in 1usize..40,
    ) {
        let length = body.len();
        let (coded, header) = match framing {
            0 => (body.clone(), format!("Content-Length: {length}")),
            1 => (body.clone(), "Connection: close".to_owned()),
            _ => {
                let mut coded = Vec::new();
                for chunk in body.chunks(7) {
                    coded.extend(format!("{:x}\r\n", chunk.len()).bytes());
                    coded.extend(chunk);
                    coded.extend(b"\r\n");
                }
                coded.extend(b"0\r\n\r\n");
                (coded, "Transfer-Encoding: chunked".to_owned())
            }
        };
        let head = format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n");
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
        let bytes = [hint.as_bytes(), head.as_bytes(), &coded].concat();
        let (mut parser, mut kept, mut answer) = (AnswerParser::new(false), Collected::default(), None);
        for piece in bytes.chunks(piece) {
            answer = parser.feed(piece, &mut kept).unwrap();
        }
        prop_assert!(answer.or_else(|| parser.end()).is_some());
        prop_assert_eq!(kept.head, head.into_bytes());
        prop_assert_eq!(kept.body, body);
    }

    #[test]
    fn hostile_bytes_never_panic(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..5),
        prefix in prop::sample::select(vec![&b""[..], PLAIN, CHUNKED, b"HTTP/1.1 200 OK\r\n"]),
        cut in 0usize..100,
    ) {
        let mut parser = AnswerParser::new(false);
        if parser.feed(&prefix[..cut.min(prefix.len())], &mut ()).is_ok() {
            for piece in &pieces {
                if parser.feed(piece, &mut ()).is_err() { break; }
            }
            let _either = parser.end();
        }
    }
}

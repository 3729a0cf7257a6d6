//! HTTP/1.1 requests as a guard reads them: no shorter part of a head is a head, what was read and written anew is read
//! the same, and a body ends at the same byte however it is cut into reads.

use plimsoll_net::h1::Sink;
use plimsoll_net::h1::serving::{BodyParser, Framing, RequestHead, may_trail, trailers};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "GET /a HTTP/1.1\r\nHost: a\r\n",
    "POST http://a/b HTTP/1.1\r\n",
    "OPTIONS * HTTP/1.0\r\n",
    "Host: a\r\n",
    "Content-Length: ",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close, x\r\n",
    "Expect: 100-continue\r\n",
    "Connection: Upgrade\r\nUpgrade: websocket\r\n",
    "0\r\nX-Sum: 1\r\n\r\n",
    "\r\n\r\n",
    "\r\n ",
    "0\r\n\r\n",
    ";ext=1\r\n",
    "fffffffffffffff\r\n",
    "18446744073709551615",
];

#[derive(Default)]
struct Body(Vec<u8>);

impl Sink for Body {
    fn body(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn trailers(&mut self, lines: &[u8]) {
        // Those that are proper make no line more than they are, whoever reads them.
        for (name, value) in trailers(lines).unwrap_or_default() {
            let is_fine = |byte: &u8| !matches!(byte, b'\r' | b'\n' | 0);
            assert!(may_trail(name) && value.iter().all(is_fine), "{name}");
            self.0.extend_from_slice(name.as_bytes());
        }
    }
}

/// The first byte chooses how the body is cut.
pub(super) fn read(data: &[u8]) -> Outcome {
    let (&first, bytes) = data.split_first().unwrap_or((&0, &[]));
    let head = match RequestHead::read(bytes) {
        Err(error) => return variant(&error),
        Ok(None) => return "more".to_owned(),
        Ok(Some(head)) => head,
    };
    let cut = usize::from(first).min(head.length - 1);
    let part = RequestHead::read(bytes.get(..cut).unwrap_or_default());
    assert!(
        !matches!(part, Ok(Some(_))),
        "a part of a head was taken for one"
    );
    let anew = written(&head);
    let again = RequestHead::read(&anew);
    let again = again.expect("what was read is proper").expect("and whole");
    assert_eq!(
        (head.method, head.target, head.framing, head.upgrade),
        (again.method, again.target, again.framing, again.upgrade)
    );
    assert_eq!(head.fields, again.fields, "fields changed");
    let rest = bytes.get(head.length..).unwrap_or_default();
    let whole = body(head.framing, rest, rest.len().max(1));
    let pieces = body(head.framing, rest, 1 + usize::from(first >> 3));
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(whole, pieces, "the body depends on how it was cut");
            format!("head, body over {}", whole.2)
        }
        (Err(one), Err(other)) => format!("{one} {other}"),
        (whole, pieces) => panic!("whole: {whole:?}, in pieces: {pieces:?}"),
    }
}

fn written(head: &RequestHead<'_>) -> Vec<u8> {
    let version = if head.is_http10 {
        "HTTP/1.0"
    } else {
        "HTTP/1.1"
    };
    let mut bytes = [head.method, " ", head.target, " ", version, "\r\n"]
        .concat()
        .into_bytes();
    for (name, value) in &head.fields {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            bytes.extend_from_slice(part);
        }
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Body, bytes taken, and whether it is over.
fn body(framing: Framing, bytes: &[u8], size: usize) -> Result<(Vec<u8>, usize, bool), Outcome> {
    let (mut parser, mut sink, mut taken) = (BodyParser::new(framing), Body::default(), 0);
    for piece in bytes.chunks(size) {
        if parser.is_over() {
            break;
        }
        taken += parser
            .feed(piece, &mut sink)
            .map_err(|error| variant(&error))?;
    }
    Ok((sink.0, taken, parser.is_over()))
}

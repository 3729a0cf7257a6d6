//! What a server of HTTP/2 says: however the bytes are cut into reads, the same comes of them, and nothing grows for ever.

use std::fmt::Write as _;

use plimsoll_net::h2::{Event, NewStream, Session, Sink};

use super::Outcome;

pub(super) const WORDS: &[&str] = &[
    // Frame heads: SETTINGS, its confirmation, HEADERS, DATA, RST_STREAM, GOAWAY, WINDOW_UPDATE, PING, CONTINUATION.
    "\0\0\0\x04\0\0\0\0\0",
    "\0\0\0\x04\x01\0\0\0\0",
    "\0\0\x01\x01\x05\0\0\0\x01",
    "\0\0\x01\x01\x04\0\0\0\x01",
    "\0\0\x01\x01\0\0\0\0\x03",
    "\0\0\x05\0\0\0\0\0\x01hello",
    "\0\0\x05\0\x01\0\0\0\x03hello",
    "\0\0\x03\0\x09\0\0\0\x05\x02a\0",
    "\0\0\x04\x03\0\0\0\0\x01\0\0\0\x07",
    "\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0",
    "\0\0\x04\x08\0\0\0\0\0\x7f\0\0\0",
    "\0\0\x08\x06\0\0\0\0\0plimsoll",
    "\0\0\x01\x09\x04\0\0\0\x01",
    // Header fields: literals that are kept and not, a table size, a status by name.
    "\x40\x01a\x01b",
    "\0\x01a\x01b",
    "\x10\x01a\x01b",
    "\x3f\x09\x20",
    "\x08\x03200",
    "\x08\x03103",
    // A content-length of five bytes, alone and as the head of an answer.
    "\x0f\x0d\x015",
    "\0\0\x09\x01\x04\0\0\0\x01\x08\x03200\x0f\x0d\x015",
    "HTTP/1.1 400 Bad Request\r\n\r\n",
];

/// Everything that this side keeps, beyond what it was asked to send; generous, since vectors double.
const KEPT_MAX: usize = 1 << 20;

/// What came of each stream, in one text.
#[derive(Debug, Default)]
struct Told {
    text: String,
    /// The stream whose body came last, so that pieces of one are not told apart.
    body_of: Option<u64>,
    events: usize,
}

impl Sink for Told {
    fn event(&mut self, event: Event) {
        self.body_of = None;
        self.events += 1;
        let _infallible = write!(self.text, "{event:?} ");
    }

    fn field(&mut self, owner: u64, name: &[u8], value: &[u8]) {
        self.body_of = None;
        let _infallible = write!(self.text, "{owner} {name:?} {value:?} ");
    }

    fn body(&mut self, owner: u64, bytes: &[u8]) {
        if self.body_of != Some(owner) {
            let _infallible = write!(self.text, "body of {owner} ");
        }
        self.body_of = Some(owner);
        let _infallible = write!(self.text, "{bytes:?}");
    }
}

/// The first byte chooses how the rest is cut.
pub(super) fn read(data: &[u8]) -> Outcome {
    let (&first, bytes) = data.split_first().unwrap_or((&0, &[]));
    let (whole, outcome) = told(bytes, bytes.len().max(1));
    let (pieces, other) = told(bytes, 1 + usize::from(first));
    // A server of HTTP/1.1 is known by its first read alone.
    if !bytes.starts_with(b"HTTP/1") {
        assert_eq!(
            whole.text.replace("][", ", "),
            pieces.text.replace("][", ", ")
        );
        assert_eq!(outcome, other, "what went wrong depends on how it was cut");
    }
    format!("{} events, {outcome}", whole.events.min(12))
}

/// Four requests, one of them with a body, and what the server says to them.
fn told(bytes: &[u8], size: usize) -> (Told, Outcome) {
    let mut session: Session<Vec<u8>> = Session::new();
    for owner in 0..4 {
        let body = (owner == 3).then(|| vec![b'x'; 100_000]);
        let stream = NewStream {
            body,
            is_head: owner == 2,
            owner,
        };
        session.start_plain(&[0x82, 0x87, 0x84], stream);
    }
    let mut told = Told::default();
    for piece in bytes.chunks(size) {
        if let Err(problem) = session.read(piece, &mut told) {
            return (told, kind(&problem.reason));
        }
        session.take_out();
        let kept = session.kept_bytes();
        assert!(kept < KEPT_MAX, "{kept} bytes are kept");
    }
    (told, "more".to_owned())
}

/// A reason without what the server made up.
fn kind(reason: &str) -> Outcome {
    reason.split('(').next().unwrap_or_default().to_owned()
}

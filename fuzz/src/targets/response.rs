//! HTTP/1.1 answers: however the bytes are cut into reads, the same answer comes out.

use plimsoll_net::h1::{Answer, AnswerParser, HEAD_BYTES_USUAL, ProtocolError};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 204 \r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\n",
    "Content-Length: ",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "\r\n\r\n",
    "0\r\n\r\n",
    ";ext=1\r\n",
    "ffffffffffffffff\r\n",
    "18446744073709551615",
];

/// The first byte chooses how the rest is cut and whether it answers a HEAD request.
pub(super) fn read(data: &[u8]) -> Outcome {
    let (&first, bytes) = data.split_first().unwrap_or((&0, &[]));
    // A head that comes in one read may be longer than one that has to be held.
    let bytes = bytes.get(..HEAD_BYTES_USUAL).unwrap_or(bytes);
    let head_request = first & 1 == 1;
    let whole = AnswerParser::new(head_request).feed(bytes, &mut ());
    // A held head is parsed again with every read, so long inputs are cut into fewer pieces.
    let size = (1 + usize::from(first >> 1)).max(bytes.len() / 256);
    let pieces = in_pieces(bytes, head_request, size);
    match (whole, pieces) {
        (Ok(Some(answer)), Pieces::Answer(same, read)) if read < bytes.len() => {
            assert_eq!(
                answer.status, same.status,
                "the answer depends on how it was cut"
            );
            assert!(
                !answer.keepalive,
                "bytes nobody asked for and another request"
            );
            "surplus".to_owned()
        }
        (Ok(Some(answer)), Pieces::Answer(same, read)) => {
            assert_eq!(answer, same, "the answer depends on how it was cut");
            assert_eq!(read, bytes.len(), "the answer ended before its last byte");
            assert_eq!(answer.bytes, bytes.len() as u64, "bytes were lost");
            assert!(
                answer.status >= 200,
                "an interim answer was taken for the real one"
            );
            format!("answer {} {}", answer.status / 100, answer.keepalive)
        }
        (Ok(None), Pieces::More(ended)) => format!("more, then {}", ended.is_some()),
        (Err(error), Pieces::Error(other)) => format!("{} {}", variant(&error), variant(&other)),
        (whole, pieces) => panic!("whole: {whole:?}, in pieces: {pieces:?}"),
    }
}

/// What came of reading in pieces.
#[derive(Debug)]
enum Pieces {
    /// An answer, and how many bytes had been read by then.
    Answer(Answer, usize),
    Error(ProtocolError),
    /// More was wanted; what the close of the connection then made of it.
    More(Option<Answer>),
}

fn in_pieces(bytes: &[u8], head_request: bool, size: usize) -> Pieces {
    let mut parser = AnswerParser::new(head_request);
    let mut read = 0;
    for piece in bytes.chunks(size) {
        read += piece.len();
        match parser.feed(piece, &mut ()) {
            Ok(Some(answer)) => return Pieces::Answer(answer, read),
            Ok(None) => {}
            Err(error) => return Pieces::Error(error),
        }
    }
    Pieces::More(parser.end())
}

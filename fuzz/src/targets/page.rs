//! What a browser or a scraper asks of the live page and of the database's metrics.

use plimsoll_base::page::request_line;

use super::Outcome;

pub(super) const WORDS: &[&str] = &["GET ", "/metrics", "?", " HTTP/1.1", "\r\n", "\r\n\r\n"];

/// An answer is owed only to a whole head, and never depends on what follows it.
pub(super) fn read(data: &[u8]) -> Outcome {
    let Some(request) = request_line(data) else {
        return "not whole".to_owned();
    };
    assert!(!request.path.contains('?'), "{request:?} has a query");
    // A head without an end is cut where it is too long: more of it may lengthen the line.
    if data.contains(&b'\r') {
        let more = [data, b"GET /more HTTP/1.1\r\n\r\n"].concat();
        assert_eq!(
            request_line(&more).as_ref(),
            Some(&request),
            "what follows changed it"
        );
    }
    format!("{} {}", request.method == "GET", request.path.len().min(2))
}

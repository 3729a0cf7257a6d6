//! The few bytes of HTTP that serve a page or metrics beside the real work: one request, one whole answer, then closed.

/// Longer heads are no reader of a page.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// What a reader asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    pub method: String,
    /// Without a query.
    pub path: String,
}

/// The first line of a request whose head is complete, or longer than any that a browser or scraper sends.
pub fn request_line(input: &[u8]) -> Option<RequestLine> {
    let complete = input.windows(4).any(|four| four == b"\r\n\r\n") || input.len() > HEAD_BYTES_MAX;
    if !complete {
        return None;
    }
    let line = input.split(|byte| *byte == b'\r').next()?;
    let mut words = line.split(|byte| *byte == b' ');
    let mut word = || String::from_utf8_lossy(words.next().unwrap_or_default()).into_owned();
    let (method, target) = (word(), word());
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Some(RequestLine { method, path })
}

/// The head of an answer that ends with its connection; no length means that what follows is a stream. That no other page may
/// frame it is said here, because a page cannot say it of itself.
pub fn head(status: &str, content_type: &str, length: Option<usize>) -> String {
    let length = length.map_or(String::new(), |length| {
        format!("Content-Length: {length}\r\n")
    });
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{length}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nContent-Security-Policy: frame-ancestors 'none'\r\n\
         Connection: close\r\n\r\n"
    )
}

/// A whole answer.
pub fn whole(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    let mut bytes = head(status, content_type, Some(body.len())).into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_understood_when_its_head_is_whole() {
        assert_eq!(
            request_line(b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n"),
            None
        );
        let whole = request_line(b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!((&*whole.method, &*whole.path), ("GET", "/metrics"));
        let endless = request_line(&vec![b'x'; HEAD_BYTES_MAX + 1]).unwrap();
        assert_eq!(endless.path, "");
    }

    #[test]
    fn an_answer_says_how_long_it_is_unless_it_is_a_stream() {
        let text = String::from_utf8(whole("200 OK", "text/plain", "ok\n")).unwrap();
        assert!(text.contains("\r\nContent-Length: 3\r\n") && text.ends_with("\r\n\r\nok\n"));
        assert!(!head("200 OK", "text/event-stream", None).contains("Length"));
    }
}

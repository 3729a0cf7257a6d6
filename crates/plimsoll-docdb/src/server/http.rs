//! The few bytes of HTTP that the port understands: `GET /metrics` for Prometheus, and a hint for browsers.

/// The target of a request whose head is complete.
pub(crate) fn target(input: &[u8]) -> Option<String> {
    const HEAD_BYTES_MAX: usize = 16 << 10;
    let complete = input.windows(4).any(|four| four == b"\r\n\r\n") || input.len() > HEAD_BYTES_MAX;
    let line = input
        .split(|byte| *byte == b'\r')
        .next()
        .unwrap_or_default();
    let target = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    complete.then(|| String::from_utf8_lossy(target).into_owned())
}

/// A whole response; the connection closes after it.
pub(crate) fn response(status: &str, content_type: &str, body: &str, out: &mut Vec<u8>) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body.as_bytes());
}

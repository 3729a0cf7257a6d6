//! The little that a service of its own thread shape must know of a request's head.

/// Longest head that is understood.
const HEAD_MAX: usize = 16 << 10;

/// Most header lines that are understood.
const LINES_MAX: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Length of the head itself.
    pub(crate) bytes: usize,
    /// Length of the body that follows.
    pub(crate) body_bytes: u64,
    pub(crate) keep_alive: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Complete(Head),
    /// More bytes are needed.
    Partial,
    /// No HTTP/1 request with a known length: the connection is closed.
    Refused,
}

pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut lines = [httparse::EMPTY_HEADER; LINES_MAX];
    let mut request = httparse::Request::new(&mut lines);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_MAX => return Parsed::Partial,
        Ok(httparse::Status::Partial) | Err(_) => return Parsed::Refused,
    };
    let mut head = Head {
        bytes: length,
        body_bytes: 0,
        keep_alive: request.version == Some(1),
    };
    for line in request.headers {
        if line.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(line.value).ok();
            let Some(body) = text.and_then(|text| text.trim().parse().ok()) else {
                return Parsed::Refused;
            };
            head.body_bytes = body;
        } else if line.name.eq_ignore_ascii_case("transfer-encoding") {
            return Parsed::Refused;
        } else if line.name.eq_ignore_ascii_case("connection") {
            head.keep_alive = keep_alive(line.value, head.keep_alive);
        }
    }
    Parsed::Complete(head)
}

fn keep_alive(value: &[u8], default: bool) -> bool {
    if value.eq_ignore_ascii_case(b"close") {
        false
    } else if value.eq_ignore_ascii_case(b"keep-alive") {
        true
    } else {
        default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_measured_or_refused() {
        let complete = |bytes, body_bytes, keep_alive| {
            Parsed::Complete(Head {
                bytes,
                body_bytes,
                keep_alive,
            })
        };
        let cases: [(&str, Parsed); 9] = [
            ("", Parsed::Partial),
            ("GET / HTTP/1.1\r\n", Parsed::Partial),
            ("GET / HTTP/1.1\r\n\r\n", complete(18, 0, true)),
            ("GET / HTTP/1.0\r\n\r\n", complete(18, 0, false)),
            (
                "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
                complete(42, 0, true),
            ),
            (
                "GET / HTTP/1.1\r\nconnection: close\r\n\r\nGET",
                complete(37, 0, false),
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 7\r\n\r\n",
                complete(38, 7, true),
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: -7\r\n\r\n",
                Parsed::Refused,
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                Parsed::Refused,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(parse(b"no http at all\r\n\r\n"), Parsed::Refused);
        assert_eq!(parse(&vec![b'a'; HEAD_MAX]), Parsed::Refused);
    }
}

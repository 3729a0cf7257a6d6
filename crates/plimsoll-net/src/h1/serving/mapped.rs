//! A request of HTTP/2 as HTTP/1.1 would have it, held to the same rules: what one of the two could not say is refused.

use super::{
    FIELDS_MAX, Framing, HEAD_BYTES_USUAL, HeadError, RequestHead, TARGET_BYTES_MAX, is, is_host,
    is_token,
};

/// What a request of HTTP/2 says, pseudo-headers apart.
#[derive(Debug, Clone, Copy)]
pub struct Mapped<'b> {
    pub method: &'b str,
    /// `:path`.
    pub path: &'b str,
    /// `:authority`, which goes before `Host` and must be the same.
    pub authority: Option<&'b str>,
    /// More than the head comes.
    pub has_body: bool,
}

/// Fields that only a connection of HTTP/1.1 has (RFC 9113 section 8.2.2).
const OF_HTTP1: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

impl<'b> RequestHead<'b> {
    /// `fields` without pseudo-headers, in their order.
    pub fn of_http2(
        said: &Mapped<'b>,
        fields: Vec<(&'b str, &'b [u8])>,
    ) -> Result<Self, HeadError> {
        check_line(said)?;
        let length = said.method.len()
            + said.path.len()
            + fields
                .iter()
                .map(|(n, v)| n.len() + v.len() + 4)
                .sum::<usize>();
        // Host and framing may be added, and HTTP/1.1 has the same bounds.
        if fields.len() + 2 > FIELDS_MAX || length > HEAD_BYTES_USUAL {
            return Err(HeadError::TooMuch);
        }
        for (name, value) in &fields {
            check_field(name, value)?;
        }
        let mut read = Self {
            method: said.method,
            target: said.path,
            host: None,
            is_http10: false,
            length,
            fields,
            framing: Framing::Length(0),
            keepalive: true,
            expects_continue: false,
            upgrade: None,
        };
        if let Some(authority) = said.authority {
            if authority.is_empty() || !is_host(authority) {
                return Err(HeadError::Host);
            }
            let has_host = read.fields.iter().any(|(name, _)| is(name, "host"));
            if !has_host {
                read.fields.insert(0, ("host", authority.as_bytes()));
            }
        }
        read.understand()?;
        let is_other = |host: &str| !read.host.is_some_and(|own| own.eq_ignore_ascii_case(host));
        if said.authority.is_some_and(is_other) {
            return Err(HeadError::OtherHost);
        }
        let has_length = read
            .fields
            .iter()
            .any(|(name, _)| is(name, "content-length"));
        match (has_length, said.has_body) {
            (false, true) => read.framing = Framing::Chunked,
            (true, false) if read.framing != Framing::Length(0) => {
                return Err(HeadError::ContentLength);
            }
            _ => {}
        }
        Ok(read)
    }
}

fn check_line(said: &Mapped<'_>) -> Result<(), HeadError> {
    if said.method.is_empty() || !said.method.bytes().all(is_token) {
        return Err(HeadError::RequestLine);
    }
    if said.method == "CONNECT" {
        return Err(HeadError::Method);
    }
    if said.path.len() > TARGET_BYTES_MAX {
        return Err(HeadError::LongTarget);
    }
    let is_plain =
        said.path.bytes().all(|byte| byte.is_ascii_graphic()) && !said.path.contains('#');
    let is_origin = said.path.starts_with('/') || (said.path == "*" && said.method == "OPTIONS");
    if is_plain && is_origin {
        Ok(())
    } else {
        Err(HeadError::RequestLine)
    }
}

fn check_field(name: &str, value: &[u8]) -> Result<(), HeadError> {
    let is_name = |byte: u8| is_token(byte) && !byte.is_ascii_uppercase();
    if name.is_empty() || !name.bytes().all(is_name) || OF_HTTP1.contains(&name) {
        return Err(HeadError::Field);
    }
    if name == "te" && !value.trim_ascii().eq_ignore_ascii_case(b"trailers") {
        return Err(HeadError::Field);
    }
    let is_control = |byte: &u8| (*byte < b' ' && *byte != b'\t') || *byte == 127;
    if value.iter().any(is_control) || value.trim_ascii() != value {
        return Err(HeadError::Value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: Mapped<'static> = Mapped {
        method: "GET",
        path: "/a?b",
        authority: Some("a"),
        has_body: false,
    };

    fn mapped<'b>(
        said: &Mapped<'b>,
        fields: &[(&'b str, &'b str)],
    ) -> Result<RequestHead<'b>, HeadError> {
        let fields = fields.iter().map(|(n, v)| (*n, v.as_bytes())).collect();
        RequestHead::of_http2(said, fields)
    }

    #[test]
    fn a_request_is_what_it_would_be_in_http1() {
        let read = mapped(&GET, &[("x", "y"), ("te", "trailers")]).unwrap();
        assert_eq!(
            (read.method, read.target, read.host),
            ("GET", "/a?b", Some("a"))
        );
        assert_eq!(read.framing, Framing::Length(0));
        assert!(read.takes_trailers());
        let post = Mapped {
            method: "POST",
            has_body: true,
            ..GET
        };
        assert_eq!(mapped(&post, &[]).unwrap().framing, Framing::Chunked);
        let length = mapped(&post, &[("content-length", "3")]).unwrap();
        assert_eq!(length.framing, Framing::Length(3));
        let host = Mapped {
            authority: None,
            ..GET
        };
        assert_eq!(mapped(&host, &[("host", "b:1")]).unwrap().host, Some("b:1"));
    }

    #[test]
    fn what_http1_would_read_in_another_way_is_refused() {
        for (said, fields, error) in [
            (
                GET,
                vec![("transfer-encoding", "chunked")],
                HeadError::Field,
            ),
            (GET, vec![("connection", "x")], HeadError::Field),
            (GET, vec![("upgrade", "h2c")], HeadError::Field),
            (GET, vec![("te", "gzip")], HeadError::Field),
            (GET, vec![("X", "y")], HeadError::Field),
            (GET, vec![("x: y\r\nz", "y")], HeadError::Field),
            (GET, vec![(":path", "/")], HeadError::Field),
            (GET, vec![("", "y")], HeadError::Field),
            (GET, vec![("x", "y\r\nz: 1")], HeadError::Value),
            (GET, vec![("x", "y\0")], HeadError::Value),
            (GET, vec![("x", " y")], HeadError::Value),
            (GET, vec![("host", "b")], HeadError::OtherHost),
            (GET, vec![("host", "a"), ("host", "a")], HeadError::Host),
            (GET, vec![("content-length", "1")], HeadError::ContentLength),
            (
                GET,
                vec![("content-length", "0"), ("content-length", "0")],
                HeadError::ContentLength,
            ),
        ] {
            assert_eq!(mapped(&said, &fields), Err(error), "{said:?} {fields:?}");
        }
    }

    #[test]
    fn a_line_that_http1_would_read_in_another_way_is_refused() {
        for (said, error) in [
            (
                Mapped {
                    authority: None,
                    ..GET
                },
                HeadError::Host,
            ),
            (
                Mapped {
                    authority: Some("u@a"),
                    ..GET
                },
                HeadError::Host,
            ),
            (Mapped { path: "", ..GET }, HeadError::RequestLine),
            (Mapped { path: "a", ..GET }, HeadError::RequestLine),
            (
                Mapped {
                    path: "/a b",
                    ..GET
                },
                HeadError::RequestLine,
            ),
            (
                Mapped {
                    path: "/a\r\nb",
                    ..GET
                },
                HeadError::RequestLine,
            ),
            (Mapped { path: "*", ..GET }, HeadError::RequestLine),
            (
                Mapped {
                    method: "GET /x HTTP/1.1\r\n",
                    ..GET
                },
                HeadError::RequestLine,
            ),
            (
                Mapped {
                    method: "CONNECT",
                    ..GET
                },
                HeadError::Method,
            ),
        ] {
            assert_eq!(mapped(&said, &[]), Err(error), "{said:?}");
        }
    }
}

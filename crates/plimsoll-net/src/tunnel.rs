//! A way through an HTTP proxy: CONNECT, its answer, and from there on the bytes of the server (RFC 9110, section 9.3.6).

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::failure::{Failure, Result};
use crate::socket::{receive, stream_failure};

/// A proxy's answer is short; a longer one is not an answer to CONNECT.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// The bytes that ask a proxy for a way to one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel(Arc<[u8]>);

impl Tunnel {
    /// To `authority` (host and port), with the value of `Proxy-Authorization` if the proxy wants one.
    pub fn to(authority: &str, authorization: Option<&str>) -> Self {
        let authorization = authorization.map_or(String::new(), |value| {
            format!("Proxy-Authorization: {value}\r\n")
        });
        let head =
            format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{authorization}\r\n");
        Self(head.into_bytes().into())
    }
}

/// A proxy that is being asked.
#[derive(Debug)]
pub(crate) struct Asking {
    tunnel: Tunnel,
    written: usize,
    head: Vec<u8>,
}

impl Asking {
    pub(crate) fn new(tunnel: Tunnel) -> Self {
        Self {
            tunnel,
            written: 0,
            head: Vec::new(),
        }
    }

    /// Goes on with asking; true once the proxy leads on. Bytes are read one head at a time: what follows is the server's,
    /// which says nothing before it is asked.
    pub(crate) fn ask(&mut self, socket: BorrowedFd<'_>, scratch: &mut [u8]) -> Result<bool> {
        while let Some(rest) = self.tunnel.0.get(self.written..).filter(|r| !r.is_empty()) {
            match rustix::net::send(socket, rest, SendFlags::NOSIGNAL) {
                Ok(n) => self.written += n,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(stream_failure(errno)),
            }
        }
        loop {
            match receive(socket, scratch) {
                Ok(0) => {
                    let reason = "the proxy closed the connection instead of leading on";
                    return Err(Failure::of_proxy(reason));
                }
                Ok(read) => self
                    .head
                    .extend_from_slice(scratch.get(..read).unwrap_or_default()),
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(stream_failure(errno)),
            }
            if let Some(answer) = self.answer() {
                return answer.map(|()| true);
            }
        }
    }

    /// What the proxy said, once its head is whole.
    fn answer(&self) -> Option<Result<()>> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Response::new(&mut headers);
        let wrong = |reason: String| Some(Err(Failure::of_proxy(reason)));
        match head.parse(&self.head) {
            Ok(httparse::Status::Complete(length)) => {
                let status = head.code.unwrap_or_default();
                if !(200..300).contains(&status) {
                    let words = head.reason.unwrap_or_default();
                    return wrong(format!("the proxy answered {status} {words} to CONNECT"));
                }
                if length < self.head.len() {
                    return wrong("the proxy sent more than an answer to CONNECT".to_owned());
                }
                Some(Ok(()))
            }
            Ok(httparse::Status::Partial) if self.head.len() <= HEAD_BYTES_MAX => None,
            _ => wrong("the proxy's answer to CONNECT is not HTTP".to_owned()),
        }
    }
}

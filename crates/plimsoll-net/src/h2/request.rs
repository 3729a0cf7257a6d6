//! A request as HTTP/2 sends it: its header block encoded once, its body as it is.

use std::sync::Arc;

use plimsoll_core::test::Request;

use super::hpack::Block;
use crate::h1::{HeaderError, default_headers, header};
use crate::target::Target;

/// Headers that belong to one HTTP/1.1 connection and may not be sent here (RFC 9113, section 8.2.2); `Host` becomes
/// `:authority`.
const OF_HTTP1: [&str; 6] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// A request that is sent again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRequest {
    pub(super) block: Arc<Block>,
    pub(super) body: Arc<[u8]>,
    /// Answers to HEAD have no content, whatever their headers say.
    pub(super) is_head: bool,
}

impl EncodedRequest {
    pub fn new(request: &Request, target: &Target) -> Result<Self, HeaderError> {
        http::Method::from_bytes(request.method.as_bytes())
            .map_err(|_| HeaderError::Method(request.method.clone()))?;
        let mut fields = vec![
            (":method".to_owned(), request.method.clone()),
            (
                ":scheme".to_owned(),
                if target.tls { "https" } else { "http" }.to_owned(),
            ),
            (
                ":authority".to_owned(),
                header(request, "host").map_or_else(|| target.host_header(), str::to_owned),
            ),
            (":path".to_owned(), target.path.clone()),
        ];
        for (name, value) in default_headers(request) {
            fields.push((name.to_ascii_lowercase(), value));
        }
        for (name, value) in &request.headers {
            let name = name.to_ascii_lowercase();
            if !OF_HTTP1.contains(&name.as_str()) {
                fields.push((name, value.clone()));
            }
        }
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        Ok(Self {
            block: Arc::new(Block::new(&fields)),
            body: request.body.as_slice().into(),
            is_head: request.method == "HEAD",
        })
    }
}

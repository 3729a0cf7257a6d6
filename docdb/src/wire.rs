//! MongoDB's wire protocol: frames in, requests out; replies in, frames out.
//!
//! Source: the public description of the wire protocol (`OP_MSG`, `OP_COMPRESSED`, and `OP_QUERY` for the
//! first handshake). Everything here works on bytes; nothing knows a socket.

mod compression;
mod frame;
mod header;
mod legacy;
mod message;
mod request;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub(crate) use compression::Compressor;
pub(crate) use frame::{Frame, Origin, TLS_ALERT, is_tls, origin, reply, reply_with, take};
pub(crate) use header::{DOCUMENTS_MAX, MESSAGE_BYTES_MAX, WireError};
pub use header::{HEADER_BYTES, Header};
pub use request::Request;
pub(crate) use request::Sequence;

/// The largest document that may be stored or returned, in bytes.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 16 << 20;

/// Reads one whole message, as the server does. For the fuzzer: hostile bytes may fail, never panic.
pub fn read(message: &[u8]) -> Result<Frame, WireError> {
    take(Cow::Borrowed(message))
}

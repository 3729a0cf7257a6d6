//! One message: what kind it is, and the reply that answers it.

use std::borrow::Cow;

use bson::{RawDocument, RawDocumentBuf};

use super::header::{HEADER_BYTES, Header, OP_COMPRESSED, OP_MSG, OP_QUERY, OP_REPLY, WireError};
use super::request::Parts;
use super::{Compressor, Request, compression, legacy, message};

/// What the reply has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub(crate) request_id: i32,
    /// An `OP_QUERY` wants an `OP_REPLY`, an `OP_MSG` an `OP_MSG`.
    pub(crate) legacy: bool,
    pub compressor: Option<Compressor>,
}

/// A message as the server handles it.
#[derive(Debug, Clone)]
pub struct Frame {
    pub origin: Origin,
    pub request: Request,
}

/// Whether bytes are the beginning of a TLS handshake: a record of version 3 that holds a client's greeting, where a message
/// would state its operation. `None` while too few came to tell; a message of 790 bytes begins alike.
pub(crate) fn is_tls(bytes: &[u8]) -> Option<bool> {
    let greeting = |at: usize, wanted: u8| bytes.get(at).is_none_or(|byte| *byte == wanted);
    if !(greeting(0, 0x16) && greeting(1, 3) && greeting(5, 1) && greeting(9, 3)) {
        return Some(false);
    }
    let header = Header::read(bytes.get(..HEADER_BYTES)?);
    let operation = header.ok().flatten().map(|header| header.operation);
    Some(!matches!(
        operation,
        Some(OP_MSG | OP_QUERY | OP_COMPRESSED)
    ))
}

/// The answer to TLS: a fatal alert, `handshake_failure`, in TLS's own words, so that the client fails at once and says why.
pub(crate) const TLS_ALERT: [u8; 7] = [21, 3, 1, 0, 2, 2, 40];

/// Whom a message that could be framed but not read is from; `None` if no answer is wanted.
pub(crate) fn origin(bytes: &[u8]) -> Option<Origin> {
    let header = Header::read(bytes).ok().flatten()?;
    let flags = message::number(bytes.get(HEADER_BYTES..)?, 0).ok()?;
    let silent = header.operation == OP_MSG && flags & message::MORE_TO_COME != 0;
    (!silent).then_some(Origin {
        request_id: header.request_id,
        legacy: header.operation == OP_QUERY,
        compressor: None,
    })
}

/// Reads one whole message. One that is given away is not copied.
pub(crate) fn take(bytes: Cow<'_, [u8]>) -> Result<Frame, WireError> {
    let header = Header::read(&bytes)?.ok_or(WireError::Truncated("the header"))?;
    let body = bytes
        .get(HEADER_BYTES..header.length)
        .ok_or(WireError::Truncated("the body"))?;
    let (operation, request, compressor) = if header.operation == OP_COMPRESSED {
        let inner = compression::unpack(body)?;
        let parts = read_body(inner.operation, &[], &inner.body)?;
        let request = Request::from_parts(inner.body, 0, parts);
        (inner.operation, request, Some(inner.compressor))
    } else {
        let parts = read_body(header.operation, &bytes[..HEADER_BYTES], body)?;
        let request = Request::from_parts(bytes.into_owned(), HEADER_BYTES, parts);
        (header.operation, request, None)
    };
    let legacy = operation == OP_QUERY;
    let origin = Origin {
        request_id: header.request_id,
        legacy,
        compressor,
    };
    Ok(Frame { origin, request })
}

fn read_body(operation: i32, header: &[u8], body: &[u8]) -> Result<Parts, WireError> {
    match operation {
        OP_MSG => message::read(header, body),
        OP_QUERY => legacy::read(body),
        other => Err(WireError::Operation(other)),
    }
}

/// A document of so many bytes is not copied.
const LARGE: usize = 64 << 10;

/// Appends the message that answers `origin` with `document`.
pub(crate) fn reply(origin: Origin, request_id: i32, document: &RawDocument, out: &mut Vec<u8>) {
    if let Some(compressor) = origin.compressor {
        let mut body = Vec::with_capacity(document.as_bytes().len() + 5);
        let operation = reply_body(origin.legacy, document, &mut body);
        compression::pack(
            compressor,
            request_id,
            origin.request_id,
            (operation, &body),
            out,
        );
        return;
    }
    let extra = if origin.legacy {
        legacy::REPLY_BYTES
    } else {
        message::PREFIX_BYTES
    };
    let length = HEADER_BYTES + extra + document.as_bytes().len();
    let operation = if origin.legacy { OP_REPLY } else { OP_MSG };
    out.reserve(length);
    Header::write(length, request_id, origin.request_id, operation, out);
    reply_body(origin.legacy, document, out);
}

/// As [`reply`]; a large document is not copied but given back, to be sent after what was appended.
pub(crate) fn reply_with(
    origin: Origin,
    request_id: i32,
    document: RawDocumentBuf,
    out: &mut Vec<u8>,
) -> Vec<u8> {
    let bytes = document.as_bytes().len();
    if bytes < LARGE || origin.legacy || origin.compressor.is_some() {
        reply(origin, request_id, &document, out);
        return Vec::new();
    }
    let length = HEADER_BYTES + message::PREFIX_BYTES + bytes;
    Header::write(length, request_id, origin.request_id, OP_MSG, out);
    message::write_prefix(out);
    document.into_bytes()
}

fn reply_body(legacy: bool, document: &RawDocument, out: &mut Vec<u8>) -> i32 {
    if legacy {
        legacy::write_reply(document, out);
        OP_REPLY
    } else {
        message::write(document, out);
        OP_MSG
    }
}

//! One message: what kind it is, and the reply that answers it.

use bson::RawDocument;

use super::header::{HEADER_BYTES, Header, OP_COMPRESSED, OP_MSG, OP_QUERY, OP_REPLY, WireError};
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

/// Reads one whole message.
pub(super) fn read(bytes: &[u8]) -> Result<Frame, WireError> {
    let header = Header::read(bytes)?.ok_or(WireError::Truncated("the header"))?;
    let body = bytes
        .get(HEADER_BYTES..header.length)
        .ok_or(WireError::Truncated("the body"))?;
    let (operation, request, compressor) = if header.operation == OP_COMPRESSED {
        let inner = compression::unpack(body)?;
        let request = read_body(inner.operation, &[], &inner.body)?;
        (inner.operation, request, Some(inner.compressor))
    } else {
        let request = read_body(header.operation, &bytes[..HEADER_BYTES], body)?;
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

fn read_body(operation: i32, header: &[u8], body: &[u8]) -> Result<Request, WireError> {
    match operation {
        OP_MSG => message::read(header, body),
        OP_QUERY => legacy::read(body),
        other => Err(WireError::Operation(other)),
    }
}

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

fn reply_body(legacy: bool, document: &RawDocument, out: &mut Vec<u8>) -> i32 {
    if legacy {
        legacy::write_reply(document, out);
        OP_REPLY
    } else {
        message::write(document, out);
        OP_MSG
    }
}

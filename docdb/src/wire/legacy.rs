//! `OP_QUERY` and `OP_REPLY`: only the first handshake of a driver still uses them.

use bson::RawDocument;

use super::WireError;
use super::message::document;
use super::request::Parts;

/// Flags, cursor id, starting position and count, before a reply's document.
pub(super) const REPLY_BYTES: usize = 20;
/// The flag without which old drivers do not await tailable cursors.
const AWAIT_CAPABLE: i32 = 8;

/// Reads what follows the header: flags, collection, skip, count, the command and perhaps a projection.
pub(super) fn read(body: &[u8]) -> Result<Parts, WireError> {
    let short = || WireError::Truncated("OP_QUERY");
    let name = body.get(4..).ok_or_else(short)?;
    let length = name.iter().position(|byte| *byte == 0).ok_or_else(short)?;
    let command = 4 + length + 1 + 8;
    Ok(Parts {
        body: document(body, command, body.len())?,
        sequences: Vec::new(),
        wants_reply: true,
    })
}

pub(super) fn write_reply(document: &RawDocument, out: &mut Vec<u8>) {
    out.extend_from_slice(&AWAIT_CAPABLE.to_le_bytes());
    out.extend_from_slice(&0_i64.to_le_bytes());
    out.extend_from_slice(&0_i32.to_le_bytes());
    out.extend_from_slice(&1_i32.to_le_bytes());
    out.extend_from_slice(document.as_bytes());
}

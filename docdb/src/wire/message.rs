//! `OP_MSG`: flags, one body, any number of document sequences, and perhaps a checksum.

use std::ops::Range;

use bson::RawDocument;

use super::header::{BODY_BYTES_MAX, DOCUMENTS_MAX};
use super::request::Parts;
use super::{Sequence, WireError};
use crate::error::Code;
use crate::value;

const CHECKSUM_PRESENT: u32 = 1;
pub(super) const MORE_TO_COME: u32 = 1 << 1;
/// Bits 0–15 must be understood, the others may be ignored.
const REQUIRED: u32 = 0xffff;

/// Flags and the kind of the only section, before a reply's document.
pub(super) const PREFIX_BYTES: usize = 5;

/// Reads what follows the header. `header` is needed for the checksum; inside a compressed message
/// there is none, and the packing has checks of its own.
pub(super) fn read(header: &[u8], body: &[u8]) -> Result<Parts, WireError> {
    let (flags, mut end) = (number(body, 0)?, body.len());
    if flags & REQUIRED & !(CHECKSUM_PRESENT | MORE_TO_COME) != 0 {
        return Err(WireError::Flags(flags));
    }
    if flags & CHECKSUM_PRESENT != 0 {
        end = check(header, body)?;
    }
    let mut at = 4;
    let mut bodies = Vec::new();
    let mut sequences = Vec::new();
    let mut count = 0;
    while at < end {
        match body[at] {
            0 => {
                let length = number(body, at + 1)? as usize;
                // Longer than the message is malformed, which [`document`] says.
                if length > BODY_BYTES_MAX && length < end {
                    return Err(WireError::TooLarge(length));
                }
                let range = document(body, at + 1, end)?;
                at = range.end;
                bodies.push(range);
                if bodies.len() > 1 {
                    break;
                }
            }
            1 => {
                let before = count;
                let (sequence, next) = read_sequence(body, at + 1, end, &mut count)?;
                at = next;
                // An empty sequence takes memory too.
                count = count.max(before + 1);
                if count <= DOCUMENTS_MAX {
                    sequences.push(sequence);
                }
            }
            other => return Err(WireError::Section(other)),
        }
    }
    let [only] = bodies.as_slice() else {
        return Err(WireError::Bodies(bodies.len()));
    };
    if count > DOCUMENTS_MAX {
        return Err(WireError::TooMany(count));
    }
    let wants_reply = flags & MORE_TO_COME == 0;
    Ok(Parts {
        body: only.clone(),
        sequences,
        wants_reply,
    })
}

/// Where the sections end, if the checksum over header and body fits.
fn check(header: &[u8], body: &[u8]) -> Result<usize, WireError> {
    let end = body.len().checked_sub(4).filter(|end| *end >= 4);
    let end = end.ok_or(WireError::Truncated("the checksum"))?;
    let sum = crc32c::crc32c_append(crc32c::crc32c(header), &body[..end]);
    if header.is_empty() || sum == number(body, end)? {
        Ok(end)
    } else {
        Err(WireError::Checksum)
    }
}

/// A sequence and where it ends. Its documents are added to `count`; beyond the most that a message may have they are checked and
/// counted, but not noted.
fn read_sequence(
    body: &[u8],
    at: usize,
    end: usize,
    count: &mut usize,
) -> Result<(Sequence, usize), WireError> {
    let short = WireError::Truncated("a document sequence");
    let size = number(body, at)? as usize;
    let stop = at
        .checked_add(size)
        .filter(|stop| *stop <= end && size > 4)
        .ok_or(short.clone())?;
    let name = &body[at + 4..stop];
    let length = name.iter().position(|byte| *byte == 0).ok_or(short)?;
    let field = std::str::from_utf8(&name[..length])
        .map_err(|_| WireError::Bson("the name of a document sequence is not UTF-8".to_owned()))?
        .to_owned();
    let mut next = at + 4 + length + 1;
    let mut documents = Vec::new();
    while next < stop {
        let range = document(body, next, stop)?;
        next = range.end;
        *count += 1;
        if *count <= DOCUMENTS_MAX {
            documents.push(range);
        }
    }
    Ok((Sequence { field, documents }, stop))
}

/// The checked document that begins at `at` and ends before `end`.
pub(super) fn document(body: &[u8], at: usize, end: usize) -> Result<Range<usize>, WireError> {
    let short = || WireError::Truncated("a document");
    let length = number(body, at).map_err(|_| short())? as usize;
    let stop = at
        .checked_add(length)
        .filter(|stop| *stop <= end)
        .ok_or_else(short)?;
    value::validate(&body[at..stop]).map_err(|error| match error.code {
        Code::Overflow => WireError::TooDeep(error.message),
        _ => WireError::Bson(error.message),
    })?;
    Ok(at..stop)
}

pub(super) fn number(body: &[u8], at: usize) -> Result<u32, WireError> {
    let four = body.get(at..).and_then(|rest| rest.first_chunk::<4>());
    four.map(|four| u32::from_le_bytes(*four))
        .ok_or(WireError::Truncated("a number"))
}

/// Flags without any bit, and the document as the body.
pub(super) fn write(document: &RawDocument, out: &mut Vec<u8>) {
    write_prefix(out);
    out.extend_from_slice(document.as_bytes());
}

/// What comes before the body.
pub(super) fn write_prefix(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; PREFIX_BYTES]);
}

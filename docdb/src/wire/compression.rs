//! `OP_COMPRESSED`: a message inside a message, by snappy or zlib as the handshake agreed.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::header::{HEADER_BYTES, Header, MESSAGE_BYTES_MAX, OP_COMPRESSED};
use super::message::number;
use super::{DOCUMENT_BYTES_MAX, WireError};

/// How a message is packed. zstd is left out: it would bring a C library for what the other two do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressor {
    None,
    Snappy,
    Zlib,
}

/// Original operation, original size and compressor, after the header.
const PREFIX_BYTES: usize = 9;

impl Compressor {
    /// By the name in `hello`; `None` if this server has it not.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "snappy" => Some(Self::Snappy),
            "zlib" => Some(Self::Zlib),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "noop",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
        }
    }

    fn numbered(number: u8) -> Result<Self, WireError> {
        match number {
            0 => Ok(Self::None),
            1 => Ok(Self::Snappy),
            2 => Ok(Self::Zlib),
            other => Err(WireError::Compressor(other)),
        }
    }
}

/// What was inside.
pub(super) struct Unpacked {
    pub(super) operation: i32,
    pub(super) compressor: Compressor,
    pub(super) body: Vec<u8>,
}

pub(super) fn unpack(body: &[u8]) -> Result<Unpacked, WireError> {
    let operation = number(body, 0)?.cast_signed();
    let stated = number(body, 4)?.cast_signed();
    let wrong = || WireError::Compressed(stated);
    let size = usize::try_from(stated).map_err(|_| wrong())?;
    if size > MESSAGE_BYTES_MAX - HEADER_BYTES {
        return Err(wrong());
    }
    let kind = *body.get(8).ok_or(WireError::Truncated("OP_COMPRESSED"))?;
    let (compressor, packed) = (Compressor::numbered(kind)?, &body[PREFIX_BYTES..]);
    let body = match compressor {
        Compressor::None => packed.to_vec(),
        Compressor::Snappy => {
            // The stated size decides what is allocated: it has to fit before anything is unpacked.
            if snap::raw::decompress_len(packed).ok() != Some(size) {
                return Err(wrong());
            }
            snap::raw::Decoder::new()
                .decompress_vec(packed)
                .map_err(|_| wrong())?
        }
        Compressor::Zlib => inflate(packed, size).map_err(|_| wrong())?,
    };
    if body.len() == size {
        Ok(Unpacked {
            operation,
            compressor,
            body,
        })
    } else {
        Err(wrong())
    }
}

fn inflate(packed: &[u8], size: usize) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::with_capacity(size.min(DOCUMENT_BYTES_MAX));
    ZlibDecoder::new(packed)
        .take(size as u64 + 1)
        .read_to_end(&mut body)?;
    Ok(body)
}

/// Appends a whole message around `(operation, body)`.
pub(super) fn pack(
    compressor: Compressor,
    request_id: i32,
    response_to: i32,
    (operation, body): (i32, &[u8]),
    out: &mut Vec<u8>,
) {
    let packed = match compressor {
        Compressor::None => None,
        Compressor::Snappy => snap::raw::Encoder::new().compress_vec(body).ok(),
        Compressor::Zlib => deflate(body).ok(),
    };
    let number = match (compressor, &packed) {
        (_, None) => 0,
        (Compressor::Zlib, _) => 2,
        _ => 1,
    };
    let packed = packed.as_deref().unwrap_or(body);
    let length = HEADER_BYTES + PREFIX_BYTES + packed.len();
    Header::write(length, request_id, response_to, OP_COMPRESSED, out);
    out.extend_from_slice(&operation.to_le_bytes());
    out.extend_from_slice(&i32::try_from(body.len()).unwrap_or(i32::MAX).to_le_bytes());
    out.push(number);
    out.extend_from_slice(packed);
}

fn deflate(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}

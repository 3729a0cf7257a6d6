//! The first bytes of every message, and why bytes can be none.

/// Length, request id, response id, operation: four little-endian 32-bit numbers.
pub const HEADER_BYTES: usize = 16;
/// Documents in the sequences of a message; what MongoDB takes for one write, which `hello` announces as `maxWriteBatchSize`. Each
/// takes memory beside its bytes, and a message has room for ten million.
pub(crate) const DOCUMENTS_MAX: usize = 100_000;
/// What `hello` announces as `maxMessageSizeBytes`.
pub(crate) const MESSAGE_BYTES_MAX: usize = 48_000_000;

/// Bytes of a command without its sequences: what a document may have, and room for the command around it (MongoDB's limit).
pub(crate) const BODY_BYTES_MAX: usize = (16 << 20) + (16 << 10);

pub(super) const OP_REPLY: i32 = 1;
pub(super) const OP_QUERY: i32 = 2004;
pub(super) const OP_COMPRESSED: i32 = 2012;
pub(super) const OP_MSG: i32 = 2013;

/// Why bytes are no message. The connection ends: where the next message would begin is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("message of {0} bytes; 16 to {MESSAGE_BYTES_MAX} are possible")]
    Length(i32),
    #[error("operation {0} is not supported; drivers since MongoDB 3.6 send OP_MSG (2013)")]
    Operation(i32),
    #[error("OP_MSG with unknown required flag bits {0:#06x}")]
    Flags(u32),
    #[error("section of kind {0}; 0 (body) and 1 (documents) exist")]
    Section(u8),
    #[error("OP_MSG has {0} bodies; exactly one is needed")]
    Bodies(usize),
    #[error("the message ends inside {0}")]
    Truncated(&'static str),
    #[error("the checksum of the message does not match its bytes")]
    Checksum,
    #[error("compressor {0} was not agreed on")]
    Compressor(u8),
    #[error("the compressed message does not unpack to the {0} bytes that it states")]
    Compressed(i32),
    #[error("malformed BSON: {0}")]
    Bson(String),
    /// Well framed, so it can be answered.
    #[error("{0}")]
    TooDeep(String),
    #[error("Write batch sizes must be between 1 and {DOCUMENTS_MAX}. Got {0} operations.")]
    TooMany(usize),
    /// Well framed too.
    #[error(
        "BSONObj size: {0} (0x{0:X}) is invalid. Size must be between 0 and {BODY_BYTES_MAX}(16MB)"
    )]
    TooLarge(usize),
    #[error("a client speaks TLS and this port does not; connect without tls=true")]
    Tls,
    #[error("no TLS with this client: {0}")]
    Handshake(String),
}

/// The first 16 bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the whole message, this header included.
    pub length: usize,
    pub(crate) request_id: i32,
    pub(crate) response_to: i32,
    pub operation: i32,
}

impl Header {
    /// `None` as long as fewer than 16 bytes arrived.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, WireError> {
        let Some((head, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let field = |at: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(&head[at..at + 4]);
            i32::from_le_bytes(four)
        };
        let length = field(0);
        match usize::try_from(length) {
            Ok(bytes) if (HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&bytes) => Ok(Some(Self {
                length: bytes,
                request_id: field(4),
                response_to: field(8),
                operation: field(12),
            })),
            _ => Err(WireError::Length(length)),
        }
    }

    pub(super) fn write(
        length: usize,
        request_id: i32,
        response_to: i32,
        operation: i32,
        out: &mut Vec<u8>,
    ) {
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        for field in [length, request_id, response_to, operation] {
            out.extend_from_slice(&field.to_le_bytes());
        }
    }
}

//! Frames (RFC 9113, sections 4 and 6): heads, the few that a client writes, and a reader that hands frames over whole,
//! but the contents of `DATA` as they come.

/// What a client says first.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(super) const HEAD_BYTES: usize = 9;
/// Largest frame that this side allows: the protocol's smallest limit and its default.
pub(super) const FRAME_BYTES_MAX: usize = 16_384;

pub(super) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

pub(super) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

pub(super) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
}

/// Error codes that this side sends (section 7).
pub(super) mod code {
    pub(crate) const NO_ERROR: u32 = 0;
    pub(crate) const PROTOCOL_ERROR: u32 = 1;
    pub(crate) const FLOW_CONTROL_ERROR: u32 = 3;
    pub(crate) const FRAME_SIZE_ERROR: u32 = 6;
    pub(crate) const CANCEL: u32 = 8;
    pub(crate) const COMPRESSION_ERROR: u32 = 9;
}

const CODES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

/// The name of an error code.
pub(super) fn code_name(code: u32) -> &'static str {
    let name = usize::try_from(code).ok().and_then(|code| CODES.get(code));
    name.copied().unwrap_or("an unknown code")
}

/// An error code of the protocol (RFC 9113, section 7): the one that a server gave as its reason, or the one that it is
/// given because it breaks the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerError {
    /// It closes the connection.
    GoAway(u32),
    /// It gives one stream up.
    Reset(u32),
    /// It broke the rules of one stream.
    BrokeStream(u32),
    /// It broke those of the connection.
    BrokeConnection(u32),
}

impl PeerError {
    /// Its name in the RFC.
    pub fn name(self) -> &'static str {
        let (Self::GoAway(code)
        | Self::Reset(code)
        | Self::BrokeStream(code)
        | Self::BrokeConnection(code)) = self;
        code_name(code)
    }
}

/// The code of a stream that the server did not look at.
pub const REFUSED_STREAM: u32 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHead {
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn read(bytes: [u8; HEAD_BYTES]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = bytes;
        Self {
            length: usize::from(l0) << 16 | usize::from(l1) << 8 | usize::from(l2),
            kind,
            flags,
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        let [_, l0, l1, l2] = (self.length as u32).to_be_bytes();
        out.extend_from_slice(&[l0, l1, l2, self.kind, self.flags]);
        out.extend_from_slice(&self.stream.to_be_bytes());
    }
}

/// What a padded frame holds, and the bytes of its padding; `None` if that is longer than the frame.
pub(super) fn without_padding(head: FrameHead, payload: &[u8]) -> Option<(&[u8], usize)> {
    if !head.has(flag::PADDED) {
        return Some((payload, 0));
    }
    let (length, rest) = payload.split_first()?;
    let kept = rest.len().checked_sub(usize::from(*length))?;
    Some((rest.get(..kept)?, usize::from(*length) + 1))
}

pub(super) fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let head = FrameHead {
        length: payload.len(),
        kind,
        flags,
        stream,
    };
    head.write(out);
    out.extend_from_slice(payload);
}

/// A frame with a payload of four bytes: `RST_STREAM` or `WINDOW_UPDATE`.
pub(super) fn write_word(kind: u8, stream: u32, word: u32, out: &mut Vec<u8>) {
    write(kind, 0, stream, &word.to_be_bytes(), out);
}

/// `SETTINGS` of the connection.
pub(super) fn write_settings(settings: &[(u16, u32)], out: &mut Vec<u8>) {
    let mut payload = Vec::new();
    for (name, value) in settings {
        payload.extend_from_slice(&name.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    write(kind::SETTINGS, 0, 0, &payload, out);
}

/// A header block as `HEADERS`, and as many `CONTINUATION` as the peer's frame size makes necessary.
pub(super) fn write_headers(
    stream: u32,
    block: &[u8],
    end_stream: bool,
    frame_max: usize,
    out: &mut Vec<u8>,
) {
    let mut flags = if end_stream { flag::END_STREAM } else { 0 };
    let mut frame = kind::HEADERS;
    let mut rest = block;
    loop {
        let (part, others) = rest.split_at(rest.len().min(frame_max));
        if others.is_empty() {
            flags |= flag::END_HEADERS;
        }
        write(frame, flags, stream, part, out);
        if others.is_empty() {
            return;
        }
        (rest, flags, frame) = (others, 0, kind::CONTINUATION);
    }
}

/// What the reader found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A whole frame.
    Frame(FrameHead, &'a [u8]),
    /// Some of an unpadded `DATA` frame; `last` with its end.
    Data {
        head: FrameHead,
        bytes: &'a [u8],
        last: bool,
    },
    /// A frame longer than this side allows.
    TooLong(FrameHead),
}

/// Cuts what was read into frames; keeps only an incomplete one.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// The beginning of a frame.
    held: Vec<u8>,
    /// The frame that came in parts and was handed over last.
    whole: Vec<u8>,
    /// An unpadded `DATA` frame that is handed over as it comes, and its bytes still to come.
    data: Option<(FrameHead, usize)>,
}

impl FrameReader {
    /// Takes the next piece off `input`; `None` if more must be read.
    pub(super) fn next<'s, 'a: 's>(&'s mut self, input: &mut &'a [u8]) -> Option<Piece<'s>> {
        if let Some((head, left)) = self.data {
            if input.is_empty() && left > 0 {
                return None;
            }
            let (bytes, rest) = input.split_at(left.min(input.len()));
            *input = rest;
            let left = left - bytes.len();
            self.data = (left > 0).then_some((head, left));
            let last = left == 0;
            return Some(Piece::Data { head, bytes, last });
        }
        if self.held.is_empty() {
            let head = FrameHead::read(*input.first_chunk()?);
            if let Some(piece) = self.begin(head) {
                *input = input.get(HEAD_BYTES..).unwrap_or_default();
                return piece.or_else(|| self.next(input));
            }
            let end = HEAD_BYTES + head.length;
            if let Some((frame, rest)) = input.split_at_checked(end) {
                *input = rest;
                return Some(Piece::Frame(head, frame.get(HEAD_BYTES..)?));
            }
            return None;
        }
        self.complete(input)
    }

    /// `DATA` and frames that are too long are not held. `Some(None)`: the head was taken, and contents follow.
    #[expect(
        clippy::option_option,
        reason = "taken or not, and then with a piece or not"
    )]
    fn begin<'a>(&mut self, head: FrameHead) -> Option<Option<Piece<'a>>> {
        if head.length > FRAME_BYTES_MAX {
            return Some(Some(Piece::TooLong(head)));
        }
        if head.kind == kind::DATA && !head.has(flag::PADDED) {
            self.data = Some((head, head.length));
            return Some(None);
        }
        None
    }

    /// Keeps the beginning of a frame for the next read.
    pub(super) fn keep(&mut self, input: &[u8]) {
        self.held.extend_from_slice(input);
    }

    /// Completes the frame that is held from bytes of `input`.
    fn complete<'s, 'a: 's>(&'s mut self, input: &mut &'a [u8]) -> Option<Piece<'s>> {
        if self.held.len() < HEAD_BYTES {
            self.fill(HEAD_BYTES, input);
        }
        let head = FrameHead::read(*self.held.first_chunk()?);
        if let Some(piece) = self.begin(head) {
            self.held.clear();
            return piece.or_else(|| self.next(input));
        }
        self.fill(HEAD_BYTES + head.length, input);
        if self.held.len() < HEAD_BYTES + head.length {
            return None;
        }
        std::mem::swap(&mut self.held, &mut self.whole);
        self.held.clear();
        Some(Piece::Frame(head, self.whole.get(HEAD_BYTES..)?))
    }

    /// What is kept in memory, bytes.
    pub(super) fn kept_bytes(&self) -> usize {
        self.held.capacity() + self.whole.capacity()
    }

    fn fill(&mut self, wanted: usize, input: &mut &[u8]) {
        let missing = wanted.saturating_sub(self.held.len()).min(input.len());
        let (taken, rest) = input.split_at(missing);
        self.held.extend_from_slice(taken);
        *input = rest;
    }
}

//! The HDR Histogram V2 encoding: a 40-byte header, then zig-zag LEB128 counts, runs of zeros negative.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::{COUNTERS, HIGHEST, Histogram, index_of};

/// V2, with the word-size nibble that V2 writers set to 1.
const COOKIE: u32 = 0x1c84_9313;
const WORD_SIZE_NIBBLE: u32 = 0xf0;
const HEADER_BYTES: usize = 40;
const SIGNIFICANT_DIGITS: u32 = 3;
/// No window counts more, and sums over sixteen million such windows still fit in 64 bits, so
/// nothing that reads a record needs to fear an overflow.
pub(crate) const WINDOW_COUNT_MAX: u64 = 1 << 40;

/// Why a payload is not a histogram of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecodeError {
    #[error("histogram is not base64")]
    Base64,
    #[error("histogram has {0} bytes, fewer than its header of 40")]
    Short(usize),
    #[error("histogram cookie {0:#x} is not HDR V2")]
    Cookie(u32),
    #[error("histogram was recorded with {0} significant digits, expected 3")]
    Digits(u32),
    #[error("histogram payload says {said} bytes, has {has}")]
    Length { said: usize, has: usize },
    #[error("histogram counts end in the middle of a number")]
    Truncated,
    #[error("histogram has more counters than its range holds")]
    TooLong,
    #[error("histogram counts more than a window can hold (2^40)")]
    Overflow,
    #[error("histogram minimum, maximum or sum contradict its counts")]
    Contradiction,
}

impl Histogram {
    /// The uncompressed HDR V2 payload.
    pub fn to_hdr_v2(&self) -> Vec<u8> {
        let mut counts = Vec::with_capacity(256);
        let mut next = 0;
        for (index, n) in self.occupied() {
            if index > next {
                write_zigzag(&mut counts, -((index - next) as u64).cast_signed());
            }
            write_zigzag(&mut counts, n.cast_signed());
            next = index + 1;
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES + counts.len());
        bytes.extend(COOKIE.to_be_bytes());
        bytes.extend((counts.len() as u32).to_be_bytes());
        bytes.extend(0u32.to_be_bytes());
        bytes.extend(SIGNIFICANT_DIGITS.to_be_bytes());
        bytes.extend(1u64.to_be_bytes());
        bytes.extend(HIGHEST.to_be_bytes());
        bytes.extend(1f64.to_be_bytes());
        bytes.extend(counts);
        bytes
    }

    /// The sums that the counters allow, when the longest duration was `longest`; doubles are rounded.
    fn sums(&self, longest: u64) -> std::ops::RangeInclusive<f64> {
        const ROUNDING: f64 = 1e-12;
        let (mut least, mut most) = (0.0, 0.0);
        for (index, n) in self.occupied() {
            let (first, width) = super::range_of(index);
            least += first as f64 * n as f64;
            // The last counter takes what is longer than it, too.
            let is_last = first + width > HIGHEST;
            let last = if is_last { longest } else { first + width - 1 };
            most += last as f64 * n as f64;
        }
        least * (1.0 - ROUNDING)..=most * (1.0 + ROUNDING)
    }

    /// Reads an uncompressed HDR V2 payload; sum, minimum and maximum come from the counters.
    pub fn from_hdr_v2(bytes: &[u8]) -> Result<Self, DecodeError> {
        let body = check_header(bytes)?;
        let mut histogram = Self::new();
        let mut index = 0usize;
        let mut rest = body;
        while !rest.is_empty() {
            let n = read_zigzag(&mut rest).ok_or(DecodeError::Truncated)?;
            if n < 0 {
                let run = usize::try_from(n.unsigned_abs()).map_err(|_| DecodeError::TooLong)?;
                index = index.checked_add(run).ok_or(DecodeError::TooLong)?;
            } else {
                if index >= COUNTERS {
                    return Err(DecodeError::TooLong);
                }
                let total = histogram.count.checked_add(n as u64);
                if total.is_none_or(|total| total > WINDOW_COUNT_MAX) {
                    return Err(DecodeError::Overflow);
                }
                let middle = super::middle_of(index);
                histogram.record_n(crate::Nanos(middle), n as u64);
                index += 1;
            }
        }
        Ok(histogram)
    }
}

fn check_header(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let short = DecodeError::Short(bytes.len());
    let body = bytes.get(HEADER_BYTES..).ok_or(short)?;
    let cookie = word(0).ok_or(short)?;
    if cookie & !WORD_SIZE_NIBBLE != COOKIE & !WORD_SIZE_NIBBLE {
        return Err(DecodeError::Cookie(cookie));
    }
    let said = word(4).ok_or(short)? as usize;
    if said != body.len() {
        return Err(DecodeError::Length {
            said,
            has: body.len(),
        });
    }
    match word(12).ok_or(short)? {
        SIGNIFICANT_DIGITS => Ok(body),
        digits => Err(DecodeError::Digits(digits)),
    }
}

pub(crate) fn write_zigzag(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    // The ninth byte carries eight bits, so nine bytes hold any 64-bit value.
    for _ in 0..8 {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// What [`write_zigzag`] writes of it.
pub(super) fn zigzag_bytes(value: i64) -> usize {
    let rest = ((value << 1) ^ (value >> 63)) as u64;
    let bits = (u64::BITS - rest.leading_zeros()).max(1) as usize;
    bits.div_ceil(7).min(9)
}

pub(crate) fn read_zigzag(rest: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for position in 0..9 {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        if position == 8 {
            value |= u64::from(byte) << 56;
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

/// In JSON: `{"count", "sum_ns", "min_ns", "max_ns", "hdr"}` with the payload as base64.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Histogram", 5)?;
        fields.serialize_field("count", &self.count)?;
        fields.serialize_field("sum_ns", &(self.sum as f64))?;
        fields.serialize_field("min_ns", &self.min().unwrap_or_default())?;
        fields.serialize_field("max_ns", &self.max().unwrap_or_default())?;
        fields.serialize_field("hdr", &STANDARD.encode(self.to_hdr_v2()))?;
        fields.end()
    }
}

#[derive(Deserialize)]
struct Wire {
    count: u64,
    sum_ns: f64,
    min_ns: u64,
    max_ns: u64,
    hdr: String,
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        from_wire(&wire).map_err(D::Error::custom)
    }
}

fn from_wire(wire: &Wire) -> Result<Histogram, DecodeError> {
    let payload = STANDARD
        .decode(&wire.hdr)
        .map_err(|_| DecodeError::Base64)?;
    let mut histogram = Histogram::from_hdr_v2(&payload)?;
    if histogram.count != wire.count {
        return Err(DecodeError::Contradiction);
    }
    if histogram.count == 0 {
        return Ok(histogram);
    }
    // The exact extremes must fall into the outermost occupied counters, which may be one and the same.
    let same = |exact: u64, counted: u64| index_of(exact) == index_of(counted);
    let are_extremes = same(wire.min_ns, histogram.min)
        && same(wire.max_ns, histogram.max)
        && wire.min_ns <= wire.max_ns;
    let is_plausible_sum = histogram.sums(wire.max_ns).contains(&wire.sum_ns);
    if !are_extremes || !is_plausible_sum {
        return Err(DecodeError::Contradiction);
    }
    histogram.min = wire.min_ns;
    histogram.max = wire.max_ns;
    histogram.sum = wire.sum_ns as u128;
    Ok(histogram)
}

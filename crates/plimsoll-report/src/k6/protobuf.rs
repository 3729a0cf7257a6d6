//! Protobuf's wire format, as far as remote write and OTLP need it: varints, lengths, eight-byte values.

/// A field of bytes: a text or an inner message.
pub(super) fn add_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    add_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A number of variable length.
pub(super) fn add_number(out: &mut Vec<u8>, field: u8, value: u64) {
    out.push(field << 3);
    add_varint(out, value);
}

/// Eight bytes, of a `double` its bits.
pub(super) fn add_fixed(out: &mut Vec<u8>, field: u8, bits: u64) {
    out.push(field << 3 | 1);
    out.extend(bits.to_le_bytes());
}

/// Several of them as one field.
pub(super) fn add_packed(out: &mut Vec<u8>, field: u8, bits: impl Iterator<Item = u64>) {
    let bytes: Vec<u8> = bits.flat_map(u64::to_le_bytes).collect();
    add_bytes(out, field, &bytes);
}

pub(super) fn add_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

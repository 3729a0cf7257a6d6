//! The block format of snappy, as its public description defines it: literals and copies.

use super::super::protobuf::add_varint;

/// Matches are looked for within one block, so that a copy's distance fits into two bytes.
const BLOCK: usize = 1 << 16;
const HASH_BITS: u32 = 12;
const COPY_MIN: usize = 4;
const COPY_MAX: usize = 64;

/// Compresses greedily: labels repeat from series to series, and that is what there is to gain.
pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4);
    add_varint(&mut out, bytes.len() as u64);
    for block in bytes.chunks(BLOCK) {
        add_block(&mut out, block);
    }
    out
}

fn add_block(out: &mut Vec<u8>, block: &[u8]) {
    // Where four bytes with that hash were seen last, plus one.
    let mut seen = vec![0_usize; 1 << HASH_BITS];
    let (mut at, mut literal) = (0, 0);
    while at + COPY_MIN <= block.len() {
        let place = &mut seen[hash(&block[at..at + COPY_MIN])];
        let earlier = std::mem::replace(place, at + 1).checked_sub(1);
        let length = earlier.map_or(0, |earlier| common(block, earlier, at));
        match earlier {
            Some(earlier) if length >= COPY_MIN => {
                add_literal(out, &block[literal..at]);
                add_copy(out, at - earlier, length);
                at += length;
                literal = at;
            }
            _ => at += 1,
        }
    }
    add_literal(out, &block[literal..]);
}

fn hash(four: &[u8]) -> usize {
    let word = four
        .iter()
        .fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    (word.wrapping_mul(0x1e35_a7bd) >> (u32::BITS - HASH_BITS)) as usize
}

/// How many bytes from `at` on are the same as from `earlier` on.
fn common(block: &[u8], earlier: usize, at: usize) -> usize {
    let pairs = block[earlier..].iter().zip(&block[at..]);
    pairs.take_while(|(a, b)| a == b).count()
}

fn add_literal(out: &mut Vec<u8>, bytes: &[u8]) {
    for bytes in bytes.chunks(1 << 16) {
        let length = bytes.len() - 1;
        match length {
            0..60 => out.push((length as u8) << 2),
            60..256 => out.extend([60 << 2, length as u8]),
            _ => out.extend([61 << 2, length as u8, (length >> 8) as u8]),
        }
        out.extend_from_slice(bytes);
    }
}

/// Copies with a distance of two bytes, at most 64 bytes each.
fn add_copy(out: &mut Vec<u8>, distance: usize, mut length: usize) {
    while length > 0 {
        let part = length.min(COPY_MAX);
        out.extend([
            ((part - 1) as u8) << 2 | 2,
            distance as u8,
            (distance >> 8) as u8,
        ]);
        length -= part;
    }
}

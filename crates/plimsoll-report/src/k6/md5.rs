//! MD5, because k6 names groups and checks by the digest of their path; nothing is secured by it.

/// Digest of a text in hexadecimal (RFC 1321).
pub(super) fn hex(text: &str) -> String {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded(text.as_bytes()).chunks_exact(64) {
        add_block(&mut state, block);
    }
    let mut shown = String::with_capacity(32);
    for byte in state.iter().flat_map(|word| word.to_le_bytes()) {
        put!(shown, "{byte:02x}");
    }
    shown
}

/// The message, a one bit, zeros, and the length in bits, in whole blocks.
fn padded(message: &[u8]) -> Vec<u8> {
    let mut bytes = message.to_vec();
    bytes.push(0x80);
    bytes.resize((message.len() + 9).next_multiple_of(64) - 8, 0);
    bytes.extend((message.len() as u64 * 8).to_le_bytes());
    bytes
}

const SHIFTS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

fn add_block(state: &mut [u32; 4], block: &[u8]) {
    let words: Vec<u32> = block
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let (mixed, word) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        // The whole part of |sin(step + 1)| · 2^32.
        let sine = ((step + 1) as f64).sin().abs() * 4_294_967_296.0;
        let sum = a
            .wrapping_add(mixed)
            .wrapping_add(sine as u32)
            .wrapping_add(words[word]);
        let turned = sum.rotate_left(SHIFTS[step / 16][step % 4]);
        (a, d, c, b) = (d, c, b, b.wrapping_add(turned));
    }
    for (word, added) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(added);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first ones are from RFC 1321, the last from k6's export of a group `shop`.
    #[test]
    fn known_digests() {
        for (text, digest) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
            ("::shop", "2dcefeabd7332e4b7fedeecb08f57de6"),
        ] {
            assert_eq!(hex(text), digest, "{text}");
        }
    }
}

//! Huffman decoding of header strings (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: sorted by length and then by symbol the codes count up, so the lengths alone say all.

/// Bits of each symbol's code; the last is the end of string, which no string may contain.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const SHORTEST: usize = 5;
const LONGEST: usize = 30;
/// The next symbols are found by one look into a table of this many bits: two, as most codes of text have 5 or 6.
const QUICK_BITS: usize = 11;

/// What the next [`QUICK_BITS`] bits begin with.
#[derive(Clone, Copy)]
struct Quick {
    symbols: [u8; 2],
    /// How many symbols end within the bits; none if the first has a longer code.
    count: u8,
    /// Bits of those symbols.
    length: u8,
}

struct Tables {
    quick: [Quick; 1 << QUICK_BITS],
    /// By length: the first code, left-aligned in 32 bits; the next length's first code ends it.
    first: [u32; LONGEST + 2],
    /// By length: where its symbols begin in `symbols`.
    begin: [u16; LONGEST + 2],
    symbols: [u16; 257],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let none = Quick {
        symbols: [0; 2],
        count: 0,
        length: 0,
    };
    let mut all = Tables {
        quick: [none; 1 << QUICK_BITS],
        first: [0; LONGEST + 2],
        begin: [0; LONGEST + 2],
        symbols: [0; 257],
    };
    let (mut code, mut count, mut length) = (0_u64, 0_u16, 1);
    while length <= LONGEST {
        all.first[length] = (code << (32 - length)) as u32;
        all.begin[length] = count;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                all.symbols[count as usize] = symbol as u16;
                count += 1;
                code += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    // Nothing is longer: every code ends below this one.
    all.first[LONGEST + 1] = u32::MAX;
    all.begin[LONGEST + 1] = count;
    let mut bits = 0;
    while bits < all.quick.len() {
        all.quick[bits] = quick(&all, bits);
        bits += 1;
    }
    all
}

/// The symbols that end within these [`QUICK_BITS`] bits, two at most.
const fn quick(tables: &Tables, bits: usize) -> Quick {
    let mut found = Quick {
        symbols: [0; 2],
        count: 0,
        length: 0,
    };
    while found.count < 2 {
        let left = QUICK_BITS - found.length as usize;
        // What follows is not known: zeros, below which no code that ends within the bits can change.
        let next = ((bits << found.length) as u32) << (32 - QUICK_BITS);
        let (symbol, length) = one(tables, next);
        if length as usize > left {
            break;
        }
        found.symbols[found.count as usize] = symbol as u8;
        found.count += 1;
        found.length += length as u8;
    }
    found
}

/// The symbol whose code these bits begin with, and the code's length.
const fn one(tables: &Tables, next: u32) -> (u16, u32) {
    let mut length = SHORTEST;
    while length < LONGEST && next >= tables.first[length + 1] {
        length += 1;
    }
    let offset = (next - tables.first[length]) >> (32 - length);
    let at = tables.begin[length] as usize + offset as usize;
    (tables.symbols[at], length as u32)
}

/// The bits of a coded string that are not decoded yet.
struct Coded<'a> {
    /// From the top; below those that are held, and at the end of the string, are ones, as the padding is, or the bits
    /// that will be held next.
    bits: u64,
    held: u32,
    rest: &'a [u8],
}

impl Coded<'_> {
    /// Holds 56 bits at least, or all there are.
    #[inline]
    fn fill(&mut self) {
        if let Some(eight) = self.rest.first_chunk() {
            let held = !(u64::MAX >> self.held);
            self.bits &= held | u64::from_be_bytes(*eight) >> self.held;
            let bytes = (63 - self.held) / 8;
            self.held += bytes * 8;
            self.rest = &self.rest[bytes as usize..];
            return;
        }
        while self.held <= 56
            && let [byte, rest @ ..] = self.rest
        {
            let below = 56 - self.held;
            self.bits &= !(0xff << below) | u64::from(*byte) << below;
            self.held += 8;
            self.rest = rest;
        }
    }

    #[inline]
    fn skip(&mut self, length: u32) {
        self.bits = self.bits << length | ((1 << length) - 1);
        self.held -= length;
    }
}

/// Appends the text of a coded string. `None` if it is not one: the end of string within, or padding that is not its
/// beginning or a byte too long.
pub(super) fn decode(coded: &[u8], text: &mut Vec<u8>) -> Option<()> {
    let mut at = text.len();
    // Two symbols are written at once, the second of which may be none.
    text.resize(at + coded.len() * 8 / SHORTEST + 2, 0);
    let mut input = Coded {
        bits: u64::MAX,
        held: 0,
        rest: coded,
    };
    loop {
        if input.held < LONGEST as u32 {
            input.fill();
        }
        let quick = &TABLES.quick[(input.bits >> (64 - QUICK_BITS)) as usize];
        if quick.count > 0 && u32::from(quick.length) <= input.held {
            text.get_mut(at..at + 2)?.copy_from_slice(&quick.symbols);
            at += usize::from(quick.count);
            input.skip(u32::from(quick.length));
            continue;
        }
        let (symbol, length) = one(&TABLES, (input.bits >> 32) as u32);
        if length > input.held {
            text.truncate(at);
            // What is left is padding: fewer than eight bits, all ones.
            let is_padding = input.held < 8 && input.bits == u64::MAX;
            return is_padding.then_some(());
        }
        *text.get_mut(at)? = u8::try_from(symbol).ok()?;
        at += 1;
        input.skip(length);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Straight from the definition: counts codes up, and writes them bit by bit.
    fn encode(text: &[u8]) -> Vec<u8> {
        let mut order: Vec<usize> = (0..LENGTHS.len()).collect();
        order.sort_by_key(|symbol| (LENGTHS[*symbol], *symbol));
        let mut codes = [0_u64; 257];
        let (mut code, mut length) = (0_u64, LENGTHS[order[0]]);
        for symbol in order {
            code <<= LENGTHS[symbol] - length;
            length = LENGTHS[symbol];
            codes[symbol] = code;
            code += 1;
        }
        let mut bits = Vec::new();
        for byte in text {
            let symbol = usize::from(*byte);
            let length = LENGTHS[symbol];
            bits.extend((0..length).rev().map(|bit| codes[symbol] >> bit & 1 == 1));
        }
        while bits.len() % 8 != 0 {
            bits.push(true);
        }
        let byte = |eight: &[bool]| eight.iter().fold(0, |all, bit| all << 1 | u8::from(*bit));
        bits.chunks(8).map(byte).collect()
    }

    /// Bytes as the RFC writes them.
    pub(crate) fn hex(text: &str) -> Vec<u8> {
        let digit = |letter: u8| char::from(letter).to_digit(16).unwrap() as u8;
        let digits: Vec<u8> = text
            .bytes()
            .filter(u8::is_ascii_hexdigit)
            .map(digit)
            .collect();
        digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
    }

    fn decoded(coded: &[u8]) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        decode(coded, &mut text).map(|()| text)
    }

    #[test]
    fn the_examples_of_the_rfc() {
        for (coded, text) in [
            ("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"),
            ("a8eb10649cbf", "no-cache"),
            ("25a849e95bb8e8b4bf", "custom-value"),
            (
                "d07abe941054d444a8200595040b8166e082a62d1bff",
                "Mon, 21 Oct 2013 20:13:21 GMT",
            ),
        ] {
            assert_eq!(decoded(&hex(coded)).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn bad_padding_and_the_end_of_string_are_refused() {
        assert_eq!(decoded(&[]), Some(Vec::new()));
        assert_eq!(decoded(&[0xff]), None, "a byte of padding");
        assert_eq!(decoded(&[0b0001_1000]), None, "padding of zeros");
        assert_eq!(decoded(&[0b0001_1111]), Some(b"a".to_vec()));
        assert_eq!(decoded(&[0xff; 4]), None, "the end of string");
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decoded(&encode(&text)), Some(text));
        }

        #[test]
        fn no_bytes_panic_and_what_decodes_is_encoded_so(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(text) = decoded(&bytes) {
                prop_assert_eq!(encode(&text), bytes);
            }
        }
    }
}

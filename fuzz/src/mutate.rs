//! Changes inputs in ways that readers of text and of framed bytes get wrong.

use plimsoll_base::random::Rng;

/// Inputs never grow beyond this; longer ones only take longer.
pub(crate) const BYTES_MAX: usize = 96 << 10;

/// Numbers at the edges of the types that readers put them into.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e309",
    "0.0000001",
    "00000000000000000000000000001",
];

/// One to eight changes to `input`, some with parts of `other`; one input in three keeps its form
/// and gets other numbers, because a broken form is refused before anything believes the numbers.
pub(crate) fn mutate(input: &[u8], other: &[u8], words: &[&str], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let keeps_form = rng.below(3) == 0;
    for _ in 0..=rng.below(3) + rng.below(6) {
        if keeps_form {
            edit_number(&mut bytes, rng);
        } else {
            change(&mut bytes, other, words, rng);
        }
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], rng: &mut Rng) {
    let (start, end) = span(bytes.len(), rng);
    match rng.below(10) {
        0 => flip_bit(bytes, rng),
        1 => set_byte(bytes, rng),
        2 => bytes.truncate(start),
        3 => drop(bytes.drain(start..end)),
        4 => repeat(bytes, start, end, rng),
        5 => splice(bytes, other, start, end, rng),
        6 => edit_number(bytes, rng),
        7 => swap_lines(bytes, rng),
        8 => insert_word(bytes, start, words, rng),
        _ => insert_word(bytes, start, &NUMBERS, rng),
    }
}

/// A random part of `length` bytes, mostly a short one.
fn span(length: usize, rng: &mut Rng) -> (usize, usize) {
    let start = index(length + 1, rng);
    let longest = if rng.below(4) == 0 { length } else { 16 };
    (start, (start + index(longest + 1, rng)).min(length))
}

/// Below `bound`, which is not zero.
fn index(bound: usize, rng: &mut Rng) -> usize {
    rng.below(bound as u64) as usize
}

fn flip_bit(bytes: &mut [u8], rng: &mut Rng) {
    if !bytes.is_empty() {
        let at = index(bytes.len(), rng);
        bytes[at] ^= 1 << rng.below(8);
    }
}

fn set_byte(bytes: &mut [u8], rng: &mut Rng) {
    const TELLING: &[u8] = b"\0\r\n\t \"\\{}[],:;<%0\x7f\x80\xff";
    if !bytes.is_empty() {
        let at = index(bytes.len(), rng);
        bytes[at] = TELLING[index(TELLING.len(), rng)];
    }
}

fn repeat(bytes: &mut Vec<u8>, start: usize, end: usize, rng: &mut Rng) {
    let times = 1 + index(1 << rng.below(8), rng);
    let part = bytes[start..end].repeat(times);
    if bytes.len() + part.len() <= BYTES_MAX {
        bytes.splice(end..end, part);
    }
}

fn splice(bytes: &mut Vec<u8>, other: &[u8], start: usize, end: usize, rng: &mut Rng) {
    let (from, to) = span(other.len(), rng);
    bytes.splice(start..end, other[from..to].iter().copied());
}

fn insert_word(bytes: &mut Vec<u8>, at: usize, words: &[&str], rng: &mut Rng) {
    if !words.is_empty() {
        let word = words[index(words.len(), rng)];
        bytes.splice(at..at, word.bytes());
    }
}

/// Replaces one run of digits by a number at an edge.
fn edit_number(bytes: &mut Vec<u8>, rng: &mut Rng) {
    // Half of the time digits inside a word, as in base64, are left alone.
    let inside_words = rng.below(2) == 0;
    let joins = |byte: u8| {
        let in_word = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        byte.is_ascii_digit() || (in_word && !inside_words)
    };
    let starts_number =
        |at: &usize| bytes[*at].is_ascii_digit() && (*at == 0 || !joins(bytes[*at - 1]));
    let starts: Vec<usize> = (0..bytes.len()).filter(starts_number).collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[index(starts.len(), rng)];
    let digits = bytes[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let number = NUMBERS[index(NUMBERS.len(), rng)];
    bytes.splice(start..start + digits, number.bytes());
}

fn swap_lines(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.len() > 1 {
        let (left, right) = (index(lines.len(), rng), index(lines.len(), rng));
        lines.swap(left, right);
        *bytes = lines.concat();
    }
}

#[cfg(test)]
mod tests;

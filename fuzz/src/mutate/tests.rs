//! Mutations are repeatable, bounded, and reach what they are for.

use super::*;

const INPUT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn many(count: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|stream| mutate(INPUT, b"other {}", &["chunked"], &mut Rng::new(7, stream)))
}

#[test]
fn a_seed_gives_the_same_inputs() {
    assert!(many(200).eq(many(200)));
}

#[test]
fn inputs_stay_bounded_and_nearly_always_change() {
    let inputs: Vec<Vec<u8>> = many(2_000).collect();
    assert!(inputs.iter().all(|input| input.len() <= BYTES_MAX));
    let same = inputs.iter().filter(|input| *input == INPUT).count();
    assert!(same < 60, "{same} of 2000 inputs are unchanged");
}

#[test]
fn words_numbers_and_other_inputs_get_in() {
    for needle in ["chunked", "18446744073709551615", "other"] {
        let found = many(2_000).any(|input| contains(&input, needle.as_bytes()));
        assert!(found, "{needle} never appears");
    }
}

#[test]
fn nothing_to_work_on_is_no_trouble() {
    for stream in 0..2_000 {
        let bytes = mutate(b"", b"", &[], &mut Rng::new(1, stream));
        assert!(bytes.len() <= BYTES_MAX);
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

//! In which order the runs are played: blocks of two pairs, the second the first turned round.

use plimsoll_base::random::Rng;

/// The variants (by index) of every pair in the order they are played: A B, B A, and so on. What
/// changes steadily during a block weighs on all variants alike; which comes first is drawn.
pub(super) fn blocks(variants: usize, pairs: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = Rng::new(seed, 5);
    let mut order: Vec<usize> = (0..variants).collect();
    let mut played = Vec::new();
    for pair in 0..pairs {
        if pair % 2 == 0 {
            for place in (1..variants).rev() {
                order.swap(place, rng.below(place as u64 + 1) as usize);
            }
        } else {
            order.reverse();
        }
        played.push(order.clone());
    }
    played
}

/// `A`, `B`, … and numbers beyond the alphabet.
pub(super) fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index) if index < 26 => char::from(b'A' + index).to_string(),
        _ => format!("V{}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_its_own_mirror_and_both_orders_come_first() {
        let played = blocks(3, 20, 7);
        for block in played.chunks(2) {
            let mirrored: Vec<usize> = block[0].iter().rev().copied().collect();
            assert_eq!(block[1], mirrored);
            let mut sorted = block[0].clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        let first: Vec<usize> = blocks(2, 40, 7)
            .iter()
            .step_by(2)
            .map(|pair| pair[0])
            .collect();
        let ones = first.iter().sum::<usize>();
        assert!((4..=16).contains(&ones), "{ones} of 20");
        assert_eq!(blocks(2, 5, 7), blocks(2, 5, 7), "the seed decides");
        assert_eq!([0, 1, 25, 26].map(letter), ["A", "B", "Z", "V27"]);
    }
}

//! The ledger: operations take what is there, and the look at the end finds every contradiction.

use super::*;

fn stored(pairs: &[(i64, i64)]) -> BTreeMap<i64, i64> {
    pairs.iter().copied().collect()
}

#[test]
fn what_agrees_is_intact_and_what_does_not_is_told_apart() {
    let mut ledger = Ledger::loaded(5);
    let new = ledger.announce(2);
    assert_eq!(new, [5, 6]);
    ledger.inserted(&[5], Fate::Done);
    ledger.inserted(&[6], Fate::NotDone);
    ledger.updating(&[0, 1]);
    ledger.updated(&[0, 1], Fate::Done);
    let mut rng = Rng::new(1, 1);
    let gone = ledger.withdraw(Keys::Uniform, 1, &mut rng);
    let kept: Vec<i64> = (0..6).filter(|key| *key != i64::from(gone[0])).collect();
    ledger.deleted(&gone, Fate::Done);
    let updates = |key: i64| i64::from(key < 2);
    let good: BTreeMap<i64, i64> = kept.iter().map(|key| (*key, updates(*key))).collect();
    let verified = ledger.verify(&good);
    assert_eq!((verified.expected_count, verified.intact_count), (5, 5));
    assert_eq!(verified.broken_count(), 0);

    let undead = good
        .iter()
        .map(|(key, n)| (*key, *n))
        .chain([(i64::from(gone[0]), 0)]);
    assert_eq!(ledger.verify(&undead.collect()).undead_count, 1);
    let mut worse = good.clone();
    worse.remove(&kept[0]);
    worse.insert(6, 0);
    worse.insert(99, 0);
    let verified = ledger.verify(&worse);
    assert_eq!((verified.missing_count, verified.unasked_count), (1, 2));
    let lost = good.keys().map(|key| (*key, 0));
    let stale = ledger.verify(&lost.collect()).stale_count;
    assert_eq!(stale, kept.iter().filter(|key| **key < 2).count() as u64);
}

#[test]
fn what_ended_without_an_answer_may_be_either_way() {
    let mut ledger = Ledger::loaded(2);
    let new = ledger.announce(1);
    ledger.inserted(&new, Fate::Unknown);
    ledger.updating(&[0]);
    ledger.updated(&[0], Fate::Unknown);
    for found in [&[(0, 0), (1, 0)][..], &[(0, 1), (1, 0), (2, 0)]] {
        let verified = ledger.verify(&stored(found));
        assert_eq!(verified.broken_count(), 0, "{found:?}");
        assert_eq!(verified.unknown_count, 1);
    }
    assert_eq!(ledger.verify(&stored(&[(0, 2), (1, 0)])).unasked_count, 1);
}

#[test]
fn nobody_deletes_what_somebody_reads_and_nothing_is_taken_twice() {
    let mut ledger = Ledger::loaded(4);
    let mut rng = Rng::new(3, 1);
    let mut read = ledger.borrow(Keys::Uniform, 3, &mut rng);
    assert_eq!(read.len(), 3);
    let left = ledger.withdraw(Keys::Uniform, 4, &mut rng);
    assert_eq!(left.len(), 1, "three are being read");
    read.extend(&left);
    read.sort_unstable();
    assert_eq!(read, [0, 1, 2, 3]);
    assert!(ledger.withdraw(Keys::Uniform, 1, &mut rng).is_empty());
}

#[test]
fn documents_are_found_however_many_are_gone() {
    let mut ledger = Ledger::loaded(1000);
    let mut rng = Rng::new(5, 1);
    for _ in 0..999 {
        let gone = ledger.withdraw(Keys::Uniform, 1, &mut rng);
        ledger.deleted(&gone, Fate::Done);
    }
    assert_eq!(ledger.borrow(Keys::Uniform, 2, &mut rng).len(), 1);
    assert!(
        ledger.order.len() < 2 * DEAD_LEAST + 2,
        "{}",
        ledger.order.len()
    );
}

#[test]
fn distributions_prefer_what_they_say() {
    let mut rng = Rng::new(9, 1);
    let mut drawn = |keys| {
        let mut ledger = Ledger::loaded(1000);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..20_000 {
            let taken = ledger.borrow(keys, 1, &mut rng);
            counts[taken[0] as usize] += 1;
            ledger.give_back(&taken);
        }
        counts
    };
    let exponent = Keys::EXPONENT;
    let uniform = drawn(Keys::Uniform);
    assert!(uniform.iter().all(|count| *count < 60));
    let zipf = drawn(Keys::Zipf { exponent });
    // Of 1000 with this exponent the first is drawn with 1 ÷ 7.73 (the harmonic number of that order).
    assert!((2400..2800).contains(&zipf[0]), "{}", zipf[0]);
    assert!((1180..1460).contains(&zipf[1]), "{}", zipf[1]);
    let latest = drawn(Keys::Latest { exponent });
    assert!((2400..2800).contains(&latest[999]), "{}", latest[999]);
}

/// What becomes of one operation, and whether the store carried it out when nobody knows.
#[derive(Debug, Clone, Copy)]
struct Turn {
    operation: u8,
    fate: u8,
    is_carried_out: bool,
}

/// A store that does what it says, whatever operations end how, is never accused; and one that loses a document always is.
#[test]
fn an_honest_store_is_never_accused() {
    use proptest::prelude::{
        ProptestConfig, Strategy as _, any, prop, prop_assert, prop_assert_eq, proptest,
    };
    let turn =
        (0_u8..4, 0_u8..4, any::<bool>()).prop_map(|(operation, fate, is_carried_out)| Turn {
            operation,
            fate,
            is_carried_out,
        });
    let config = ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(turns in prop::collection::vec(turn, 1..200), seed: u64)| {
        let mut ledger = Ledger::loaded(20);
        let mut store: BTreeMap<i64, i64> = (0..20).map(|key| (key, 0)).collect();
        let mut rng = Rng::new(seed, 1);
        for turn in turns {
            let fate = match turn.fate {
                0 => Fate::NotDone,
                1 => Fate::Unknown,
                _ => Fate::Done,
            };
            let does = fate == Fate::Done || fate == Fate::Unknown && turn.is_carried_out;
            match turn.operation {
                0 => {
                    let keys = ledger.announce(2);
                    if does {
                        store.extend(keys.iter().map(|key| (i64::from(*key), 0)));
                    }
                    ledger.inserted(&keys, fate);
                }
                1 => {
                    let keys = ledger.borrow(Keys::Uniform, 2, &mut rng);
                    ledger.updating(&keys);
                    for key in keys.iter().filter(|_| does) {
                        *store.entry(i64::from(*key)).or_insert(0) += 1;
                    }
                    ledger.updated(&keys, fate);
                    ledger.give_back(&keys);
                }
                2 => {
                    let keys = ledger.withdraw(Keys::Latest { exponent: 0.99 }, 2, &mut rng);
                    for key in keys.iter().filter(|_| does) {
                        store.remove(&i64::from(*key));
                    }
                    ledger.deleted(&keys, fate);
                }
                _ => {
                    let keys = ledger.borrow(Keys::Zipf { exponent: 0.99 }, 1, &mut rng);
                    for key in &keys {
                        prop_assert!(store.contains_key(&i64::from(*key)), "{key} must be there");
                    }
                    ledger.give_back(&keys);
                }
            }
        }
        let verified = ledger.verify(&store);
        prop_assert_eq!(verified.broken_count(), 0, "{:?}", verified);
        prop_assert_eq!(verified.intact_count, verified.expected_count);
        let owed = ledger.borrow(Keys::Uniform, 1, &mut rng);
        if let [key] = owed[..] {
            store.remove(&i64::from(key));
            prop_assert_eq!(ledger.verify(&store).missing_count, 1);
        }
    });
}

//! The test of turns beside figures by hand, and with what it was made for.

use super::*;

/// Seven pairs whose first run is A's, B's, A's, …; every run at its place has the machine's value, B's more by `change`.
fn played(machine: impl Fn(usize) -> f64, change: f64) -> Vec<[(usize, f64); 2]> {
    let first_of_a = [true, true, false, true, false, false, true];
    let pairs = first_of_a.into_iter().enumerate();
    pairs
        .map(|(pair, a_first)| {
            let (a, b) = if a_first { (0, 1) } else { (1, 0) };
            let (a, b) = (2 * pair + a, 2 * pair + b);
            [(a, machine(a)), (b, machine(b) + change)]
        })
        .collect()
}

/// Deterministic, and with no pattern.
fn rough(place: usize) -> f64 {
    ((place * 37 + 11) % 23) as f64 / 1000.0
}

#[test]
fn a_third_run_that_is_slow_again_and_again_hides_nothing() {
    let machine =
        |place: usize| if place.is_multiple_of(3) { 0.2 } else { 0.0 } + rough(place) / 10.0;
    let turns = Turns::new(played(machine, 0.1), 1).unwrap();
    let judged = turns.judged(0.0);
    assert!(judged.p <= 0.05, "{judged:?}");
    assert_eq!(judged.rhythm.map(|rhythm| rhythm.runs.round()), Some(3.0));
    let estimate = turns.estimate();
    assert!((estimate - 0.1).abs() < 0.01, "{estimate}");
    let interval = turns.interval(0.95, estimate).unwrap();
    assert!(
        0.05 < interval.lower && interval.upper < 0.15,
        "{interval:?}"
    );
    let by_ranks = super::super::permutation::sign_flip(&turns.differences(0.0), 0);
    assert!(
        by_ranks.value > 0.05,
        "the ranks alone do not see it: {by_ranks:?}"
    );
}

#[test]
fn where_nothing_comes_back_it_is_the_test_of_signed_ranks() {
    let turns = Turns::new(played(rough, 0.5), 1).unwrap();
    // All seven agree by far: two of 128 draws.
    assert!((turns.judged(0.0).p - 2.0 / 128.0).abs() < 1e-12);
    let interval = turns.interval(0.95, turns.estimate()).unwrap();
    assert!(
        0.45 < interval.lower && interval.upper < 0.55,
        "{interval:?}"
    );
}

#[test]
fn the_interval_agrees_with_the_test() {
    for change in [0.0, 0.002, 0.005, 0.01, 0.02, 0.05] {
        let turns = Turns::new(played(rough, change), 1).unwrap();
        let p = turns.judged(0.0).p;
        let interval = turns.interval(0.95, turns.estimate()).unwrap();
        let holds_none = interval.lower <= 0.0 && interval.upper >= 0.0;
        assert_eq!(holds_none, p > 0.05, "{change}: {p}, {interval:?}");
    }
}

#[test]
fn equal_values_are_no_difference() {
    let turns = Turns::new(played(|_| 3.0, 0.0), 1).unwrap();
    assert!((turns.judged(0.0).p - 1.0).abs() < 1e-12);
    assert!(turns.estimate().abs() < 1e-12);
}

#[test]
fn it_is_not_taken_where_it_has_nothing_to_go_by() {
    let seven = played(rough, 0.1);
    assert!(Turns::new(seven[..6].to_vec(), 1).is_none(), "too few");
    let mut never = seven.clone();
    never[3][1].1 = f64::INFINITY;
    assert!(Turns::new(never, 1).is_none(), "a value without end");
    let always_first = seven
        .iter()
        .map(|[a, b]| [(a.0.min(b.0), a.1), (a.0.max(b.0), b.1)]);
    assert!(
        Turns::new(always_first.collect(), 1).is_none(),
        "A always first"
    );
}

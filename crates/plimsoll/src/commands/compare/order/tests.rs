//! Orders by themselves, and with the test that judges what was played in them.

use std::collections::BTreeMap;

use plimsoll_analysis::compare::{
    ALPHA, MARGIN_RATIO, Question, SHARE_MARGIN, compare, guarded_most, is_scattered, runs_needed,
};
use plimsoll_core::comparison::{Design, Figure, Run, Standing, Variant};

use super::*;

#[test]
fn every_order_is_as_likely_in_every_pair_whatever_the_others_have() {
    let played = drawn(3, 600, 7);
    let mut counts = BTreeMap::new();
    for order in &played {
        *counts.entry(order.clone()).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6, "all orders of three");
    assert!(
        counts.values().all(|count| (70..=130).contains(count)),
        "{counts:?}"
    );
    let again = played.windows(2).filter(|two| two[0] == two[1]).count();
    assert!(
        (70..=130).contains(&again),
        "{again} of 599 as the one before"
    );
    assert_eq!(drawn(2, 5, 7), drawn(2, 5, 7), "the seed decides");
    assert_eq!([0, 1, 25, 26].map(letter), ["A", "B", "Z", "V27"]);
}

/// What a machine does to its runs, as shares of their times: one after the other.
type Noise = fn(run: usize, state: &mut f64, rng: &mut Rng) -> f64;

/// Independent of each other, 3 %.
fn independent(_: usize, _: &mut f64, rng: &mut Rng) -> f64 {
    0.03 * rng.normal()
}

/// Runs resemble their neighbours: AR(1) with a correlation of 0.9.
fn correlated(_: usize, state: &mut f64, rng: &mut Rng) -> f64 {
    *state = 0.9 * *state + 0.03 * rng.normal();
    *state
}

/// A neighbour makes every second, third … run a tenth slower, and a wave of that length comes on top; where it begins is anywhere.
fn periodic<const PERIOD: usize>(run: usize, state: &mut f64, rng: &mut Rng) -> f64 {
    if run == 0 {
        *state = rng.below(PERIOD as u64) as f64;
    }
    let place = run + *state as usize;
    let phase = std::f64::consts::TAU * place as f64 / PERIOD as f64;
    let slow = if place.is_multiple_of(PERIOD) {
        0.1
    } else {
        0.0
    };
    0.1 * phase.sin() + slow + 0.01 * rng.normal()
}

/// The same for half of every six runs, without a wave.
fn half_of_six(run: usize, state: &mut f64, rng: &mut Rng) -> f64 {
    if run == 0 {
        *state = rng.below(6) as f64;
    }
    let is_slow = (run + *state as usize) % 6 < 3;
    let slow = if is_slow { 0.1 } else { 0.0 };
    slow + 0.01 * rng.normal()
}

fn drifting(run: usize, _: &mut f64, rng: &mut Rng) -> f64 {
    0.01 * run as f64 + 0.01 * rng.normal()
}

const NOISES: [(&str, Noise); 12] = [
    ("independent", independent),
    ("correlated", correlated),
    ("a drift", drifting),
    ("a period of 2", periodic::<2>),
    ("a period of 3", periodic::<3>),
    ("a period of 4", periodic::<4>),
    ("a period of 5", periodic::<5>),
    ("a period of 7", periodic::<7>),
    ("a period of 8", periodic::<8>),
    ("a period of 10", periodic::<10>),
    ("a period of 14", periodic::<14>),
    ("half of every six runs", half_of_six),
];

/// Played as by default: eight pairs, and up to three more if they scatter. B's p99 is `p99` times that of A, its p50 `p50` times.
fn judged((p50, p99): (f64, f64), noise: Noise, seed: u64) -> Standing {
    let planned = runs_needed(Design::Paired, guarded_most(None, Figure::P99), ALPHA);
    let (mut rng, mut state) = (Rng::new(seed, 41), 0.0);
    let mut variants = ["A", "B"].map(|name| Variant {
        name: name.to_owned(),
        runs: Vec::new(),
    });
    let order = drawn(2, planned + planned.div_ceil(3), seed);
    for (number, pair) in order.into_iter().enumerate() {
        if number >= planned as usize && !scatters(&variants) {
            break;
        }
        for (place, index) in pair.into_iter().enumerate() {
            let run = number * 2 + place;
            let off = noise(run, &mut state, &mut rng).exp();
            let own = (0.01 * rng.normal()).exp();
            let (p50, p99) = if index == 1 { (p50, p99) } else { (1.0, 1.0) };
            variants[index].runs.push(Run {
                name: format!("{run}"),
                started_at: format!("2026-11-25T10:00:{run:02}Z"),
                figures: BTreeMap::from([
                    (Figure::Goodput, 200.0),
                    (Figure::Failures, 0.0),
                    (Figure::P50, 0.08 * p50 * off),
                    (Figure::P99, 0.2 * p99 * off * own),
                ]),
                ..Run::default()
            });
        }
    }
    let asked = Question {
        design: Design::Paired,
        primary: None,
        percentile: Figure::P99,
        margin_ratio: MARGIN_RATIO,
        share_margin: SHARE_MARGIN,
        seed,
        is_calibration: false,
        is_open: true,
        objective: None,
        load: String::new(),
        pairs: None,
    };
    compare(variants.to_vec(), Vec::new(), &asked).standing
}

fn scatters(variants: &[Variant; 2]) -> bool {
    let [a, b] = variants
        .each_ref()
        .map(|variant| variant.values(Figure::P99));
    let pairs: Vec<_> = a.into_iter().zip(b).collect();
    is_scattered(&pairs, MARGIN_RATIO)
}

/// Of so many simulated sets, or of a thousand when asked to soak.
fn share(sets: u64, is: impl Fn(u64) -> bool) -> f64 {
    let soaks = std::env::var_os("PLIMSOLL_SOAK").is_some();
    let sets = if soaks { 1_000 } else { sets };
    (0..sets).filter(|seed| is(*seed)).count() as f64 / sets as f64
}

#[test]
fn equal_variants_are_called_different_in_at_most_one_of_twenty_sets_whatever_the_machine_does() {
    for (name, noise) in NOISES {
        let alarms = share(200, |seed| {
            let standing = judged((1.0, 1.0), noise, seed);
            matches!(standing, Standing::Better | Standing::Worse)
        });
        println!("{name}: {:.1} % false alarms", alarms * 100.0);
        // Two standard errors of so many sets.
        assert!(alarms <= 0.05 + 0.031, "{alarms} under {name} noise");
    }
}

#[test]
fn a_doubled_p99_is_found_nearly_always_and_a_tenth_more_in_four_of_five_sets() {
    for (name, noise) in NOISES {
        let found =
            |sets, change| share(sets, |seed| judged(change, noise, seed) == Standing::Worse);
        let (doubled, tenth) = (found(100, (1.0, 2.0)), found(100, (1.1, 1.1)));
        println!("{name}: doubled {doubled:.3}, a tenth {tenth:.3}");
        assert!(doubled >= 0.99, "{doubled} under {name} noise");
        assert!(tenth >= 0.8, "{tenth} under {name} noise");
    }
}

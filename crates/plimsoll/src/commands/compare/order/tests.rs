//! Orders by themselves, and with the test that judges what was played in them.

use std::collections::BTreeMap;

use plimsoll_analysis::compare::{
    ALPHA, GUARDED_MOST, MARGIN_RATIO, Question, SHARE_MARGIN, compare, runs_needed,
};
use plimsoll_core::comparison::{Design, Figure, NamedFigures, Run, Standing, Variant};

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

/// A neighbour makes every second, third … run a tenth slower.
fn periodic<const PERIOD: usize>(run: usize, _: &mut f64, rng: &mut Rng) -> f64 {
    let phase = std::f64::consts::TAU * run as f64 / PERIOD as f64;
    0.1 * phase.sin() + if run.is_multiple_of(PERIOD) { 0.1 } else { 0.0 } + 0.01 * rng.normal()
}

fn drifting(run: usize, _: &mut f64, rng: &mut Rng) -> f64 {
    0.01 * run as f64 + 0.01 * rng.normal()
}

const NOISES: [(&str, Noise); 9] = [
    ("independent", independent),
    ("correlated", correlated),
    ("a drift", drifting),
    ("a period of 2", periodic::<2>),
    ("a period of 3", periodic::<3>),
    ("a period of 4", periodic::<4>),
    ("a period of 5", periodic::<5>),
    ("a period of 7", periodic::<7>),
    ("a period of 8", periodic::<8>),
];

/// The verdict at a set rate over as many pairs as are played by default. B's p99 is `p99` times that of A, its p50 `p50` times.
fn judged((p50, p99): (f64, f64), noise: Noise, seed: u64) -> Standing {
    let pairs = runs_needed(Design::Paired, GUARDED_MOST, ALPHA);
    let (mut rng, mut state) = (Rng::new(seed, 41), 0.0);
    let mut variants = ["A", "B"].map(|name| Variant {
        name: name.to_owned(),
        runs: Vec::new(),
    });
    let order = drawn(2, pairs, seed).into_iter().flatten();
    for (run, index) in order.enumerate() {
        let off = noise(run, &mut state, &mut rng).exp();
        let own = (0.01 * rng.normal()).exp();
        let (p50, p99) = if index == 1 { (p50, p99) } else { (1.0, 1.0) };
        variants[index].runs.push(Run {
            name: format!("{run}"),
            started_at: String::new(),
            excluded: None,
            named: NamedFigures::default(),
            figures: BTreeMap::from([
                (Figure::Goodput, 200.0),
                (Figure::Failures, 0.0),
                (Figure::P50, 0.08 * p50 * off),
                (Figure::P99, 0.2 * p99 * off * own),
            ]),
        });
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

fn share(sets: u64, is: impl Fn(u64) -> bool) -> f64 {
    (0..sets).filter(|seed| is(*seed)).count() as f64 / sets as f64
}

#[test]
fn equal_variants_are_called_different_in_at_most_one_of_twenty_sets_whatever_the_machine_does() {
    for (name, noise) in NOISES {
        let alarms = share(400, |seed| {
            let standing = judged((1.0, 1.0), noise, seed);
            matches!(standing, Standing::Better | Standing::Worse)
        });
        println!("{name}: {:.1} % false alarms", alarms * 100.0);
        // Two standard errors of so many sets.
        assert!(alarms <= 0.05 + 0.022, "{alarms} under {name} noise");
    }
}

#[test]
fn a_doubled_p99_is_found_nearly_always_and_a_tenth_more_in_four_of_five_sets() {
    for (name, noise) in NOISES {
        let found = |change| share(200, |seed| judged(change, noise, seed) == Standing::Worse);
        let (doubled, tenth) = (found((1.0, 2.0)), found((1.1, 1.1)));
        println!("{name}: doubled {doubled:.3}, a tenth {tenth:.3}");
        assert!(doubled >= 0.99, "{doubled} under {name} noise");
        // Pairs differ as much as neighbouring runs do: where that is a tenth itself, seven pairs show no tenth.
        if ["independent", "correlated", "a drift"].contains(&name) {
            assert!(tenth >= 0.8, "{tenth} under {name} noise");
        }
    }
}

//! Runs of one day against those of another: said, because nothing in the runs can tell the day from the variant.

use super::*;

const MINUTE: u64 = 60;
const DAY: u64 = 86_400;

/// Runs of 30 s that began so many seconds after midnight of 1 November.
fn at(name: &str, level: f64, starts: &[u64]) -> Variant {
    let values: Vec<f64> = starts.iter().map(|_| level).collect();
    let mut variant = variant(name, Figure::Goodput, &values);
    for (run, start) in variant.runs.iter_mut().zip(starts) {
        let (day, rest) = (start / DAY + 1, start % DAY);
        let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
        run.started_at = format!("2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
        run.length_seconds = Some(30.0);
    }
    variant
}

fn judged(a: &[u64], b: &[u64], design: Design) -> Comparison {
    let sides = vec![at("A", 100.0, a), at("B", 80.0, b)];
    compare(sides, Vec::new(), &asked(design))
}

fn said(compared: &Comparison) -> Option<&str> {
    let mut found = compared.mismatches.iter();
    let found = found.find(|one| one.fact == "time")?;
    assert_eq!(found.effect, Effect::Confounds);
    Some(found.says.as_str())
}

/// From `from` on, one every minute.
fn minutes(from: u64, count: u64) -> Vec<u64> {
    (0..count).map(|place| from + place * MINUTE).collect()
}

#[test]
fn all_of_monday_before_all_of_tuesday_is_said() {
    for design in [Design::Paired, Design::Unpaired] {
        let compared = judged(&minutes(0, 7), &minutes(DAY, 7), design);
        assert_eq!(compared.standing, Standing::Worse);
        let says = said(&compared).unwrap();
        assert!(
            says.starts_with("all of ‘A’ was played before all of ‘B’, 24 h apart"),
            "{says}"
        );
        assert_eq!(
            compared.mismatches[0].values[0].1,
            ["1 November 2026 00:00 to 00:06"]
        );
        // Whichever was first.
        let compared = judged(&minutes(DAY, 7), &minutes(0, 7), design);
        let says = said(&compared).unwrap();
        assert!(
            says.starts_with("all of ‘B’ was played before all of ‘A’"),
            "{says}"
        );
        // A drift needs no night between.
        let compared = judged(&minutes(0, 7), &minutes(7 * MINUTE, 7), design);
        let says = said(&compared).unwrap();
        assert!(
            says.starts_with("all of ‘A’ was played before all of ‘B’:"),
            "{says}"
        );
    }
}

#[test]
fn pairs_whose_runs_are_days_apart_are_said() {
    let every_second_day = |from: u64| -> Vec<u64> { (0..7).map(|n| from + 2 * n * DAY).collect() };
    let compared = judged(&every_second_day(0), &every_second_day(DAY), Design::Paired);
    let says = said(&compared).unwrap();
    assert!(says.starts_with("in 7 of 7 pairs"), "{says}");
}

#[test]
fn what_was_played_in_turns_is_not() {
    let every = |from: u64, step: u64| -> Vec<u64> { (0..7).map(|n| from + n * step).collect() };
    for design in [Design::Paired, Design::Unpaired] {
        let compared = judged(&every(0, 2 * MINUTE), &every(MINUTE, 2 * MINUTE), design);
        assert_eq!(said(&compared), None);
        // Pairs on days of their own.
        let compared = judged(&every(0, DAY), &every(MINUTE, DAY), design);
        assert_eq!(said(&compared), None);
    }
    // Two and two may come in any order, and runs that do not say when they were have none.
    let compared = judged(&minutes(0, 2), &minutes(2 * MINUTE, 2), Design::Unpaired);
    assert_eq!(said(&compared), None);
    let none = two(Figure::Goodput, &[1.0; 6], &[2.0; 6], Design::Paired);
    assert_eq!(said(&none), None);
}

/// Of ten variants in a round the first and the last are ten runs apart, and yet played beside each other.
#[test]
fn a_long_round_is_no_pause() {
    let round = |place: u64| -> Vec<u64> { (0..4).map(|n| (n * 30 + place) * MINUTE).collect() };
    let names = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];
    let variants = names
        .iter()
        .zip(0..)
        .map(|(name, place)| at(name, 100.0, &round(3 * place)));
    let compared = compare(variants.collect(), Vec::new(), &asked(Design::Paired));
    assert_eq!(said(&compared), None);
}

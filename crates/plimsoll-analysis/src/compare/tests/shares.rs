//! Shares of attempts: differences, in points, and no surer than so many attempts make them.

use plimsoll_core::comparison::Counted;

use super::*;

/// Seven runs, each with so many failures of so many attempts.
fn counted(name: &str, failed: [u64; 7], attempts_count: u64) -> Variant {
    let mut variant = variant(name, Figure::Failures, &[0.0; 7]);
    for (run, failed_count) in variant.runs.iter_mut().zip(failed) {
        let of = Counted {
            failed_count,
            attempts_count,
        };
        let share = failed_count as f64 / attempts_count as f64;
        run.figures.insert(Figure::Failures, share);
        run.counts.insert(Figure::Failures, of);
    }
    variant
}

fn judged(a: [u64; 7], b: [u64; 7], attempts: u64, design: Design) -> Comparison {
    let sides = vec![counted("A", a, attempts), counted("B", b, attempts)];
    compare(sides, Vec::new(), &asked(design))
}

/// Of figures without counts nothing else is known, and that is said.
#[test]
fn shares_are_differences_and_zero_equals_zero_where_nobody_counted() {
    let none = [0.0; 6];
    let compared = two(Figure::Failures, &none, &none, Design::Paired);
    assert_eq!(compared.standing, Standing::Equivalent);
    assert!(
        compared.remarks[0].contains("is not known of every run"),
        "{:?}",
        compared.remarks
    );
    let some = [0.266, 0.27, 0.25, 0.26, 0.28, 0.255];
    let compared = two(Figure::Failures, &none, &some, Design::Paired);
    assert_eq!(compared.standing, Standing::Worse);
    assert!((compared.contrasts[0].estimate - 0.263).abs() < 0.005);
}

/// 0 of 60 in every run was ‘equivalent, ±0 to ±0 points’.
#[test]
fn no_failure_in_a_few_hundred_attempts_is_not_equivalent() {
    for design in [Design::Paired, Design::Unpaired] {
        let compared = judged([0; 7], [0; 7], 60, design);
        assert_eq!(compared.standing, Standing::Inconclusive);
        let contrast = &compared.contrasts[0];
        // 3 ÷ 420 may fail unseen.
        let half = contrast.interval_90.unwrap();
        assert!((half.upper - 0.0071).abs() < 0.0001, "{half:?}");
        assert!((half.lower + 0.0071).abs() < 0.0001, "{half:?}");
        let wider = contrast.interval.unwrap();
        assert!(wider.upper > half.upper && wider.lower < half.lower);
        // As many as it takes for 3 ÷ n to be a thousandth.
        assert_eq!(contrast.counts.unwrap().needed_count, Some(2_995));
        assert_eq!(
            contrast.because,
            "‘A’ 0 of 420 (at most 0.71 %) and ‘B’ 0 of 420 (at most 0.71 %) are too few to tell them equal within \
             ±0.10 points; it takes about 2,995 attempts of each"
        );
        assert!(compared.remarks[0].starts_with("failed attempts: ‘A’ 0 of 420"));
        let compared = judged([0; 7], [0; 7], 60_000, design);
        assert_eq!(compared.standing, Standing::Equivalent);
        assert_eq!(compared.contrasts[0].counts.unwrap().needed_count, None);
        assert!(compared.remarks.is_empty(), "{:?}", compared.remarks);
    }
}

#[test]
fn what_the_runs_are_sure_of_stays_sure() {
    let more = [2, 3, 2, 4, 3, 2, 3];
    for design in [Design::Paired, Design::Unpaired] {
        let compared = judged([0; 7], more, 60, design);
        assert_eq!(compared.standing, Standing::Worse);
        assert!(compared.contrasts[0].interval.unwrap().lower > 0.0);
    }
}

/// Only the pairs in which both runs count are pooled; a class that came up in one run is a share of all attempts.
#[test]
fn what_is_not_used_is_not_counted_and_a_class_is_of_all_attempts() {
    let mut a = counted("A", [0; 7], 1_000);
    a.runs[0].excluded = Some("not valid".to_owned());
    let mut b = counted("B", [0; 7], 1_000);
    let class = Figure::Class(plimsoll_core::Outcome::Timeout);
    let one = Counted {
        failed_count: 1,
        attempts_count: 1_000,
    };
    b.runs[3].figures.insert(class, 0.001);
    b.runs[3].counts.insert(class, one);
    let compared = compare(vec![a, b], Vec::new(), &asked(Design::Paired));
    let of = |figure| {
        let mut contrasts = compared.contrasts.iter();
        contrasts
            .find(|one| one.figure == figure)
            .unwrap()
            .counts
            .unwrap()
    };
    assert_eq!(of(Figure::Failures).variant.attempts_count, 6_000);
    assert_eq!(of(class).baseline.attempts_count, 6_000);
    assert_eq!(of(class).variant.failed_count, 1);
}

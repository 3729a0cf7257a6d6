//! All five percentiles at a set rate, with as many pairs as are played by default: what is worse in any of them is said.

use super::*;

const PERCENTILES: [Figure; 5] = [
    Figure::P50,
    Figure::P90,
    Figure::P95,
    Figure::P99,
    Figure::P999,
];

fn pairs_by_default() -> usize {
    let figures = guarded_most(None, Figure::P99);
    runs_needed(Design::Paired, figures, ALPHA) as usize
}

/// Runs that are off as a whole by `noise`, and in each percentile by some of its own: three times as much in the last.
fn runs(name: &str, times: [f64; 5], noise: f64, (pairs, seed): (usize, u64)) -> Variant {
    let mut rng = Rng::new(seed, 31);
    let mut variant = variant(name, Figure::Failures, &vec![0.0; pairs]);
    for run in &mut variant.runs {
        run.figures
            .insert(Figure::Goodput, 200.0 * (0.0005 * rng.normal()).exp());
        let off = noise * rng.normal();
        for (figure, seconds) in PERCENTILES.into_iter().zip(times) {
            let scatter = if figure == Figure::P999 { 3.0 } else { 0.3 };
            let own = scatter * noise * rng.normal();
            run.figures.insert(figure, seconds * (off + own).exp());
        }
    }
    variant
}

const TIMES: [f64; 5] = [0.05, 0.08, 0.1, 0.2, 0.4];

fn with(place: usize, factor: f64) -> [f64; 5] {
    let mut times = TIMES;
    times[place] *= factor;
    times
}

fn judged(times: [f64; 5], noise: f64, (pairs, seed): (usize, u64)) -> Comparison {
    let a = runs("A", TIMES, noise, (pairs, 2 * seed));
    let b = runs("B", times, noise, (pairs, 2 * seed + 1));
    at_a_rate(a, b)
}

#[test]
fn two_targets_need_eight_pairs() {
    let needed = |figures| runs_needed(Design::Paired, figures, ALPHA);
    let guards = guarded_most(None, Figure::P99);
    // Three targets are three comparisons, four are six; scripts have their failed checks beside the others.
    assert_eq!([1, 3, 6].map(|count| needed(count * guards)), [8, 10, 11]);
    assert_eq!(needed(guards + 1), 9);
    assert_eq!(
        needed(guarded_most(Some(Figure::Throughput), Figure::P99)),
        9
    );
}

/// 9.48 times the p95 in 7 of 7 pairs was ‘equivalent’ with exit code 0, because only p50 and p99 were guarded.
#[test]
fn what_is_worse_in_any_percentile_is_worse_by_default_and_never_equivalent() {
    let default = pairs_by_default();
    for place in 0..5 {
        for (factor, pairs) in [(9.48, 7), (9.48, default), (2.0, default)] {
            for seed in 0..20 {
                let compared = judged(with(place, factor), 0.02, (pairs, seed));
                let said = compared.standing;
                assert_ne!(said, Standing::Equivalent, "{place}, {pairs} pairs");
                if pairs == default {
                    assert_eq!(said, Standing::Worse, "{place} × {factor}, seed {seed}");
                }
            }
        }
    }
}

/// Few runs of a target show the same p99.9 to within 5 %.
#[test]
fn the_tail_of_a_thousand_need_not_be_the_same() {
    let default = pairs_by_default();
    let scattered = judged(TIMES, 0.02, (default, 3));
    let mut contrasts = scattered.contrasts.iter();
    let tail = contrasts.find(|one| one.figure == Figure::P999).unwrap();
    assert_eq!(tail.standing, Standing::Inconclusive);
    assert_eq!(scattered.standing, Standing::Equivalent);
    // Unless it is what the objective is about.
    let asked = Question {
        percentile: Figure::P999,
        is_open: false,
        ..asked(Design::Paired)
    };
    let compared = compare(scattered.variants, Vec::new(), &asked);
    assert_eq!(compared.standing, Standing::Inconclusive);
}

/// The primary figure and the guarded ones together; see [`super::family`] for the cases counted.
#[test]
fn equal_percentiles_are_called_different_in_at_most_one_of_twenty_sets() {
    let soaks = std::env::var_os("PLIMSOLL_SOAK").is_some();
    let sets: u64 = if soaks { 4_000 } else { 200 };
    for noise in [0.02, 0.1] {
        let alarms = share(sets, |seed| {
            let standing = judged(TIMES, noise, (pairs_by_default(), seed)).standing;
            matches!(standing, Standing::Better | Standing::Worse)
        });
        println!("noise {noise}: {:.2} % false alarms", alarms * 100.0);
        let error = (0.05 * 0.95 / sets as f64).sqrt();
        assert!(
            alarms <= 0.05 + 2.0 * error,
            "{alarms} at a noise of {noise}"
        );
    }
}

#[test]
fn a_tenth_more_everywhere_and_a_doubled_percentile_are_found() {
    let found = |sets, times: [f64; 5], noise| {
        let pairs = pairs_by_default();
        share(sets, |seed| {
            judged(times, noise, (pairs, seed)).standing == Standing::Worse
        })
    };
    let tenth = found(100, TIMES.map(|seconds| seconds * 1.1), 0.03);
    println!("found: a tenth more in {tenth} of the sets");
    assert!(tenth >= 0.8, "{tenth}");
    // One that is guarded, and the primary one.
    for (place, name) in [(2, "p95"), (3, "p99")] {
        let doubled = found(200, with(place, 2.0), 0.05);
        println!("found: a doubled {name} in {doubled} of the sets");
        assert!(doubled >= 0.99, "{name}: {doubled}");
    }
}

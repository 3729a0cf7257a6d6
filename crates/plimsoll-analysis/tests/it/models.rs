//! Models against published and recomputed figures of datasets that others can fit, too.

mod laws;
mod series;

use plimsoll_analysis::models::{
    Curve, Hinge, Loss, Model, Network, Refusal, Repairman, Sample, Selection, Stations, Usl,
    Weighting, bootstrap, select,
};

/// SPEC SDM91 on a server of Sun of 1993, users and scripts per hour (Gunther, Guerrilla Capacity Planning, 2007; package usl for R).
const SDM91: [(f64, f64); 7] = [
    (1.0, 64.9),
    (18.0, 995.9),
    (36.0, 1652.4),
    (72.0, 1853.2),
    (108.0, 1828.9),
    (144.0, 1775.0),
    (216.0, 1702.2),
];
/// A ray tracer on an SGI Origin 2000, processors and operations per second (the same sources).
const RAYTRACER: [(f64, f64); 11] = [
    (1.0, 20.0),
    (4.0, 78.0),
    (8.0, 130.0),
    (12.0, 170.0),
    (16.0, 190.0),
    (20.0, 200.0),
    (24.0, 210.0),
    (28.0, 230.0),
    (32.0, 260.0),
    (48.0, 280.0),
    (64.0, 310.0),
];
/// Concurrency 1 to 32 (Schwartz, Practical Scalability Analysis with the Universal Scalability Law; package usl4j).
const CISCO: [f64; 32] = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
    8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
    11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
    12118.04, 12140.4, 12074.39,
];

fn samples(pairs: &[(f64, f64)]) -> Vec<Sample> {
    pairs.iter().map(|&(n, x)| Sample { n, x }).collect()
}

fn cisco(count: usize) -> Vec<Sample> {
    let levels = CISCO.iter().take(count).enumerate();
    levels
        .map(|(index, x)| Sample {
            n: index as f64 + 1.0,
            x: *x,
        })
        .collect()
}

/// To its last printed digit, whether that was rounded or cut off.
#[track_caller]
fn shown(value: f64, printed: &str) {
    let expected: f64 = printed.parse().expect("a number");
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let digits = mantissa
        .split_once('.')
        .map_or(0, |(_, after)| after.chars().map(|_| 1_i32).sum());
    let unit = 10f64.powi(exponent.parse::<i32>().expect("a number") - digits);
    assert!((value - expected).abs() < unit, "{value} and not {printed}");
}

fn ranked(selection: &Selection, model: Model) -> &[Refusal] {
    let found = selection
        .ranked
        .iter()
        .find(|one| one.curve.model() == model);
    &found.expect("it was fitted").refused
}

#[test]
fn sdm91_by_least_squares_with_free_gamma() {
    let samples = samples(&SDM91);
    let fit = Usl::fit(&samples, Weighting::Equal).unwrap();
    shown(fit.usl.alpha, "0.0277284");
    shown(fit.usl.beta, "1.04366e-4");
    shown(fit.usl.gamma, "89.9952");
    let [alpha, beta, gamma] = fit.errors.map(Option::unwrap);
    shown(alpha, "0.009122");
    shown(beta, "1.988e-5");
    shown(gamma, "14.21");
    shown(fit.residual_error(), "82.85");
    assert_eq!(fit.degrees, 4);
    let peak = fit.usl.peak().unwrap();
    shown(peak, "96.52");
    shown(fit.usl.throughput(peak), "1884");
    shown(fit.usl.roof().unwrap(), "3245.59");
    shown(1.0 / fit.usl.alpha, "36.064");
    let fitted = ["90", "1078", "1541", "1850", "1879", "1822", "1646"];
    for (sample, printed) in samples.iter().zip(fitted) {
        shown(fit.usl.throughput(sample.n), printed);
    }
}

#[test]
fn sdm91_with_relative_weights_is_another_curve() {
    let usl = Usl::fit(&samples(&SDM91), Weighting::Relative).unwrap().usl;
    let peak = usl.peak().unwrap();
    shown(usl.gamma, "67.7");
    shown(peak, "92.6");
    shown(usl.throughput(peak), "1951");
}

/// Dealt out with other random numbers than the published ones, so within a tenth of the interval's width.
#[test]
fn sdm91_peak_has_a_skewed_interval() {
    let figures = |curve: &Curve| match curve {
        Curve::Usl(usl) => [usl.peak(), usl.peak().map(|at| usl.throughput(at))],
        _ => [None; 2],
    };
    let [at, of] = bootstrap(Model::Usl, &samples(&SDM91), figures);
    for (found, (low, high)) in [(at, (82.7, 124.8)), (of, (1793.0, 1990.0))] {
        let (from, to) = found.interval.unwrap();
        let near = (high - low) / 10.0;
        assert!(
            (from - low).abs() < near && (to - high).abs() < near,
            "{from} to {to}"
        );
    }
}

#[test]
fn raytracer_has_no_coherency_and_the_bound_holds() {
    let first = Usl::fit(&samples(&RAYTRACER[..6]), Weighting::Equal).unwrap();
    shown(first.usl.alpha, "0.024444");
    shown(first.usl.beta, "0.00162681");
    shown(first.usl.gamma, "20.8560");
    let (low, high) = first.intervals()[0].unwrap();
    // Student's t with three degrees, two-sided; the R package prints 0.00754 to 0.04135.
    shown(low, "-0.0023");
    shown(high, "0.0511");

    let all = samples(&RAYTRACER);
    let fit = Usl::fit(&all, Weighting::Equal).unwrap();
    shown(fit.usl.alpha, "0.05777");
    shown(fit.usl.gamma, "21.849");
    shown(fit.usl.roof().unwrap(), "378.2");
    assert_eq!((fit.usl.beta, fit.usl.peak()), (0.0, None), "on its bound");
    assert_eq!(fit.errors[1], None);
    let [peak] = bootstrap(Model::Usl, &all, |curve| match curve {
        Curve::Usl(usl) => [usl.peak()],
        _ => [None],
    });
    // Published: 51 % of the fits have β = 0 and no peak.
    assert!((1.0 - peak.share - 0.51).abs() < 0.06, "{}", peak.share);
}

#[test]
fn exact_samples_give_their_own_coefficients() {
    let exact = [
        (1.0, 1.0),
        (2.0, 1.8868),
        (4.0, 3.0769),
        (6.0, 3.5294),
        (8.0, 3.5398),
        (10.0, 3.3557),
    ];
    let usl = Usl::fit(&samples(&exact), Weighting::Equal).unwrap().usl;
    shown(usl.alpha, "0.0200");
    shown(usl.beta, "0.0200");
    shown(usl.gamma, "1.000");
    shown(usl.peak().unwrap(), "7.00");
}

#[test]
fn cisco_forward_and_both_ways_back() {
    let fit = Usl::fit(&cisco(32), Weighting::Equal).unwrap();
    let usl = fit.usl;
    shown(usl.alpha, "0.0267159");
    shown(usl.beta, "7.69094e-4");
    shown(usl.gamma, "995.649");
    shown(usl.peak().unwrap(), "35.57");
    shown(usl.throughput(usl.peak().unwrap()), "12342.9");
    for (index, low, high) in [
        (0, "0.0175", "0.0359"),
        (1, "5.92e-4", "9.46e-4"),
        (2, "937", "1054"),
    ] {
        let (from, to) = fit.intervals()[index].unwrap();
        shown(from, low);
        shown(to, high);
    }
    for (n, x) in [(1.0, "995.649"), (20.0, "11063.63"), (35.0, "12341.75")] {
        shown(usl.throughput(n), x);
    }
    shown(1e3 * 20.0 / usl.throughput(20.0), "1.80772");
    let roots = |x| usl.concurrency(x).into_iter();
    for (n, printed) in roots(11_048.0).zip(["19.92", "63.5"]) {
        shown(n, printed);
    }
    for (n, printed) in roots(12_201.0).zip(["29.57", "42.80"]) {
        shown(n, printed);
    }
    assert_eq!(roots(12_343.0).count(), 0, "above the peak");
}

/// Half of the points place the peak 14 % and a quarter 46 % off, each with R² > 0.997 and a narrow interval.
#[test]
fn peaks_far_beyond_what_was_measured_are_refused() {
    for (count, peak) in [(16, "10493"), (8, "17844")] {
        let half = cisco(count);
        let usl = Usl::fit(&half, Weighting::Equal).unwrap().usl;
        let at = usl.peak().unwrap();
        shown(usl.throughput(at), peak);
        let selection = select(&half);
        let refusals = ranked(&selection, Model::Usl);
        let beyond = |refusal: &Refusal| matches!(refusal, Refusal::PeakBeyond { .. });
        assert!(refusals.iter().any(beyond), "{at} of {count}: {refusals:?}");
    }
    // All of it: a kink at 11 to 17 that no smooth law follows.
    let all = select(&cisco(32));
    let pattern = |refusal: &Refusal| matches!(refusal, Refusal::Pattern { .. });
    assert!(ranked(&all, Model::Usl).iter().any(pattern), "{all:?}");
}

#[test]
fn few_levels_choose_nothing() {
    let five = select(&samples(&SDM91[..5]));
    let few = Refusal::FewLevels {
        levels: 5,
        needed: 6,
    };
    assert_eq!((five.refused, five.ranked.len()), (Some(few), 0));
    let repeated: Vec<Sample> = samples(&SDM91[..5]).repeat(4);
    assert_eq!(
        select(&repeated).refused,
        Some(few),
        "repetitions are no levels"
    );
    let idle = select(&samples(&[
        (1.0, 0.0),
        (2.0, 0.0),
        (3.0, 0.0),
        (4.0, 0.0),
        (5.0, 0.0),
        (6.0, 0.0),
    ]));
    assert_eq!(idle.refused, Some(Refusal::NothingCarried));
}

#[test]
fn fewer_than_one_is_no_trouble() {
    let usl = Usl {
        alpha: 0.4414,
        beta: 0.0453,
        gamma: 3.3861,
    };
    let x = usl.throughput(0.5);
    assert!(
        x > 0.5 * 3.3861,
        "a law that is more than linear below one: {x}"
    );
    assert!((usl.concurrency(x)[0] - 0.5).abs() < 1e-9);
    shown(usl.peak().unwrap(), "3.51");
    shown(usl.throughput(usl.peak().unwrap()), "4.74");
}

/// The examples of Gunther's book on queues in Perl, recomputed.
#[test]
fn mean_value_analysis_is_exact() {
    let single = |demand, count| Stations { demand, count };
    let repair = Network {
        think: 300.0,
        stations: vec![single(0.63, 1)],
    };
    let flow = repair.flow(100).unwrap();
    shown(flow.per_s, "0.332453");
    shown(flow.response_seconds, "0.794260");
    shown(flow.queues[0], "0.264054");
    shown(flow.per_s * 0.63, "0.209445");
    assert_eq!(repair.flow(0), None);
    let as_curve = Repairman {
        demand: 0.63,
        base_seconds: 300.63,
    };
    shown(as_curve.throughput(100.0), "0.332453");

    let cluster = Network {
        think: 10.0,
        stations: vec![
            single(0.1 / 15.0, 15),
            single(0.6 / 50.0, 50),
            single(1.2 / 100.0, 100),
        ],
    };
    let flow = cluster.flow(800).unwrap();
    shown(flow.per_s, "53.0301");
    shown(flow.response_seconds, "5.08577");
    shown(flow.per_s * 0.012, "0.636361");

    let shop = Network {
        think: 0.0,
        stations: [9.8, 2.5, 0.72, 9.8].map(|ms| single(ms / 1e3, 1)).to_vec(),
    };
    for (customers, per_s, ms) in [
        (1, "43.82", "22.82"),
        (10, "92.39", "108.23"),
        (20, "97.08", "206.01"),
    ] {
        let flow = shop.flow(customers).unwrap();
        shown(flow.per_s, per_s);
        shown(1e3 * flow.response_seconds, ms);
    }
    // D = 5, 10 and 2 ms with Z = 1 s.
    let closed = Network {
        think: 1.0,
        stations: [5.0, 10.0, 2.0].map(|ms| single(ms / 1e3, 1)).to_vec(),
    };
    for (customers, per_s, ms) in [
        (50, "48.657551", "27.58973"),
        (100, "91.752092", "89.89340"),
        (150, "99.999860", "500.0021"),
    ] {
        let flow = closed.flow(customers).unwrap();
        shown(flow.per_s, per_s);
        shown(1e3 * flow.response_seconds, ms);
    }
}

#[test]
fn a_bad_point_does_not_move_a_robust_hinge() {
    let mut points: Vec<Sample> = (1..=20)
        .map(f64::from)
        .map(|n| Sample {
            n,
            x: (100.0 * n).min(1000.0),
        })
        .collect();
    points[4].x = 50.0;
    let plain = Hinge::fit(&points, Loss::Squares).unwrap();
    let robust = Hinge::fit(&points, Loss::Robust).unwrap();
    assert!((robust.base_seconds - 0.01).abs() < 1e-4, "{robust:?}");
    assert!((plain.base_seconds - 0.01).abs() > 2e-4, "{plain:?}");
    assert!((robust.max_per_s - 1000.0).abs() < 1.0, "{robust:?}");
}

//! What holds of every curve: there and back, order, and that a curve is found again in what it makes.

use plimsoll_analysis::models::{Curve, Hinge, Model, Repairman, Sample, Usl, select};
use proptest::prelude::*;

fn curves() -> impl Strategy<Value = Curve> {
    let seconds = 1e-4..10.0;
    prop_oneof![
        (seconds.clone(), 1.0..1e5).prop_map(|(base_seconds, max_per_s)| Curve::Hinge(Hinge {
            base_seconds,
            max_per_s
        })),
        (seconds.clone(), 0.01..1.0).prop_map(|(base_seconds, share)| Curve::Mva(Repairman {
            demand: base_seconds * share,
            base_seconds
        })),
        (1e-4..0.99, 1.0..1e5).prop_map(|(alpha, gamma)| Curve::Amdahl(Usl {
            alpha,
            beta: 0.0,
            gamma
        })),
        (0.0..0.5, 1e-6..0.05, 1.0..1e5).prop_map(|(alpha, beta, gamma)| Curve::Usl(Usl {
            alpha,
            beta,
            gamma
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// From concurrency to throughput and back: one of the answers is where it came from, and each gives that throughput.
    #[test]
    fn there_and_back(curve in curves(), n in 0.2..200.0) {
        let x = curve.throughput(n);
        // On the level of a hinge every concurrency has the same throughput; MVA comes so near that digits run out.
        let is_level = match &curve {
            Curve::Hinge(hinge) => n >= hinge.knee(),
            Curve::Mva(mva) => x > 0.999 * mva.max_per_s(),
            _ => false,
        };
        let back = curve.concurrency(x);
        if !is_level {
            let near = |found: &f64| (found - n).abs() < 1e-4 * n;
            // At the very peak the two answers are one and digits run out.
            let is_peak = matches!(&curve, Curve::Usl(usl) if usl.peak().is_some_and(|at| (at - n).abs() < 1e-3 * n));
            prop_assert!(is_peak || back.iter().any(near), "{curve:?} {n} {x} {back:?}");
        }
        for found in back {
            let again = curve.throughput(found);
            prop_assert!((again - x).abs() < 1e-6 * x, "{curve:?} {found} {again} {x}");
        }
    }

    /// No closed network beats its bounds, and exact MVA lies below the hinge that has the same.
    #[test]
    fn bounds_hold(demand in 1e-4..1.0, more in 0.0..10.0, n in 1.0..300.0) {
        let mva = Repairman { demand, base_seconds: demand + more };
        let hinge = Hinge { base_seconds: demand + more, max_per_s: 1.0 / demand };
        let x = mva.throughput(n);
        prop_assert!(x > 0.0 && x <= hinge.throughput(n) * (1.0 + 1e-9));
        prop_assert!(mva.throughput(n + 1.0) >= x * (1.0 - 1e-12), "more customers never carry less");
    }

    /// Samples of a curve give it back as the best, or as a curve that says the same.
    #[test]
    fn what_a_curve_makes_is_found_again(curve in curves()) {
        let samples: Vec<Sample> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 96.0, 128.0]
            .map(|n| Sample { n, x: curve.throughput(n) })
            .to_vec();
        let best = &select(&samples).ranked[0].curve;
        for sample in &samples {
            let off = best.throughput(sample.n) / sample.x - 1.0;
            prop_assert!(off.abs() < 2e-3, "{curve:?} read as {best:?}: {sample:?} off by {off}");
        }
    }

    /// What makes no sense gives an answer or none, and never a crash.
    #[test]
    fn any_samples(pairs in prop::collection::vec((0.0..1e3, 0.0..1e6), 0..20)) {
        let samples: Vec<Sample> = pairs.iter().map(|&(n, x)| Sample { n, x }).collect();
        let selection = select(&samples);
        prop_assert!(selection.refused.is_none() || selection.ranked.is_empty());
        for model in Model::ALL {
            if let Some(curve) = Curve::fit(model, &samples) {
                prop_assert!(curve.squares(&samples).is_finite(), "{curve:?}");
            }
        }
    }
}

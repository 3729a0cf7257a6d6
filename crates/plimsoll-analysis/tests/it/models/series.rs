//! The decoded series of a published study: one process of Node under a ramp of 1,000 users who think for a second.

use plimsoll_analysis::models::{Curve, Model, Sample, select};

use super::{Hinge, Loss, Network, Stations, shown};

/// Every third bin, so that a fit is a little off that of all bins, 1.014 s, 340/s and 344 users. A bin lasts 10 s: users at its end, requests per second, mean response in ms.
const ONE_CONTAINER: [(f64, f64, f64); 20] = [
    (15.0, 8.6, 25.0),
    (65.0, 58.0, 24.0),
    (115.0, 106.4, 22.0),
    (165.0, 154.5, 22.0),
    (215.0, 207.9, 22.0),
    (265.0, 252.4, 22.0),
    (314.0, 301.6, 22.0),
    (364.0, 341.8, 50.0),
    (414.0, 343.2, 194.0),
    (464.0, 334.4, 357.0),
    (514.0, 334.0, 535.0),
    (564.0, 340.2, 600.0),
    (614.0, 337.1, 757.0),
    (664.0, 333.6, 884.0),
    (714.0, 343.9, 930.0),
    (764.0, 342.8, 1047.0),
    (814.0, 338.0, 1405.0),
    (864.0, 343.5, 1356.0),
    (914.0, 344.7, 1565.0),
    (964.0, 340.1, 1792.0),
];
/// The ramp adds 1,000 users in 600 s: on average a bin has so many fewer than at its end.
const HALF_A_BIN: f64 = 1000.0 / 600.0 * 5.0;
const THINK: f64 = 1.0;

fn one_container() -> Vec<Sample> {
    let bins = ONE_CONTAINER.iter();
    bins.map(|&(end, x, _)| Sample {
        n: end - HALF_A_BIN,
        x,
    })
    .collect()
}

#[test]
fn the_hinge_has_the_stated_knee_and_wins() {
    let series = one_container();
    for loss in [Loss::Squares, Loss::Robust] {
        let hinge = Hinge::fit(&series, loss).unwrap();
        assert!(
            (hinge.base_seconds / 1.014 - 1.0).abs() < 0.006,
            "{hinge:?}"
        );
        assert!((hinge.max_per_s - 340.0).abs() < 1.5, "{hinge:?}");
        assert!((hinge.knee() / 344.0 - 1.0).abs() < 0.006, "{hinge:?}");
    }
    let selection = select(&series);
    let order: Vec<Model> = selection
        .ranked
        .iter()
        .map(|one| one.curve.model())
        .collect();
    assert_eq!(order[..2], [Model::Hinge, Model::Mva], "{selection:?}");
    assert_eq!(order.last(), Some(&Model::Amdahl), "{selection:?}");
    let aicc = |model| {
        let one = selection
            .ranked
            .iter()
            .find(|one| one.curve.model() == model);
        one.unwrap().aicc
    };
    assert!(aicc(Model::Usl) - aicc(Model::Hinge) > 9.0, "{selection:?}");
}

/// Exact MVA with D = 1 ÷ 341 and 22.2 ms without load: 1,933 ms at 1,000 users, where 1,932 were measured.
#[test]
fn mean_value_analysis_foretells_the_last_level() {
    let demand = 1.0 / 341.0;
    let network = Network {
        think: THINK + 0.0222 - demand,
        stations: vec![Stations { demand, count: 1 }],
    };
    let flow = network.flow(1000).unwrap();
    shown(1e3 * (1000.0 / flow.per_s - THINK), "1933");
}

#[test]
fn little_closes_in_the_first_bins() {
    for (end, x, ms) in ONE_CONTAINER.iter().take(13) {
        let n = end - HALF_A_BIN;
        let closes = x * (THINK + ms / 1e3) / n;
        assert!(*end < 20.0 || (closes - 1.0).abs() < 0.051, "{n}: {closes}");
    }
}

#[test]
fn a_model_of_the_lower_levels_foretells_the_upper() {
    let series = one_container();
    let (known, held_out) = series.split_at(16);
    let hinge = Curve::fit(Model::Hinge, known).unwrap();
    for sample in held_out {
        let off = hinge.throughput(sample.n) / sample.x - 1.0;
        assert!(off.abs() < 0.03, "{sample:?} off by {off}");
    }
}

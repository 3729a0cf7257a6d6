//! Simulated services whose capacity is known.

use plimsoll_core::Nanos;
use plimsoll_sim::model::{Condition, Model, ServiceTime};

/// A service with an objective, and the highest rate that meets it in the long run.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) model: Model,
    pub(crate) slo: &'static str,
    /// By the recursion of `reference.rs`, to about 0.3 %; absent where rare stalls set it.
    pub(crate) capacity_per_s: Option<f64>,
}

const MEAN: Nanos = Nanos::from_millis(5);

/// The four families of capacity-science B.4.
pub(crate) fn four() -> [Family; 4] {
    let plain = Model::station(
        4,
        ServiceTime::Lognormal {
            mean: MEAN,
            cv: 1.0,
        },
    );
    let heavy = ServiceTime::Lognormal {
        mean: Nanos::from_millis(10),
        cv: 3.0,
    };
    let family = |name, model, slo, capacity_per_s| Family {
        name,
        model,
        slo,
        capacity_per_s,
    };
    [
        family("plain", plain.clone(), "p99<40ms,errors<0.1%", Some(PLAIN)),
        family(
            "heavy",
            Model::station(16, heavy),
            "p99<200ms,errors<0.1%",
            Some(HEAVY),
        ),
        family(
            "noise",
            Model {
                conditions: vec![Condition::LevelNoise { sd: 0.03 }],
                ..plain.clone()
            },
            "p99<40ms,errors<0.1%",
            Some(PLAIN),
        ),
        family(
            "stalls",
            Model {
                conditions: vec![Condition::Stalls {
                    interval: Nanos::from_secs(20),
                    length: Nanos::from_millis(150),
                    random: false,
                }],
                ..plain
            },
            "p99<40ms,errors<0.1%",
            None,
        ),
    ]
}

/// By the recursion of `reference.rs`; a test holds them against it.
pub(crate) const PLAIN: f64 = 659.8;
pub(crate) const HEAVY: f64 = 1472.4;

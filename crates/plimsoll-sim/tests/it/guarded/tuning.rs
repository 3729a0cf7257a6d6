//! Services that the rule of the limit was made on. What holds here is no claim: see `held_out.rs`.

use plimsoll_core::Nanos;
use plimsoll_sim::ServiceTime;
use plimsoll_sim::guarded::{Drift, Shape, Upstream};

pub(crate) fn ms(value: f64) -> Nanos {
    Nanos::from_secs_f64(value / 1e3)
}

pub(crate) fn fixed(mean_ms: f64) -> ServiceTime {
    ServiceTime::Fixed { mean: ms(mean_ms) }
}

pub(crate) fn exponential(mean_ms: f64) -> ServiceTime {
    ServiceTime::Exponential { mean: ms(mean_ms) }
}

pub(crate) fn lognormal(mean_ms: f64, cv: f64) -> ServiceTime {
    ServiceTime::Lognormal {
        mean: ms(mean_ms),
        cv,
    }
}

pub(crate) fn upstream(name: &str, shape: Shape, mix: &[(f64, ServiceTime)]) -> Upstream {
    Upstream {
        name: name.to_owned(),
        mix: mix.to_vec(),
        shape,
        failure_ratio: 0.0,
        drift: Drift::None,
    }
}

pub(crate) fn one(name: &str, shape: Shape, time: ServiceTime) -> Upstream {
    upstream(name, shape, &[(1.0, time)])
}

pub(crate) fn contended(alpha: f64, beta: f64) -> Shape {
    Shape::Contended { alpha, beta }
}

/// The services of the study's first two rounds.
pub(crate) fn all() -> Vec<Upstream> {
    [
        pools(),
        mixtures(),
        contention(),
        cores(),
        failing(),
        drifting(),
    ]
    .concat()
}

fn pools() -> Vec<Upstream> {
    vec![
        one("1 worker 5 ms", Shape::Workers(1), exponential(5.0)),
        one("1 worker 4 ms fixed", Shape::Workers(1), fixed(4.0)),
        one("3 workers 30 ms", Shape::Workers(3), exponential(30.0)),
        one("8 workers 20 ms", Shape::Workers(8), lognormal(20.0, 1.0)),
        one(
            "50 workers 100 ms",
            Shape::Workers(50),
            lognormal(100.0, 1.0),
        ),
        one(
            "120 workers 150 ms",
            Shape::Workers(120),
            lognormal(150.0, 2.0),
        ),
    ]
}

fn mixtures() -> Vec<Upstream> {
    vec![
        upstream(
            "32 workers 2/200 ms",
            Shape::Workers(32),
            &[(0.9, exponential(2.0)), (0.1, exponential(200.0))],
        ),
        upstream(
            "16 workers 5/300 ms",
            Shape::Workers(16),
            &[(0.95, exponential(5.0)), (0.05, exponential(300.0))],
        ),
        upstream(
            "contended 4/40 ms",
            contended(0.03, 0.0005),
            &[(0.8, exponential(4.0)), (0.2, exponential(40.0))],
        ),
    ]
}

fn contention() -> Vec<Upstream> {
    vec![
        one("contended mild", contended(0.05, 0.001), exponential(10.0)),
        one("contended steep", contended(0.02, 0.004), exponential(10.0)),
        one(
            "contended serial",
            contended(0.1, 0.0005),
            exponential(30.0),
        ),
        one(
            "contended quadratic",
            contended(0.0, 0.002),
            exponential(8.0),
        ),
    ]
}

fn cores() -> Vec<Upstream> {
    vec![
        one(
            "2 cores 10 ms",
            Shape::Sharing { cores: 2.0 },
            exponential(10.0),
        ),
        one(
            "event loop 6 ms",
            Shape::Sharing { cores: 1.0 },
            lognormal(6.0, 1.5),
        ),
        one(
            "cores and pool",
            Shape::CoresAndPool {
                cores: 2.0,
                pool: 10,
                pool_time: exponential(20.0),
                share: 0.7,
            },
            exponential(2.0),
        ),
    ]
}

fn failing() -> Vec<Upstream> {
    vec![
        one(
            "fails fast",
            Shape::FailsFast {
                workers: 12,
                most: 20,
            },
            exponential(20.0),
        ),
        one(
            "impatient pool",
            Shape::Impatient {
                workers: 10,
                wait: ms(100.0),
            },
            exponential(25.0),
        ),
        Upstream {
            failure_ratio: 0.05,
            ..one("bugs 5 %", Shape::Workers(8), exponential(15.0))
        },
    ]
}

fn drifting() -> Vec<Upstream> {
    vec![
        Upstream {
            drift: Drift::Swing {
                amplitude: 0.3,
                period: Nanos::from_secs(17),
            },
            ..one("wobbling pool", Shape::Workers(10), exponential(20.0))
        },
        Upstream {
            drift: Drift::Stalls {
                interval: Nanos::from_secs(3),
                length: ms(200.0),
            },
            ..one("stalls", Shape::Workers(6), exponential(10.0))
        },
    ]
}

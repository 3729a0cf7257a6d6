//! Held-out services: no rule and no number of the search was ever changed for them, and none may be.
//!
//! What is changed for the worlds must not cost these anything (`cargo run --release --example worlds -- held-out`). A
//! service that a rule was changed for belongs into `worlds.rs`, and another takes its place here.

use plimsoll_core::Nanos;
use plimsoll_sim::model::{Condition, Model, RateRule, ServiceTime};

use crate::worlds::{P99, Promise, World, exponential, four, ms, s, under};

#[rustfmt::skip]
pub(crate) fn all() -> Vec<World> {
    use Promise::{Careful, Found, Held};
    let world = |name, promise, slo, capacity_per_s, model| World { name, promise, slo, capacity_per_s, model };
    let station = Model::station;
    let errors_only = Model { queue_max: Some(32), failure_ratio: 0.0005, ..four() };
    let bucket = Model { rate_rule: Some(RateRule { per_s: 300.0, burst: 900.0 }), ..station(16, exponential(ms(8))) };
    let loop_of_three = Model { passes: 3, ..station(1, ServiceTime::Lognormal { mean: ms(1), cv: 0.5 }) };
    vec![
        world("errors-only", Held, "errors<0.1%", 423.0, errors_only),
        world("quick", Held, "p99<5ms", 18_718.0, station(16, exponential(Nanos::from_micros(800)))),
        world("event-loop", Held, "p99<60ms,errors<0.1%", 274.0, loop_of_three),
        world("bucket", Found, P99, 300.0, bucket),
        world("visits", Careful, P99, 231.9, under(Condition::Visits { share: 0.5, busy: s(5), gap: s(80) })),
        world("swing40", Careful, P99, 393.1, under(Condition::Swing { amplitude: 0.15, period: s(40) })),
    ]
}

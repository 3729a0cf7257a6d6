//! Services as the world has them: they tip over, pause, have neighbours, wander, run out of credits and scale out.
//!
//! The capacity of each is the highest rate that met the objective for half an hour in the mean of several simulations,
//! with the client's own timeout (`cargo run --release --example worlds -- truth`).

use plimsoll_core::Nanos;
use plimsoll_core::verdict::SearchRemark;
use plimsoll_sim::model::{Behind, Condition, Model, Retries, ServiceTime, Slots};

use crate::played::Played;

/// What a search of five minutes can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// The capacity, and that it is held.
    Held,
    /// The capacity; something happens meanwhile, or a second brings too few answers to hold much.
    Found,
    /// Not to be sure and wrong: what happens again and again is seen, or said to be beyond what was watched.
    Careful,
    /// To say how long was watched: the time cannot show what comes more rarely or more slowly.
    Watched,
    /// To say that no rate meets the objective.
    Hopeless,
    /// Nothing yet that a test holds it to: its misses stand in the table of the example.
    Tabled,
}

/// A service, its objective, and what holds in the long run.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) name: &'static str,
    pub(crate) promise: Promise,
    pub(crate) slo: &'static str,
    pub(crate) capacity_per_s: f64,
    pub(crate) model: Model,
}

pub(crate) const fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

pub(crate) const fn s(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

pub(crate) const fn exponential(mean: Nanos) -> ServiceTime {
    ServiceTime::Exponential { mean }
}

const fn lognormal(mean: Nanos, cv: f64) -> ServiceTime {
    ServiceTime::Lognormal { mean, cv }
}

/// Four servers of 8 ms: full at 500/s.
pub(crate) fn four() -> Model {
    Model::station(4, exponential(ms(8)))
}

pub(crate) fn under(condition: Condition) -> Model {
    Model {
        conditions: vec![condition],
        ..four()
    }
}

fn retrying(max: u32, patience: Nanos, delay: Nanos) -> Model {
    Model {
        retries: Some(Retries {
            max,
            patience,
            delay,
        }),
        ..four()
    }
}

fn failing(failure_ratio: f64) -> Model {
    Model {
        failure_ratio,
        ..four()
    }
}

fn pause(earliest: u64, latest: u64) -> Model {
    under(Condition::Pause {
        earliest: s(earliest),
        latest: s(latest),
        length: s(4),
    })
}

fn neighbour(busy: Nanos, period: Nanos) -> Model {
    under(Condition::Neighbour {
        share: 0.5,
        busy,
        period,
    })
}

fn stalls(interval: Nanos, length: Nanos) -> Model {
    under(Condition::Stalls {
        interval,
        length,
        random: true,
    })
}

pub(crate) const P99: &str = "p99<100ms,errors<0.1%";

#[rustfmt::skip]
pub(crate) fn all() -> Vec<World> {
    use Promise::{Careful, Found, Held, Hopeless, Tabled, Watched};
    let world = |name, promise, slo, capacity_per_s, model| World { name, promise, slo, capacity_per_s, model };
    let station = Model::station;
    let pareto = |shape| ServiceTime::Pareto { mean: ms(8), shape };
    let two_tiers = Model {
        behind: Some(Behind { servers: 2, service: exponential(ms(4)), queue_max: None }),
        ..station(4, lognormal(ms(6), 1.0))
    };
    let mixed = ServiceTime::Mixed { mean: ms(10), slow_ratio: 0.05, times: 20.0 };
    let pool = Model {
        slots: Some(Slots { max: 16, waiting_max: 10_000 }),
        behind: Some(Behind { servers: 64, service: exponential(ms(40)), queue_max: None }),
        ..station(4, exponential(ms(1)))
    };
    let lock = Model { contention: 0.02, ..station(8, exponential(ms(10))) };
    let scale_out = Condition::ScaleOut { servers: 8, above: 0.75, hold: s(5), delay: s(60), back_below: None };
    vec![
        world("exp", Held, P99, EXP, four()),
        world("single", Held, P99, 451.7, station(1, exponential(ms(2)))),
        world("two-tiers", Held, P99, 446.8, two_tiers),
        world("p999", Held, "p99.9<150ms,errors<0.1%", 448.0, four()),
        world("many", Held, "p95<120ms,errors<1%", 753.9, station(32, lognormal(ms(40), 0.8))),
        world("heavy", Held, "p99<200ms,errors<0.1%", 1464.8, station(16, lognormal(ms(10), 3.0))),
        world("pareto2.2", Held, P99, 419.9, station(4, pareto(2.2))),
        world("fail0.02", Held, P99, EXP, failing(0.0002)),
        world("mixed", Tabled, "p99<400ms,errors<1%", 734.4, station(8, mixed)),
        world("pool", Held, "p99<250ms,errors<0.1%", 362.5, pool),
        world("collector", Held, P99, 365.6, under(Condition::Collection { every_requests: 1_500, length: ms(90) })),
        world("lock", Tabled, "p95<200ms,errors<1%", 433.6, lock),
        world("warming", Tabled, P99, EXP, under(Condition::Warming { slower: 3.0, half_life: s(15) })),
        world("step-down", Tabled, P99, 298.9, under(Condition::Step { earliest: s(90), latest: s(180), speed: 0.7 })),
        world("pause-search", Found, P99, EXP, pause(20, 140)),
        world("pause-hold", Found, P99, EXP, pause(150, 260)),
        world("slow", Found, "p95<3s,errors<1%", 18.9, station(20, ServiceTime::Erlang { mean: s(1), shape: 4 })),
        world("slow-many", Found, "p90<5s,errors<1%", 31.48, station(64, ServiceTime::Erlang { mean: s(2), shape: 8 })),
        world("tiny", Found, "p90<8s,errors<1%", 2.318, station(8, ServiceTime::Erlang { mean: s(3), shape: 8 })),
        world("scale-out", Found, P99, 950.6, Model { conditions: vec![scale_out], ..four() }),
        world("retry", Found, "p99<400ms,errors<0.1%", 450.4, retrying(3, ms(250), ms(50))),
        world("retry-slow", Found, "p99<1s,errors<1%", 493.2, retrying(2, s(1), ms(100))),
        world("pareto1.5", Watched, P99, 272.2, station(4, pareto(1.5))),
        world("fail0.2", Hopeless, P99, 0.1, failing(0.002)),
        world("always-late", Hopeless, "p99<20ms", 0.0, four()),
        world("gc", Watched, P99, 378.4, stalls(s(10), ms(100))),
        world("gc-rare", Careful, P99, 264.3, stalls(s(45), ms(300))),
        world("cron60", Careful, P99, 233.2, neighbour(s(4), s(60))),
        world("cron180", Careful, P99, 238.0, neighbour(s(8), s(180))),
        world("ar1", Watched, P99, 416.3, under(Condition::Wander { sd: 0.05, correlation: 0.9, step: s(10) })),
        world("uneven3", Tabled, P99, 439.5, under(Condition::Wander { sd: 0.03, correlation: 0.0, step: s(15) })),
        world("uneven5", Tabled, P99, 424.8, under(Condition::Wander { sd: 0.05, correlation: 0.0, step: s(15) })),
        world("sine600", Watched, P99, 417.5, under(Condition::Swing { amplitude: 0.1, period: s(600) })),
        world("credits", Watched, P99, 342.4, under(Condition::Credits { baseline: 0.65, start: 300.0, most: 600.0 })),
        world("leak", Watched, P99, 295.4, under(Condition::Leak { per_hour: 1.0, per_million: 0.0 })),
        world("cold", Watched, P99, EXP, under(Condition::Cold { slower: 3.0, requests: 15_000 })),
    ]
}

/// Of the plain service: by the closed form of M/M/4; twice as many servers.
const EXP: f64 = 451.3;

/// What a search said, beside the truth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// Of the rate shown, held or not; absent where none was.
    pub(crate) error: Option<f64>,
    /// The search passed: the rate was held.
    pub(crate) held: bool,
    /// It said what passes for the truth here: slow spells, a change, that no rate meets the objective.
    pub(crate) said: bool,
    /// It said how long the rate was watched.
    pub(crate) watched: bool,
}

impl Answer {
    /// Sure and wrong.
    pub(crate) fn is_too_high(&self) -> bool {
        self.held && self.error.is_some_and(|error| error > 0.05)
    }

    pub(crate) fn is_too_low(&self) -> bool {
        self.error.is_some_and(|error| error < -0.2)
    }
}

impl World {
    pub(crate) fn answer(&self, played: &Played) -> Answer {
        let found = &played.found;
        let capacity = found.capacity_per_s;
        let said = |remark: &SearchRemark| match self.promise {
            Promise::Hopeless => matches!(
                remark,
                SearchRemark::NoLoadMeets { .. } | SearchRemark::FailsEvenAt { .. }
            ),
            _ => matches!(
                remark,
                SearchRemark::SlowSpells { .. }
                    | SearchRemark::SetByStalls { .. }
                    | SearchRemark::Drifted { .. }
                    | SearchRemark::SlowsDown { .. }
                    | SearchRemark::PaceVaries { .. }
                    | SearchRemark::StaysOverloaded { .. }
                    | SearchRemark::Changed { .. }
            ),
        };
        Answer {
            error: capacity.map(|bounds| bounds.estimate / self.capacity_per_s - 1.0),
            held: found.converged && capacity.is_some_and(|bounds| bounds.lower.is_some()),
            said: found.remarks.iter().any(said),
            watched: found
                .remarks
                .iter()
                .any(|remark| matches!(remark, SearchRemark::Watched { .. })),
        }
    }
}

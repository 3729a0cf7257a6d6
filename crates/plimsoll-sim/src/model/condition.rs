//! What changes a service while it is loaded: pauses, neighbours, drifts, credits, cold starts, scaling.

use plimsoll_core::Nanos;

use super::error::{ModelError, POSITIVE, ZERO_OR_MORE, require};

const SHARE: &str = "above 0 and below 1";

/// One thing that changes the first station over virtual time, counted from the start of the simulation.
///
/// Speed 1 is the speed of the model's service time. What is under way when the speed changes goes on at the new
/// one. The speeds of several conditions multiply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// The service stands still once for `length`, from a moment drawn evenly between `earliest` and `latest`.
    Pause {
        earliest: Nanos,
        latest: Nanos,
        length: Nanos,
    },
    /// The service stands still for `length` again and again, as for garbage collection.
    Stalls {
        /// From the start of one to the start of the next.
        interval: Nanos,
        length: Nanos,
        /// Exponential gaps with that mean instead of equal ones.
        random: bool,
    },
    /// Somebody else takes `share` (0–1) of the speed for `busy` of every `period`; the phase is drawn.
    Neighbour {
        share: f64,
        busy: Nanos,
        period: Nanos,
    },
    /// Somebody else takes `share` (0–1) of the speed now and then, without a period: for an exponential time of mean
    /// `busy`, after an exponential gap of mean `gap`.
    Visits { share: f64, busy: Nanos, gap: Nanos },
    /// The service stands still for `length` after every so many requests that it served: what they left behind is
    /// collected, the more often the more come.
    Collection { every_requests: u64, length: Nanos },
    /// Service takes `slower` times as long at the start, and half of what is too much is gone after each `half_life`: a
    /// cache that fills.
    Warming { slower: f64, half_life: Nanos },
    /// From a moment drawn evenly between `earliest` and `latest` on, the speed is this: a machine of several is gone.
    Step {
        earliest: Nanos,
        latest: Nanos,
        speed: f64,
    },
    /// The logarithm of the speed wanders: AR(1) with standard deviation `sd`, drawn anew every `step` with
    /// this `correlation` (0–1) to the draw before.
    Wander {
        sd: f64,
        correlation: f64,
        step: Nanos,
    },
    /// The speed follows a sine around 1 by `amplitude` (0–1); the phase is drawn.
    Swing { amplitude: f64, period: Nanos },
    /// Service times grow by `per_hour` of the first each hour and by `per_million` of it each million of
    /// requests served: 0.5 an hour makes 10 ms into 12.5 ms after half an hour.
    Leak { per_hour: f64, per_million: f64 },
    /// Burst credits, in seconds of one server at full speed: a busy server spends one a second. They are
    /// earned all the time at `baseline` (0–1) of all servers at full speed. Without any left, the speed is
    /// `baseline`.
    Credits {
        baseline: f64,
        start: f64,
        /// No more are kept than this.
        most: f64,
    },
    /// Service takes `slower` times as long until `requests` were served.
    Cold { slower: f64, requests: u64 },
    /// From the model's number of servers to `servers`.
    ScaleOut {
        servers: u32,
        /// Once the share of busy servers (0–1) was above this in every second of `hold`, …
        above: f64,
        hold: Nanos,
        /// … and this much time has passed.
        delay: Nanos,
        /// Back at once when it was below this for as long; absent: never.
        back_below: Option<f64>,
    },
    /// The logarithm of the speed is drawn anew for each level, with this standard deviation.
    LevelNoise { sd: f64 },
}

impl Condition {
    pub(super) fn check(&self) -> Result<(), ModelError> {
        match *self {
            Self::Pause {
                earliest, latest, ..
            } => moments("latest start of the pause", earliest, latest),
            Self::Step {
                earliest,
                latest,
                speed,
            } => {
                moments("latest moment of the step", earliest, latest)?;
                require("the speed after the step", speed, speed > 0.0, POSITIVE)
            }
            Self::Visits { share, busy, gap } => {
                ratio("the visitor's share", share)?;
                time("the visitor's busy time", busy)?;
                time("the gap between visits", gap)
            }
            Self::Collection { every_requests, .. } => {
                let every = every_requests as f64;
                require("requests between collections", every, every > 0.0, POSITIVE)
            }
            Self::Warming { slower, half_life } => {
                require("the cold slowdown", slower, slower >= 1.0, "at least 1")?;
                time("the half-life of the cold", half_life)
            }
            Self::Stalls { interval, .. } => time("stall interval", interval),
            Self::Neighbour {
                share,
                busy,
                period,
            } => {
                ratio("the neighbour's share", share)?;
                let seconds = busy.as_secs_f64();
                let fine = busy > Nanos::ZERO && busy < period;
                let must = "more than zero and less than its period";
                require("the neighbour's busy time", seconds, fine, must)
            }
            Self::Wander {
                sd,
                correlation,
                step,
            } => check_wandering(sd, correlation, step),
            Self::Swing { amplitude, period } => check_swing(amplitude, period),
            Self::Leak {
                per_hour,
                per_million,
            } => {
                require("the leak per hour", per_hour, per_hour >= 0.0, ZERO_OR_MORE)?;
                let fine = per_million >= 0.0;
                require("the leak per million", per_million, fine, ZERO_OR_MORE)
            }
            Self::Credits {
                baseline,
                start,
                most,
            } => check_credits(baseline, start, most),
            Self::Cold { slower, .. } => {
                require("the cold slowdown", slower, slower >= 1.0, "at least 1")
            }
            Self::ScaleOut {
                servers,
                above,
                back_below,
                ..
            } => check_scaling(servers, above, back_below),
            Self::LevelNoise { sd } => deviation("speed noise", sd),
        }
    }
}

fn check_wandering(sd: f64, correlation: f64, step: Nanos) -> Result<(), ModelError> {
    let below_one = (0.0..1.0).contains(&correlation);
    let must = "at least 0 and below 1";
    deviation("the wandering's standard deviation", sd)?;
    require("the wandering's correlation", correlation, below_one, must)?;
    time("the wandering's step", step)
}

fn check_swing(amplitude: f64, period: Nanos) -> Result<(), ModelError> {
    ratio("the swing's amplitude", amplitude)?;
    // A step of it must be a nanosecond at least.
    let fine = period >= Nanos::from_micros(1);
    let seconds = period.as_secs_f64();
    require("the swing's period", seconds, fine, "at least 1 µs")
}

fn check_credits(baseline: f64, start: f64, most: f64) -> Result<(), ModelError> {
    ratio("the baseline of the credits", baseline)?;
    require("credits at the start", start, start >= 0.0, ZERO_OR_MORE)?;
    let fine = most >= start && most > 0.0;
    let must = "more than zero, and those at the start or more";
    require("the most credits", most, fine, must)
}

fn check_scaling(servers: u32, above: f64, back_below: Option<f64>) -> Result<(), ModelError> {
    let count = f64::from(servers);
    require("servers after scaling", count, servers > 0, POSITIVE)?;
    ratio("the utilisation that scales out", above)?;
    let below = back_below.unwrap_or(0.0);
    let fine = (0.0..above).contains(&below);
    let must = "below the one that scales out";
    require("the utilisation that scales back", below, fine, must)
}

fn ratio(what: &'static str, value: f64) -> Result<(), ModelError> {
    require(what, value, value > 0.0 && value < 1.0, SHARE)
}

fn moments(what: &'static str, earliest: Nanos, latest: Nanos) -> Result<(), ModelError> {
    let fine = latest >= earliest;
    require(what, latest.as_secs_f64(), fine, "the earliest or later")
}

fn deviation(what: &'static str, value: f64) -> Result<(), ModelError> {
    let fine = (0.0..1.0).contains(&value);
    require(what, value, fine, "within 0 and 1")
}

fn time(what: &'static str, value: Nanos) -> Result<(), ModelError> {
    require(what, value.as_secs_f64(), value > Nanos::ZERO, POSITIVE)
}

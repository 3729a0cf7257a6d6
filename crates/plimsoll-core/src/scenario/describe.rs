//! What a scenario amounts to: its VUs, its longest duration, its rate over time, in figures and words.

use serde_json::{Map, Value, json};

use super::time::show;
use super::{Arriving, Executor, Scenario, Scenarios, Stage};
use crate::schedule::Arrivals;
use crate::units::Nanos;

/// A leg of an arrival rate: a straight line over a duration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLeg {
    pub duration_ns: Nanos,
    pub from_per_s: f64,
    pub to_per_s: f64,
}

impl Arriving {
    fn per_s(&self, rate: u64) -> f64 {
        rate as f64 / self.time_unit_ns.as_secs_f64()
    }
}

fn sum(stages: &[Stage]) -> Nanos {
    stages
        .iter()
        .fold(Nanos::ZERO, |total, stage| total + stage.duration_ns)
}

impl Executor {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SharedIterations { .. } => "shared-iterations",
            Self::PerVuIterations { .. } => "per-vu-iterations",
            Self::ConstantVus { .. } => "constant-vus",
            Self::RampingVus { .. } => "ramping-vus",
            Self::ConstantArrivalRate { .. } => "constant-arrival-rate",
            Self::RampingArrivalRate { .. } => "ramping-arrival-rate",
            Self::SteppedArrivalRate { .. } => "stepped-arrival-rate",
        }
    }

    /// From the scenario's start until no iteration starts any more.
    pub(crate) fn regular_ns(&self) -> Nanos {
        match self {
            Self::SharedIterations {
                max_duration_ns, ..
            }
            | Self::PerVuIterations {
                max_duration_ns, ..
            } => *max_duration_ns,
            Self::ConstantVus { duration_ns, .. }
            | Self::ConstantArrivalRate { duration_ns, .. } => *duration_ns,
            Self::RampingVus { stages, .. }
            | Self::RampingArrivalRate { stages, .. }
            | Self::SteppedArrivalRate { stages, .. } => sum(stages),
        }
    }

    /// The most VUs that it may ever use.
    pub fn vus_max(&self) -> u32 {
        match self {
            Self::SharedIterations { vus, .. }
            | Self::PerVuIterations { vus, .. }
            | Self::ConstantVus { vus, .. } => vus.get(),
            Self::RampingVus {
                start_vus, stages, ..
            } => stages
                .iter()
                .map(|stage| stage.target as u32)
                .fold(*start_vus, u32::max),
            Self::ConstantArrivalRate { arriving, .. }
            | Self::RampingArrivalRate { arriving, .. }
            | Self::SteppedArrivalRate { arriving, .. } => arriving.max_vus,
        }
    }

    /// VUs to make before the start.
    pub fn vus_before_start(&self) -> u32 {
        self.arriving()
            .map_or_else(|| self.vus_max(), |arriving| arriving.pre_allocated_vus)
    }

    pub fn arriving(&self) -> Option<&Arriving> {
        match self {
            Self::ConstantArrivalRate { arriving, .. }
            | Self::RampingArrivalRate { arriving, .. }
            | Self::SteppedArrivalRate { arriving, .. } => Some(arriving),
            _ => None,
        }
    }

    /// The arrival rate over time; empty for executors whose VUs loop.
    pub fn rate_legs(&self) -> Vec<RateLeg> {
        let leg = |duration_ns, from_per_s, to_per_s| RateLeg {
            duration_ns,
            from_per_s,
            to_per_s,
        };
        match self {
            Self::ConstantArrivalRate {
                rate,
                duration_ns,
                arriving,
            } => {
                let rate = arriving.per_s(rate.get());
                vec![leg(*duration_ns, rate, rate)]
            }
            Self::RampingArrivalRate {
                start_rate,
                stages,
                arriving,
            } => {
                let mut from = arriving.per_s(*start_rate);
                let mut ramp = |stage: &Stage| {
                    let to = arriving.per_s(stage.target);
                    leg(stage.duration_ns, std::mem::replace(&mut from, to), to)
                };
                stages.iter().map(&mut ramp).collect()
            }
            Self::SteppedArrivalRate { stages, arriving } => {
                let hold = |stage: &Stage| {
                    let rate = arriving.per_s(stage.target);
                    leg(stage.duration_ns, rate, rate)
                };
                stages.iter().map(hold).collect()
            }
            _ => Vec::new(),
        }
    }

    /// In our own words: `up to 10 looping VUs for 30s`.
    fn words(&self) -> String {
        match self {
            Self::SharedIterations {
                vus,
                iterations,
                max_duration_ns,
            } => format!(
                "{} shared among {}, at most {}",
                plural(iterations.get(), "iteration"),
                plural(u64::from(vus.get()), "VU"),
                show(*max_duration_ns)
            ),
            Self::PerVuIterations {
                vus,
                iterations,
                max_duration_ns,
            } => format!(
                "{} for each of {}, at most {}",
                plural(iterations.get(), "iteration"),
                plural(u64::from(vus.get()), "VU"),
                show(*max_duration_ns)
            ),
            Self::ConstantVus { vus, duration_ns } => format!(
                "{} for {}",
                plural(u64::from(vus.get()), "looping VU"),
                show(*duration_ns)
            ),
            Self::RampingVus { stages, .. } => format!(
                "up to {} for {} over {}",
                plural(u64::from(self.vus_max()), "looping VU"),
                show(sum(stages)),
                plural(stages.len() as u64, "stage")
            ),
            Self::ConstantArrivalRate { rate, arriving, .. } => format!(
                "{} for {}, {}",
                rate_words(rate.get(), arriving),
                show(self.regular_ns()),
                vus_words(arriving)
            ),
            Self::RampingArrivalRate {
                start_rate,
                stages,
                arriving,
            } => {
                let peak = stages.iter().map(|stage| stage.target).max();
                self.staged(peak.unwrap_or(0).max(*start_rate), stages, arriving)
            }
            Self::SteppedArrivalRate { stages, arriving } => {
                let peak = stages.iter().map(|stage| stage.target).max();
                self.staged(peak.unwrap_or(0), stages, arriving)
            }
        }
    }

    fn staged(&self, peak: u64, stages: &[Stage], arriving: &Arriving) -> String {
        format!(
            "up to {} for {} over {}, {}",
            rate_words(peak, arriving),
            show(self.regular_ns()),
            plural(stages.len() as u64, "stage"),
            vus_words(arriving)
        )
    }
}

fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `10/s`, `600/1m`: as few units as the script used.
fn rate_words(rate: u64, arriving: &Arriving) -> String {
    let unit = show(arriving.time_unit_ns);
    let unit = unit
        .strip_suffix("m0s")
        .map_or(unit.clone(), |minutes| format!("{minutes}m"));
    let rate = format!(
        "{rate} iterations/{}",
        unit.strip_prefix("1s").map_or(&*unit, |_| "s")
    );
    match arriving.arrivals {
        Arrivals::Uniform => rate,
        Arrivals::Poisson => format!("{rate} (Poisson)"),
    }
}

fn vus_words(arriving: &Arriving) -> String {
    let (before, most) = (arriving.pre_allocated_vus, arriving.max_vus);
    if before == most {
        plural(u64::from(most), "VU")
    } else {
        format!("{before} to {most} VUs")
    }
}

impl Scenario {
    /// When no iteration starts any more, from the start of the test.
    pub fn regular_end_ns(&self) -> Nanos {
        self.start_ns + self.executor.regular_ns()
    }

    /// When the last iteration is interrupted, from the start of the test.
    pub fn last_end_ns(&self) -> Nanos {
        self.regular_end_ns() + self.graceful_stop_ns
    }

    /// `login: up to 10 looping VUs for 30s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)`
    pub fn describe(&self) -> String {
        let mut rest = Vec::new();
        if let Executor::RampingVus {
            graceful_ramp_down_ns,
            ..
        } = self.executor
        {
            rest.push(format!("gracefulRampDown: {}", show(graceful_ramp_down_ns)));
        }
        if self.exec != "default" {
            rest.push(format!("exec: {}", self.exec));
        }
        if self.start_ns > Nanos::ZERO {
            rest.push(format!("startTime: {}", show(self.start_ns)));
        }
        rest.push(format!("gracefulStop: {}", show(self.graceful_stop_ns)));
        format!(
            "{}: {} ({})",
            self.name,
            self.executor.words(),
            rest.join(", ")
        )
    }

    /// The scenario as a script would write it, with every value filled in.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut set = |name: &str, value: Value| {
            map.insert(name.to_owned(), value);
        };
        set("executor", json!(self.executor.name()));
        set("startTime", json!(show(self.start_ns)));
        set("gracefulStop", json!(show(self.graceful_stop_ns)));
        set("exec", json!(self.exec));
        set("env", json!(self.env));
        set("tags", json!(self.tags));
        if let Some(extra) = &self.extra {
            set("options", extra.clone());
        }
        map.extend(self.executor.fields_to_json());
        Value::Object(map)
    }
}

impl Executor {
    fn fields_to_json(&self) -> Map<String, Value> {
        let value = match self {
            Self::SharedIterations {
                vus,
                iterations,
                max_duration_ns,
            }
            | Self::PerVuIterations {
                vus,
                iterations,
                max_duration_ns,
            } => json!({
                "vus": vus, "iterations": iterations, "maxDuration": show(*max_duration_ns),
            }),
            Self::ConstantVus { vus, duration_ns } => {
                json!({ "vus": vus, "duration": show(*duration_ns) })
            }
            Self::RampingVus {
                start_vus,
                stages,
                graceful_ramp_down_ns,
            } => json!({
                "startVUs": start_vus,
                "stages": stages_to_json(stages),
                "gracefulRampDown": show(*graceful_ramp_down_ns),
            }),
            Self::ConstantArrivalRate {
                rate, duration_ns, ..
            } => json!({ "rate": rate, "duration": show(*duration_ns) }),
            Self::RampingArrivalRate {
                start_rate, stages, ..
            } => json!({ "startRate": start_rate, "stages": stages_to_json(stages) }),
            Self::SteppedArrivalRate { stages, .. } => json!({ "stages": stages_to_json(stages) }),
        };
        let Value::Object(mut map) = value else {
            return Map::new();
        };
        if let Some(arriving) = self.arriving() {
            map.insert("timeUnit".to_owned(), json!(show(arriving.time_unit_ns)));
            map.insert(
                "preAllocatedVUs".to_owned(),
                json!(arriving.pre_allocated_vus),
            );
            map.insert("maxVUs".to_owned(), json!(arriving.max_vus));
        }
        map
    }
}

fn stages_to_json(stages: &[Stage]) -> Value {
    let stage =
        |stage: &Stage| json!({ "duration": show(stage.duration_ns), "target": stage.target });
    Value::Array(stages.iter().map(stage).collect())
}

impl Scenarios {
    /// From the start of the test until the last iteration is interrupted.
    pub fn longest_ns(&self) -> Nanos {
        let ends = self.iter().map(Scenario::last_end_ns);
        ends.max().unwrap_or_default()
    }

    pub fn to_json(&self) -> Value {
        let named = self
            .iter()
            .map(|scenario| (scenario.name.clone(), scenario.to_json()));
        Value::Object(named.collect())
    }
}

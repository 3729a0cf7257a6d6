//! What a script's options ask for: validated scenarios, each with the rule that starts iterations.
//!
//! Names and rules are those of k6's documentation, as far as the official binary behaves so; where
//! we add something it has a name of its own. Everything is read once, from values that carry their
//! origin, and a scenario that no executor could follow cannot be built.

mod describe;
mod error;
mod executor;
mod fields;
mod layer;
mod option;
mod resolve;
mod settings;
mod shortcut;
pub mod time;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use serde_json::Value;

pub use describe::RateLeg;
pub use error::{OptionError, Warning};
pub use executor::{COMMON_FIELDS, EXECUTORS, ExecutorSpec, FieldSpec};
pub use layer::{Layer, Origin, Strictness};
pub use option::{Flag, Kind, OPTIONS, OptionSpec, SYSTEM_TAGS};
pub use resolve::Options;
pub use settings::{Dns, Settings, SummaryUnit, TrendStat};
pub use time::show as show_time;

use crate::schedule::Arrivals;
use crate::units::Nanos;

/// One leg of a ramp: `target` is a number of VUs or a rate per time unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    pub duration_ns: Nanos,
    pub target: u64,
}

/// How an arrival-rate executor spreads arrivals, and the VUs that it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arriving {
    /// Rates are per this time.
    pub time_unit_ns: Nanos,
    pub pre_allocated_vus: u32,
    /// At least `pre_allocated_vus`, and at least one.
    pub max_vus: u32,
    /// Even spacing unless the scenario says `arrivals: "poisson"`, which is ours.
    pub arrivals: Arrivals,
    /// How long a due arrival may wait for a VU before it is dropped. Zero, as in k6, unless the
    /// scenario says `maxWait`, which is ours.
    pub wait_max_ns: Nanos,
}

/// The rule that starts iterations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executor {
    /// VUs share a number of iterations.
    SharedIterations {
        vus: NonZeroU32,
        iterations: NonZeroU64,
        max_duration_ns: Nanos,
    },
    /// Each VU makes that many iterations.
    PerVuIterations {
        vus: NonZeroU32,
        iterations: NonZeroU64,
        max_duration_ns: Nanos,
    },
    /// A fixed number of VUs make as many iterations as they can.
    ConstantVus { vus: NonZeroU32, duration_ns: Nanos },
    /// The number of looping VUs follows the stages.
    RampingVus {
        start_vus: u32,
        stages: Vec<Stage>,
        graceful_ramp_down_ns: Nanos,
    },
    /// Iterations start at a fixed rate.
    ConstantArrivalRate {
        rate: NonZeroU64,
        duration_ns: Nanos,
        arriving: Arriving,
    },
    /// The rate of starts follows the stages in straight lines.
    RampingArrivalRate {
        start_rate: u64,
        stages: Vec<Stage>,
        arriving: Arriving,
    },
    /// Each stage holds its rate for its duration; ours.
    SteppedArrivalRate {
        stages: Vec<Stage>,
        arriving: Arriving,
    },
}

/// A named workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub name: String,
    pub executor: Executor,
    /// From the start of the test, after `setup`.
    pub start_ns: Nanos,
    /// How long iterations may go on after the regular end before they are interrupted.
    pub graceful_stop_ns: Nanos,
    /// The exported function that an iteration calls.
    pub exec: String,
    pub env: BTreeMap<String, String>,
    pub tags: BTreeMap<String, String>,
    /// `options` of the scenario, which only browser scripts use.
    pub extra: Option<Value>,
}

/// All scenarios of a test by name; never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenarios(BTreeMap<String, Scenario>);

impl Scenarios {
    /// A test of one scenario.
    pub fn only(scenario: Scenario) -> Self {
        Self(BTreeMap::from([(scenario.name.clone(), scenario)]))
    }

    /// The same scenarios, each changed.
    #[must_use]
    pub fn each(&self, change: impl Fn(&Scenario) -> Scenario) -> Self {
        let changed = self.0.iter();
        Self(
            changed
                .map(|(name, scenario)| (name.clone(), change(scenario)))
                .collect(),
        )
    }

    pub fn iter(&self) -> impl Iterator<Item = &Scenario> {
        self.0.values()
    }

    pub fn named(&self, name: &str) -> Option<&Scenario> {
        self.0.get(name)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every scenario must call a function that the script exports.
    pub fn check_functions(&self, exported: &[&str]) -> Result<(), OptionError> {
        for scenario in self.iter() {
            if !exported.contains(&scenario.exec.as_str()) {
                let near = crate::nearest::hint(&scenario.exec, exported.iter().copied());
                return Err(OptionError::Rule {
                    place: format!("scenario {}", scenario.name),
                    problem: format!("the script exports no function `{}`", scenario.exec),
                    fix: format!("export it, or name another one with `exec`{near}"),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

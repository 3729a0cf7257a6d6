//! A script with everything that its options decide, before it is played.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_control::executor::{VuRange, vu_ranges};
use plimsoll_core::metrics::Store;
use plimsoll_core::scenario::{Scenario, Scenarios};
use plimsoll_core::status::StatusSet;
use plimsoll_core::{Nanos, Objectives};
use plimsoll_script::{Program, Settings};

use super::names::Naming;

/// A script with everything that its options decide; equal for all workers.
#[derive(Debug)]
pub struct Script {
    pub program: Arc<Program>,
    pub settings: Settings,
    pub scenarios: Scenarios,
    pub(super) ranges: Vec<VuRange>,
    /// An empty store with the submetrics that thresholds name and the metrics of the program.
    pub store: Store,
    pub workers: u32,
    pub naming: Arc<Naming>,
    /// Most requests per second over all workers (`rps`); zero is unlimited.
    pub requests_per_s_max: u64,
    /// Which of how many equal parts of the test this instance plays (`executionSegment`), from zero.
    pub part: (u64, u64),
    /// `httpDebug`.
    pub http_debug: HttpDebug,
    pub user_agent: Arc<str>,
    /// Off: every request opens a connection (`noConnectionReuse`).
    pub reuses_connections: bool,
    /// Connections end with their iteration (`noVUConnectionReuse`).
    pub closes_idle: bool,
    /// Calls of one `http.batch` in flight at once.
    pub batch_max: usize,
    /// Of them, calls to one host.
    pub batch_per_host_max: usize,
    /// `minIterationDuration`.
    pub iteration_least: Nanos,
    /// Outputs want every sample, not only what they add up to.
    pub keeps_samples: bool,
    pub seating: Seating,
    /// Response-time bounds whose ok answers are counted exactly.
    pub bounds: Vec<Nanos>,
    /// The status codes of right answers, where the objective names them.
    pub right: Option<StatusSet>,
}

impl Script {
    /// In `store` the metrics of the program are registered in its order.
    pub fn new(
        program: Arc<Program>,
        settings: Settings,
        scenarios: Scenarios,
        store: Store,
    ) -> Self {
        let (ranges, _) = vu_ranges(&scenarios);
        let user_agent = settings.user_agent.as_ref().into();
        Self {
            program,
            settings,
            scenarios,
            ranges,
            store,
            workers: 1,
            naming: Arc::default(),
            requests_per_s_max: 0,
            part: (0, 1),
            http_debug: HttpDebug::Off,
            user_agent,
            reuses_connections: true,
            closes_idle: false,
            batch_max: 20,
            batch_per_host_max: usize::MAX,
            iteration_least: Nanos::ZERO,
            keeps_samples: false,
            seating: Seating::Early,
            bounds: Vec::new(),
            right: None,
        }
    }

    /// The run is held to these.
    pub fn hold_to(&mut self, objectives: &Objectives) {
        self.bounds = objectives.bounds();
        self.right = objectives.status().cloned();
    }

    /// Plays other scenarios than those that the options asked for.
    pub fn set_scenarios(&mut self, scenarios: Scenarios) {
        self.ranges = vu_ranges(&scenarios).0;
        self.scenarios = scenarios;
    }

    /// Virtual users that can exist at once.
    pub fn vus_max(&self) -> u32 {
        vu_ranges(&self.scenarios).1
    }
}

/// When virtual users are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Seating {
    /// Those that the scenarios start with, before anything starts.
    #[default]
    Early,
    /// A search decides the load: each when it is needed.
    WhenNeeded,
}

/// Whether requests and answers go to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HttpDebug {
    #[default]
    Off,
    Heads,
    /// With their bodies.
    Full,
}

/// What scripts see of a scenario. When it starts is known when the scenarios begin.
pub(super) fn shown(scenario: &Scenario) -> plimsoll_script::Scenario {
    let boxed = |map: &BTreeMap<String, String>| {
        map.iter()
            .map(|(name, value)| (name.as_str().into(), value.as_str().into()))
            .collect()
    };
    plimsoll_script::Scenario {
        name: scenario.name.as_str().into(),
        executor: scenario.executor.name().into(),
        start_unix_ms: 0,
        tags: boxed(&scenario.tags),
        env: boxed(&scenario.env),
    }
}

//! A whole search played on a simulated service.

use std::num::NonZeroU32;

use plimsoll_control::search::{Config, Observer, Search, client_timeout, drive};
use plimsoll_core::step::{Step, StepError, StepLoad};
use plimsoll_core::verdict::{LevelResult, SearchResult};
use plimsoll_core::{Nanos, Objectives, Window};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::Model;

/// What a search did, beside what it found.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) found: SearchResult,
    /// Virtual seconds from the first to the last window.
    pub(crate) seconds: f64,
    pub(crate) plan_seconds: f64,
    /// Most arrivals per second of any level.
    pub(crate) rate_max: f64,
    pub(crate) levels: Vec<(Step, LevelResult)>,
    pub(crate) events: u64,
}

#[derive(Debug, Default)]
struct Log {
    step: Option<Step>,
    levels: Vec<(Step, LevelResult)>,
    first: Option<f64>,
    last: f64,
    rate_max: f64,
}

impl Observer for Log {
    fn level_start(&mut self, step: &Step, _left: Nanos) -> Result<(), StepError> {
        if let StepLoad::Open { profile, .. } = step.load {
            self.rate_max = self.rate_max.max(profile.constant_rate().unwrap());
        }
        self.step = Some(step.clone());
        Ok(())
    }

    fn window(&mut self, window: &Window) -> Result<(), StepError> {
        self.first.get_or_insert(window.start_ns.as_secs_f64());
        self.last = window.end_ns().as_secs_f64();
        Ok(())
    }

    fn level_end(&mut self, result: &LevelResult) -> Result<(), StepError> {
        self.levels
            .push((self.step.take().unwrap(), result.clone()));
        Ok(())
    }
}

pub(crate) fn config(slo: &str) -> Config {
    let objectives = Objectives::parse(slo).unwrap();
    let mut config = Config::new(objectives, NonZeroU32::new(4096).unwrap());
    config.spent = Nanos::from_secs(20);
    config
}

/// A whole search against the model; clients give up as those of a search do.
pub(crate) fn play(model: &Model, config: Config, seed: u64) -> Played {
    let model = Model {
        client_timeout: Some(client_timeout(&config.objectives)),
        ..model.clone()
    };
    let bounds = config.objectives.bounds();
    let mut simulator = Simulator::new(model, bounds, seed).unwrap();
    let mut search = Search::new(config).unwrap();
    let mut log = Log::default();
    let found = drive(&mut search, &mut simulator, &mut log).unwrap();
    Played {
        found,
        seconds: log.last - log.first.unwrap_or(0.0),
        plan_seconds: search.plan_seconds(),
        rate_max: log.rate_max,
        levels: log.levels,
        events: simulator.events(),
    }
}

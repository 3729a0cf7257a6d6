//! A whole search played on a simulated service.

use std::num::NonZeroU32;

use plimsoll_control::search::{Config, Observer, Search, client_timeout, drive};
use plimsoll_core::step::{Step, StepError, StepLoad};
use plimsoll_core::verdict::{LevelResult, LevelState, SearchResult};
use plimsoll_core::{Nanos, Objectives, Window};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::{Model, ServiceTime};

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

/// A search on a plain service, as a property draws it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) servers: u32,
    pub(crate) mean_ms: u64,
    pub(crate) contention: f64,
    /// Seconds for the whole search.
    pub(crate) within: u64,
    /// The highest rate: of the generator where a closed loop may come first, else of the question.
    pub(crate) ceiling: Option<f64>,
    pub(crate) closed_loop: bool,
}

impl Case {
    pub(crate) fn play(self) -> Played {
        let service = ServiceTime::Lognormal {
            mean: Nanos::from_millis(self.mean_ms),
            cv: 1.0,
        };
        let model = Model {
            contention: self.contention,
            ..Model::station(self.servers, service)
        };
        let mut config = config("p95<300ms,errors<1%");
        config.within = Nanos::from_secs(self.within);
        if self.closed_loop {
            config.generator_max_per_s = self.ceiling;
        } else {
            config.max_rate_per_s = self.ceiling;
        }
        play(&model, config, self.seed)
    }

    /// What no search may do, whatever it is played on.
    pub(crate) fn broken_promise(self, played: &Played) -> Option<String> {
        let Self {
            within, ceiling, ..
        } = self;
        let is_closed = |(step, _): &(Step, _)| matches!(step.load, StepLoad::Closed { .. });
        let closed = played.levels.iter().any(is_closed);
        let numbers = played.levels.iter().map(|(step, _)| step.level);
        let checks = [
            (
                played.seconds + 20.0 <= played.plan_seconds + 1e-6,
                "longer than was said",
            ),
            (
                played.plan_seconds <= within as f64,
                "longer than was allowed",
            ),
            (
                played.rate_max <= ceiling.unwrap_or(f64::INFINITY),
                "more than was allowed",
            ),
            (
                closed == (self.closed_loop || ceiling.is_none()),
                "a closed loop just where no rate is to be kept",
            ),
            (numbers.is_sorted_by(|a, b| a < b), "levels in order"),
        ];
        let broken = checks.iter().find(|(kept, _)| !kept);
        broken
            .map(|(_, what)| (*what).to_owned())
            .or_else(|| broken_claim(played))
    }
}

/// A claim that its own search contradicts.
fn broken_claim(played: &Played) -> Option<String> {
    let capacity = played.found.capacity_per_s?;
    let (lower, upper) = (capacity.lower, capacity.upper.unwrap_or(f64::INFINITY));
    if capacity.estimate >= upper || lower.is_some_and(|lower| lower >= upper) {
        return Some(format!("bounds out of order: {capacity:?}"));
    }
    let lower = lower?;
    let rate = |step: &Step| match step.load {
        StepLoad::Open { profile, .. } => profile.constant_rate(),
        StepLoad::Closed { .. } => None,
    };
    let open = || {
        let levels = played.levels.iter();
        levels.filter_map(move |(step, result)| Some((rate(step)? / lower, result)))
    };
    if !open().any(|(share, _)| share >= 0.995) {
        return Some(format!("{lower}/s is claimed and was never played"));
    }
    // Nothing that was plainly too much ever after is claimed: by the last level within 4 %, which seconds cannot tell apart,
    // or above it if that passed.
    let tells = |share: f64, state| {
        (0.96..1.01).contains(&share) || share >= 1.01 && state == LevelState::Pass
    };
    let (share, last) = open().rfind(|(share, result)| tells(*share, result.state))?;
    let bad = last.bad_ratio.map_or(0.0, |ratio| ratio.estimate);
    (last.state == LevelState::Fail && bad >= 0.4).then(|| {
        let at = share * lower;
        format!("{lower}/s is claimed, and last {at}/s had {bad} bad")
    })
}

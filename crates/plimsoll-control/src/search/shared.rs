//! What all stages know: the configuration, the clock and every level played so far.

use plimsoll_core::health::Condition;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Bounds, LevelResult, LevelState, RareStalls};
use plimsoll_core::{Histogram, Nanos};

use super::clock::Clock;
use super::config::{Anchor, Config};
use super::judge::{Call, Judged};
use super::level::{Level, Load, Rule, Second};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) anchor: Option<Anchor>,
    pub(crate) history: Vec<Played>,
    passes: Vec<Edge>,
    fails: Vec<Edge>,
    /// Highest rate that held a soak.
    pub(crate) held: Option<Held>,
    pub(crate) stalls: Option<RareStalls>,
    pub(crate) recovery: Option<plimsoll_core::verdict::Recovery>,
    pub(crate) converged: bool,
    pub(crate) remarks: Vec<String>,
}

/// A rate at which a level was decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Edge {
    pub(crate) rate: f64,
    pub(crate) clause: usize,
    /// By its interval or at once, not by a majority of undecided levels.
    pub(crate) decided: bool,
}

impl Edge {
    fn of(rate: f64, judged: &Judged) -> Self {
        Self {
            rate,
            clause: judged.clause,
            decided: judged.call != Call::Undecided,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Held {
    pub(crate) rate: f64,
    pub(crate) level: u32,
    pub(crate) seconds: f64,
}

/// A level that has ended.
#[derive(Debug, Clone)]
pub(crate) struct Played {
    pub(crate) level: u32,
    pub(crate) phase: Phase,
    pub(crate) load: Load,
    pub(crate) state: LevelState,
    pub(crate) judged: Option<Judged>,
    clause: Option<String>,
    reason: String,
    discard: u32,
    /// Every second, with the discarded ones.
    pub(crate) seconds: Vec<Second>,
    pub(crate) goodput: Option<Bounds>,
    pub(crate) in_flight_mean: f64,
    /// Kept for the first level and its repeat, to see drift.
    pub(crate) answers: Histogram,
    pub(crate) leaves_backlog: bool,
    pub(crate) settled: bool,
}

impl Played {
    pub(crate) fn of(level: &Level, config: &Config) -> Self {
        let judged = level.verdict();
        let health = level.health();
        let phase = level.ask.phase;
        let judges = !matches!(phase, Phase::WarmUp | Phase::Settle);
        // A closed loop that fills our own thread waits for us too: what it passes holds all the same,
        // what it fails may be our fault.
        let ours = matches!(level.ask.load, Load::Vus(_))
            && health.condition == Condition::GeneratorBound
            && judged
                .as_ref()
                .is_some_and(|judged| !judged.leans_to_pass());
        let void = judges && (health.breached() || ours);
        let state = match (&judged, void) {
            (_, true) => LevelState::Void,
            (None, false) => LevelState::Observed,
            (Some(judged), false) => match judged.call {
                Call::Pass | Call::PassProvisionally => LevelState::Pass,
                Call::Fail | Call::FailAtOnce => LevelState::Fail,
                Call::Undecided => LevelState::Undecided,
            },
        };
        let reason = if void {
            let worst = health.worst().map(ToString::to_string).unwrap_or_default();
            format!("the generator could not sustain it: {worst}")
        } else {
            judged
                .as_ref()
                .map_or_else(String::new, |judged| judged.reason.clone())
        };
        let failed = state == LevelState::Fail;
        let clause = judged
            .as_ref()
            .filter(|_| failed)
            .map(|judged| config.objectives.clauses()[judged.clause].to_string());
        let keeps_answers = matches!(phase, Phase::Bracket | Phase::Repeat);
        Self {
            level: level.step.level,
            phase,
            load: level.ask.load,
            state,
            clause,
            reason,
            discard: level.ask.discard.min(level.seconds.len() as u32),
            goodput: level.goodput(),
            in_flight_mean: level.mean(|second| second.in_flight_mean),
            answers: if keeps_answers {
                level.answers.clone()
            } else {
                Histogram::new()
            },
            leaves_backlog: leaves_backlog(level, judged.as_ref()),
            settled: matches!(level.ask.rule, Rule::Settled { .. })
                && (level.seconds.len() as u32) < level.ask.windows_max,
            seconds: level.seconds.clone(),
            judged,
        }
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.load.rate()
    }

    /// The seconds that count.
    pub(crate) fn judged_seconds(&self) -> &[Second] {
        &self.seconds[self.discard as usize..]
    }

    pub(crate) fn result(&self) -> LevelResult {
        LevelResult {
            level: self.level,
            state: self.state,
            clause: self.clause.clone(),
            bad_ratio: self.judged.as_ref().map(|judged| judged.share),
            reason: self.reason.clone(),
            discarded_windows: self.discard,
        }
    }
}

/// Whether the next level would be measured behind this one's queue.
fn leaves_backlog(level: &Level, judged: Option<&Judged>) -> bool {
    let failed = judged.is_some_and(|judged| {
        matches!(judged.call, Call::Fail | Call::FailAtOnce) || !judged.leans_to_pass()
    });
    failed || matches!(level.ask.phase, Phase::Overshoot)
}

impl Shared {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            clock: Clock::new(&config),
            // A closed loop of connections says nothing about users who think.
            anchor: config.anchor.filter(|_| !config.over.is_vus()),
            config,
            history: Vec::new(),
            passes: Vec::new(),
            fails: Vec::new(),
            held: None,
            stalls: None,
            recovery: None,
            converged: false,
            remarks: Vec::new(),
        }
    }

    pub(crate) fn remark_once(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    /// Twice what Little's law expects in flight at `rate` with the response time at low load, and
    /// a handful more for chance.
    pub(crate) fn calm_in_flight(&self, rate: f64) -> f64 {
        if self.config.over.is_vus() {
            let of_one = self
                .lowest()
                .map_or(1.0, |(vus, played)| played.in_flight_mean / vus);
            return 2.0 * rate * of_one + 5.0;
        }
        let response = self.response_at_rest().map_or(1.0, Nanos::as_secs_f64);
        2.0 * rate * response + 5.0
    }

    /// Mean response time with one in flight, or at the lowest open level.
    pub(crate) fn response_at_rest(&self) -> Option<Nanos> {
        let lowest = || self.lowest()?.1.answers.mean();
        self.anchor.map(|anchor| anchor.response_ns).or_else(lowest)
    }

    /// The bracket level of the lowest rate that had answers.
    fn lowest(&self) -> Option<(f64, &Played)> {
        let levels = self.history.iter().filter(|p| p.phase == Phase::Bracket);
        levels
            .filter(|played| !played.answers.is_empty())
            .filter_map(|played| Some((played.rate()?, played)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }

    pub(crate) fn pass_at(&mut self, rate: f64, judged: &Judged) {
        self.passes.push(Edge::of(rate, judged));
    }

    pub(crate) fn fail_at(&mut self, rate: f64, judged: &Judged) {
        self.fails.push(Edge::of(rate, judged));
    }

    /// A soak that was lost: by its share, and perhaps for stalls, so not beyond doubt.
    pub(crate) fn lost_soak_at(&mut self, rate: f64, judged: &Judged) {
        self.fails.push(Edge {
            decided: false,
            ..Edge::of(rate, judged)
        });
    }

    /// The lowest rate that failed.
    pub(crate) fn high(&self) -> Option<Edge> {
        self.fails
            .iter()
            .copied()
            .min_by(|a, b| a.rate.total_cmp(&b.rate))
    }

    /// The lowest rate that failed beyond doubt.
    pub(crate) fn plainly_failed(&self) -> Option<f64> {
        let decided = self.fails.iter().filter(|edge| edge.decided);
        decided.map(|edge| edge.rate).min_by(f64::total_cmp)
    }

    /// The highest rate that passed below every rate that failed.
    pub(crate) fn low(&self) -> Option<Edge> {
        let high = self.high().map_or(f64::INFINITY, |edge| edge.rate);
        let below = self.passes.iter().copied().filter(|edge| edge.rate < high);
        below.max_by(|a, b| a.rate.total_cmp(&b.rate))
    }

    /// Highest mean goodput of a level of at least three judged seconds, with its interval. The
    /// level is chosen by its lower bound: by the mean, the shortest and noisiest would win.
    pub(crate) fn peak(&self) -> Option<Bounds> {
        const SECONDS_LEAST: usize = 3;
        self.history
            .iter()
            .filter(|p| p.state != LevelState::Void && p.phase != Phase::WarmUp)
            .filter(|p| p.judged_seconds().len() >= SECONDS_LEAST)
            .filter_map(|played| played.goodput)
            .max_by(|a, b| a.lower.unwrap_or(0.0).total_cmp(&b.lower.unwrap_or(0.0)))
    }
}

//! How far a search has come: its configuration, its clock, every level played and what they decided.

use plimsoll_core::Nanos;
use plimsoll_core::record::Anchor;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Bounds, LevelState, RareStalls, SearchRemark};

use super::clock::Clock;
use super::config::Config;
use super::ended_level::EndedLevel;
use super::judge::{Decision, LevelVerdict};

#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) anchor: Option<Anchor>,
    pub(crate) history: Vec<EndedLevel>,
    passes: Vec<Edge>,
    fails: Vec<Edge>,
    /// Highest rate that held a soak.
    pub(crate) held: Option<Held>,
    pub(crate) stalls: Option<RareStalls>,
    pub(crate) recovery: Option<plimsoll_core::verdict::Recovery>,
    pub(crate) remarks: Vec<SearchRemark>,
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
    fn new(rate: f64, verdict: &LevelVerdict) -> Self {
        Self {
            rate,
            clause: verdict.clause,
            decided: verdict.decision != Decision::Undecided,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Held {
    pub(crate) rate: f64,
    pub(crate) level: u32,
    pub(crate) seconds: f64,
}

impl Progress {
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
            remarks: Vec::new(),
        }
    }

    pub(crate) fn remark_once(&mut self, remark: SearchRemark) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
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
    fn lowest(&self) -> Option<(f64, &EndedLevel)> {
        let levels = self.history.iter().filter(|p| p.phase == Phase::Bracket);
        levels
            .filter(|played| !played.answers.is_empty())
            .filter_map(|played| Some((played.rate()?, played)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }

    pub(crate) fn pass_at(&mut self, rate: f64, verdict: &LevelVerdict) {
        self.passes.push(Edge::new(rate, verdict));
    }

    pub(crate) fn fail_at(&mut self, rate: f64, verdict: &LevelVerdict) {
        self.fails.push(Edge::new(rate, verdict));
    }

    /// A soak that was lost: by its share, and perhaps for stalls, so not beyond doubt.
    pub(crate) fn lost_soak_at(&mut self, rate: f64, verdict: &LevelVerdict) {
        self.fails.push(Edge {
            decided: false,
            ..Edge::new(rate, verdict)
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

    /// Seconds at the start of a level that are not judged (B.3): two, and for a slow target as long as
    /// two answers take, because the first to end are the fast ones.
    pub(crate) fn discard(&self) -> u32 {
        const MOST: f64 = 10.0;
        let least = if self.config.is_brief() { 1.0 } else { 2.0 };
        let response = self.response_at_rest().map_or(0.0, Nanos::as_secs_f64);
        // Virtual users join one after the other; before the last is there, the level has not begun.
        let joined = self.config.over.join().as_secs_f64().ceil() as u32;
        joined + (2.0 * response).ceil().clamp(least, MOST) as u32
    }

    /// Most answers in time per second at any level: goodput, and what was only taken in.
    pub(crate) fn peak(&self) -> Option<Bounds> {
        self.highest(|ended| ended.in_time_per_s)
    }

    /// Highest goodput at any level; `None` where nothing was ever said to be done.
    pub(crate) fn peak_goodput(&self) -> Option<Bounds> {
        let highest = self.highest(|ended| ended.goodput_per_s);
        let accepts_only = self.peak().is_some_and(|peak| peak.estimate > 0.0);
        highest.filter(|peak| peak.estimate > 0.0 || !accepts_only)
    }

    /// Highest mean of a level of at least three judged seconds, with its interval. The level is chosen by
    /// its lower bound: by the mean, the shortest and noisiest would win.
    fn highest(&self, figure: fn(&EndedLevel) -> Option<Bounds>) -> Option<Bounds> {
        const SECONDS_LEAST: usize = 3;
        self.history
            .iter()
            .filter(|p| p.state != LevelState::Void && p.phase != Phase::WarmUp)
            .filter(|p| p.measured.judged().len() >= SECONDS_LEAST)
            .filter_map(figure)
            .max_by(|a, b| a.lower.unwrap_or(0.0).total_cmp(&b.lower.unwrap_or(0.0)))
    }
}

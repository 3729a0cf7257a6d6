//! How far a search has come: its configuration, its clock, every level played and what they say together.

use plimsoll_core::Nanos;
use plimsoll_core::objective::Clause;
use plimsoll_core::record::Anchor;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Bounds, LevelState, SearchRemark};

use super::change::Change;
use super::clock::{self, Clock};
use super::config::{Ceiling, Config};
use super::ended_level::EndedLevel;
use super::evidence;
use super::pace::{Pace, Scatters};
use super::posterior::{Posterior, Prior};
use super::spells::{Speed, Spells};

/// What the check of one load showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Checked {
    pub(crate) rate: f64,
    pub(crate) level: u32,
    pub(crate) seconds: f64,
    pub(crate) clause: usize,
    pub(crate) holds: bool,
    /// And there were enough attempts to be sure of it.
    pub(crate) is_sure: bool,
}

/// The boundary is known where 90 % lie below this many times what 10 % lie below.
const KNOWN: f64 = 1.15;

#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) anchor: Option<Anchor>,
    /// The closed loop went on until more in flight brought no more throughput; else the target may serve far more.
    pub(crate) is_anchor_full: bool,
    /// With more in flight the closed loop got less: an overload may not end when the load does.
    pub(crate) recedes: bool,
    pub(crate) history: Vec<EndedLevel>,
    /// What failed after its level changed one of them since they were weighed.
    is_stale: bool,
    pace: Option<Pace>,
    /// Worked out anew from the history after every level.
    posterior: Option<Posterior>,
    spells: Spells,
    change: Option<Change>,
    pub(crate) checked: Option<Checked>,
    pub(crate) recovery: Option<plimsoll_core::verdict::Recovery>,
    pub(crate) remarks: Vec<SearchRemark>,
}

impl Progress {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            clock: Clock::new(&config),
            // A closed loop of connections says nothing about users who think.
            anchor: config.anchor.filter(|_| !config.over.is_vus()),
            is_anchor_full: true,
            recedes: false,
            config,
            history: Vec::new(),
            is_stale: false,
            pace: None,
            posterior: None,
            spells: Spells::default(),
            change: None,
            checked: None,
            recovery: None,
            remarks: Vec::new(),
        }
    }

    /// Takes in a level that has ended.
    pub(crate) fn add(&mut self, played: EndedLevel) {
        self.history.push(played);
        self.weigh();
    }

    /// Attempts of an earlier level that failed while a later one was played count there.
    pub(crate) fn fail_after(&mut self, level: u32, count: u64) {
        let mut newest_first = self.history.iter_mut().rev();
        if let Some(played) = newest_first.find(|played| played.level == level && count > 0) {
            played.fail_after(count);
            self.is_stale = true;
        }
    }

    /// Weighs again if something failed after its level.
    pub(crate) fn weigh_late(&mut self) {
        if self.is_stale {
            self.weigh();
        }
    }

    /// Works out what everything that was seen says together.
    pub(crate) fn weigh(&mut self) {
        self.is_stale = false;
        let evidence = evidence::of_search(&self.config.objectives, &self.history);
        let now = self.clock.elapsed();
        let throughput = self.full_throughput();
        let scale = Posterior::scale(throughput, &evidence);
        let anchor = throughput.filter(|throughput| scale == Some(*throughput));
        let usual = scale.map(|scale| match anchor {
            Some(full) => Prior::Queue {
                full,
                budget: self.least_budget(),
            },
            None => Prior::Usual(scale),
        });
        let as_fast = |at| {
            self.pace
                .is_some_and(|pace| pace.is_as_fast_since(&self.history, at))
        };
        self.change = usual
            .filter(|_| self.is_quick())
            .and_then(|usual| Change::of_search(usual, anchor, &evidence, as_fast));
        let seen = &evidence[self.change.map_or(0, |change| change.first)..];
        let prior = match self.change {
            Some(change) => change.prior(&evidence),
            None => usual,
        };
        self.posterior = prior.map(|prior| Posterior::new(prior, seen, now));
        let median = self
            .posterior
            .as_ref()
            .map(|posterior| posterior.quantile(0.5));
        self.spells = median
            .map(|median| {
                Spells::of_levels(&self.levels().collect::<Vec<_>>(), median, self.speed())
            })
            .unwrap_or_default();
    }

    /// Judged levels of the target as it is now: all, or those since it changed.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &EndedLevel> {
        let since = self.change.map_or(0, |change| change.level);
        evidence::levels(&self.history).filter(move |played| played.level >= since)
    }

    /// The highest load at which every share was within its budget.
    pub(crate) fn highest_passed(&self) -> Option<f64> {
        let passed = |played: &&EndedLevel| !played.is_over && played.budgets() <= 1.0;
        let rates = self.levels().filter(passed).filter_map(EndedLevel::rate);
        rates.max_by(f64::total_cmp)
    }

    /// A target that an overload makes slower is approached gently. After a change nothing is known far from what was played
    /// since: steps are no larger than half as much again, or three tenths less while nothing passed.
    pub(crate) fn within_steps(&self, rate: f64) -> f64 {
        const UP: f64 = 1.5;
        const DOWN: f64 = 0.7;
        const UP_GENTLY: f64 = 1.12;
        if self.recedes
            && let Some(passed) = self.highest_passed()
        {
            return rate.min(UP_GENTLY * passed);
        }
        if self.change.is_none() {
            return rate;
        }
        let played = self.levels().filter_map(EndedLevel::rate);
        match self.highest_passed() {
            Some(passed) => rate.min(UP * passed),
            None => rate.max(DOWN * played.fold(f64::INFINITY, f64::min)),
        }
    }

    /// Once the closed loop has ended: the one that is played again later. Not where an answer takes longer than a second has.
    pub(crate) fn set_pace(&mut self) {
        let fits = self.is_anchor_full && self.is_quick();
        self.pace = Pace::of_anchor(&self.history).filter(|_| fits);
    }

    pub(crate) fn pace(&self) -> Option<Pace> {
        self.pace
    }

    /// How much the target's own speed varied from one closed loop to the next.
    pub(crate) fn scatters(&self) -> Option<Scatters> {
        self.pace?.scatters(&self.history)
    }

    /// What the closed loop that is played again and again was served.
    pub(crate) fn speed(&self) -> Option<Speed> {
        // What gets less with more in flight serves a queue more slowly, whatever else happens.
        let pace = self.pace.filter(|_| !self.recedes)?;
        let (per_s, variance) = pace.served(&self.history)?;
        let rest = self.response_at_rest()?.as_secs_f64();
        Some(Speed {
            per_s,
            variance,
            rest,
        })
    }

    /// It slows down, is faster at one time than at another, or stays overloaded by itself: what it carried meanwhile, later it
    /// may not.
    pub(crate) fn is_unsteady(&self) -> bool {
        let unsteady = |remark: &SearchRemark| {
            matches!(
                remark,
                SearchRemark::SlowsDown { .. }
                    | SearchRemark::PaceVaries {
                        lower_ratio: None,
                        ..
                    }
                    | SearchRemark::StaysOverloaded { .. }
            )
        };
        self.remarks.iter().any(unsteady)
    }

    /// A target that changed once may change again: what it carried meanwhile is no promise.
    pub(crate) fn stands_still(&self) -> bool {
        self.change.is_none() && !self.is_unsteady()
    }

    /// The target is not what it was when the search began.
    pub(crate) fn change(&self) -> Option<Change> {
        self.change
    }

    /// A level is long enough to be one of its own. Where answers take seconds it begins with what the one before it left, and
    /// levels contradict each other without any change.
    pub(crate) fn is_quick(&self) -> bool {
        const SLOW: Nanos = Nanos::from_millis(500);
        self.response_at_rest().is_some_and(|rest| rest < SLOW)
    }

    /// Where the boundary may be; `None` before anything gives it a scale.
    pub(crate) fn posterior(&self) -> Option<&Posterior> {
        self.posterior.as_ref()
    }

    /// The throughput of a closed loop that filled the target.
    pub(crate) fn full_throughput(&self) -> Option<f64> {
        let anchor = self.anchor.filter(|_| self.is_anchor_full)?;
        Some(anchor.throughput_max_per_s)
    }

    pub(crate) fn spells(&self) -> &Spells {
        &self.spells
    }

    pub(crate) fn remark_once(&mut self, remark: SearchRemark) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Seconds that spells make bad at `rate`, if they come as often as is still likely after those that were seen: one more,
    /// and a standard deviation of a Poisson count.
    pub(crate) fn spells_cost_likely(&self, rate: f64) -> f64 {
        let count = self.spells.len() as f64;
        if self.spells.is_empty() {
            return 0.0;
        }
        let likely = count + 1.0 + libm::sqrt(count);
        self.spells_cost(rate) * likely / count
    }

    /// Seconds that spells like those that were seen make bad at `rate`.
    pub(crate) fn spells_cost(&self, rate: f64) -> f64 {
        let most = self.peak().map_or(rate, |peak| peak.estimate);
        self.spells.cost(rate, most)
    }

    /// An overload is for a target whose boundary is known: where there is little time, that comes first. More virtual users
    /// than are served only wait.
    pub(crate) fn wants_overshoot(&self) -> bool {
        let known = || {
            self.posterior()
                .is_some_and(|posterior| posterior.width() <= KNOWN)
        };
        let is_first = !self.config.is_brief() || self.config.over.is_vus();
        self.config.wants_overshoot() && (is_first || known())
    }

    /// Seconds kept back, while the boundary is looked for and held, for what follows: a search of five minutes plays an
    /// overload, one of twelve a recovery too.
    pub(crate) fn reserve_beyond(&self) -> f64 {
        let mut seconds = clock::at_the_end(&self.config);
        if self.wants_overshoot() {
            seconds += clock::overshoot(&self.config);
        }
        if self.config.wants_recovery() {
            seconds += clock::recovery(&self.config);
        }
        seconds
    }

    /// The highest load that may be offered.
    pub(crate) fn ceiling(&self) -> f64 {
        self.config.ceiling().map_or(f64::INFINITY, Ceiling::rate)
    }

    /// The search has said that no load meets the objective.
    pub(crate) fn is_hopeless(&self) -> bool {
        let hopeless = |remark: &SearchRemark| {
            matches!(
                remark,
                SearchRemark::NoLoadMeets { .. } | SearchRemark::FailsEvenAt { .. }
            )
        };
        self.remarks.iter().any(hopeless)
    }

    /// The smallest share of bad attempts that a bound allows: what a spell must stay below. An error budget counts only
    /// where there is no bound, for a slow answer is no error.
    pub(crate) fn least_budget(&self) -> f64 {
        let clauses = self.config.objectives.clauses();
        let late = clauses
            .iter()
            .filter(|clause| matches!(clause, Clause::ResponseTime { .. }));
        let least = |budget: f64, next: f64| budget.min(next);
        let of_bounds = late.map(|clause| clause.budget()).fold(1.0, least);
        if of_bounds < 1.0 {
            return of_bounds;
        }
        clauses
            .iter()
            .map(|clause| clause.budget())
            .fold(1.0, least)
    }

    /// Seconds for which the target was watched at `rate` or near it.
    pub(crate) fn seconds_watched(&self, rate: f64) -> f64 {
        const NEAR: (f64, f64) = (0.9, 1.1);
        let levels = self.levels().filter(|played| {
            let share = played.rate().unwrap_or(0.0) / rate;
            (NEAR.0..=NEAR.1).contains(&share)
        });
        levels.map(|played| played.measured.seconds_judged()).sum()
    }

    /// What is in flight at `rate` without a backlog, by Little's law with the response time at low load: twice the mean,
    /// three standard deviations of a Poisson count and a couple for chance.
    pub(crate) fn calm_in_flight(&self, rate: f64) -> f64 {
        if self.config.over.is_vus() {
            let of_one = self
                .lowest()
                .map_or(1.0, |(vus, played)| played.in_flight_mean / vus);
            return 2.0 * rate * of_one + 5.0;
        }
        let mean = rate * self.response_at_rest().map_or(1.0, Nanos::as_secs_f64);
        2.0 * mean + 3.0 * libm::sqrt(mean) + 2.0
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

    /// Seconds at the start of a level that are not judged (B.3): one for the change of load, and for a slow target as long
    /// as two answers take, because the first to end are the fast ones. Never longer than a bound and a second.
    pub(crate) fn discard(&self) -> u32 {
        let response = 2.0 * self.response_at_rest().map_or(0.0, Nanos::as_secs_f64);
        let bound = self.config.objectives.longest_bound();
        let bound = bound.map_or(f64::INFINITY, Nanos::as_secs_f64).max(1.0);
        // Virtual users join one after the other; before the last is there, the level has not begun.
        let joined = self.config.over.join().as_secs_f64().ceil() as u32;
        joined + 1 + response.clamp(1.0, 10.0).min(bound).ceil() as u32
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
            .filter(|p| {
                p.state != LevelState::Void && !matches!(p.phase, Phase::WarmUp | Phase::Settle)
            })
            .filter(|p| p.measured.judged().len() >= SECONDS_LEAST)
            .filter_map(figure)
            .max_by(|a, b| a.lower.unwrap_or(0.0).total_cmp(&b.lower.unwrap_or(0.0)))
    }
}

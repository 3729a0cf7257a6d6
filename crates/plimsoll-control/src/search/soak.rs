//! Holds a rate for two minutes: only a rate that held is a capacity.

mod rate;

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::clock;
use super::config::SOAK_LEAST;
use super::level::Level;
use super::level_plan::{LevelPlan, StopRule};
use super::progress::{Held, Progress};
use super::stalls;
use rate::Odds;

/// The first soak is taken at this share of the lower bound at least, whatever the fit says.
const FIRST_LEAST: f64 = 0.97;
/// A soak that failed is repeated at this share of its rate. B.4 says 0.95 and two soaks. 0.98, up to four
/// soaks and a first one that aims at the budget brought the median error of 200 simulated searches from
/// 1.5 to 1.2 % (plain and heavy tail) and from 2.5 to 1.9 % (3 % noise); all but one search held a soak.
const STEP_DOWN: f64 = 0.98;
/// And at least at this one, when it failed clearly.
const STEP_DOWN_MOST: f64 = 0.96;
/// Soaks at most, where time is left.
const SOAKS_MAX: u32 = 4;
/// Even odds are aimed for after so many of them, then better ones.
const EVEN_SOAKS: u32 = 1;
/// Soaks with stalls in sight, where another only rolls the dice again.
const SOAKS_MAX_STALLS: u32 = 2;
/// Where stalls are watched for, as a share of the lowest failed rate: at half of it queueing
/// alone makes hardly any attempt late, so what is late there is late for another reason.
const WATCH_SHARE: f64 = 0.5;

/// A soak this many times over its budget was not just a little too high: is it stalls?
const FAR_OVER: f64 = 2.0;

/// A soak that held at this share of one that was lost is near enough to stop.
const CLOSE: f64 = 0.75;

/// The least gain that is worth another soak.
const WORTH_IT: f64 = 1.01;

/// A soak that there is no time to repeat is taken this far below: lost, it would leave no capacity
/// at all (two of four three-minute searches of the demo's slots ended so).
const ONLY_SOAK: f64 = 0.9;

/// What a soak is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The lower bound of the capacity.
    Hold,
    /// One rate, asked for by name.
    Check,
    /// Whether rare stalls, not the load, make attempts late.
    Watch,
}

#[derive(Debug)]
pub(crate) struct Soak {
    rate: Option<f64>,
    purpose: Purpose,
    soaks: u32,
    watched: bool,
    /// The rate of the last soak that failed.
    failed: Option<f64>,
}

impl Soak {
    pub(crate) fn at_low(progress: &Progress) -> Self {
        let low = progress.low().map(|edge| first_rate(progress, edge.rate));
        let suspected = stalls::suspected(progress);
        let mut soak = Self {
            rate: low,
            purpose: Purpose::Hold,
            soaks: 0,
            watched: false,
            failed: None,
        };
        if suspected && low.is_some() {
            soak.watch(progress);
        }
        soak
    }

    pub(crate) fn check(rate: f64) -> Self {
        Self {
            rate: Some(rate),
            purpose: Purpose::Check,
            soaks: 0,
            watched: true,
            failed: None,
        }
    }

    fn watch(&mut self, progress: &Progress) {
        self.purpose = Purpose::Watch;
        self.watched = true;
        let low = progress.low().map(|edge| edge.rate);
        let half = progress.high().map(|edge| edge.rate * WATCH_SHARE);
        let over = progress.config.over;
        let most = if over.is_vus() {
            stalls::calm_limit(progress)
        } else {
            f64::INFINITY
        };
        self.rate = half.or(low).map(|rate| over.at_most(rate.min(most)));
    }

    pub(crate) fn plan(&self, progress: &mut Progress) -> Option<LevelPlan> {
        let rate = self.rate?;
        let discard = progress.discard();
        let seconds = match self.purpose {
            Purpose::Watch => SOAK_LEAST,
            Purpose::Hold | Purpose::Check => progress.config.soak_seconds(),
        };
        let windows_max = progress.clock.windows(seconds + f64::from(discard), 0.0);
        if f64::from(windows_max) < SOAK_LEAST + f64::from(discard) {
            progress.remark_once(SearchRemark::NoTimeForSoak {
                seconds: SOAK_LEAST,
            });
            return None;
        }
        Some(LevelPlan {
            phase: Phase::Soak,
            load: progress.config.over.load(rate),
            windows_max,
            discard,
            stop: StopRule::Soak {
                seconds: f64::from(windows_max - discard),
            },
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        let (Some(verdict), Some(rate)) = (level.verdict(), level.rate()) else {
            return;
        };
        let seconds = level.measured.seconds_judged();
        let holds = verdict.leans_to_pass() && seconds >= SOAK_LEAST - 1.0;
        if holds {
            progress.pass_at(rate, &verdict);
            if progress.held.is_none_or(|held| rate > held.rate) {
                progress.held = Some(Held {
                    rate,
                    level: level.step.level,
                    seconds,
                });
            }
        } else {
            progress.lost_soak_at(rate, &verdict);
        }
        self.rate = match self.purpose {
            Purpose::Watch => self.after_watch(progress, holds, rate),
            Purpose::Hold | Purpose::Check => self.after_soak(
                progress,
                holds,
                rate,
                verdict.share.estimate / verdict.budget,
            ),
        };
    }

    /// The rate of the next soak, if there is one.
    fn after_soak(
        &mut self,
        progress: &mut Progress,
        holds: bool,
        rate: f64,
        level_share: f64,
    ) -> Option<f64> {
        self.soaks += 1;
        self.failed = (!holds).then_some(rate);
        if self.purpose == Purpose::Check {
            return None;
        }
        let far_over = level_share > FAR_OVER;
        if !self.watched
            && far_over
            && stalls::in_last_level(progress)
            && has_time_to_watch(progress)
        {
            self.watch(progress);
            return self.rate;
        }
        if holds {
            return self.higher(progress, rate);
        }
        self.lower(progress, rate)
    }

    /// Below a soak that was lost, unless another held near it. What the watch held, at half, is no reason
    /// to stop.
    fn lower(&self, progress: &mut Progress, rate: f64) -> Option<f64> {
        let near = CLOSE * rate..rate;
        if progress.held.is_some_and(|held| near.contains(&held.rate)) {
            return None;
        }
        if self.soaks >= SOAKS_MAX {
            progress.remark_once(SearchRemark::SoaksFailed {
                count: self.soaks,
                last: progress.config.over.size(rate),
            });
            return None;
        }
        let odds = if self.soaks <= EVEN_SOAKS {
            Odds::Even
        } else {
            Odds::Safe
        };
        lower_rate(progress, rate, odds)
    }

    /// A soak that held leaves room up to the rate that failed: one more, where even odds are
    /// expected, when there is time. If it is lost, the first one still holds.
    fn higher(&self, progress: &Progress, held: f64) -> Option<f64> {
        let high = progress.high()?.rate;
        let seconds = progress.config.soak_seconds() + 4.0;
        let reserve = clock::reserve_for_soak(&progress.config) - seconds;
        let time = f64::from(progress.clock.windows(seconds, reserve)) >= seconds;
        let middle = libm::sqrt(held * high);
        let rate = rate::below(progress, middle, held, Odds::Even);
        let rate = progress.config.over.at_most(rate);
        (time && self.soaks < SOAKS_MAX && rate > held * WORTH_IT).then_some(rate)
    }

    fn after_watch(&mut self, progress: &mut Progress, holds: bool, rate: f64) -> Option<f64> {
        progress.stalls = stalls::seen(progress);
        if progress.stalls.is_some() {
            // More soaks would only roll the dice again.
            return (!holds && self.soaks < SOAKS_MAX_STALLS).then(|| {
                self.soaks = SOAKS_MAX;
                progress.config.over.nearest(rate * WATCH_SHARE)
            });
        }
        self.purpose = Purpose::Hold;
        match self.failed {
            Some(failed) => self.lower(progress, failed),
            None if self.soaks == 0 => progress.low().map(|edge| first_rate(progress, edge.rate)),
            None => None,
        }
    }
}

/// A watch that leaves no time for a soak would end the search at half of what the target carries,
/// for one bad second of a neighbour.
fn has_time_to_watch(progress: &Progress) -> bool {
    progress.clock.left() > 2.0 * (SOAK_LEAST + f64::from(progress.discard()) + 1.0)
}

/// The lower bound, or a little less when the levels around it say that it would be lost.
fn first_rate(progress: &Progress, low: f64) -> f64 {
    let rate = rate::below(progress, low, low * FIRST_LEAST, Odds::Safe);
    let again = 2.0 * (progress.config.soak_seconds() + f64::from(progress.discard()));
    let over = progress.config.over;
    if progress.clock.left() < again {
        over.at_most(rate * ONLY_SOAK)
    } else {
        over.at_most(rate)
    }
}

/// 2 % below the soak that was lost, or a little more when it was lost clearly.
fn lower_rate(progress: &Progress, failed: f64, odds: Odds) -> Option<f64> {
    let rate = rate::below(progress, failed * STEP_DOWN, failed * STEP_DOWN_MOST, odds);
    let rate = progress.config.over.at_most(rate);
    // Of one virtual user there is no less.
    (rate < failed).then_some(rate)
}

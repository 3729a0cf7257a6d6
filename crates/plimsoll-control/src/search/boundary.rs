//! Open loop: doubling until a rate fails, then geometric bisection of what is between.

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::clock;
use super::config::Ceiling;
use super::judge::{self, Decision, LevelVerdict};
use super::level::Level;
use super::level_plan::{LevelPlan, StopRule};
use super::load::{Load, Over};
use super::progress::Progress;
use super::stalls;

/// First level as a share of the anchor's throughput (B.4), and with little time.
const START_SHARE: f64 = 0.05;
const START_SHARE_BRIEF: f64 = 0.2;
/// Arrivals per second below which a window of one second holds too little to judge.
const START_LEAST: f64 = 5.0;
/// The last doubling stops here, relative to the anchor: the closed loop has shown that more
/// cannot be served, so twice as much would only pile up a backlog to wait for.
const TOP_SHARE: f64 = 1.1;
/// Steps down from a first level that fails, each to a quarter.
const STEPS_DOWN: u32 = 6;
/// Judged seconds of a bracket level: least and most (B.4).
const BRACKET_LEAST: u32 = 5;
const BRACKET_MOST: u32 = 15;
/// Judged seconds of a bisection level: least and most (B.4).
const BISECT_LEAST: u32 = 8;
const BISECT_MOST: u32 = 30;
/// A pass needs more than a failure: near the capacity attempts are late in bursts some seconds
/// apart, and a quarter of the 8 s levels 6 % above it saw none (simulated, 40 searches).
const BISECT_PASS_LEAST: u32 = 20;
/// Repetitions of an undecided level: best of three (B.4).
const VOTES_TO_WIN: u32 = 2;

#[derive(Debug, Clone, Copy, Default)]
struct Votes {
    pass: u32,
    fail: u32,
}

impl Votes {
    fn none(self) -> bool {
        self.pass + self.fail == 0
    }
}

#[derive(Debug)]
pub(crate) struct Bracket {
    rate: f64,
    votes: Votes,
    steps_down: u32,
    finished: bool,
}

impl Bracket {
    pub(crate) fn new(progress: &Progress) -> Self {
        let config = &progress.config;
        if config.over.is_vus() {
            return Self::at(1.0);
        }
        let ceiling = config.ceiling().map_or(f64::INFINITY, Ceiling::rate);
        let anchor = progress.anchor.map(|anchor| anchor.throughput_max_per_s);
        let base = anchor.unwrap_or(ceiling).min(ceiling);
        let share = if config.is_brief() {
            START_SHARE_BRIEF
        } else {
            START_SHARE
        };
        Self::at((base * share).max(START_LEAST.min(base * 0.5)))
    }

    fn at(rate: f64) -> Self {
        Self {
            rate,
            votes: Votes::default(),
            steps_down: 0,
            finished: false,
        }
    }

    pub(crate) fn plan(&self, progress: &mut Progress) -> Option<LevelPlan> {
        if self.finished {
            return None;
        }
        let discard = progress.discard();
        let wanted = f64::from(BRACKET_MOST + discard);
        let reserve = clock::reserve_for_soak(&progress.config);
        let windows_max = progress.clock.windows(wanted, reserve);
        if windows_max < BRACKET_LEAST + discard {
            progress.remark_once(SearchRemark::NoTimeToFail);
            return None;
        }
        Some(LevelPlan {
            phase: Phase::Bracket,
            load: progress.config.over.load(self.rate),
            windows_max,
            discard,
            stop: StopRule::Sequential {
                fail_min: BRACKET_LEAST,
                pass_min: BRACKET_LEAST,
            },
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        let Some(verdict) = level.verdict() else {
            return;
        };
        if verdict.decision == Decision::FailAtOnce {
            self.down(&verdict, progress);
        } else if verdict.leans_to_pass() || has_few_vus(level, &verdict) {
            self.votes.pass += 1;
            // A pass needs no confirmation unless a repetition of the same rate has failed.
            if self.votes.fail == 0 || self.votes.pass >= VOTES_TO_WIN {
                self.up(&verdict, progress);
            }
        } else {
            self.votes.fail += 1;
            // A single stall must not end the search at a fraction of the capacity (B.4).
            if self.votes.fail >= VOTES_TO_WIN {
                self.down(&verdict, progress);
            }
        }
    }

    fn up(&mut self, verdict: &LevelVerdict, progress: &mut Progress) {
        progress.pass_at(self.rate, verdict);
        self.votes = Votes::default();
        let ceiling = progress
            .config
            .ceiling()
            .map_or(f64::INFINITY, Ceiling::rate);
        if progress.high().is_some() || self.rate >= ceiling {
            self.finished = true;
            return;
        }
        let mut next = self.rate * step_up(progress);
        let top = progress
            .anchor
            .map_or(f64::INFINITY, |a| a.throughput_max_per_s * TOP_SHARE);
        if self.rate < top * 0.98 && next > top {
            next = top;
        }
        self.rate = next.min(ceiling);
    }

    fn down(&mut self, verdict: &LevelVerdict, progress: &mut Progress) {
        progress.fail_at(self.rate, verdict);
        self.votes = Votes::default();
        self.steps_down += 1;
        if progress.low().is_some() {
            self.finished = true;
        } else if self.steps_down > STEPS_DOWN || self.is_least(progress) {
            let at = progress.config.over.size(self.rate);
            progress.remark_once(SearchRemark::FailsEvenAt { at });
            self.finished = true;
        } else {
            self.rate = progress.config.over.nearest(self.rate / 4.0);
        }
    }

    fn is_least(&self, progress: &Progress) -> bool {
        progress.config.over.is_vus() && self.rate < 1.5
    }
}

/// A first level of one virtual user has a handful of attempts: it passes provisionally, the soak decides.
fn has_few_vus(level: &Level, verdict: &LevelVerdict) -> bool {
    matches!(level.plan.load, Load::Vus(_)) && judge::says_too_little(&level.measured, verdict)
}

/// How far the next bracket level is from one that passed. Virtual users start at one and may end at
/// thousands: while they hardly meet, with a response time below twice that at rest and so below half
/// of the knee, four times as many are at most twice too many.
fn step_up(progress: &Progress) -> f64 {
    let last = progress
        .history
        .last()
        .and_then(|played| played.answers.mean());
    match (progress.config.over, last, progress.response_at_rest()) {
        (Over::Vus { .. }, Some(now), Some(rest)) if now.0 < 2 * rest.0 => 4.0,
        _ => 2.0,
    }
}

#[derive(Debug, Default)]
pub(crate) struct Bisect {
    votes: Votes,
}

impl Bisect {
    pub(crate) fn plan(progress: &mut Progress) -> Option<LevelPlan> {
        let (low, high) = (progress.low()?.rate, progress.high()?.rate);
        // With stalls in sight more short levels would only roll dice; the soak stage looks closer.
        let over = progress.config.over;
        let near =
            high <= low * (1.0 + progress.config.goal_width) || over.are_neighbours(low, high);
        if near || stalls::seen(progress).is_some() {
            return None;
        }
        let discard = progress.discard();
        let wanted = f64::from(BISECT_MOST + discard);
        let reserve = clock::reserve_for_soak(&progress.config);
        let windows_max = progress.clock.windows(wanted, reserve);
        if windows_max < BISECT_LEAST + discard {
            progress.remark_once(SearchRemark::BoundsApart {
                ratio: high / low - 1.0,
            });
            return None;
        }
        Some(LevelPlan {
            phase: Phase::Bisect,
            load: over.load(libm::sqrt(low * high)),
            windows_max,
            discard,
            stop: StopRule::Sequential {
                fail_min: BISECT_LEAST,
                pass_min: BISECT_PASS_LEAST,
            },
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        let (Some(verdict), Some(rate)) = (level.verdict(), level.rate()) else {
            return;
        };
        match verdict.decision {
            // Decided at the first attempt, or beyond doubt.
            Decision::FailAtOnce => self.votes.fail = VOTES_TO_WIN,
            Decision::Pass | Decision::PassProvisionally if self.votes.none() => {
                self.votes.pass = VOTES_TO_WIN;
            }
            Decision::Fail if self.votes.none() => self.votes.fail = VOTES_TO_WIN,
            _ if verdict.leans_to_pass() => self.votes.pass += 1,
            _ => self.votes.fail += 1,
        }
        if self.votes.fail >= VOTES_TO_WIN {
            progress.fail_at(rate, &verdict);
            self.votes = Votes::default();
        } else if self.votes.pass >= VOTES_TO_WIN {
            progress.pass_at(rate, &verdict);
            self.votes = Votes::default();
        }
    }
}

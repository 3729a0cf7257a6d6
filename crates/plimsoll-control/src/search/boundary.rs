//! Open loop: doubling until a rate fails, then geometric bisection of what is between.

use plimsoll_core::Nanos;
use plimsoll_core::step::Phase;

use super::clock;
use super::config::Ceiling;
use super::judge::{self, Call, Judged};
use super::level::{Ask, Level, Load, Rule};
use super::over::Over;
use super::shared::Shared;
use super::soak::Soak;
use super::stage::Stage;
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

/// Seconds at the start of a level that are not judged (B.3): two, and for a slow target as long as
/// two answers take, because the first to end are the fast ones.
pub(crate) fn discard(shared: &Shared) -> u32 {
    const MOST: f64 = 10.0;
    let least = if shared.config.is_brief() { 1.0 } else { 2.0 };
    let response = shared.response_at_rest().map_or(0.0, Nanos::as_secs_f64);
    // Virtual users join one after the other; before the last is there, the level has not begun.
    let joined = shared.config.over.join().as_secs_f64().ceil() as u32;
    joined + (2.0 * response).ceil().clamp(least, MOST) as u32
}

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
    pub(crate) fn new(shared: &Shared) -> Self {
        let config = &shared.config;
        if config.over.is_vus() {
            return Self::at(1.0);
        }
        let ceiling = config.ceiling().map_or(f64::INFINITY, Ceiling::rate);
        let anchor = shared.anchor.map(|anchor| anchor.throughput_max_per_s);
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

    pub(crate) fn ask(&self, shared: &mut Shared) -> Option<Ask> {
        if self.finished {
            return None;
        }
        let discard = discard(shared);
        let wanted = f64::from(BRACKET_MOST + discard);
        let reserve = clock::reserve_for_soak(&shared.config);
        let windows_max = shared.clock.windows(wanted, reserve);
        if windows_max < BRACKET_LEAST + discard {
            shared.remark_once("time ran out before a level failed".into());
            return None;
        }
        Some(Ask {
            phase: Phase::Bracket,
            load: shared.config.over.load(self.rate),
            windows_max,
            discard,
            rule: Rule::Sequential {
                fail_min: BRACKET_LEAST,
                pass_min: BRACKET_LEAST,
            },
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, shared: &mut Shared) {
        let Some(judged) = level.verdict() else {
            return;
        };
        if judged.call == Call::FailAtOnce {
            self.down(&judged, shared);
        } else if judged.leans_to_pass() || has_few_vus(level, &judged) {
            self.votes.pass += 1;
            // A pass needs no confirmation unless a repetition of the same rate has failed.
            if self.votes.fail == 0 || self.votes.pass >= VOTES_TO_WIN {
                self.up(&judged, shared);
            }
        } else {
            self.votes.fail += 1;
            // A single stall must not end the search at a fraction of the capacity (B.4).
            if self.votes.fail >= VOTES_TO_WIN {
                self.down(&judged, shared);
            }
        }
    }

    fn up(&mut self, judged: &Judged, shared: &mut Shared) {
        shared.pass_at(self.rate, judged);
        self.votes = Votes::default();
        let ceiling = shared.config.ceiling().map_or(f64::INFINITY, Ceiling::rate);
        if shared.high().is_some() || self.rate >= ceiling {
            self.finished = true;
            return;
        }
        let mut next = self.rate * step_up(shared);
        let top = shared
            .anchor
            .map_or(f64::INFINITY, |a| a.throughput_max_per_s * TOP_SHARE);
        if self.rate < top * 0.98 && next > top {
            next = top;
        }
        self.rate = next.min(ceiling);
    }

    fn down(&mut self, judged: &Judged, shared: &mut Shared) {
        shared.fail_at(self.rate, judged);
        self.votes = Votes::default();
        self.steps_down += 1;
        if shared.low().is_some() {
            self.finished = true;
        } else if self.steps_down > STEPS_DOWN || self.is_least(shared) {
            let text = format!(
                "the objectives fail even at {}",
                shared.config.over.name(self.rate)
            );
            shared.remark_once(text);
            self.finished = true;
        } else {
            self.rate = shared.config.over.nearest(self.rate / 4.0);
        }
    }

    fn is_least(&self, shared: &Shared) -> bool {
        shared.config.over.is_vus() && self.rate < 1.5
    }
}

/// A first level of one virtual user has a handful of attempts: it passes provisionally, the soak decides.
fn has_few_vus(level: &Level, judged: &Judged) -> bool {
    matches!(level.ask.load, Load::Vus(_)) && judge::says_too_little(level, judged)
}

/// How far the next bracket level is from one that passed. Virtual users start at one and may end at
/// thousands: while they hardly meet, with a response time below twice that at rest and so below half
/// of the knee, four times as many are at most twice too many.
fn step_up(shared: &Shared) -> f64 {
    let last = shared
        .history
        .last()
        .and_then(|played| played.answers.mean());
    match (shared.config.over, last, shared.response_at_rest()) {
        (Over::Vus { .. }, Some(now), Some(rest)) if now.0 < 2 * rest.0 => 4.0,
        _ => 2.0,
    }
}

/// With both bounds they are brought together; with only a lower one it is held.
pub(crate) fn after_bracket(shared: &Shared) -> Stage {
    match (shared.low(), shared.high()) {
        (None, _) => Stage::Done,
        (Some(_), None) => Stage::Soak(Soak::at_low(shared)),
        (Some(_), Some(_)) => Stage::Bisect(Bisect::default()),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Bisect {
    votes: Votes,
}

impl Bisect {
    pub(crate) fn ask(shared: &mut Shared) -> Option<Ask> {
        let (low, high) = (shared.low()?.rate, shared.high()?.rate);
        // With stalls in sight more short levels would only roll dice; the soak stage looks closer.
        let over = shared.config.over;
        let near = high <= low * (1.0 + shared.config.goal_width) || over.are_neighbours(low, high);
        if near || stalls::seen(shared).is_some() {
            return None;
        }
        let discard = discard(shared);
        let wanted = f64::from(BISECT_MOST + discard);
        let reserve = clock::reserve_for_soak(&shared.config);
        let windows_max = shared.clock.windows(wanted, reserve);
        if windows_max < BISECT_LEAST + discard {
            let width = (high / low - 1.0) * 100.0;
            shared.remark_once(format!(
                "time ran out while the bounds were {width:.0} % apart; allow more with --within"
            ));
            return None;
        }
        Some(Ask {
            phase: Phase::Bisect,
            load: over.load(libm::sqrt(low * high)),
            windows_max,
            discard,
            rule: Rule::Sequential {
                fail_min: BISECT_LEAST,
                pass_min: BISECT_PASS_LEAST,
            },
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, shared: &mut Shared) {
        let (Some(judged), Some(rate)) = (level.verdict(), level.rate()) else {
            return;
        };
        match judged.call {
            // Decided at the first attempt, or beyond doubt.
            Call::FailAtOnce => self.votes.fail = VOTES_TO_WIN,
            Call::Pass | Call::PassProvisionally if self.votes.none() => {
                self.votes.pass = VOTES_TO_WIN;
            }
            Call::Fail if self.votes.none() => self.votes.fail = VOTES_TO_WIN,
            _ if judged.leans_to_pass() => self.votes.pass += 1,
            _ => self.votes.fail += 1,
        }
        if self.votes.fail >= VOTES_TO_WIN {
            shared.fail_at(rate, &judged);
            self.votes = Votes::default();
        } else if self.votes.pass >= VOTES_TO_WIN {
            shared.pass_at(rate, &judged);
            self.votes = Votes::default();
        }
    }
}

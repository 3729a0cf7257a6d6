//! Looks for the boundary: two low levels, or doubling where nothing is known, then always at the median of where it may be.

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::clock;
use super::ended_level::EndedLevel;
use super::evidence::{FAR_OVER, is_far_over};
use super::hopeless;
use super::level::Level;
use super::level_plan::{LevelPlan, StopRule};
use super::load::{Load, Over};
use super::measured::Second;
use super::posterior::Posterior;
use super::progress::Progress;

/// First levels, as shares of the closed loop's throughput: there nothing should be late yet.
const APPROACH: [f64; 2] = [0.25, 0.5];
/// Where one request alone is late already, so much of them: far enough from what that one came to.
const APPROACH_LATE: f64 = 0.5;
const APPROACH_SECONDS: f64 = 5.0;
/// Without a closed loop the first level is this share of the highest rate that is allowed.
const START_SHARE: f64 = 0.05;
/// Arrivals per second below which a window of one second holds too little to judge.
const START_LEAST: f64 = 5.0;
/// Steps down from a first level that fails, each to a quarter. Not below [`START_LEAST`] where nothing waited: what is late
/// by itself is as late at less.
const STEPS_DOWN: u32 = 6;
const STEP_DOWN: f64 = 0.25;
/// More than this share of what came in a level, and so many more, had not ended at its end: something waited.
const WAITING_SHARE: f64 = 0.1;
const WAITING_LEAST: f64 = 2.0;
/// Judged seconds while the boundary is this uncertain (90 % over 10 % quantile), and beyond.
const SECONDS: [(f64, f64); 2] = [(1.35, 6.0), (1.15, 9.0)];
const SECONDS_NARROW: f64 = 14.0;
/// Fewer attempts say too little, if they come within so many seconds.
const ATTEMPTS_LEAST: f64 = 150.0;
const SECONDS_MOST: f64 = 30.0;
/// Known within so many times the width that is asked for, the rest of the time goes into holding it: 8 % for 5 %.
const NARROW: f64 = 1.6;
/// Known worse than this, holding it would be luck: look on, even with the time that was kept for it.
const WIDE: f64 = 1.35;
/// A level this far within its budget, at this share of the median or more, was easy…
const EASY_BUDGETS: f64 = 0.1;
const EASY_FROM: f64 = 0.9;
/// …and after so many in a row, while fewer failed up to that multiple of the median,…
const EASY_LEVELS: usize = 2;
const EASY_TO: f64 = 1.3;
/// …this is tried: the rate that the boundary is below with that probability.
const EASY_QUANTILE: f64 = 0.9;
/// Of the time kept for holding, this much is never used for looking.
const HOLD_LEAST_SHARE: f64 = 0.6;

/// Low levels first, so that a target is seen at rest before it is overloaded.
#[derive(Debug)]
pub(crate) struct Approach {
    next: Option<f64>,
    steps: usize,
    downs: u32,
    /// The level is played a second time, because the first one said too little or could have been a pause.
    is_again: bool,
}

/// What a first level says of its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Fine,
    /// Beyond the budget by far, and of a handful of attempts.
    Unclear,
    TooMuch,
}

impl Approach {
    pub(crate) fn new(progress: &Progress) -> Self {
        let ceiling = progress.ceiling();
        let next = match progress.anchor {
            Some(anchor) if progress.is_anchor_full => {
                approach(progress, first_approach(progress)).unwrap_or(1.0)
                    * anchor.throughput_max_per_s
            }
            Some(anchor) => anchor.throughput_max_per_s,
            None if progress.config.over.is_vus() => 1.0,
            None => (START_SHARE * ceiling).max(START_LEAST.min(ceiling * 0.5)),
        };
        Self {
            next: Some(next.min(ceiling)),
            steps: 1 + first_approach(progress),
            downs: 0,
            is_again: false,
        }
    }

    pub(crate) fn plan(&self, progress: &Progress) -> Option<LevelPlan> {
        let rate = self.next?;
        judged(progress, Phase::Bracket, rate, APPROACH_SECONDS)
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        let (Some(rate), Some(played)) = (level.rate(), progress.history.last()) else {
            return;
        };
        let seen = seen(progress, played);
        let over = seen == Seen::TooMuch;
        self.next = match progress.full_throughput() {
            Some(throughput) => {
                self.steps += 1;
                let share = approach(progress, self.steps - 1).filter(|_| !over);
                share.map(|share| (share * throughput).min(progress.ceiling()))
            }
            None => self.double(rate, seen, progress),
        };
        if over
            && self.next.is_none()
            && progress.highest_passed().is_none()
            && progress.anchor.is_none()
        {
            let at = progress.config.over.size(rate);
            progress.remark_once(SearchRemark::FailsEvenAt { at });
        }
    }

    /// Up until a level fails or nothing higher is allowed; down when the first one fails.
    fn double(&mut self, rate: f64, seen: Seen, progress: &Progress) -> Option<f64> {
        let was_again = std::mem::take(&mut self.is_again);
        if seen == Seen::Unclear && !was_again {
            self.is_again = true;
            return Some(rate);
        }
        if seen == Seen::TooMuch {
            return self.down(rate, was_again, progress);
        }
        let next = (rate * step_up(progress)).min(progress.ceiling());
        (self.downs == 0 && next > rate * 1.001).then_some(next)
    }

    /// Less while nothing passed; where less would say nothing new, the same once more, for one level alone may be a pause.
    fn down(&mut self, rate: f64, was_again: bool, progress: &Progress) -> Option<f64> {
        if progress.highest_passed().is_some() || self.downs >= STEPS_DOWN {
            return None;
        }
        let least = match progress.config.over {
            Over::Vus { .. } => 1.0,
            Over::Rate if waits_or_refuses(progress) => 0.0,
            Over::Rate => START_LEAST,
        };
        let next = progress.config.over.nearest(rate * STEP_DOWN).max(least);
        if next < rate * 0.999 {
            self.downs += 1;
            return Some(next);
        }
        self.is_again = !was_again;
        self.is_again.then_some(rate)
    }
}

/// A level that is far over with too few attempts to say so counts with the others at its load.
fn seen(progress: &Progress, played: &EndedLevel) -> Seen {
    let (clause, bad, attempts) = played.worst_clause();
    let budget = played.measured.clauses()[clause].budget();
    if played.is_over || is_far_over(bad, attempts, budget) {
        return Seen::TooMuch;
    }
    if played.budgets() <= FAR_OVER {
        return Seen::Fine;
    }
    let rate = played.rate().unwrap_or(0.0);
    let at_it = progress.levels().filter(|level| {
        let off = level.rate().unwrap_or(0.0) - rate;
        off.abs() <= 1e-6 * rate && level.worst_clause().0 == clause
    });
    let all = at_it.fold((0.0, 0.0), |(bad, attempts), level| {
        let (_, more, of) = level.worst_clause();
        (bad + more, attempts + of)
    });
    if is_far_over(all.0, all.1, budget) {
        Seen::TooMuch
    } else {
        Seen::Unclear
    }
}

/// Of the last level less ended than came, or most of what was bad had failed: with less load that may be otherwise.
fn waits_or_refuses(progress: &Progress) -> bool {
    let Some(played) = progress.history.last() else {
        return false;
    };
    let judged = || played.measured.judged().iter();
    let due = judged().map(|second| second.due).sum::<u64>() as f64;
    let ended = played.measured.attempts() as f64;
    let failures = judged().map(|second| second.failures).sum::<u64>() as f64;
    let bad = judged().map(Second::worst_bad).sum::<u64>() as f64;
    due - ended > WAITING_SHARE * due + WAITING_LEAST || 2.0 * failures > bad
}

/// The share of a first level by its number.
fn approach(progress: &Progress, number: usize) -> Option<f64> {
    let share = APPROACH.get(number)?;
    let less = if hopeless::is_late_alone(progress) {
        APPROACH_LATE
    } else {
        1.0
    };
    Some(share * less)
}

/// Where answers take long, a level takes half a minute, and one at rest is enough.
fn first_approach(progress: &Progress) -> usize {
    usize::from(progress.anchor.is_some() && !progress.is_quick())
}

/// How far the next level is from one that passed. Virtual users start at one and may end at thousands: while they hardly
/// meet, with a response time below twice that at rest and so below half of the knee, four times as many are at most twice
/// too many.
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

/// A level at the median of where the boundary may be, until that is known well enough or the time is for holding.
pub(crate) fn explore(progress: &Progress) -> Option<LevelPlan> {
    let posterior = progress.posterior()?;
    let width = posterior.width();
    let left = progress.clock.left() - progress.reserve_beyond();
    let hold = clock::for_holding(&progress.config);
    let over = progress.config.over;
    let neighbours = over.are_neighbours(posterior.quantile(0.1), posterior.quantile(0.9));
    let known = width <= 1.0 + NARROW * progress.config.goal_width
        || neighbours
        || posterior.quantile(0.1) >= progress.ceiling();
    let late = left <= hold && (width <= WIDE || left <= HOLD_LEAST_SHARE * hold);
    if known || late {
        return None;
    }
    let rate = over
        .nearest(next_rate(progress, posterior))
        .min(progress.ceiling());
    let phase = if width > WIDE {
        Phase::Bracket
    } else {
        Phase::Bisect
    };
    judged(progress, phase, rate, seconds_for(width))
}

/// The median of where the boundary may be. After levels in a row near it at which nothing was wrong, far above it: the one
/// level that failed there may have had another reason, or the target carries more than it did.
fn next_rate(progress: &Progress, posterior: &Posterior) -> f64 {
    let median = posterior.quantile(0.5);
    let levels: Vec<&EndedLevel> = progress.levels().collect();
    let at = |played: &EndedLevel| played.rate().unwrap_or(0.0) / median;
    let is_easy = |played: &&&EndedLevel| {
        at(played) >= EASY_FROM && !played.is_over && played.budgets() <= EASY_BUDGETS
    };
    let is_too_much = |played: &&&EndedLevel| {
        at(played) <= EASY_TO && (played.is_over || played.budgets() > FAR_OVER)
    };
    // More virtual users than the target serves only wait longer: the levels below that are all easy.
    let is_doubtful = !progress.config.over.is_vus()
        && levels.iter().rev().take_while(is_easy).count() >= EASY_LEVELS
        && levels.iter().filter(is_too_much).count() < EASY_LEVELS;
    progress.within_steps(if is_doubtful {
        posterior.quantile(EASY_QUANTILE)
    } else {
        median
    })
}

/// While a rate is held: the target changed, and nothing holds any more.
pub(crate) fn explore_again(progress: &Progress) -> Option<LevelPlan> {
    progress.change()?;
    explore(progress).filter(|plan| plan.phase == Phase::Bracket)
}

fn seconds_for(width: f64) -> f64 {
    let wide = SECONDS.iter().find(|(from, _)| width > *from);
    wide.map_or(SECONDS_NARROW, |(_, seconds)| *seconds)
}

/// A level at `rate` that is judged for so many seconds, longer where they hold too few attempts.
pub(crate) fn judged(
    progress: &Progress,
    phase: Phase,
    rate: f64,
    seconds: f64,
) -> Option<LevelPlan> {
    let load = progress.config.over.load(rate);
    let enough = match load {
        Load::Open(rate) => ATTEMPTS_LEAST / rate,
        _ => 0.0,
    };
    let seconds = seconds.max(enough.min(SECONDS_MOST));
    let discard = progress.discard();
    let reserve = progress.reserve_beyond();
    let windows_max = progress
        .clock
        .windows(seconds.ceil() + f64::from(discard), reserve);
    (windows_max > discard + 2).then_some(LevelPlan {
        phase,
        load,
        windows_max,
        discard,
        stop: StopRule::Judged,
    })
}

//! Beyond the capacity: does goodput collapse, does the target come back, has it drifted meanwhile.

use plimsoll_core::Nanos;
use plimsoll_core::histogram::{Histogram, rank_of};
use plimsoll_core::judge::DRIFT_RATIO;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{self, NotProbed, SearchRemark};

use super::claim;
use super::clock;
use super::config::{Ceiling, client_timeout};
use super::ended_level::EndedLevel;
use super::level::Level;
use super::level_plan::{LevelPlan, StopRule};
use super::measured::{late_in_time, recovered_at};
use super::progress::Progress;
use super::stalls;

/// Overshoot levels as shares of the peak; the last is what "none up to" refers to (B.1, B.4).
const OVERSHOOT: [f64; 3] = [1.2, 1.5, 2.0];
const OVERSHOOT_SECONDS: f64 = 20.0;
/// Where there is little time.
const OVERSHOOT_BRIEF: f64 = 14.0;
const OVERSHOOT_LEAST: u32 = 10;
/// Answers in time below this share of the peak are a collapse (B.1).
pub(crate) const COLLAPSE: f64 = 0.9;
/// Load before and after the pulse, as a share of the capacity (B.5).
const BASE_SHARE: f64 = 0.7;
const BASE_SECONDS: f64 = 60.0;
const BASE_LEAST: f64 = 20.0;
/// The pulse as a share of the peak (B.5: 1.5 to 2), and the least that is one.
const PULSE_SHARE: f64 = 2.0;
const PULSE_LEAST_SHARE: f64 = 1.2;
/// Length of the pulse: this or twice the client timeout (B.5).
const PULSE_LEAST: f64 = 10.0;
const WATCH_SECONDS: f64 = 120.0;
const WATCH_LEAST: f64 = 30.0;
/// Recovery this much slower than a memoryless system would need is remarked on (B.5).
const SLOW_RECOVERY: f64 = 3.0;
/// The reference for "p99 as before" is what nine of ten seconds before stayed below.
const BEFORE_QUANTILE: f64 = 0.9;
/// Judged seconds of the repeat of the first level.
const REPEAT_SECONDS: f64 = 8.0;

/// Rates above the peak, until goodput collapses.
#[derive(Debug)]
pub(crate) struct Overshoot {
    rates: Vec<f64>,
    peak: f64,
}

impl Overshoot {
    pub(crate) fn new(progress: &Progress) -> Self {
        let peak = progress.peak().map_or(0.0, |peak| peak.estimate);
        let ceiling = progress
            .config
            .ceiling()
            .map_or(f64::INFINITY, Ceiling::rate);
        let wanted = progress.wants_overshoot() && capacity(progress).is_some();
        let over = progress.config.over;
        // What a rate exceeds is the peak; what more users exceed is how many there could be.
        let from = if over.is_vus() {
            capacity(progress)
        } else {
            Some(peak)
        };
        let from = from.unwrap_or(peak);
        let mut rates: Vec<f64> = OVERSHOOT
            .iter()
            .map(|share| over.nearest(share * from).min(ceiling))
            .filter(|&rate| wanted && rate > from * 1.05)
            .collect();
        rates.dedup();
        rates.reverse();
        Self { rates, peak }
    }

    pub(crate) fn plan(&self, progress: &Progress) -> Option<LevelPlan> {
        let rate = *self.rates.last()?;
        let seconds = if progress.config.is_brief() {
            OVERSHOOT_BRIEF
        } else {
            OVERSHOOT_SECONDS
        };
        let windows_max = progress
            .clock
            .windows(seconds, clock::at_the_end(&progress.config));
        (windows_max >= OVERSHOOT_LEAST).then_some(LevelPlan {
            phase: Phase::Overshoot,
            load: progress.config.over.load(rate),
            windows_max,
            discard: progress.discard(),
            stop: StopRule::Fixed,
        })
    }

    pub(crate) fn ended(&mut self, level: &Level) {
        self.rates.pop();
        if late_in_time(level.measured.judged()) < COLLAPSE * self.peak {
            self.rates.clear();
        }
    }
}

/// The rate that is claimed, or where the boundary surely is above.
fn capacity(progress: &Progress) -> Option<f64> {
    let claimed = claim::of_search(progress).map(|claim| claim.rate);
    claimed.or_else(|| Some(progress.posterior()?.quantile(0.3)))
}

/// A pulse, and whether the target comes back from it.
#[derive(Debug)]
pub(crate) enum Recovery {
    Before {
        base: f64,
        pulse: f64,
    },
    Pulse {
        normal: Normal,
        pulse: f64,
    },
    After {
        normal: Normal,
        pulse: f64,
        pulse_seconds: f64,
        backlog: u64,
    },
    Over,
}

/// The target at the base rate before the pulse.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Normal {
    base: f64,
    in_time_per_s: f64,
    p99: Nanos,
}

impl Recovery {
    pub(crate) fn new(progress: &mut Progress) -> Self {
        let (Some(capacity), Some(peak)) = (capacity(progress), progress.peak()) else {
            return Self::Over;
        };
        if !progress.config.wants_recovery() {
            return Self::Over;
        }
        let ceiling = progress
            .config
            .ceiling()
            .map_or(f64::INFINITY, Ceiling::rate);
        let pulse = (peak.estimate * PULSE_SHARE).min(ceiling);
        if pulse < peak.estimate * PULSE_LEAST_SHARE {
            not_probed(progress, NotProbed::NoOverload);
            return Self::Over;
        }
        Self::Before {
            base: capacity * BASE_SHARE,
            pulse,
        }
    }

    pub(crate) fn plan(&self, progress: &mut Progress) -> Option<LevelPlan> {
        let pulse_seconds = pulse_seconds(progress);
        let (phase, rate, seconds, stop) = match *self {
            Self::Before { base, .. } => {
                let after = pulse_seconds + WATCH_LEAST + clock::at_the_end(&progress.config);
                let seconds = progress.clock.windows(BASE_SECONDS, after);
                if f64::from(seconds) < BASE_LEAST {
                    not_probed(progress, NotProbed::NoTime);
                    return None;
                }
                (Phase::RecoveryBefore, base, seconds, StopRule::Fixed)
            }
            Self::Pulse { pulse, .. } => {
                let seconds = progress.clock.windows(pulse_seconds, WATCH_LEAST);
                (Phase::RecoveryPulse, pulse, seconds, StopRule::Pulse)
            }
            Self::After { normal, .. } => {
                let seconds = progress
                    .clock
                    .windows(WATCH_SECONDS, clock::at_the_end(&progress.config));
                let stop = StopRule::Recovered {
                    in_time_per_s: normal.in_time_per_s,
                    p99: normal.p99,
                };
                (Phase::RecoveryAfter, normal.base, seconds, stop)
            }
            Self::Over => return None,
        };
        Some(LevelPlan {
            phase,
            load: progress.config.over.load(rate),
            windows_max: seconds,
            discard: if phase == Phase::RecoveryBefore {
                progress.discard()
            } else {
                0
            },
            stop,
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        *self = match *self {
            Self::Before { base, pulse } => {
                if let Some(normal) = normal_of(level, base) {
                    Self::Pulse { normal, pulse }
                } else {
                    not_probed(progress, NotProbed::NotNormal);
                    Self::Over
                }
            }
            Self::Pulse { normal, pulse } => Self::After {
                normal,
                pulse,
                pulse_seconds: level.measured.seconds_played(),
                backlog: level
                    .measured
                    .seconds
                    .last()
                    .map_or(0, |second| second.in_flight_end),
            },
            Self::After {
                normal,
                pulse,
                pulse_seconds,
                backlog,
            } => {
                let played = &level.measured.seconds;
                let at = recovered_at(played, normal.in_time_per_s, normal.p99);
                let until = |at| played[..at].iter().map(|second| second.length).sum();
                let seconds = at.map(until);
                progress.recovery = Some(verdict::Recovery {
                    seconds,
                    watched_seconds: level.measured.seconds_played(),
                    base_rate_per_s: normal.base,
                    pulse_rate_per_s: pulse,
                    pulse_seconds,
                });
                remark_on_recovery(progress, normal.base, backlog, seconds);
                Self::Over
            }
            Self::Over => Self::Over,
        };
    }
}

fn not_probed(progress: &mut Progress, because: NotProbed) {
    progress.remark_once(SearchRemark::RecoveryNotProbed { because });
}

fn pulse_seconds(progress: &Progress) -> f64 {
    let timeout = client_timeout(&progress.config.objectives).as_secs_f64();
    PULSE_LEAST.max(2.0 * timeout)
}

fn normal_of(level: &Level, base: f64) -> Option<Normal> {
    // A slow service has seconds in which nothing ends: they have no times, and are not slow for it.
    let judged = level.measured.judged().iter();
    let mut times: Vec<u64> = judged
        .filter(|second| second.attempts > 0)
        .map(|s| s.p99.map_or(u64::MAX, |p99| p99.0))
        .collect();
    times.sort_unstable();
    let rank = rank_of(BEFORE_QUANTILE, times.len() as u64) as usize;
    let p99 = *times.get(rank.checked_sub(1)?)?;
    let in_time = level.measured.per_second(|second| second.in_time)?;
    (p99 < u64::MAX && in_time.estimate > 0.0).then_some(Normal {
        base,
        in_time_per_s: in_time.estimate,
        p99: Nanos(p99),
    })
}

/// A memoryless system works its backlog off at peak − base: 500 waiting, 800 − 550/s, 2 s.
fn remark_on_recovery(progress: &mut Progress, base: f64, backlog: u64, seconds: Option<f64>) {
    let Some(seconds) = seconds else {
        progress.remark_once(SearchRemark::DidNotRecover);
        return;
    };
    let spare = progress.peak().map_or(0.0, |peak| peak.estimate) - base;
    let expected = backlog as f64 / spare.max(f64::MIN_POSITIVE);
    if spare > 0.0 && seconds > SLOW_RECOVERY * expected + SLOW_RECOVERY {
        progress.remark_once(SearchRemark::SlowRecovery {
            seconds,
            expected_seconds: expected,
        });
    }
}

/// The first open level again.
#[derive(Debug, Default)]
pub(crate) struct Repeat {
    done: bool,
}

impl Repeat {
    pub(crate) fn plan(&self, progress: &Progress) -> Option<LevelPlan> {
        let first = first_passed(progress)?;
        let rate = progress.history[first].rate()?;
        let windows_max = progress
            .clock
            .windows(REPEAT_SECONDS + f64::from(progress.discard()), 0.0);
        (!self.done && windows_max > 5).then_some(LevelPlan {
            phase: Phase::Repeat,
            load: progress.config.over.load(rate),
            windows_max,
            discard: progress.discard(),
            stop: StopRule::Fixed,
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        self.done = true;
        let Some(first) = first_passed(progress) else {
            return;
        };
        if let Some(ratio) = drift(&progress.history[first].answers, &level.answers) {
            progress.remark_once(SearchRemark::Drifted { ratio });
        }
    }
}

/// The first level of the bracket, or the largest number of virtual users that hardly meet: the first is one
/// alone, whose handful of answers shows no drift.
fn first_passed(progress: &Progress) -> Option<usize> {
    let is_vus = progress.config.over.is_vus();
    let most = if is_vus {
        stalls::calm_limit(progress) * 0.5
    } else {
        f64::INFINITY
    };
    let low = capacity(progress)?.min(most.max(1.0));
    let fits =
        |p: &EndedLevel| p.phase == Phase::Bracket && p.rate().is_some_and(|rate| rate <= low);
    let mut fitting = (0..progress.history.len()).filter(|&index| fits(&progress.history[index]));
    if is_vus {
        let size = |index: &usize| progress.history[*index].rate().unwrap_or(0.0);
        fitting.max_by(|a, b| size(a).total_cmp(&size(b)))
    } else {
        fitting.next()
    }
}

/// How far the median moved, when it moved beyond 5 % and beyond chance: the ranks n/2 ± √n hold the
/// median with 95 %, and the two ranges must lie apart by the 5 %.
fn drift(before: &Histogram, after: &Histogram) -> Option<f64> {
    let range = |histogram: &Histogram| {
        let count = histogram.count() as f64;
        let half = libm::sqrt(count);
        let at = |rank: f64| histogram.at_rank(rank.clamp(1.0, count.max(1.0)) as u64);
        Some((
            at(count / 2.0 - half)?.0 as f64,
            at(count / 2.0 + half)?.0 as f64,
        ))
    };
    let (before_range, after_range) = (range(before)?, range(after)?);
    let apart = after_range.0 > before_range.1 * (1.0 + DRIFT_RATIO)
        || after_range.1 < before_range.0 * (1.0 - DRIFT_RATIO);
    let ratio = after.quantile(0.5)?.0 as f64 / before.quantile(0.5)?.0 as f64;
    apart.then_some(ratio - 1.0)
}

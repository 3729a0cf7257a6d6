//! Beyond the capacity: does goodput collapse, does the target come back, has it drifted meanwhile.

use plimsoll_core::Nanos;
use plimsoll_core::histogram::{Histogram, rank_of};
use plimsoll_core::step::Phase;
use plimsoll_core::verdict;

use super::boundary::discard;
use super::clock::REPEAT;
use super::config::{Ceiling, client_timeout};
use super::level::{Ask, Level, Rule, Second, recovered_at};
use super::shared::{Played, Shared};
use super::stalls;

/// Overshoot levels as shares of the peak; the last is what "none up to" refers to (B.1, B.4).
const OVERSHOOT: [f64; 3] = [1.2, 1.5, 2.0];
const OVERSHOOT_SECONDS: f64 = 20.0;
const OVERSHOOT_LEAST: u32 = 10;
/// Goodput below this share of the peak is a collapse (B.1).
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
/// A median that moved by more than this is drift (B.3).
const DRIFT: f64 = 0.05;

/// Rates above the peak, until goodput collapses.
#[derive(Debug)]
pub(crate) struct Overshoot {
    rates: Vec<f64>,
    peak: f64,
}

impl Overshoot {
    pub(crate) fn new(shared: &Shared) -> Self {
        let peak = shared.peak().map_or(0.0, |peak| peak.estimate);
        let ceiling = shared.config.ceiling().map_or(f64::INFINITY, Ceiling::rate);
        let wanted = shared.config.wants_overshoot() && shared.low().is_some();
        let over = shared.config.over;
        // What a rate exceeds is the peak; what more users exceed is how many there could be.
        let from = if over.is_vus() {
            capacity(shared)
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

    pub(crate) fn ask(&self, shared: &Shared) -> Option<Ask> {
        let rate = *self.rates.last()?;
        let windows_max = shared.clock.windows(OVERSHOOT_SECONDS, REPEAT);
        (windows_max >= OVERSHOOT_LEAST).then_some(Ask {
            phase: Phase::Overshoot,
            load: shared.config.over.load(rate),
            windows_max,
            discard: discard(shared),
            rule: Rule::Fixed,
        })
    }

    pub(crate) fn ended(&mut self, level: &Level) {
        self.rates.pop();
        if late_goodput(level.judged()) < COLLAPSE * self.peak {
            self.rates.clear();
        }
    }
}

/// The highest rate that held, or passed.
fn capacity(shared: &Shared) -> Option<f64> {
    let held = shared.held.map(|held| held.rate);
    held.or(shared.low().map(|low| low.rate))
}

/// Goodput of the second half of a level: a collapse takes its time.
pub(crate) fn late_goodput(seconds: &[Second]) -> f64 {
    let half = &seconds[seconds.len() / 2..];
    let length: f64 = half.iter().map(|second| second.length).sum();
    let good: u64 = half.iter().map(|second| second.good).sum();
    if length > 0.0 {
        good as f64 / length
    } else {
        0.0
    }
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
    goodput: f64,
    p99: Nanos,
}

impl Recovery {
    pub(crate) fn new(shared: &mut Shared) -> Self {
        let (Some(capacity), Some(peak)) = (capacity(shared), shared.peak()) else {
            return Self::Over;
        };
        if !shared.config.wants_recovery() {
            return Self::Over;
        }
        let ceiling = shared.config.ceiling().map_or(f64::INFINITY, Ceiling::rate);
        let pulse = (peak.estimate * PULSE_SHARE).min(ceiling);
        if pulse < peak.estimate * PULSE_LEAST_SHARE {
            let text = "recovery was not probed: the highest rate allowed is no overload";
            shared.remark_once(text.into());
            return Self::Over;
        }
        Self::Before {
            base: capacity * BASE_SHARE,
            pulse,
        }
    }

    pub(crate) fn ask(&self, shared: &mut Shared) -> Option<Ask> {
        let pulse_seconds = pulse_seconds(shared);
        let (phase, rate, seconds, rule) = match *self {
            Self::Before { base, .. } => {
                let after = pulse_seconds + WATCH_LEAST + REPEAT;
                let seconds = shared.clock.windows(BASE_SECONDS, after);
                if f64::from(seconds) < BASE_LEAST {
                    let text = "recovery was not probed: the time was used up before";
                    shared.remark_once(text.into());
                    return None;
                }
                (Phase::RecoveryBefore, base, seconds, Rule::Fixed)
            }
            Self::Pulse { pulse, .. } => {
                let seconds = shared.clock.windows(pulse_seconds, WATCH_LEAST);
                (Phase::RecoveryPulse, pulse, seconds, Rule::Pulse)
            }
            Self::After { normal, .. } => {
                let seconds = shared.clock.windows(WATCH_SECONDS, REPEAT);
                let rule = Rule::Recovered {
                    goodput_per_s: normal.goodput,
                    p99: normal.p99,
                };
                (Phase::RecoveryAfter, normal.base, seconds, rule)
            }
            Self::Over => return None,
        };
        Some(Ask {
            phase,
            load: shared.config.over.load(rate),
            windows_max: seconds,
            discard: if phase == Phase::RecoveryBefore {
                discard(shared)
            } else {
                0
            },
            rule,
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, shared: &mut Shared) {
        *self = match *self {
            Self::Before { base, pulse } => {
                if shared.stalls.is_none() {
                    shared.stalls = stalls::seen(shared);
                }
                if let Some(normal) = normal_of(level, base) {
                    Self::Pulse { normal, pulse }
                } else {
                    let text = "recovery was not probed: the target was not normal before";
                    shared.remark_once(text.into());
                    Self::Over
                }
            }
            Self::Pulse { normal, pulse } => Self::After {
                normal,
                pulse,
                pulse_seconds: level.seconds_played(),
                backlog: level
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
                let at = recovered_at(&level.seconds, normal.goodput, normal.p99);
                let until = |at| level.seconds[..at].iter().map(|second| second.length).sum();
                let seconds = at.map(until);
                shared.recovery = Some(verdict::Recovery {
                    seconds,
                    watched_seconds: level.seconds_played(),
                    base_rate_per_s: normal.base,
                    pulse_rate_per_s: pulse,
                    pulse_seconds,
                });
                remark_on_recovery(shared, normal.base, backlog, seconds);
                Self::Over
            }
            Self::Over => Self::Over,
        };
    }
}

fn pulse_seconds(shared: &Shared) -> f64 {
    let timeout = client_timeout(&shared.config.objectives).as_secs_f64();
    PULSE_LEAST.max(2.0 * timeout)
}

fn normal_of(level: &Level, base: f64) -> Option<Normal> {
    let judged = level.judged();
    let mut times: Vec<u64> = judged
        .iter()
        .map(|s| s.p99.map_or(u64::MAX, |p99| p99.0))
        .collect();
    times.sort_unstable();
    let rank = rank_of(BEFORE_QUANTILE, times.len() as u64) as usize;
    let p99 = *times.get(rank.checked_sub(1)?)?;
    let goodput = level.goodput()?.estimate;
    (p99 < u64::MAX && goodput > 0.0).then_some(Normal {
        base,
        goodput,
        p99: Nanos(p99),
    })
}

/// A memoryless system works its backlog off at peak − base: 500 waiting, 800 − 550/s, 2 s.
fn remark_on_recovery(shared: &mut Shared, base: f64, backlog: u64, seconds: Option<f64>) {
    let Some(seconds) = seconds else {
        shared.remark_once(
            "the target did not come back within the time watched although the load did".into(),
        );
        return;
    };
    let spare = shared.peak().map_or(0.0, |peak| peak.estimate) - base;
    let expected = backlog as f64 / spare.max(f64::MIN_POSITIVE);
    if spare > 0.0 && seconds > SLOW_RECOVERY * expected + SLOW_RECOVERY {
        shared.remark_once(format!(
            "recovery took {seconds:.0} s; its backlog alone explains {expected:.1} s"
        ));
    }
}

/// The first open level again.
#[derive(Debug, Default)]
pub(crate) struct Repeat {
    done: bool,
}

impl Repeat {
    pub(crate) fn ask(&self, shared: &Shared) -> Option<Ask> {
        let first = first_passed(shared)?;
        let rate = shared.history[first].rate()?;
        let windows_max = shared
            .clock
            .windows(REPEAT_SECONDS + f64::from(discard(shared)), 0.0);
        (!self.done && windows_max > 5).then_some(Ask {
            phase: Phase::Repeat,
            load: shared.config.over.load(rate),
            windows_max,
            discard: discard(shared),
            rule: Rule::Fixed,
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, shared: &mut Shared) {
        self.done = true;
        let Some(first) = first_passed(shared) else {
            return;
        };
        if let Some(drift) = drift(&shared.history[first].answers, &level.answers) {
            shared.remark_once(format!(
                "the first level repeated at the end was {:.0} % {}: the target changed meanwhile",
                drift.abs() * 100.0,
                if drift > 0.0 { "slower" } else { "faster" },
            ));
        }
    }
}

/// The first level of the bracket, or the largest number of virtual users that hardly meet: the first is one
/// alone, whose handful of answers shows no drift.
fn first_passed(shared: &Shared) -> Option<usize> {
    let is_vus = shared.config.over.is_vus();
    let most = if is_vus {
        stalls::calm_limit(shared) * 0.5
    } else {
        f64::INFINITY
    };
    let low = shared.low()?.rate.min(most.max(1.0));
    let fits = |p: &Played| p.phase == Phase::Bracket && p.rate().is_some_and(|rate| rate <= low);
    let mut fitting = (0..shared.history.len()).filter(|&index| fits(&shared.history[index]));
    if is_vus {
        let size = |index: &usize| shared.history[*index].rate().unwrap_or(0.0);
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
    let apart = after_range.0 > before_range.1 * (1.0 + DRIFT)
        || after_range.1 < before_range.0 * (1.0 - DRIFT);
    let ratio = after.quantile(0.5)?.0 as f64 / before.quantile(0.5)?.0 as f64;
    apart.then_some(ratio - 1.0)
}

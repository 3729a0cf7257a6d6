//! Warm-up by count, then a closed loop with doubling in-flight: where an open loop should look.

use plimsoll_core::Nanos;
use plimsoll_core::record::Anchor;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::level::Level;
use super::level_plan::{LevelPlan, StopRule};
use super::load::Load;
use super::progress::Progress;

/// Attempts that warm a target up, or ten seconds (DESIGN section 7).
const WARM_UP_ATTEMPTS: u64 = 3_000;
const WARM_UP_SECONDS: f64 = 10.0;
/// In flight during the warm-up: a few connections, far from a load test.
const WARM_UP_IN_FLIGHT: u32 = 4;
/// Throughput must gain this much per doubling; twice less ends the anchor (B.4).
const GAIN: f64 = 1.05;
const FLAT_LEVELS: u32 = 2;
/// A throughput this far below the best ends the anchor at once: the target is going backwards.
const RETROGRADE: f64 = 0.5;
/// A level of a slow target goes on until each user has had so many answers, or this many seconds.
const ANSWERS_LEAST: u64 = 3;
const SLOW_LEVEL: f64 = 15.0;
/// Longest anchor in seconds (B.4).
const SECONDS_MAX: f64 = 60.0;
/// Where each doubling still brings nearly twice the throughput and an answer takes this long, the next step is fourfold:
/// the time would be over before a slow target is full.
const SLOW: Nanos = Nanos::from_millis(500);
const LINEAR: f64 = 1.8;
/// A doubling that brought less than this says that the target is nearly full, should the time end there.
const FLATTENS: f64 = 1.4;
const STEP: u32 = 2;
const STEP_SLOW: u32 = 4;
/// Share of `max_rate` at which a search without a closed loop starts (B.4: 5 % of the anchor).
const OPEN_START: f64 = 0.05;

pub(crate) fn plan_warm_up(progress: &Progress) -> Option<LevelPlan> {
    if progress
        .history
        .iter()
        .any(|played| played.phase == Phase::WarmUp)
    {
        return None;
    }
    let config = &progress.config;
    let load = match config.max_rate_per_s {
        Some(most) => Load::Open((most * OPEN_START).max(most.min(1.0))),
        None => Load::Closed(WARM_UP_IN_FLIGHT.min(config.connections_max.get())),
    };
    let seconds = if config.is_brief() {
        WARM_UP_SECONDS / 2.0
    } else {
        WARM_UP_SECONDS
    };
    Some(LevelPlan {
        phase: Phase::WarmUp,
        load,
        windows_max: progress.clock.windows(seconds, 0.0),
        discard: 0,
        stop: StopRule::Attempts {
            count: WARM_UP_ATTEMPTS,
            windows_min: 1,
        },
    })
}

/// Whether there is a service to search: not when no attempt of the warm-up succeeded.
pub(crate) fn warm_up_served(level: &Level, progress: &mut Progress) -> bool {
    let seconds = || level.measured.seconds.iter();
    let served: u64 = seconds().map(|second| second.served).sum();
    let failures: u64 = seconds().map(|second| second.failures).sum();
    if served == 0 && failures > 0 {
        progress.remark_once(SearchRemark::WarmUpFailed {
            failures_count: failures,
        });
        return false;
    }
    true
}

/// Closed loop with 1, 2, 4, 8 … in flight.
#[derive(Debug)]
pub(crate) struct AnchorStage {
    in_flight: u32,
    flat: u32,
    best: f64,
    response: Option<Nanos>,
    seconds: f64,
    finished: bool,
    flattens: bool,
}

impl AnchorStage {
    pub(crate) fn new() -> Self {
        Self {
            in_flight: 1,
            flat: 0,
            best: 0.0,
            response: None,
            seconds: 0.0,
            finished: false,
            flattens: false,
        }
    }

    pub(crate) fn plan(&self, progress: &Progress) -> Option<LevelPlan> {
        let brief = progress.config.is_brief();
        let judged = if brief { 2 } else { 3 };
        let seconds_max = if brief {
            SECONDS_MAX / 3.0
        } else {
            SECONDS_MAX
        };
        let over = self.seconds + f64::from(judged + 1) > seconds_max;
        if self.finished || over || self.in_flight > progress.config.connections_max.get() {
            return None;
        }
        Some(LevelPlan {
            phase: Phase::Anchor,
            load: Load::Closed(self.in_flight),
            windows_max: progress.clock.windows(SLOW_LEVEL, 0.0),
            discard: 1,
            stop: StopRule::Attempts {
                count: ANSWERS_LEAST * u64::from(self.in_flight),
                windows_min: judged + 1,
            },
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        let measured = &level.measured;
        let throughput = measured.mean(|s| s.served as f64 / s.length.max(f64::MIN_POSITIVE));
        let failures = measured.mean(|second| second.failures as f64);
        let attempts = measured.mean(|second| second.attempts as f64);
        self.seconds += measured.seconds_played();
        if self.response.is_none() {
            self.response = level.answers.mean();
        }
        self.flat = if throughput < self.best * GAIN {
            self.flat + 1
        } else {
            0
        };
        // Without any answer yet (a very slow target) nothing is flat.
        if throughput == 0.0 && failures == 0.0 {
            self.flat = 0;
        }
        let failing = attempts > 0.0 && failures > 0.5 * attempts;
        self.finished = self.flat >= FLAT_LEVELS || throughput < self.best * RETROGRADE || failing;
        let slow = self.response.is_some_and(|response| response >= SLOW);
        let linear = throughput >= self.best * LINEAR;
        self.flattens = throughput < self.best * FLATTENS;
        self.best = self.best.max(throughput);
        let step = if slow && linear { STEP_SLOW } else { STEP };
        self.in_flight = self.in_flight.saturating_mul(step);
        if level.health().condition == plimsoll_core::health::Condition::GeneratorBound {
            progress.remark_once(SearchRemark::AnchorGeneratorBound);
        }
    }

    /// Keeps what the closed loop found; `false` where nothing was served.
    pub(crate) fn finish(&self, progress: &mut Progress) -> bool {
        match self.response {
            Some(response_ns) if self.best > 0.0 => {
                progress.is_anchor_full = self.finished || self.flattens;
                progress.anchor = Some(Anchor {
                    response_ns,
                    throughput_max_per_s: self.best,
                });
                true
            }
            _ => {
                progress.remark_once(SearchRemark::AnchorFailed);
                false
            }
        }
    }
}

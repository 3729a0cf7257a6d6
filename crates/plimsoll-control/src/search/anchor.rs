//! Warm-up by count, then a closed loop with doubling in-flight: where an open loop should look.

use plimsoll_core::Nanos;
use plimsoll_core::record::Anchor;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::level::Level;
use super::level_plan::{LevelPlan, StopRule};
use super::load::Load;
use super::measured::{Measured, Second};
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
/// And where the last level got less than this share of it, too much load makes the target slower.
const RECEDES: f64 = 0.85;
/// Neither is believed of one level, for a pause looks the same: it is played again, and once more where a second of that one
/// had hardly any answers, by this share of the best throughput.
const AGAIN_MOST: u32 = 2;
const SILENT: f64 = 0.05;
/// A level of a slow target goes on until each user has had so many answers, or this many seconds.
const ANSWERS_LEAST: u64 = 3;
const SLOW_LEVEL: f64 = 15.0;
/// Longest anchor in seconds (B.4).
const SECONDS_MAX: f64 = 60.0;
/// Where there is little time; and for a slow target then.
const SECONDS_BRIEF: f64 = 20.0;
const SECONDS_BRIEF_SLOW: f64 = 40.0;
/// Where each doubling still brings nearly twice the throughput and an answer takes this long, the next step is fourfold:
/// the time would be over before a slow target is full.
const SLOW: Nanos = Nanos::from_millis(500);
const LINEAR: f64 = 1.8;
/// A doubling that brought less than this says that the target is nearly full, should the time end there…
const FLATTENS: f64 = 1.4;
/// …and this that a slow one is: seconds of a closed loop are dear there, and each leaves a queue.
const FLATTENS_SLOW: f64 = 1.6;
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
    /// How many times as many as in the level before.
    step: u32,
    flat: u32,
    best: f64,
    response: Option<Nanos>,
    seconds: f64,
    finished: bool,
    flattens: bool,
    /// More in flight brought less in the end.
    recedes: bool,
    /// How often this many in flight were played again.
    again: u32,
}

impl AnchorStage {
    pub(crate) fn new() -> Self {
        Self {
            in_flight: 1,
            step: 1,
            flat: 0,
            best: 0.0,
            response: None,
            seconds: 0.0,
            finished: false,
            flattens: false,
            recedes: false,
            again: 0,
        }
    }

    pub(crate) fn plan(&self, progress: &Progress) -> Option<LevelPlan> {
        let brief = progress.config.is_brief();
        let judged = if brief { 2 } else { 3 };
        let seconds_max = match (brief, self.is_slow()) {
            (false, _) => SECONDS_MAX,
            (true, false) => SECONDS_BRIEF,
            (true, true) => SECONDS_BRIEF_SLOW,
        };
        let over = self.again == 0 && self.seconds + f64::from(judged + 1) > seconds_max;
        // All begin at once: the first answers come only after as long as one takes.
        let response = self.response.filter(|_| self.is_slow());
        let discard = 1 + response.map_or(0.0, Nanos::as_secs_f64).ceil().min(5.0) as u32;
        if self.finished || over || self.in_flight > progress.config.connections_max.get() {
            return None;
        }
        Some(LevelPlan {
            phase: Phase::Anchor,
            load: Load::Closed(self.in_flight),
            windows_max: progress.clock.windows(SLOW_LEVEL, 0.0),
            discard,
            stop: StopRule::Attempts {
                count: ANSWERS_LEAST * u64::from(self.in_flight),
                windows_min: judged + discard,
            },
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        let measured = &level.measured;
        let throughput = measured.mean(|s| s.served as f64 / s.length.max(f64::MIN_POSITIVE));
        let failures = measured.mean(|second| second.failures as f64);
        let attempts = measured.mean(|second| second.attempts as f64);
        let failing = attempts > 0.0 && failures > 0.5 * attempts;
        if self.is_in_doubt(measured, throughput, failing) {
            self.again += 1;
            return;
        }
        self.again = 0;
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
        self.finished = self.flat >= FLAT_LEVELS || throughput < self.best * RETROGRADE || failing;
        self.step_up(throughput);
        if level.health().condition == plimsoll_core::health::Condition::GeneratorBound {
            progress.remark_once(SearchRemark::AnchorGeneratorBound);
        }
    }

    /// The level would end the closed loop because the target fails or goes backwards, and nothing agrees with it yet.
    fn is_in_doubt(&self, measured: &Measured, throughput: f64, failing: bool) -> bool {
        let ends = failing
            || throughput < self.best * RETROGRADE
            || throughput < self.best * RECEDES && self.flat + 1 >= FLAT_LEVELS;
        let is_silent =
            |second: &Second| (second.served as f64) < SILENT * self.best * second.length;
        let was_silent = !failing && measured.judged().iter().any(is_silent);
        ends && (self.again == 0 || was_silent && self.again < AGAIN_MOST)
    }

    /// How many are in flight next, by what the last step brought.
    fn step_up(&mut self, throughput: f64) {
        let slow = self.is_slow();
        let doublings = f64::from(self.step.ilog2());
        let gain = if self.best > 0.0 && doublings > 0.0 {
            libm::pow(throughput / self.best, 1.0 / doublings)
        } else {
            f64::INFINITY
        };
        self.flattens = gain < FLATTENS;
        self.finished |= slow && gain < FLATTENS_SLOW && throughput > 0.0;
        self.recedes = throughput < RECEDES * self.best;
        self.best = self.best.max(throughput);
        self.step = if slow && gain >= LINEAR {
            STEP_SLOW
        } else {
            STEP
        };
        self.in_flight = self.in_flight.saturating_mul(self.step);
    }

    fn is_slow(&self) -> bool {
        self.response.is_some_and(|response| response >= SLOW)
    }

    /// Keeps what the closed loop found; `false` where nothing was served.
    pub(crate) fn finish(&self, progress: &mut Progress) -> bool {
        match self.response {
            Some(response_ns) if self.best > 0.0 => {
                progress.is_anchor_full = self.finished || self.flattens;
                progress.recedes = self.recedes;
                progress.anchor = Some(Anchor {
                    response_ns,
                    throughput_max_per_s: self.best,
                });
                progress.set_pace();
                true
            }
            _ => {
                progress.remark_once(SearchRemark::AnchorFailed);
                false
            }
        }
    }
}

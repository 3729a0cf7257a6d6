//! How much time a search may take, has taken and keeps back for what must still come.

use plimsoll_core::Window;

use super::config::Config;

/// Worst cases in seconds, from capacity-science B.4 with two discarded seconds per level.
mod worst {
    pub(super) const WARM_UP: f64 = 10.0;
    pub(super) const ANCHOR: f64 = 60.0;
    pub(super) const BRACKET: f64 = 6.0 * 17.0 + 64.0;
    pub(super) const BISECT: f64 = 4.0 * 3.0 * 32.0;
    pub(super) const STALL_WATCH: f64 = 62.0;
    pub(super) const OVERSHOOT: f64 = 3.0 * (20.0 + super::SETTLE);
    pub(super) const RECOVERY: f64 = 60.0 + 20.0 + 120.0 + super::SETTLE;
    pub(super) const SETTLES: f64 = 4.0 * super::SETTLE;
}

/// Longest wait for a backlog to go after a failed level: an unprotected queue that was overloaded
/// by half for 20 s needs ten, one whose work grows with its backlog never ends.
pub(crate) const SETTLE: f64 = 30.0;
/// Seconds of the repeat of the first level.
pub(crate) const REPEAT: f64 = 10.0;

/// Seconds since the first window's start, by the windows' own clock.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    total: f64,
    spent: f64,
    origin: Option<f64>,
    elapsed: f64,
}

impl Clock {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            total: plan_seconds(config),
            spent: config.spent.as_secs_f64(),
            origin: None,
            elapsed: 0.0,
        }
    }

    pub(crate) fn observe(&mut self, window: &Window) {
        let start = window.start_ns.as_secs_f64();
        let origin = *self.origin.get_or_insert(start);
        self.elapsed = (window.end_ns().as_secs_f64() - origin).max(self.elapsed);
    }

    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// Seconds until the printed time is over.
    pub(crate) fn left(&self) -> f64 {
        (self.total - self.spent - self.elapsed).max(0.0)
    }

    /// Whole windows that fit when `reserved` seconds are kept back, at most `wanted`.
    pub(crate) fn windows(&self, wanted: f64, reserved: f64) -> u32 {
        // A level is changed in well under a second; one is kept back for it.
        (self.left() - reserved - 1.0).min(wanted).max(0.0) as u32
    }
}

/// The time that is never exceeded, self-check included: what was given, or less where all phases
/// at their longest need less. The twelve minutes of the default are the bound of a full search.
pub(crate) fn plan_seconds(config: &Config) -> f64 {
    let within = config.within.as_secs_f64();
    let spent = config.spent.as_secs_f64();
    let phases = if config.only_check().is_some() {
        worst::WARM_UP + config.soak_seconds() + 4.0
    } else {
        let mut sum = worst::WARM_UP + worst::BRACKET + worst::BISECT + worst::SETTLES;
        sum += worst::STALL_WATCH + 2.0 * (config.soak_seconds() + 2.0) + REPEAT;
        if config.anchor.is_none() && config.max_rate_per_s.is_none() {
            sum += worst::ANCHOR;
        }
        if config.wants_overshoot() {
            sum += worst::OVERSHOOT;
        }
        if config.wants_recovery() {
            sum += worst::RECOVERY;
        }
        sum
    };
    within.min(spent + phases)
}

/// Seconds to keep back while the boundary is still being looked for: a soak and, where wanted,
/// the usual (not the longest) duration of what follows it.
pub(crate) fn reserve_for_soak(config: &Config) -> f64 {
    const OVERSHOOT_USUAL: f64 = 50.0;
    const RECOVERY_USUAL: f64 = 110.0;
    let mut seconds = config.soak_seconds() + 4.0;
    if config.is_brief() {
        return seconds;
    }
    seconds += REPEAT + SETTLE;
    if config.wants_overshoot() {
        seconds += OVERSHOOT_USUAL;
    }
    if config.wants_recovery() {
        seconds += RECOVERY_USUAL;
    }
    seconds
}

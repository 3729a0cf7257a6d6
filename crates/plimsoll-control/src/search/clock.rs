//! How much time a search may take, has taken and keeps back for what must still come.

use plimsoll_core::Window;

use super::config::Config;

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

    /// Seconds since the first window began.
    pub(crate) fn elapsed(&self) -> f64 {
        self.elapsed
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

/// The time that is never exceeded, self-check included: what was given, or less where only one load is checked.
fn plan_seconds(config: &Config) -> f64 {
    const WARM_UP: f64 = 10.0;
    const BETWEEN: f64 = 4.0;
    let within = config.within.as_secs_f64();
    if config.only_check().is_none() {
        return within;
    }
    within.min(config.spent.as_secs_f64() + WARM_UP + config.check_seconds() + BETWEEN)
}

/// Seconds of what comes last: the first level again, and the closed loop where there is one.
pub(crate) fn at_the_end(config: &Config) -> f64 {
    let is_closed =
        config.max_rate_per_s.is_none() && config.anchor.is_none() && !config.over.is_vus();
    let pace = if is_closed { pace(config) + 2.0 } else { 0.0 };
    REPEAT + pace
}

/// Seconds of an overload, and of a pulse with what is watched behind it.
pub(crate) fn overshoot(config: &Config) -> f64 {
    by_time(config, 28.0, 55.0)
}

pub(crate) fn recovery(config: &Config) -> f64 {
    by_time(config, 60.0, 85.0)
}

/// Seconds kept for holding the rate, while the boundary is looked for.
pub(crate) fn for_holding(config: &Config) -> f64 {
    by_time(config, 110.0, 240.0)
}

/// Seconds at a rate, pooled, that end the holding when everything agrees.
pub(crate) fn enough(config: &Config) -> f64 {
    by_time(config, 75.0, 180.0)
}

/// Seconds at a rate, pooled, without which it is not claimed.
pub(crate) fn claimable(config: &Config) -> f64 {
    by_time(config, 50.0, 90.0)
}

/// Seconds for which the same closed loop is played each time, and from one time to the next.
pub(crate) fn pace(config: &Config) -> f64 {
    by_time(config, 9.0, 12.0)
}

pub(crate) fn between_paces(config: &Config) -> f64 {
    by_time(config, 75.0, 100.0)
}

/// Seconds of one block of holding.
pub(crate) fn block(config: &Config) -> f64 {
    by_time(config, 15.0, 25.0)
}

/// A duration that grows with the time of the search: `five` in one of five minutes, `twelve` in one of twelve, in
/// proportion below five and no more above twelve.
fn by_time(config: &Config, five: f64, twelve: f64) -> f64 {
    const FIVE: f64 = 300.0;
    const TWELVE: f64 = 720.0;
    let within = config.within.as_secs_f64();
    if within <= FIVE {
        return five * within / FIVE;
    }
    five + (twelve - five) * ((within - FIVE) / (TWELVE - FIVE)).min(1.0)
}

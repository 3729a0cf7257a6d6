//! The kinds of services that a guard may stand before: how requests hold each other up in them.

use plimsoll_core::Nanos;

use crate::model::ServiceTime;

/// A service, without its guard.
#[derive(Debug, Clone)]
pub struct Upstream {
    pub name: String,
    /// Kinds of requests: their share and the work in one.
    pub mix: Vec<(f64, ServiceTime)>,
    pub shape: Shape,
    /// Share of the answers that are failures at any load: its bugs.
    pub failure_ratio: f64,
    pub drift: Drift,
}

/// How requests in it share what it has.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// So many at a time, the others in order.
    Workers(u32),
    /// The same, but who has waited so long inside is answered with a failure.
    Impatient { workers: u32, wait: Nanos },
    /// The same, but beyond so many in all the answer is a failure, at once.
    FailsFast { workers: u32, most: u32 },
    /// All at once, at the speed of so many cores together.
    Sharing { cores: f64 },
    /// All at once; each further one slows the others (universal scalability law).
    Contended { alpha: f64, beta: f64 },
    /// Cores, then for a share of the requests a pool of connections.
    CoresAndPool {
        cores: f64,
        pool: u32,
        pool_time: ServiceTime,
        share: f64,
    },
}

/// How its speed changes.
#[derive(Debug, Clone, Copy)]
pub enum Drift {
    None,
    /// Half as fast between two moments.
    Halved {
        from: Nanos,
        until: Nanos,
    },
    /// Stands still between two moments.
    Stopped {
        from: Nanos,
        until: Nanos,
    },
    /// Speed 1 ± amplitude.
    Swing {
        amplitude: f64,
        period: Nanos,
    },
    /// So many times slower at first, at full speed after a while.
    Cold {
        slower: f64,
        warm: Nanos,
    },
    /// Stands still at the end of each interval.
    Stalls {
        interval: Nanos,
        length: Nanos,
    },
}

/// How often a speed that changes is looked at.
const STEP: Nanos = Nanos::from_millis(50);

impl Drift {
    pub(super) fn speed(&self, now: Nanos) -> f64 {
        match *self {
            Self::Halved { from, until } if now >= from && now < until => 0.5,
            Self::Stopped { from, until } if now >= from && now < until => 0.0,
            Self::None | Self::Halved { .. } | Self::Stopped { .. } => 1.0,
            Self::Swing { amplitude, period } => {
                let turn = now.as_secs_f64() / period.as_secs_f64();
                1.0 + amplitude * libm::sin(std::f64::consts::TAU * turn)
            }
            Self::Cold { slower, warm } => {
                let share = (now.as_secs_f64() / warm.as_secs_f64()).min(1.0);
                1.0 / (slower + (1.0 - slower) * share)
            }
            Self::Stalls { interval, length } => {
                let at = now.0 % interval.0.max(1);
                f64::from(u8::from(at + length.0 < interval.0))
            }
        }
    }

    /// When it should be asked again.
    pub(super) fn next(&self, now: Nanos) -> Nanos {
        match *self {
            Self::Halved { from, .. } | Self::Stopped { from, .. } if now < from => from,
            Self::Halved { until, .. } | Self::Stopped { until, .. } if now < until => until,
            Self::None | Self::Halved { .. } | Self::Stopped { .. } => Nanos::MAX,
            Self::Stalls { interval, length } => {
                let at = now.0 % interval.0.max(1);
                let stops = interval.0.saturating_sub(length.0);
                let turn = if at < stops { stops } else { interval.0 };
                Nanos(now.0 - at + turn)
            }
            Self::Cold { warm, .. } if now > warm => Nanos::MAX,
            Self::Swing { .. } | Self::Cold { .. } => now + STEP,
        }
    }
}

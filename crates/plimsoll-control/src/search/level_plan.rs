//! A level as a stage wants it: its load, how long it may last, and what ends it earlier.

use plimsoll_core::Nanos;
use plimsoll_core::step::Phase;

use super::load::Load;

/// The next level to play.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LevelPlan {
    pub(crate) phase: Phase,
    pub(crate) load: Load,
    pub(crate) windows_max: u32,
    /// Windows at the start that are not judged.
    pub(crate) discard: u32,
    pub(crate) stop: StopRule,
}

/// When a level ends before its last window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StopRule {
    /// After so many attempts, and so many windows.
    Attempts { count: u64, windows_min: u32 },
    /// Only the abort rule.
    Fixed,
    /// When the target is plainly lost; else after its last window.
    Judged,
    /// One rate that was asked for: when its budget over so many seconds is used up.
    Check { seconds: f64 },
    /// When the target answers as it did before; or nothing in time for so many seconds that the load is still too high.
    Settled {
        in_flight_max: f64,
        stuck_seconds: Option<usize>,
    },
    /// When answers in time and p99 have been normal for three seconds. Never aborted.
    Recovered { in_time_per_s: f64, p99: Nanos },
    /// The pulse of the recovery probe, which overloads on purpose and is short.
    Pulse,
}

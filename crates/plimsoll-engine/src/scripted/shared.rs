//! What all workers of a script's run have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use plimsoll_base::clock::{Clock, wall_millis};

#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    /// Wall clock at its zero, milliseconds since 1970.
    pub(super) unix_zero_ms: u64,
    /// Ends script code that runs.
    pub(super) stop: Arc<AtomicBool>,
    /// When the next request may go, on that clock (`rps`).
    pub(super) next_allowed: Arc<AtomicU64>,
}

impl Shared {
    pub(super) fn new(clock: Clock, stop: Arc<AtomicBool>) -> Self {
        let now_ms = clock.now().0 / 1_000_000;
        Self {
            clock,
            unix_zero_ms: wall_millis().cast_unsigned().saturating_sub(now_ms),
            stop,
            next_allowed: Arc::default(),
        }
    }
}

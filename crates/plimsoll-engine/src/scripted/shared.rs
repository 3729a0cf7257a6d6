//! What all workers of a script's run have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plimsoll_base::clock::{Clock, wall_millis};
use plimsoll_script::host::Instance;

#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    /// Wall clock at its zero, milliseconds since 1970.
    pub(super) unix_zero_ms: u64,
    /// Ends script code that runs.
    pub(super) stop: Arc<AtomicBool>,
    /// When the next request may go, on that clock (`rps`).
    pub(super) next_allowed: Arc<AtomicU64>,
    pub(super) counts: Arc<InstanceCounts>,
}

impl Shared {
    pub(super) fn new(clock: Clock, stop: Arc<AtomicBool>) -> Self {
        let now_ms = clock.now().0 / 1_000_000;
        Self {
            clock,
            unix_zero_ms: wall_millis().cast_unsigned().saturating_sub(now_ms),
            stop,
            next_allowed: Arc::default(),
            counts: Arc::default(),
        }
    }
}

/// What `exec.instance` shows: sums over all workers, each of which adds what has changed as soon as it changes.
#[derive(Debug, Default)]
pub(super) struct InstanceCounts {
    completed: AtomicU64,
    interrupted: AtomicU64,
    active: AtomicU64,
    existing: AtomicU64,
}

impl InstanceCounts {
    /// The numbers of one worker were `before` and are `now`.
    pub(super) fn change(&self, before: &Instance, now: &Instance) {
        for (sum, before, now) in [
            (
                &self.completed,
                before.iterations_completed,
                now.iterations_completed,
            ),
            (
                &self.interrupted,
                before.iterations_interrupted,
                now.iterations_interrupted,
            ),
            (&self.active, before.vus_active, now.vus_active),
            (&self.existing, before.vus_initialized, now.vus_initialized),
        ] {
            if before != now {
                // The sum wraps around as the difference does: what falls is added, too.
                sum.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
            }
        }
    }

    pub(super) fn read(&self) -> Instance {
        let read = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        Instance {
            iterations_completed: read(&self.completed),
            iterations_interrupted: read(&self.interrupted),
            vus_active: read(&self.active),
            vus_initialized: read(&self.existing),
        }
    }
}

//! The one place that reads the monotonic clock: nanoseconds since an epoch shared by all threads.

use crate::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// A monotonic clock whose zero is the moment it was made. Copies share the zero.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    zero: u64,
}

impl Clock {
    pub fn start() -> Self {
        Self {
            zero: raw(ClockId::Monotonic),
        }
    }

    /// Time since the clock was started.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(raw(ClockId::Monotonic) - self.zero)
    }
}

/// Processor time of the calling thread since it began.
pub fn thread_run_time() -> Nanos {
    Nanos(raw(ClockId::ThreadCPUTime))
}

#[inline]
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
fn raw(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Wall time in milliseconds since 1970, for what is stored or shown; durations come from [`Clock`].
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn wall_millis() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

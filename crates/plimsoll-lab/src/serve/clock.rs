//! The services' clock and the two ways in which they spend time: burning a core, or sleeping.

use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// These services are the system under test: their behaviour in time is the point of them.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a service reads the clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Wall time in seconds since 1970, for log lines.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a service reads the clock"
)]
pub(crate) fn unix_seconds() -> f64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

/// Processor time that the calling thread has used.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where a service reads the clock"
)]
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Burns `cpu` of this thread's processor time. A thread robbed by its neighbours takes longer
/// and burns the same, so the service demand is a property of the service and not of the machine.
pub(crate) fn burn(cpu: Duration) {
    let start = thread_cpu();
    let mut state = 0x9E37_79B9_u64;
    while thread_cpu().saturating_sub(start) < cpu {
        for _ in 0..200 {
            state = black_box(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
            spin_loop();
        }
    }
}

//! The late brake: when most answers find their client gone, the limit is far too high, whatever its slope.

use plimsoll_core::Nanos;

/// Answers that a batch has at least.
const BATCH_LEAST: f64 = 8.0;
/// Share of late answers beyond which it brakes. A smaller one brakes slow services to death.
const LATE_RATIO: f64 = 0.5;

#[derive(Debug, Clone, Default)]
pub(super) struct Brake {
    answers: f64,
    late: f64,
    last: Option<Nanos>,
}

impl Brake {
    /// True if the limit must fall now. At most once in `pause` seconds.
    pub(super) fn answered(&mut self, now: Nanos, is_late: bool, limit: f64, pause: f64) -> bool {
        let batch = limit.max(BATCH_LEAST);
        self.answers += 1.0;
        self.late += f64::from(u8::from(is_late));
        let too_late = self.late > LATE_RATIO * batch;
        if too_late || self.answers >= batch {
            self.answers = 0.0;
            self.late = 0.0;
        }
        let rested = self
            .last
            .is_none_or(|last| (now - last).as_secs_f64() >= pause);
        if too_late && rested {
            self.last = Some(now);
        }
        too_late && rested
    }
}

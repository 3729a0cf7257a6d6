//! What is counted between two changes of the limit, once the change has settled.

use plimsoll_core::Nanos;

use super::super::limit::Ended;

/// Answers under one limit, from when what the limit before it let in is gone.
#[derive(Debug, Clone, Default)]
pub(super) struct Epoch {
    changed: Nanos,
    /// When counting began.
    from: Option<Nanos>,
    served: f64,
    answers: f64,
    failed: f64,
    /// Seconds × requests in flight, until `integrated`.
    in_flight_seconds: f64,
    integrated: Nanos,
}

/// A finished epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) seconds: f64,
    pub(super) served: f64,
    pub(super) answers: f64,
    pub(super) failed: f64,
    pub(super) in_flight: f64,
}

impl Measured {
    /// Logarithm of goodput per second.
    pub(super) fn log_goodput(&self) -> f64 {
        libm::log((self.served + 0.5) / self.seconds)
    }

    pub(super) fn failed_ratio(&self) -> f64 {
        if self.answers > 0.0 {
            self.failed / self.answers
        } else {
            0.0
        }
    }
}

impl Epoch {
    pub(super) fn begun(now: Nanos) -> Self {
        Self {
            changed: now,
            ..Self::default()
        }
    }

    /// Before anything changes at `now`: so many were in flight until then, under this limit.
    pub(super) fn pass(&mut self, now: Nanos, in_flight: u32, limit: u32, settle: f64) {
        if self.from.is_some() {
            let seconds = (now - self.integrated).as_secs_f64();
            self.in_flight_seconds += seconds * f64::from(in_flight);
            self.integrated = now;
        } else if in_flight <= limit && (now - self.changed).as_secs_f64() >= settle {
            self.from = Some(now);
            self.integrated = now;
        }
    }

    pub(super) fn count(&mut self, ended: Ended) {
        let is_failed = matches!(ended, Ended::Failed | Ended::Busy);
        if self.from.is_some() {
            self.answers += 1.0;
            self.served += f64::from(u8::from(ended == Ended::Served));
            self.failed += f64::from(u8::from(is_failed));
        }
    }

    pub(super) fn answers(&self) -> f64 {
        self.answers
    }

    /// Nothing if counting has not begun, or nothing was in flight.
    pub(super) fn measured(&self, now: Nanos) -> Option<Measured> {
        let seconds = (now - self.from?).as_secs_f64();
        let in_flight = self.in_flight_seconds / seconds;
        (seconds > 0.0 && in_flight > 0.0).then_some(Measured {
            seconds,
            served: self.served,
            answers: self.answers,
            failed: self.failed,
            in_flight,
        })
    }
}

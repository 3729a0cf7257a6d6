//! When attempts fall due, and an attempt before and after it is on the wire.

use plimsoll_core::Nanos;
use plimsoll_core::schedule::{Arrivals, RateProfile, Schedule};

/// The arrivals of one level on one worker, the next one already drawn.
#[derive(Debug)]
pub(crate) struct Stream {
    next: Nanos,
    start: Nanos,
    schedule: Box<Schedule>,
}

impl Stream {
    /// Worker `part.0` of `part.1`; every level has a stream of its own, all from the one seed of the record.
    pub(crate) fn new(
        profile: RateProfile,
        arrivals: Arrivals,
        seed: u64,
        level: u32,
        part: (u64, u64),
        start: Nanos,
    ) -> Self {
        let seed = seed ^ u64::from(level).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut schedule = Schedule::new(profile, arrivals, seed, part.0, part.1);
        let first = schedule.next().expect("schedules never end");
        Self {
            next: start + first,
            start,
            schedule: Box::new(schedule),
        }
    }

    pub(crate) fn next(&self) -> Nanos {
        self.next
    }

    /// The next arrival, if it is due by now.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<Nanos> {
        let due = self.next;
        if due > now {
            return None;
        }
        self.next = self.start + self.schedule.next().expect("schedules never end");
        Some(due)
    }
}

/// An attempt that is due, not yet on a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) intended: Nanos,
    pub(crate) level: u32,
    /// Started by a closed loop, which owes another when this one ends.
    pub(crate) closed: bool,
}

/// An attempt on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) arrival: Arrival,
    pub(crate) sent: Nanos,
}

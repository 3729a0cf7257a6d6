//! The late brake: when most answers find their client gone, the limit is far too high, whatever its slope; or the service
//! stands still, and then the limit was right and is again when it goes on.

use plimsoll_core::Nanos;

use super::super::limit::{Answer, Ended};

/// Answers that a batch has at least.
const BATCH_LEAST: f64 = 8.0;
/// Share of late answers beyond which it brakes. A smaller one brakes slow services to death.
const LATE_RATIO: f64 = 0.5;
/// Up to this share of late answers a limit did well.
const FINE_RATIO: f64 = 0.1;
/// Of the late ones, so many saw nobody else served either: it stands still.
const STILL_RATIO: f64 = 0.8;
/// A limit that was taken up so lately and is too high again was perhaps no standstill's: less of it is taken up the next time.
const TAKEN_UP_LATELY: Nanos = Nanos::from_secs(10);
const LESS: f64 = 0.6;
/// After a standstill, work that nobody waits for any more is done first, and others are late for it.
const AFTERMATH: Nanos = Nanos::from_secs(3);

#[derive(Debug, Clone, Default)]
pub(super) struct Brake {
    answers: f64,
    late: f64,
    /// Late ones of a standstill.
    still: f64,
    last: Option<Nanos>,
    served: Option<Nanos>,
    /// The limit under which the last batch did well.
    fine: Option<f64>,
    /// It braked in a standstill.
    is_held: bool,
    /// When it stood still last.
    stood: Option<Nanos>,
    taken_up: Option<Nanos>,
}

/// What the limit has to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    Nothing,
    /// It must fall now.
    Fall,
    /// It must fall, and this is what it was while all was well; to be taken up when the service goes on.
    FallFor(f64),
    /// The service goes on.
    TakeUp,
}

impl Brake {
    /// It says nothing of how long work takes: nobody at all was served in the second half of its stay, or a moment ago nobody
    /// was.
    pub(super) fn is_of_standstill(&self, answer: &Answer) -> bool {
        answer.ended == Ended::Left
            && (self.saw_nobody_served(answer) || self.is_aftermath(answer.now))
    }

    fn saw_nobody_served(&self, answer: &Answer) -> bool {
        let half = Nanos(answer.took.0 / 2);
        answer.ended == Ended::Left && self.served.is_none_or(|at| answer.now - at >= half)
    }

    fn is_aftermath(&self, now: Nanos) -> bool {
        self.stood.is_some_and(|at| now - at <= AFTERMATH)
    }

    /// It falls at most once in `pause` seconds.
    pub(super) fn answered(&mut self, answer: &Answer, limit: f64, pause: f64) -> Verdict {
        let is_late = answer.ended == Ended::Left;
        self.still += f64::from(u8::from(self.saw_nobody_served(answer)));
        if answer.ended == Ended::Served {
            self.served = Some(answer.now);
        }
        let batch = limit.max(BATCH_LEAST);
        self.answers += 1.0;
        self.late += f64::from(u8::from(is_late));
        let too_late = self.late > LATE_RATIO * batch;
        if !too_late && self.answers < batch {
            return Verdict::Nothing;
        }
        let (late, still) = (self.late, self.still);
        (self.answers, self.late, self.still) = (0.0, 0.0, 0.0);
        if too_late {
            self.too_late(answer.now, limit, pause, still > STILL_RATIO * late)
        } else if late <= FINE_RATIO * batch {
            self.fine(answer.now, limit)
        } else {
            Verdict::Nothing
        }
    }

    fn too_late(&mut self, now: Nanos, limit: f64, pause: f64, is_still: bool) -> Verdict {
        let rested = |last: Nanos| (now - last).as_secs_f64() >= pause;
        if !self.last.is_none_or(rested) {
            return Verdict::Nothing;
        }
        self.last = Some(now);
        if is_still {
            self.stood = Some(now);
        }
        if !self.is_aftermath(now) {
            self.is_held = false;
            return Verdict::Fall;
        }
        if self.is_held {
            return Verdict::Fall;
        }
        let was_taken_up = self.taken_up.is_some_and(|at| now - at < TAKEN_UP_LATELY);
        let held = if was_taken_up {
            Some(LESS * limit)
        } else {
            self.fine.filter(|_| is_still).map(|fine| fine.min(limit))
        };
        self.is_held = held.is_some();
        held.map_or(Verdict::Fall, Verdict::FallFor)
    }

    fn fine(&mut self, now: Nanos, limit: f64) -> Verdict {
        if std::mem::take(&mut self.is_held) {
            self.taken_up = Some(now);
            return Verdict::TakeUp;
        }
        self.fine = Some(limit);
        Verdict::Nothing
    }
}

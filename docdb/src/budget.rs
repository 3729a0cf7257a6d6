//! How much of one slice is left: a number of documents, and time, because one document can cost as much as a thousand.

use plimsoll_base::Nanos;
use plimsoll_base::clock::Clock;

/// Time of a slice. Whoever comes next waits for one slice at most, so this is what a long query adds to others.
pub(crate) const SLICE_TIME: Nanos = Nanos(1_000_000);

/// Taken from document by document; used up, the command gives way.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
    until: Nanos,
    time: Time,
    /// Something was taken: every slice does at least one piece of work, or a command would never end.
    begun: bool,
}

#[derive(Debug)]
enum Time {
    Clock(Clock),
    /// Time stands still between readings, and each takes this long.
    #[cfg(test)]
    Stepping(Nanos, Nanos),
}

impl Budget {
    /// `count` documents or so much `time` by `clock`, whichever is used up first.
    pub(crate) fn new(count: usize, time: Nanos, clock: Clock) -> Self {
        Self {
            left: count.max(1),
            until: Nanos(clock.now().0.saturating_add(time.0)),
            time: Time::Clock(clock),
            begun: false,
        }
    }

    /// A slice over a clock that each reading moves on by `step`.
    #[cfg(test)]
    pub(crate) fn stepping(count: usize, step: Nanos) -> Self {
        Self {
            left: count,
            until: SLICE_TIME,
            time: Time::Stepping(Nanos(0), step),
            begun: false,
        }
    }

    /// Takes one document. False if the slice is used up.
    pub(crate) fn take(&mut self) -> bool {
        if self.is_over() {
            return false;
        }
        self.begun = true;
        self.left -= 1;
        true
    }

    /// Whether nothing more can be taken.
    pub(crate) fn is_over(&mut self) -> bool {
        // A clock is read in about 25 ns, a document in a microsecond: reading it each time costs little and misses nothing.
        self.left == 0 || (self.begun && self.now() >= self.until)
    }

    fn now(&mut self) -> Nanos {
        match &mut self.time {
            Time::Clock(clock) => clock.now(),
            #[cfg(test)]
            Time::Stepping(now, step) => {
                *now += *step;
                *now
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mut budget: Budget) -> usize {
        std::iter::from_fn(|| budget.take().then_some(())).count()
    }

    #[test]
    fn a_slice_ends_by_count_or_by_time_and_never_before_one_document() {
        assert_eq!(taken(Budget::stepping(7, Nanos(1))), 7);
        assert_eq!(taken(Budget::stepping(1000, Nanos(SLICE_TIME.0 / 10))), 10);
        assert_eq!(taken(Budget::stepping(1000, SLICE_TIME)), 1);
    }
}

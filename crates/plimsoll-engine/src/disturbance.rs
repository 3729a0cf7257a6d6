//! Which attempts a stall of the loop met: those that were due while it lasted, and those that came while the rest of them
//! was still being worked off.

use plimsoll_core::Nanos;

/// What the last stall that disturbs has left behind.
#[derive(Debug, Default)]
pub(crate) struct Disturbance {
    /// A stall that is longer disturbs.
    tolerated: Nanos,
    /// When it ended.
    ended: Nanos,
    /// As long again, or as that of an earlier one: nothing of it is left after that, whatever is still under way.
    latest: Nanos,
    /// What was due until then was met by it, if it had not ended before.
    until: Nanos,
    /// Attempts that were due before it ended, and are under way.
    backlog: u64,
}

impl Disturbance {
    pub(crate) fn new(tolerated: Nanos) -> Self {
        Self {
            tolerated,
            ..Self::default()
        }
    }

    /// The loop came round so much later than it asked, with so many attempts under way.
    #[inline]
    pub(crate) fn stalled(&mut self, late: Nanos, now: Nanos, in_flight: u64) {
        if late > self.tolerated {
            self.ended = now;
            // What a longer one before it has left behind is not worked off sooner.
            self.latest = self.until.max(now + late);
            self.until = self.latest;
            self.backlog = in_flight;
        }
    }

    /// An attempt begins that was due then. It may have been due during the stall, which the loop could not know.
    #[inline]
    pub(crate) fn begin(&mut self, intended: Nanos) {
        if intended < self.ended {
            self.backlog += 1;
            self.until = self.latest;
        }
    }

    /// An attempt ends that was due then; true if the stall met it.
    #[inline]
    pub(crate) fn end(&mut self, intended: Nanos, now: Nanos) -> bool {
        let is_met = intended < self.until;
        if intended < self.ended {
            self.backlog = self.backlog.saturating_sub(1);
            if self.backlog == 0 {
                // All that had come meanwhile is worked off, and what comes from now on finds things as they were.
                self.until = self.until.min(now);
            }
        }
        is_met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    /// A stall from 100 to 300 ms, with one attempt under way and one that was due in it.
    fn stalled() -> Disturbance {
        let mut disturbance = Disturbance::new(ms(10));
        disturbance.stalled(ms(5), ms(50), 1);
        assert!(!disturbance.end(ms(40), ms(60)), "5 ms disturb nobody");
        disturbance.stalled(ms(200), ms(300), 1);
        disturbance.begin(ms(200));
        disturbance
    }

    #[test]
    fn a_stall_is_over_when_what_it_left_behind_is_worked_off() {
        let mut disturbance = stalled();
        disturbance.begin(ms(310));
        assert!(disturbance.end(ms(90), ms(301)));
        assert!(
            disturbance.end(ms(310), ms(315)),
            "it waited behind the others"
        );
        assert!(disturbance.end(ms(200), ms(320)));
        disturbance.begin(ms(330));
        assert!(!disturbance.end(ms(330), ms(340)));
    }

    #[test]
    fn it_is_over_after_as_long_again_whatever_is_under_way() {
        let mut disturbance = stalled();
        assert!(disturbance.end(ms(499), ms(600)));
        assert!(!disturbance.end(ms(501), ms(600)));
    }

    #[test]
    fn a_small_stall_does_not_cut_short_what_a_large_one_left_behind() {
        let mut disturbance = stalled();
        disturbance.stalled(ms(20), ms(320), 2);
        assert!(disturbance.end(ms(450), ms(460)));
        assert!(!disturbance.end(ms(501), ms(510)));
    }

    #[test]
    fn a_small_stall_brings_nothing_back_of_a_large_one_that_is_over() {
        let mut disturbance = stalled();
        assert!(disturbance.end(ms(90), ms(301)));
        assert!(disturbance.end(ms(200), ms(320)));
        disturbance.stalled(ms(20), ms(350), 0);
        assert!(disturbance.end(ms(360), ms(365)));
        assert!(!disturbance.end(ms(371), ms(380)));
    }

    #[test]
    fn what_is_begun_late_brings_the_backlog_back() {
        let mut disturbance = Disturbance::new(ms(10));
        disturbance.stalled(ms(200), ms(300), 1);
        // The answer to the one under way is read before the loop sees what was due.
        assert!(disturbance.end(ms(90), ms(301)));
        disturbance.begin(ms(250));
        assert!(
            disturbance.end(ms(305), ms(306)),
            "the backlog is still there"
        );
        assert!(disturbance.end(ms(250), ms(310)));
        assert!(!disturbance.end(ms(311), ms(312)));
    }
}

//! Which attempts a stall of the loop met: those that were due while it lasted, and those that came while the rest of them
//! was still being worked off. What the target owes to itself is not among them: what was late before the stall, what comes
//! when others are answered in time again, and all that waits while the target says nothing.

use plimsoll_core::Nanos;

/// A target says nothing for up to so many times as long as it ever did without a stall.
const SILENCES: u64 = 2;

/// What the last stall that disturbs has left behind.
#[derive(Debug, Default)]
pub(crate) struct Disturbance {
    /// A stall that is longer disturbs.
    tolerated: Nanos,
    /// The tightest bound of the objectives: whoever owes an answer for longer is late, and a target that says nothing for
    /// longer stands still.
    bound: Nanos,
    /// When it began, or the first of several that follow each other before all is worked off.
    began: Nanos,
    /// When it ended.
    ended: Nanos,
    /// As long again, or as that of an earlier one: nothing of it is left after that, whatever is still under way.
    latest: Nanos,
    /// What was due until then was met by it, if it had not ended before.
    until: Nanos,
    /// Attempts that were due before it ended, and are under way.
    backlog: u64,
    /// The loop listens since then for the answer that comes next: since the last one, since it came round, or since there
    /// is something to be answered.
    listens: Nanos,
    /// How long it had listened for it before it stalled.
    listened: Nanos,
    /// The longest that it listened while nothing of a stall was left: where little is asked, silence is usual.
    usual: Nanos,
}

impl Disturbance {
    pub(crate) fn new(tolerated: Nanos, bound: Nanos) -> Self {
        Self {
            tolerated,
            bound,
            ..Self::default()
        }
    }

    /// The loop came round so much later than it asked, with so many attempts under way.
    #[inline]
    pub(crate) fn stalled(&mut self, late: Nanos, now: Nanos, in_flight: u64) {
        if late <= self.tolerated {
            return;
        }
        let began = now.saturating_sub(late);
        if began >= self.until {
            self.began = began;
        }
        if in_flight > 0 {
            self.listened += began.saturating_sub(self.listens);
        }
        self.listens = now;
        self.ended = now;
        // What a longer one before it has left behind is not worked off sooner.
        self.latest = self.until.max(now + late);
        self.until = self.latest;
        self.backlog = in_flight;
    }

    /// An attempt begins that was due then, the first under way or one more. It may have been due during the stall, which
    /// the loop could not know.
    #[inline]
    pub(crate) fn begin(&mut self, intended: Nanos, now: Nanos, in_flight: u64) {
        if in_flight == 0 {
            self.listens = now;
            self.listened = Nanos::ZERO;
        }
        if intended < self.ended {
            self.backlog += 1;
            self.until = self.latest;
        } else if self.backlog == 0 {
            self.until = self.until.min(intended);
        }
    }

    /// An attempt ends that was due then; true if the stall met it.
    #[inline]
    pub(crate) fn end(&mut self, intended: Nanos, now: Nanos) -> bool {
        self.hear(now);
        if intended >= self.until {
            return false;
        }
        if intended < self.ended {
            self.backlog = self.backlog.saturating_sub(1);
        }
        // What had come meanwhile makes nobody late any more who comes now.
        let makes_none_late = intended >= self.ended && now.saturating_sub(intended) <= self.bound;
        if makes_none_late {
            self.latest = self.latest.min(now);
        }
        if makes_none_late || self.backlog == 0 {
            // What comes from now on finds things as they were.
            self.until = self.until.min(now);
        }
        intended >= self.began || self.began - intended <= self.bound
    }

    /// Working off what came at once, a target answers one after the other. One that says nothing stands still, and who waits
    /// for it waits for that.
    #[inline]
    fn hear(&mut self, now: Nanos) {
        let silence = self.listened + now.saturating_sub(self.listens);
        if self.backlog == 0 {
            self.usual = self.usual.max(silence);
        } else if silence > self.bound.max(self.usual.saturating_mul(SILENCES)) {
            (self.until, self.latest) = (Nanos::ZERO, Nanos::ZERO);
            self.backlog = 0;
        }
        self.listens = self.listens.max(now);
        self.listened = Nanos::ZERO;
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
        stalled_for(ms(400))
    }

    fn stalled_for(bound: Nanos) -> Disturbance {
        let mut disturbance = Disturbance::new(ms(10), bound);
        disturbance.begin(ms(40), ms(40), 0);
        disturbance.stalled(ms(5), ms(50), 1);
        assert!(!disturbance.end(ms(40), ms(60)), "5 ms disturb nobody");
        disturbance.stalled(ms(200), ms(300), 1);
        disturbance.begin(ms(200), ms(300), 1);
        disturbance
    }

    #[test]
    fn a_stall_is_over_when_what_it_left_behind_is_worked_off() {
        let mut disturbance = stalled();
        disturbance.begin(ms(310), ms(310), 1);
        assert!(disturbance.end(ms(90), ms(301)));
        assert!(
            disturbance.end(ms(310), ms(315)),
            "it waited behind the others"
        );
        assert!(disturbance.end(ms(200), ms(320)));
        disturbance.begin(ms(330), ms(330), 1);
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
        let mut disturbance = Disturbance::new(ms(10), ms(50));
        disturbance.begin(ms(90), ms(90), 0);
        disturbance.stalled(ms(200), ms(300), 1);
        // The answer to the one under way is read before the loop sees what was due.
        assert!(disturbance.end(ms(90), ms(301)));
        disturbance.begin(ms(250), ms(300), 1);
        assert!(
            disturbance.end(ms(305), ms(306)),
            "the backlog is still there"
        );
        assert!(disturbance.end(ms(250), ms(310)));
        assert!(!disturbance.end(ms(311), ms(312)));
    }

    /// The target stands still from 60 to 235 ms, the generator from 100 to 300: what was owed for too long before is not ours.
    #[test]
    fn what_was_late_before_the_stall_is_the_targets() {
        let mut disturbance = Disturbance::new(ms(10), ms(30));
        disturbance.begin(ms(60), ms(60), 0);
        disturbance.begin(ms(80), ms(80), 1);
        disturbance.stalled(ms(200), ms(300), 2);
        assert!(!disturbance.end(ms(60), ms(301)), "40 ms before the stall");
        let mut patient = Disturbance::new(ms(10), ms(50));
        patient.begin(ms(60), ms(60), 0);
        patient.begin(ms(80), ms(80), 1);
        patient.stalled(ms(200), ms(300), 2);
        assert!(patient.end(ms(60), ms(301)), "it may have ended at 101 ms");
        assert!(patient.end(ms(80), ms(301)));
    }

    /// One of two stands still, and the other answers: who came after the stall and waits does not wait behind a backlog.
    #[test]
    fn what_waits_while_others_are_answered_in_time_is_the_targets() {
        let mut disturbance = stalled_for(ms(100));
        assert!(disturbance.end(ms(90), ms(301)));
        disturbance.begin(ms(310), ms(310), 1);
        disturbance.begin(ms(320), ms(320), 2);
        assert!(disturbance.end(ms(310), ms(312)));
        for later in [380, 450] {
            disturbance.begin(ms(later), ms(later), 2);
            assert!(!disturbance.end(ms(later), ms(later + 2)));
        }
        assert!(!disturbance.end(ms(320), ms(500)));
        assert!(disturbance.end(ms(200), ms(500)), "nobody knows");
    }

    /// It stands still from before the stall until after it: 30 ms and 40 ms of silence are more than 50.
    #[test]
    fn while_the_target_says_nothing_no_backlog_is_worked_off() {
        let mut disturbance = Disturbance::new(ms(10), ms(50));
        disturbance.begin(ms(70), ms(70), 0);
        disturbance.stalled(ms(200), ms(300), 1);
        disturbance.begin(ms(200), ms(300), 1);
        disturbance.begin(ms(320), ms(320), 2);
        for intended in [320, 200, 70] {
            assert!(!disturbance.end(ms(intended), ms(340)));
        }
        // An answer meanwhile, and it was worked off.
        let mut disturbance = Disturbance::new(ms(10), ms(50));
        disturbance.begin(ms(70), ms(70), 0);
        disturbance.stalled(ms(200), ms(300), 1);
        disturbance.begin(ms(200), ms(300), 1);
        disturbance.begin(ms(210), ms(300), 1);
        assert!(disturbance.end(ms(70), ms(301)));
        assert!(disturbance.end(ms(200), ms(340)));
        assert!(disturbance.end(ms(210), ms(380)));
    }

    /// Nobody asked for anything: that it said nothing means nothing.
    #[test]
    fn silence_counts_from_when_something_was_asked() {
        let mut disturbance = Disturbance::new(ms(10), ms(50));
        disturbance.begin(ms(0), ms(0), 0);
        assert!(!disturbance.end(ms(0), ms(1)));
        disturbance.stalled(ms(200), ms(300), 0);
        disturbance.begin(ms(200), ms(300), 0);
        assert!(disturbance.end(ms(200), ms(340)));
    }

    /// Nothing was due in the stall, and nothing was under way: what comes then waits for the target alone.
    #[test]
    fn without_a_backlog_nothing_is_left_of_a_stall() {
        let mut disturbance = Disturbance::new(ms(10), ms(50));
        disturbance.stalled(ms(200), ms(300), 0);
        disturbance.begin(ms(310), ms(310), 0);
        disturbance.begin(ms(320), ms(320), 1);
        assert!(!disturbance.end(ms(310), ms(480)));
        assert!(!disturbance.end(ms(320), ms(480)));
    }

    /// Twenty requests a second, of which some take long: between two answers it is quiet anyway.
    #[test]
    fn silence_that_is_usual_is_no_standstill() {
        let mut disturbance = Disturbance::new(ms(10), ms(30));
        disturbance.begin(ms(0), ms(0), 0);
        assert!(!disturbance.end(ms(0), ms(40)));
        disturbance.begin(ms(50), ms(50), 0);
        disturbance.stalled(ms(200), ms(300), 1);
        disturbance.begin(ms(200), ms(300), 1);
        assert!(
            disturbance.end(ms(200), ms(325)),
            "75 ms, and twice 40 are usual"
        );
    }
}

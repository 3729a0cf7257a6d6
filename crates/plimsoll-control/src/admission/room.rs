//! How many may wait, and who goes when too many do.

use plimsoll_core::Nanos;

use super::{Admission, PATIENCE, Refusal};

/// Of those that could be let in within the longest wait, so many times as many may wait: answers come faster than in the mean
/// at times. Once that was too few, and until nobody waits any more, it is no burst, and who waits shall be served.
const BURST: f64 = 1.2;
const LASTING: f64 = 0.8;
/// Overloaded: more than this arrives per admission, and somebody has waited all the time for so long (a pause is over
/// sooner). Then the newest goes first: the oldest may be given up soon.
const OVERLOADED: f64 = 1.2;
const OVERLOADED_SINCE: Nanos = Nanos::from_secs(1);

impl Admission {
    pub(super) fn is_newest_first(&self, now: Nanos) -> bool {
        self.size.ratio() > OVERLOADED && self.rejector.queued(now) > OVERLOADED_SINCE
    }

    /// One goes, because more than so many wait.
    pub(super) fn push_out(&mut self, now: Nanos, slots: usize) -> bool {
        let newest = self.is_newest_first(now);
        let urgent = self.urgent();
        let Some(waiting) = self.queue.push_out(slots, urgent, &self.fairness, newest) else {
            return false;
        };
        self.rejector.pushed_out();
        let refusal = if self.fairness.is_greedy_tenant(waiting.owner) {
            Refusal::Share
        } else {
            Refusal::Full
        };
        self.refuse(&waiting, refusal);
        true
    }

    /// Whoever waits behind those that wait already waits in vain, as long as the oldest go first.
    pub(super) fn is_full(&self, now: Nanos) -> bool {
        self.queue.len() >= self.served_in_time() && !self.is_newest_first(now)
    }

    /// How many may wait. Without an overload it is a burst: as many as will be let in in time, however fast the service is.
    pub(super) fn slots(&self) -> usize {
        if !self.config.queue {
            return 0;
        }
        let slots = self.size.slots();
        if self.size.is_overload() || self.mean.seconds() <= 0.0 {
            return slots;
        }
        slots.max(self.served_in_time())
    }

    /// How many of the most important may wait although few places are enough to keep the service busy: they are served first, so
    /// as many as will be let in in time. A queue is short where too much arrives for long; of these, too many arrive for a moment
    /// only. Where they alone are more than can be done, there is nothing to be had by waiting.
    fn urgent(&self) -> usize {
        if self.rejector.most_important_per_s() > self.served_per_s() {
            return 0;
        }
        self.served_in_time()
    }

    /// How many of those that wait will be let in within the longest wait.
    fn served_in_time(&self) -> usize {
        let per_s = self.served_per_s();
        if per_s.is_infinite() {
            return usize::MAX;
        }
        let times = if self.was_full { LASTING } else { BURST };
        ((times * PATIENCE.as_secs_f64() * per_s).ceil() as usize).max(1)
    }

    /// Nobody knows before the first answer, which is taken for no limit.
    fn served_per_s(&self) -> f64 {
        let seconds = self.mean.seconds();
        if seconds <= 0.0 {
            return f64::INFINITY;
        }
        let per_s = f64::from(self.limit.limit()) / seconds;
        self.size.best_per_s().map_or(per_s, |best| per_s.min(best))
    }
}

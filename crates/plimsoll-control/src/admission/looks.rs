//! What an admission says about itself.

use plimsoll_core::Nanos;

use super::{Admission, Counts, Explained};

impl Admission {
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The limit in force now, halved while it probes.
    pub fn limit(&self) -> u32 {
        self.limit.limit()
    }

    pub fn explain(&self) -> Explained {
        self.limit.explain()
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// 0 to 100: how much of the limit is used, and 100 while requests are turned away.
    pub fn saturation(&self) -> f64 {
        self.saturation.value() * 100.0
    }

    /// How long those that wait now will take to be let through.
    pub fn backlog(&self) -> Nanos {
        let per_s = self.size.admitted_per_s();
        if per_s > 0.0 {
            Nanos::from_secs_f64(self.queue.len() as f64 / per_s)
        } else {
            Nanos::ZERO
        }
    }

    /// When clients give up, learned from those that did; and when the upstream does.
    pub fn timeouts(&self, now: Nanos) -> (Option<Nanos>, Option<Nanos>) {
        (self.clients.learned(now), self.upstream.learned(now))
    }

    /// The wall clock showed `wall` at `now`: guards of one upstream probe together.
    pub fn set_wall(&mut self, now: Nanos, wall: Nanos) {
        self.limit.set_wall(now, wall);
    }
}

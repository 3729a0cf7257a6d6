//! Refuses before anybody waits: while the queue does not empty, arrivals below a moving level of importance are turned
//! away at the door, so that what passes is a few times what can be done.
//!
//! A proportional-integral loop: the pass rate follows completions and free permits, and what the queue still has to push
//! out (or lacks) corrects it.

use plimsoll_core::Nanos;

use super::Refusal;
use super::class::Class;

const WINDOW: Nanos = Nanos::from_millis(100);
/// The queue must not have been empty for so long.
const PERSISTENT: Nanos = Nanos::from_millis(250);
/// Sticky groups of sessions in a class, so that who is in stays in.
const COHORTS: usize = 64;
/// Of a class, greedy routes are turned away before the others, and greedy tenants before those.
const RANKS: usize = 4;
const BINS: usize = Class::ALL.len() * RANKS * COHORTS;
/// What may pass per completion, and the share of it that the queue should then have to push out. A queue that is
/// pushed by few keeps who it will refuse for longer: with 1.4 the slowest refusals took ten times as long.
const PASS: f64 = 9.0;
const PUSHED_OUT: f64 = 1.0 - 1.0 / PASS;
const INTEGRAL_GAIN: f64 = 1.0;
const INTEGRAL: (f64, f64) = (-3.0, 6.0);
/// Answers that a smoothed rate looks back on, and the shortest time for it.
const LOOK_BACK: (f64, f64) = (20.0, 0.3);

#[derive(Debug)]
pub(super) struct Rejector {
    begun: Nanos,
    queued_since: Option<Nanos>,
    arrived: Vec<f64>,
    rates: Vec<f64>,
    most_important_per_s: f64,
    completed: f64,
    completed_per_s: f64,
    passed: f64,
    pushed_out: f64,
    integral: f64,
    /// Share that passes, bin by bin; all of it while nothing has to be refused.
    pass: Vec<f32>,
    credit: Vec<f32>,
    is_active: bool,
}

/// Where a request stands in the order of importance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level(usize);

/// Who of it has had more than a fair share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Greedy {
    pub(super) tenant: bool,
    pub(super) route: bool,
}

impl Level {
    pub(super) fn of(class: Class, greedy: Greedy, session: u64) -> Self {
        let rank =
            class as usize * RANKS + 2 * usize::from(greedy.tenant) + usize::from(greedy.route);
        Self(rank * COHORTS + (session % COHORTS as u64) as usize)
    }

    /// What one of them is told at the door.
    pub(super) fn refusal(self) -> Refusal {
        let is_greedy_tenant = self.0 / COHORTS % RANKS >= 2;
        if is_greedy_tenant {
            Refusal::Share
        } else {
            Refusal::Door
        }
    }
}

impl Rejector {
    pub(super) fn new(now: Nanos) -> Self {
        Self {
            begun: now,
            queued_since: None,
            arrived: vec![0.0; BINS],
            rates: vec![0.0; BINS],
            most_important_per_s: 0.0,
            completed: 0.0,
            completed_per_s: 0.0,
            passed: 0.0,
            pushed_out: 0.0,
            integral: 0.0,
            pass: vec![1.0; BINS],
            credit: vec![0.5; BINS],
            is_active: false,
        }
    }

    /// True if the request may pass on to the queue.
    pub(super) fn passes(&mut self, level: Level) -> bool {
        if self.turns_away(level) {
            return false;
        }
        self.arrived[level.0] += 1.0;
        if self.is_active {
            self.credit[level.0] += self.pass[level.0] - 1.0;
        }
        self.passed += 1.0;
        true
    }

    /// True if the request may not pass, which is counted; nothing has happened otherwise.
    pub(super) fn turns_away(&mut self, level: Level) -> bool {
        let credit = self.credit[level.0] + self.pass[level.0];
        if !self.is_active || credit >= 1.0 {
            return false;
        }
        self.arrived[level.0] += 1.0;
        self.credit[level.0] = credit;
        true
    }

    pub(super) fn completed(&mut self) {
        self.completed += 1.0;
    }

    pub(super) fn pushed_out(&mut self) {
        self.pushed_out += 1.0;
    }

    pub(super) fn queue_is(&mut self, now: Nanos, is_empty: bool) {
        if is_empty {
            self.queued_since = None;
            self.is_active = false;
        } else if self.queued_since.is_none() {
            self.queued_since = Some(now);
        }
    }

    /// Arrivals of the most important class, whether they passed or not.
    pub(super) fn most_important_per_s(&self) -> f64 {
        self.most_important_per_s
    }

    /// How long the queue has not been empty.
    pub(super) fn queued(&self, now: Nanos) -> Nanos {
        self.queued_since.map_or(Nanos::ZERO, |since| now - since)
    }

    pub(super) fn pass_time(&mut self, now: Nanos, free: u32) {
        let seconds = (now - self.begun).as_secs_f64();
        if now - self.begun < WINDOW {
            return;
        }
        self.begun = now;
        let back = (LOOK_BACK.0 / self.completed_per_s.max(1e-3)).max(LOOK_BACK.1);
        let weight = seconds / (seconds + back.min(10.0));
        self.completed_per_s += weight * (self.completed / seconds - self.completed_per_s);
        for (rate, arrived) in self.rates.iter_mut().zip(&mut self.arrived) {
            *rate += weight * (std::mem::take(arrived) / seconds - *rate);
        }
        self.most_important_per_s = self.rates[..RANKS * COHORTS].iter().sum();
        if self.is_active && self.passed > 0.0 {
            let error = PUSHED_OUT - self.pushed_out / self.passed;
            self.integral += INTEGRAL_GAIN * error * weight;
            self.integral = self.integral.clamp(INTEGRAL.0, INTEGRAL.1);
        }
        self.completed = 0.0;
        self.passed = 0.0;
        self.pushed_out = 0.0;
        self.is_active = self.queued(now) >= PERSISTENT;
        if self.is_active {
            self.share_out(f64::from(free) / seconds);
        }
    }

    /// What passes of each bin, from the most important down; each class gets its floor of it all the same.
    fn share_out(&mut self, free_per_s: f64) {
        let mut left = (self.completed_per_s + free_per_s) * (PASS + self.integral);
        for (index, class) in Class::ALL.into_iter().enumerate() {
            let floor = self.completed_per_s * class.floor_ratio() * PASS;
            let mut own = left.max(floor);
            let bins = index * RANKS * COHORTS..(index + 1) * RANKS * COHORTS;
            for bin in bins {
                let rate = self.rates[bin];
                let passing = rate.min(own);
                // Bins that are new have no rate yet: they are let pass while there is room.
                self.pass[bin] = match (rate > 0.0, own > 0.0) {
                    (true, _) => (passing / rate) as f32,
                    (false, room) => f32::from(u8::from(room)),
                };
                own -= passing;
                left = (left - passing).max(0.0);
            }
        }
    }
}

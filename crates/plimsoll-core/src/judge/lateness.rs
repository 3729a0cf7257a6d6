//! What our own lateness could have turned: attempts that are bad as counted and might have been fine with a generator on time.
//!
//! Lag is inside response time, so it adds and never takes away. How much it can have added follows from a law of queues:
//! where requests are served in the order they come, by any number of servers, delaying arrivals by at most S delays no
//! departure by more than S (start times are monotone in arrival times, Kiefer and Wolfowitz 1955). If nothing was sent or
//! read later than S, no response time is longer than it would have been by more than 2·S.

use crate::objective::{Clause, Objectives};
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::units::Nanos;
use crate::window::Window;

use super::bad::{bad_of_each, served_within};

/// What a stall left behind is worked off at this rate at least: of 300 ms nothing is left after 3 s. A target with less
/// than a tenth to spare is over its boundary for other reasons.
const DRAINED_PER_SECOND: f64 = 0.1;
/// Bunches shorter than this are what Poisson arrivals have anyway: nothing is refused because of them.
const BUNCH_LEAST: Nanos = Nanos::from_millis(10);
/// Lateness up to this share of the tightest bound is no disturbance (DESIGN section 6, gate 6).
const TOLERATED: f64 = 0.05;

/// How late the generator was, window after window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lateness {
    /// In the window itself.
    own: Nanos,
    /// With what earlier windows left behind.
    with_rest: Nanos,
    /// Share of the window's attempts that it can have met, and how many more were under way.
    share: f64,
    under_way: u64,
}

impl Lateness {
    /// The window that follows.
    pub fn next(&mut self, window: &Window) {
        self.own = window.health.latest();
        let drained = window.length_ns.0 as f64 * DRAINED_PER_SECOND;
        let rest = self.with_rest.saturating_sub(Nanos(drained as u64));
        self.with_rest = self.own.max(rest);
        // Stalls of 1 % of the time meet 1 % of the arrivals, and what they leave behind takes ten times as long to go.
        let stalled = window.health.stalled_ns.filter(|_| rest <= self.own);
        let length = window.length_ns.0.max(1) as f64;
        self.share = stalled.map_or(1.0, |stalled| {
            (stalled.0 as f64 / length / DRAINED_PER_SECOND).min(1.0)
        });
        self.under_way = window.in_flight_max;
    }

    /// More of so many attempts cannot have met a stall.
    fn met(self, attempts: u64) -> u64 {
        (attempts as f64 * self.share).ceil() as u64 + self.under_way
    }

    /// Beyond what an objective with such bounds tolerates.
    pub fn disturbs(self, objectives: &Objectives) -> bool {
        self.with_rest > tolerated(objectives)
    }

    /// Of the attempts of `tally`, which ended in this window, those that are bad under each clause and might not be if
    /// nothing had been late: answers within bound + 2·S, what we dropped ourselves, and failures where so many requests
    /// came at once that they may have been refused for it.
    pub fn turned(self, objectives: &Objectives, tally: &Tally, dropped_ours: u64) -> Vec<u64> {
        let refused = if self.own > tolerated(objectives) {
            tally.failures()
        } else {
            dropped_ours.min(tally.class(Outcome::Dropped).count)
        };
        let mut bound_index = 0;
        let each = bad_of_each(objectives, tally);
        each.map(|(clause, bad)| match clause {
            Clause::Errors { .. } => refused,
            Clause::ResponseTime { bound_ns, .. } => {
                let index = bound_index;
                bound_index += 1;
                let in_time = served_within(tally, Some(index), bound_ns);
                let reach = bound_ns + self.with_rest.saturating_mul(2);
                let late = served_within(tally, None, reach).saturating_sub(in_time);
                let late = late.min(self.met(bad.attempts));
                (late + refused).min(bad.count)
            }
        })
        .collect()
    }
}

/// max(10 ms, 5 % of the tightest bound).
fn tolerated(objectives: &Objectives) -> Nanos {
    tolerated_of(objectives.tightest_bound().unwrap_or_default())
}

/// The longest stall that does not disturb, for this bound.
pub fn tolerated_of(bound: Nanos) -> Nanos {
    BUNCH_LEAST.max(Nanos((bound.0 as f64 * TOLERATED) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objectives() -> Objectives {
        Objectives::parse("p99<100ms,errors<1%").unwrap()
    }

    fn tally(ends: &[(Outcome, u64, u64)]) -> Tally {
        let mut tally = Tally::default();
        for &(outcome, millis, count) in ends {
            for _ in 0..count {
                let time = Nanos::from_millis(millis);
                tally.record(outcome, time, Some(time), 1, &objectives().bounds());
            }
        }
        tally
    }

    fn after(stalls: &[u64]) -> Lateness {
        let mut lateness = Lateness::default();
        for &stall in stalls {
            let mut window = Window {
                length_ns: Nanos::from_secs(1),
                ..Window::default()
            };
            window.health.stall_max_ns = Nanos::from_millis(stall);
            lateness.next(&window);
        }
        lateness
    }

    #[test]
    fn a_stall_can_turn_what_is_late_by_less_than_twice_as_much() {
        let ends = tally(&[
            (Outcome::Ok, 50, 90),
            (Outcome::Ok, 120, 5),
            (Outcome::Ok, 300, 2),
            (Outcome::Eof, 1, 3),
        ]);
        let turned = |stalls: &[u64]| after(stalls).turned(&objectives(), &ends, 0);
        assert_eq!(turned(&[0]), [0, 0]);
        assert_eq!(turned(&[5]), [0, 0]);
        assert_eq!(turned(&[10]), [5, 0], "120 ms is within 100 + 2 · 10");
        assert_eq!(
            turned(&[20]),
            [8, 3],
            "so many at once may have been refused"
        );
        assert_eq!(turned(&[200]), [10, 3]);
    }

    /// Half of the attempts take 120 ms: a stall of 30 ms explains each of them, but cannot have met more than 30 %.
    #[test]
    fn a_stall_meets_no_more_than_came_meanwhile() {
        let ends = tally(&[(Outcome::Ok, 50, 500), (Outcome::Ok, 120, 500)]);
        let mut window = Window {
            length_ns: Nanos::from_secs(1),
            in_flight_max: 7,
            ..Window::default()
        };
        window.health.stall_max_ns = Nanos::from_millis(30);
        let turned = |stalled| {
            let mut window = window.clone();
            window.health.stalled_ns = stalled;
            let mut lateness = Lateness::default();
            lateness.next(&window);
            lateness.turned(&objectives(), &ends, 0)[0]
        };
        assert_eq!(turned(Some(Nanos::from_millis(30))), 307);
        assert_eq!(turned(None), 500, "nobody looked");
    }

    #[test]
    fn what_a_stall_left_behind_fades() {
        let ends = tally(&[(Outcome::Ok, 120, 5), (Outcome::Eof, 1, 3)]);
        let turned = |stalls: &[u64]| after(stalls).turned(&objectives(), &ends, 0);
        assert_eq!(
            turned(&[300, 0]),
            [5, 0],
            "200 ms are left, and nobody is refused for them"
        );
        assert_eq!(turned(&[300, 0, 0, 0]), [0, 0]);
        assert!(after(&[300, 0]).disturbs(&objectives()));
        assert!(!after(&[300, 0, 0, 0]).disturbs(&objectives()));
    }

    #[test]
    fn what_we_dropped_is_ours_and_no_more() {
        let ends = tally(&[(Outcome::Dropped, 0, 4), (Outcome::Ok, 1, 10)]);
        assert_eq!(after(&[0]).turned(&objectives(), &ends, 3), [3, 3]);
        assert_eq!(after(&[0]).turned(&objectives(), &ends, 9), [4, 4]);
    }
}

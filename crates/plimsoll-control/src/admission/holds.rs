//! Routes whose requests hold their permits for so long that nobody who waits for one gets it: beside them a few are lent to
//! others, as a long poll or one part of a service that hangs must not shut out the rest.

use plimsoll_core::Nanos;

use super::fairness::{Fairness, Owner};
use super::{Admission, Class, PATIENCE, Rule};

/// A route whose requests have been under way for so long on the average is stuck: whoever waited when they began has been refused
/// by now. Below the half of a second that they last on the average if their clients all leave after one. The next ones are taken
/// for as long from the start, until others are answered.
const STUCK: Nanos = Nanos(PATIENCE.0 / 2 * 3);
/// Who is let in beside them takes less than this part of what they have taken already.
const QUICKER: f64 = 4.0;
/// This part of the limit may be lent beyond it, and one at least.
const LENT: u32 = 4;
const LOOKED_EVERY: Nanos = Nanos::from_millis(100);
/// A route of which nothing has been in flight for so long may have been mended.
const FORGOTTEN: Nanos = Nanos::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Holds {
    routes: Vec<Route>,
    /// In flight on routes that are stuck, and how many seconds they take at least on the average.
    stuck: u32,
    stuck_seconds: f64,
    /// Permits beyond the limit.
    lent: u32,
    /// When somebody came last that is not of a stuck route, while there is one.
    other_at: Option<Nanos>,
    looked_at: Nanos,
}

#[derive(Debug, Clone, Copy, Default)]
struct Route {
    in_flight: u32,
    /// Nanoseconds, the sum of when each of them began.
    began: u128,
    is_stuck: bool,
    /// Seconds that it was stuck for since it was answered last, and when: such requests are not known by good answers.
    hung: f64,
    hung_at: Nanos,
}

impl Holds {
    pub(super) fn began(&mut self, now: Nanos, owner: Owner, is_lent: bool) {
        self.lent += u32::from(is_lent);
        let place = owner.route_place();
        if self.routes.len() <= place {
            self.routes.resize(place + 1, Route::default());
        }
        let route = &mut self.routes[place];
        route.in_flight += 1;
        route.began += u128::from(now.0);
        self.stuck += u32::from(route.is_stuck);
    }

    pub(super) fn ended(&mut self, began: Nanos, owner: Owner, is_lent: bool) {
        self.lent -= u32::from(is_lent);
        let route = &mut self.routes[owner.route_place()];
        route.in_flight -= 1;
        route.began -= u128::from(began.0);
        self.stuck -= u32::from(route.is_stuck);
    }

    pub(super) fn came(&mut self, now: Nanos, owner: Owner) {
        let route = self.routes.get(owner.route_place());
        if self.stuck > 0 && !route.is_some_and(|route| route.is_stuck) {
            self.other_at = Some(now);
        }
    }

    pub(super) fn served(&mut self, owner: Owner) {
        self.routes[owner.route_place()].hung = 0.0;
    }

    /// Looks at the ages of what is in flight, now and then.
    pub(super) fn pass(&mut self, now: Nanos, fairness: &Fairness) {
        if now - self.looked_at < LOOKED_EVERY {
            return;
        }
        self.looked_at = now;
        let (mut stuck, mut seconds) = (0, 0.0);
        for (place, route) in self.routes.iter_mut().enumerate() {
            let mean = route.began.checked_div(route.in_flight.into());
            let age = mean.map_or(Nanos::ZERO, |began| Nanos(now.0 - began as u64));
            if age >= STUCK {
                route.hung = route.hung.max(age.as_secs_f64());
                route.hung_at = now;
            } else if now - route.hung_at > FORGOTTEN {
                route.hung = 0.0;
            }
            let takes = route.hung.max(fairness.seconds_of(place));
            route.is_stuck = route.in_flight > 0 && takes >= STUCK.as_secs_f64();
            if route.is_stuck {
                stuck += route.in_flight;
                seconds += takes * f64::from(route.in_flight);
            }
        }
        self.stuck = stuck;
        self.stuck_seconds = seconds / f64::from(stuck.max(1));
    }

    pub(super) fn lent(&self) -> u32 {
        self.lent
    }

    /// Whether a permit may be lent to it. Of a route that nobody knows yet the best is believed, until it is stuck itself.
    fn may_borrow(&self, owner: Owner, fairness: &Fairness) -> bool {
        let route = self.routes.get(owner.route_place());
        let route = route.copied().unwrap_or_default();
        let usual = fairness.expected(owner).unwrap_or(0.0);
        !route.is_stuck && QUICKER * usual.max(route.hung) < self.stuck_seconds
    }
}

impl Admission {
    /// How many permits could be lent now. Whatever is stuck, the others have this part of the limit, and no more than that is in
    /// flight beyond it.
    pub(super) fn loans(&self) -> u32 {
        // A number that somebody chose is what the service takes, and not one more.
        if self.holds.stuck == 0 || matches!(self.config.rule, Rule::Fixed(_)) {
            return 0;
        }
        let most = (self.limit.limit() / LENT).max(1);
        let others = self.in_flight.saturating_sub(self.holds.stuck);
        most.saturating_sub(others.max(self.holds.lent))
    }

    /// The same, if there is anybody who could be lent one: what comes at the door is measured by it.
    pub(super) fn loans_asked_for(&self, now: Nanos) -> u32 {
        let is_lately = |at| now - at < FORGOTTEN;
        if self.holds.other_at.is_some_and(is_lately) {
            self.loans()
        } else {
            0
        }
    }

    pub(super) fn could_borrow(&self, owner: Owner) -> bool {
        self.loans() > 0 && self.holds.may_borrow(owner, &self.fairness)
    }

    /// Lets one in beside those that are stuck, if there is one for it.
    pub(super) fn lend(&mut self, now: Nanos, newest: bool) -> bool {
        if self.queue.len() == 0 || self.loans() == 0 {
            return false;
        }
        let (queue, fairness, holds) = (&mut self.queue, &self.fairness, &self.holds);
        let may = |owner| holds.may_borrow(owner, fairness);
        // Whose turn it is changes by being asked.
        if !Class::ALL.iter().any(|class| queue.has_any(*class, may)) {
            return false;
        }
        let class = self.floors.next(now, |class| queue.has_any(class, may));
        let next = class.and_then(|class| queue.next(class, fairness, newest, may));
        let Some(waiting) = next else {
            return false;
        };
        self.admit(now, &waiting, true);
        true
    }
}

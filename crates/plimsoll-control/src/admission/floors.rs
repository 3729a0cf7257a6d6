//! Which class is served next: strict order, but each class that waits gets its floor of every few seconds.

use plimsoll_core::Nanos;

use super::class::Class;

const WINDOW: Nanos = Nanos::from_secs(1);
const FADING: f64 = 0.8;

/// Permits given to each class lately.
#[derive(Debug, Default)]
pub(super) struct Floors {
    begun: Nanos,
    given: [f64; Class::ALL.len()],
}

impl Floors {
    fn pass(&mut self, now: Nanos) {
        let windows = (now - self.begun).0 / WINDOW.0;
        if windows > 0 {
            self.begun = now;
            // What was given before fades, so that no window begins with a rush and a slow service has a share to give.
            let kept = libm::pow(FADING, windows as f64);
            self.given.iter_mut().for_each(|given| *given *= kept);
        }
    }

    /// Of those that wait, from the most important.
    pub(super) fn next(&mut self, now: Nanos, waits: impl Fn(Class) -> bool) -> Option<Class> {
        self.pass(now);
        let all: f64 = self.given.iter().sum();
        let is_owed = |class: &Class| {
            let given = self.given[*class as usize];
            // The next one would still be within its floor.
            given + 1.0 <= class.floor_ratio() * all
        };
        let mut waiting = Class::ALL.into_iter().filter(|class| waits(*class));
        let owed = Class::ALL.into_iter().rev();
        owed.filter(|class| waits(*class))
            .find(is_owed)
            .or_else(|| waiting.next())
    }

    pub(super) fn gave(&mut self, class: Class) {
        self.given[class as usize] += 1.0;
    }
}

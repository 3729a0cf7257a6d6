//! How many may wait: enough that the upstream hardly ever idles, at the overload that was measured.

use plimsoll_core::Nanos;

const WINDOW: Nanos = Nanos::from_millis(500);
const SMOOTHING: f64 = 0.3;
/// Of so many times as many arrivals as before the first window is believed.
const JUMP: f64 = 2.0;
/// Share of time without work that is put up with.
const IDLE: f64 = 0.02;
/// For arrivals and services that vary more than those of the formula.
const VARIABILITY: f64 = 4.0;
const RATIO_LEAST: f64 = 1.002;
/// Up to here what is admitted is what was asked for, and says nothing of what can be done: a burst that finds an idle
/// service waits by the formula, and the longest wait bounds it.
const NOT_OVERLOADED: f64 = 1.05;
/// Somebody waits for a larger part of a window only in an overload: a burst is done, or refused, after the longest wait.
const BURST_AT_MOST: f64 = 0.6;
/// Of one window this is believed only if so many times as much arrives as is let in: after a pause of the machine a fast service
/// has as much to make up for, and those that wait for it shall not be sent away.
const AT_ONCE: f64 = 2.0;
/// So much of an overload is believed after a window without one.
const CALM_LEAVES: f64 = 0.5;
/// Somebody waits for all of a window.
const FULL: f64 = 0.95;
/// What remains of the best rate after a window of an overload that let in less.
const BEST_FADES: f64 = 0.98;
/// So many times as much arrives as is let in: whoever is let in, others are there at once. Then those that wait in vain shall
/// know it after so many seconds.
const HEAVY: f64 = 4.0;
const IN_VAIN: f64 = 0.004;

#[derive(Debug)]
pub(crate) struct Size {
    begun: Nanos,
    windows: u32,
    arrived: f64,
    admitted: f64,
    arrived_per_s: f64,
    admitted_per_s: f64,
    /// Windows in a row in which somebody waited for most of the time.
    waiting_windows: u32,
    /// Windows in a row in which somebody always waited.
    full_windows: u32,
    /// The most that was let in per second in such windows; fades in those that let in less.
    best_per_s: Option<f64>,
    /// For so long somebody has waited in this window, and since when somebody does now.
    waited: Nanos,
    waiting_since: Option<Nanos>,
    /// The longest wait.
    patience: Nanos,
    slots: usize,
}

impl Size {
    pub(crate) fn new(now: Nanos, patience: Nanos) -> Self {
        Self {
            begun: now,
            windows: 0,
            arrived: 0.0,
            admitted: 0.0,
            arrived_per_s: 0.0,
            admitted_per_s: 0.0,
            waiting_windows: 0,
            full_windows: 0,
            best_per_s: None,
            waited: Nanos::ZERO,
            waiting_since: None,
            patience,
            slots: slots(RATIO_LEAST) as usize,
        }
    }

    pub(crate) fn arrived(&mut self) {
        self.arrived += 1.0;
    }

    pub(crate) fn admitted(&mut self) {
        self.admitted += 1.0;
    }

    /// Somebody waits now, or nobody does.
    pub(crate) fn queue_is(&mut self, now: Nanos, is_empty: bool) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += now - since;
        }
        self.waiting_since = (!is_empty).then_some(now);
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    pub(crate) fn admitted_per_s(&self) -> f64 {
        self.admitted_per_s
    }

    /// What can be let in per second, if an overload has shown it.
    pub(crate) fn best_per_s(&self) -> Option<f64> {
        self.best_per_s
    }

    /// Arrivals over admissions.
    pub(crate) fn ratio(&self) -> f64 {
        (self.arrived_per_s / self.admitted_per_s.max(1e-9)).max(RATIO_LEAST)
    }

    /// More arrives than can be done, and not for a moment only.
    pub(crate) fn is_overload(&self) -> bool {
        self.ratio() > NOT_OVERLOADED
    }

    pub(crate) fn pass(&mut self, now: Nanos) {
        let seconds = (now - self.begun).as_secs_f64();
        if now - self.begun < WINDOW {
            return;
        }
        self.queue_is(now, self.waiting_since.is_none());
        let waited = std::mem::take(&mut self.waited).as_secs_f64();
        let has_waited = waited > BURST_AT_MOST * seconds;
        if self.is_believed(has_waited) {
            let is_jump = self.arrived > JUMP * self.arrived_per_s * seconds;
            let weight = if self.windows == 0 || is_jump {
                1.0
            } else {
                SMOOTHING
            };
            self.windows = 1;
            self.arrived_per_s += weight * (self.arrived / seconds - self.arrived_per_s);
            self.admitted_per_s += weight * (self.admitted / seconds - self.admitted_per_s);
        } else if !has_waited {
            // A burst at most: what was admitted then is no measure of what can be, and an overload is over soon.
            let excess = CALM_LEAVES * (self.ratio() - RATIO_LEAST);
            self.arrived_per_s = self.admitted_per_s * (RATIO_LEAST + excess);
        }
        self.measure_best(self.admitted / seconds, waited > FULL * seconds);
        self.begun = now;
        self.arrived = 0.0;
        self.admitted = 0.0;
        self.slots = self.wanted().max(1);
    }

    fn is_believed(&mut self, has_waited: bool) -> bool {
        self.waiting_windows = if has_waited {
            self.waiting_windows + 1
        } else {
            0
        };
        self.waiting_windows >= 2 || (has_waited && self.arrived >= AT_ONCE * self.admitted)
    }

    fn measure_best(&mut self, per_s: f64, is_full: bool) {
        self.full_windows = if is_full { self.full_windows + 1 } else { 0 };
        // A pause of the service, and what has to be made up for after it, are over sooner; a standstill shows nothing.
        if self.full_windows >= 2 && per_s > 0.0 {
            let faded = BEST_FADES * self.best_per_s.unwrap_or(0.0);
            self.best_per_s = Some(per_s.max(faded));
        } else {
            self.best_per_s = self.best_per_s.map(|best| best.max(per_s));
        }
    }

    fn wanted(&self) -> usize {
        let ratio = self.ratio();
        let mut wanted = slots(ratio);
        if self.is_overload() {
            wanted = wanted.min(self.patience.as_secs_f64() * self.admitted_per_s);
        }
        if ratio > HEAVY {
            let in_vain_per_s = self.arrived_per_s - self.admitted_per_s;
            wanted = wanted.min((IN_VAIN * in_vain_per_s).max(wanted / VARIABILITY));
        }
        wanted.floor() as usize
    }
}

/// For so many arrivals per admission: where a queue that is born and dies idles so little.
fn slots(ratio: f64) -> f64 {
    let excess = ratio - 1.0;
    VARIABILITY * libm::log1p(excess / IDLE) / libm::log(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_too_much_arrives_the_fewer_need_to_wait() {
        let sizes: Vec<u32> = [1.002, 1.2, 2.0, 5.0, 10.0]
            .map(|ratio| slots(ratio) as u32)
            .to_vec();
        assert_eq!(sizes, [190, 52, 22, 13, 10]);
    }

    #[test]
    fn the_wait_is_bounded_by_time_and_somebody_may_always_wait() {
        let mut size = Size::new(Nanos::ZERO, Nanos::from_millis(250));
        size.queue_is(Nanos::ZERO, false);
        for _ in 0..4 {
            size.arrived();
            size.arrived();
            size.admitted();
        }
        size.pass(Nanos::from_secs(1));
        assert_eq!(size.slots(), 1);
    }

    /// A burst was refused in part: a while later the next one waits as if it had not been.
    #[test]
    fn an_overload_that_is_over_is_forgotten() {
        let mut size = Size::new(Nanos::ZERO, Nanos::from_millis(250));
        let mut now = Nanos::from_millis(500);
        size.queue_is(Nanos::ZERO, false);
        for _ in 0..100 {
            size.arrived();
        }
        for _ in 0..40 {
            size.admitted();
        }
        size.pass(now);
        size.queue_is(now, true);
        assert!(size.slots() <= 20);
        for _ in 0..6 {
            now += WINDOW;
            size.pass(now);
        }
        assert!(size.ratio() < NOT_OVERLOADED);
        assert!(size.slots() > 60, "{}", size.slots());
    }

    /// What is not believed yet is no sign of calm.
    #[test]
    fn one_window_without_a_queue_does_not_end_an_overload_twice() {
        let mut size = Size::new(Nanos::ZERO, Nanos::from_millis(250));
        let mut now = Nanos::ZERO;
        let mut window = |is_calm: bool| {
            size.queue_is(now, is_calm);
            for _ in 0..130 {
                size.arrived();
            }
            for _ in 0..100 {
                size.admitted();
            }
            now += WINDOW;
            size.pass(now);
            size.ratio()
        };
        window(false);
        assert!((window(false) - 1.3).abs() < 1e-9);
        let calmer = window(true);
        assert!((window(false) - calmer).abs() < 1e-9);
        assert!(window(false) > calmer);
    }

    #[test]
    fn few_requests_say_nothing_of_how_many_may_wait() {
        let mut size = Size::new(Nanos::ZERO, Nanos::from_millis(250));
        let before = size.slots();
        size.pass(Nanos::from_secs(1));
        size.arrived();
        size.admitted();
        size.pass(Nanos::from_secs(2));
        assert_eq!((before, size.slots()), (190, 190));
    }
}

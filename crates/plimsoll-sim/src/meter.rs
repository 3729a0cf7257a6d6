//! Fills one window after the other with what happened on the virtual clock.

use plimsoll_core::window::Carried;
use plimsoll_core::{Nanos, Outcome, Tally, Window};

/// Bytes of a simulated answer, head included.
const ANSWER_BYTES: u64 = 1_000;
/// What the simulated generator says about itself: ten microseconds late, a tenth of a core.
const LAG: Nanos = Nanos::from_micros(10);
const RUN_SHARE: u64 = 10;

#[derive(Debug, Default)]
pub(crate) struct Meter {
    window: Window,
    level: u32,
    bounds: Vec<Nanos>,
    in_flight: u64,
    changed_at: u64,
    /// Attempts × nanoseconds since the window began.
    area: u128,
}

impl Meter {
    pub(crate) fn new(bounds: Vec<Nanos>) -> Self {
        let mut meter = Self {
            bounds,
            ..Self::default()
        };
        meter.window.operations.push(Tally::default());
        meter
    }

    pub(crate) fn level(&self) -> u32 {
        self.level
    }

    pub(crate) fn begin_level(&mut self, level: u32) {
        self.level = level;
    }

    pub(crate) fn begin_window(&mut self, now: u64, length: Nanos) {
        let mut tally = std::mem::take(&mut self.window.operations[0]);
        tally.clear();
        let mut lag = std::mem::take(&mut self.window.health.lag);
        lag.clear();
        self.window = Window {
            level: self.level,
            start_ns: Nanos(now),
            length_ns: length,
            in_flight_max: self.in_flight,
            wire_max: self.in_flight,
            operations: vec![tally],
            ..Window::default()
        };
        self.window.health.lag = lag;
        self.changed_at = now;
        self.area = 0;
    }

    pub(crate) fn end_window(&mut self, now: u64) -> &Window {
        self.integrate(now);
        let window = &mut self.window;
        window.in_flight_mean = self.area as f64 / window.length_ns.0 as f64;
        window.in_flight_end = self.in_flight;
        window.health.lag.record_n(LAG, window.sent_count);
        window.health.worker_run_ns = vec![Nanos(window.length_ns.0 / RUN_SHARE)];
        window.health.worker_wait_ns = vec![Nanos::ZERO];
        window.health.connections_open = u32::try_from(self.in_flight).unwrap_or(u32::MAX);
        window
    }

    #[inline]
    pub(crate) fn started(&mut self, now: u64) {
        self.integrate(now);
        self.in_flight += 1;
        self.window.due_count += 1;
        self.window.sent_count += 1;
        self.window.in_flight_max = self.window.in_flight_max.max(self.in_flight);
        self.window.wire_max = self.window.in_flight_max;
    }

    #[inline]
    pub(crate) fn ended(&mut self, now: u64, level: u32, outcome: Outcome, intended: u64) {
        self.integrate(now);
        self.in_flight -= 1;
        let took = Nanos(now - intended);
        let tally = if level == self.level {
            &mut self.window.operations[0]
        } else {
            carried_of(&mut self.window.carried, level)
        };
        let bytes = if outcome.has_answer() {
            ANSWER_BYTES
        } else {
            0
        };
        // Sent as late as the windows say that the generator was.
        tally.record(outcome, took, Some(took - LAG), bytes, &self.bounds);
    }

    #[inline]
    fn integrate(&mut self, now: u64) {
        self.area += u128::from(self.in_flight) * u128::from(now - self.changed_at);
        self.changed_at = now;
    }
}

fn carried_of(carried: &mut Vec<Carried>, level: u32) -> &mut Tally {
    let index = carried
        .iter()
        .position(|entry| entry.level == level)
        .unwrap_or_else(|| {
            carried.push(Carried {
                level,
                ..Carried::default()
            });
            carried.len() - 1
        });
    &mut carried[index].tally
}

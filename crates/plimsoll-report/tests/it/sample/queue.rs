//! One server, first come, first served, with a bound that sheds; played into windows.

use std::collections::VecDeque;

use plimsoll_base::random::Rng;
use plimsoll_core::window::{Carried, Health};
use plimsoll_core::{Nanos, Outcome, Tally, Window};

use super::BOUND;

const SECOND: u64 = 1_000_000_000;
/// Requests in the server beyond which it answers 503.
const LIMIT: usize = 112;
/// Time on the wire and in the downstream that no queue belongs to.
const FIXED_NS: f64 = 5_000_000.0;

struct Attempt {
    level: u32,
    due: u64,
    end: u64,
    wait: u64,
    outcome: Outcome,
    bytes: u64,
}

pub(super) struct Queue {
    rng: Rng,
    service_ns: f64,
    now: u64,
    free_at: u64,
    in_server: VecDeque<u64>,
    open: Vec<Attempt>,
}

impl Queue {
    pub(super) fn new(service_ns: f64, seed: u64) -> Self {
        let rng = Rng::new(seed, 1);
        Self {
            rng,
            service_ns,
            now: 0,
            free_at: 0,
            in_server: VecDeque::new(),
            open: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    /// Plays `seconds` at `rate` and appends a window for each.
    pub(super) fn play(&mut self, level: u32, rate: f64, seconds: u64, windows: &mut Vec<Window>) {
        let mut due = self.now as f64;
        for _ in 0..seconds {
            let end = self.now + SECOND;
            let mut due_count = 0;
            loop {
                let next = due + self.rng.exponential() * 1e9 / rate;
                if next >= end as f64 {
                    // Memoryless: drawing again from the next second's start changes nothing.
                    due = end as f64;
                    break;
                }
                due = next;
                due_count += 1;
                let attempt = self.serve(level, next as u64);
                self.open.push(attempt);
            }
            windows.push(self.window(level, due_count, end));
            self.now = end;
        }
    }

    fn serve(&mut self, level: u32, due: u64) -> Attempt {
        while self.in_server.front().is_some_and(|end| *end <= due) {
            self.in_server.pop_front();
        }
        let luck = self.rng.unit();
        let crowded = self.in_server.len() > LIMIT / 2;
        let at = |end: u64, outcome, bytes| Attempt {
            level,
            due,
            end,
            wait: 20_000,
            outcome,
            bytes,
        };
        if self.in_server.len() >= LIMIT {
            return at(due + 900_000, Outcome::Shed, 181);
        }
        if crowded && luck < 0.0005 {
            return at(due + 2_000_000, Outcome::Reset, 0);
        }
        if crowded && luck > 0.9998 {
            return at(due + 3_000_000, Outcome::Http5xx, 341);
        }
        // Erlang-2: steadier than exponential, as handlers are.
        let work = f64::midpoint(self.rng.exponential(), self.rng.exponential()) * self.service_ns;
        self.free_at = self.free_at.max(due) + work as u64;
        self.in_server.push_back(self.free_at);
        let fixed = FIXED_NS * (0.6 + 0.4 * self.rng.exponential());
        let wait = if luck < 0.008 {
            (12e6 * self.rng.unit()) as u64
        } else {
            20_000
        };
        Attempt {
            level,
            due,
            end: self.free_at + fixed as u64 + wait,
            wait,
            outcome: Outcome::Ok,
            bytes: 6_412,
        }
    }

    fn window(&mut self, level: u32, due_count: u64, end: u64) -> Window {
        let start = end - SECOND;
        let mut window = Window {
            level,
            start_ns: Nanos(start),
            length_ns: Nanos(SECOND),
            due_count,
            sent_count: due_count,
            operations: vec![Tally::default()],
            health: health(due_count),
            ..Window::default()
        };
        let mut held_ns = 0;
        for attempt in &self.open {
            held_ns += attempt.end.min(end) - attempt.due.max(start);
        }
        let (ended, open): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|attempt| attempt.end < end);
        self.open = open;
        for attempt in &ended {
            count(&mut window, attempt);
        }
        window.in_flight_mean = held_ns as f64 / SECOND as f64;
        window.in_flight_end = self.open.len() as u64;
        window.in_flight_max = window
            .in_flight_end
            .max(window.in_flight_mean.ceil() as u64 + 3);
        window.wire_max = window.in_flight_max.saturating_sub(1);
        window
    }

    /// Lets what is in flight end in the last window.
    pub(super) fn finish(&mut self, windows: &mut [Window]) {
        if let Some(window) = windows.last_mut() {
            for attempt in std::mem::take(&mut self.open) {
                count(window, &attempt);
            }
        }
    }
}

fn health(sent: u64) -> Health {
    let mut health = Health {
        worker_run_ns: vec![Nanos(sent * 40_000)],
        worker_wait_ns: vec![Nanos(sent * 900)],
        connections_open: 112,
        ..Health::default()
    };
    health.lag.record_n(Nanos(90_000), sent);
    health.lag.record_n(Nanos(210_000), sent / 50);
    health
}

fn count(window: &mut Window, attempt: &Attempt) {
    let response = Nanos(attempt.end - attempt.due);
    let service = Nanos(response.0 - attempt.wait.min(response.0));
    let tally = if attempt.level == window.level {
        &mut window.operations[0]
    } else {
        let known = window
            .carried
            .iter()
            .position(|carried| carried.level == attempt.level);
        let index = known.unwrap_or_else(|| {
            window.carried.push(Carried {
                level: attempt.level,
                ..Carried::default()
            });
            window.carried.len() - 1
        });
        &mut window.carried[index].tally
    };
    tally.record(
        attempt.outcome,
        response,
        Some(service),
        attempt.bytes,
        &[BOUND],
    );
}

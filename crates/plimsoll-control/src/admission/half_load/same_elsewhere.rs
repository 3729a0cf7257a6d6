//! Holds the rule and its port in `npm/plimsoll` together: both play the same small services and must choose the same
//! limits, which stand in `npm/plimsoll/test/half-load.txt`.

use std::collections::VecDeque;
use std::fmt::Write as _;

use plimsoll_core::Nanos;

use super::super::limit::{Answer, Demand, Ended, Limit};
use super::HalfLoad;

const EXPECTED: &str = include_str!("../../../../../npm/plimsoll/test/half-load.txt");
const SECONDS: u64 = 20;
const PATIENCE: u64 = 1_000;
/// Slots begin by the wall clock.
const WALL_AHEAD: u64 = 37;
/// Milliseconds between which one of them stands still.
const STILL: (u64, u64) = (8_000, 11_000);

/// A pool of workers, as simple as can be written twice.
struct Service {
    name: &'static str,
    workers: usize,
    /// Milliseconds of work: at least, and up to so many more.
    work: (u64, u64),
    /// Arrivals in a millisecond, in 65,536ths.
    arrivals: u64,
    /// Answers fail if more than so many were in flight when they were let in.
    fails_above: u32,
    stands_still: bool,
}

impl Service {
    /// When work that begins at `from` is done.
    fn done(&self, from: u64, work: u64) -> u64 {
        let over = from + work;
        if self.stands_still && over > STILL.0 && from < STILL.1 {
            over + STILL.1 - from.max(STILL.0)
        } else {
            over
        }
    }
}

const SERVICES: [Service; 6] = [
    Service {
        name: "pool",
        workers: 8,
        work: (20, 40),
        arrivals: 39_000,
        fails_above: 1_000,
        stands_still: false,
    },
    Service {
        name: "loop",
        workers: 1,
        work: (5, 1),
        arrivals: 60_000,
        fails_above: 1_000,
        stands_still: false,
    },
    Service {
        name: "fails",
        workers: 12,
        work: (30, 20),
        arrivals: 60_000,
        fails_above: 20,
        stands_still: false,
    },
    Service {
        name: "slow",
        workers: 40,
        work: (200, 300),
        arrivals: 13_000,
        fails_above: 1_000,
        stands_still: false,
    },
    Service {
        name: "late",
        workers: 2,
        work: (300, 500),
        arrivals: 9_000,
        fails_above: 1_000,
        stands_still: false,
    },
    Service {
        name: "still",
        workers: 6,
        work: (10, 20),
        arrivals: 25_000,
        fails_above: 1_000,
        stands_still: true,
    },
];

struct Random(u32);

impl Random {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u64::from(self.0 >> 16)
    }
}

/// The limit at every tenth of a second.
fn limits(service: &Service) -> Vec<u32> {
    let mut limit = HalfLoad::new(Nanos::ZERO, None);
    limit.set_wall(Nanos::ZERO, Nanos::from_millis(WALL_AHEAD));
    let mut random = Random(1);
    let mut free = vec![0_u64; service.workers];
    // Begun, over, and the number in flight with it.
    let mut flying: VecDeque<(u64, u64, u32)> = VecDeque::new();
    let mut demand = Demand::default();
    let mut seen = Vec::new();
    for ms in 0..SECONDS * 1_000 {
        let now = Nanos::from_millis(ms);
        while let Some(at) = flying.iter().position(|(_, over, _)| *over <= ms) {
            let in_flight = flying.len() as u32;
            let (began, _, with) = flying.remove(at).unwrap();
            limit.turn(now, in_flight, demand);
            let ended = if ms - began >= PATIENCE {
                Ended::Left
            } else if with > service.fails_above {
                demand.turned_away += 1;
                Ended::Failed
            } else {
                Ended::Served
            };
            let took = Nanos::from_millis(ms - began);
            limit.answered(&Answer {
                now,
                took,
                ended,
                in_flight,
            });
        }
        if random.roll() < service.arrivals {
            demand.arrived += 1;
            let in_flight = flying.len() as u32;
            limit.turn(now, in_flight, demand);
            if in_flight < limit.limit() {
                let worker = free.iter_mut().min().unwrap();
                let work = service.work.0 + random.roll() % service.work.1;
                *worker = service.done((*worker).max(ms), work);
                // The client leaves when it has waited long enough; the worker does not notice.
                let over = (*worker).min(ms + PATIENCE);
                flying.push_back((ms, over, in_flight + 1));
            } else {
                demand.turned_away += 1;
            }
        }
        limit.turn(now, flying.len() as u32, demand);
        if ms % 100 == 99 {
            seen.push(limit.limit());
        }
    }
    seen
}

#[test]
fn the_port_in_npm_plimsoll_chooses_the_same_limits() {
    let mut text = String::new();
    for service in &SERVICES {
        write!(text, "{}", service.name).unwrap();
        for limit in limits(service) {
            write!(text, " {limit}").unwrap();
        }
        text.push('\n');
    }
    assert_eq!(
        text, EXPECTED,
        "write it to npm/plimsoll/test/half-load.txt and run the port's tests"
    );
}

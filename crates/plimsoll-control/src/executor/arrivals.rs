//! When the arrivals of one worker are due: a pure function of stages, seed and index.

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_core::scenario::{Executor, RateLeg};
use plimsoll_core::schedule::Arrivals;

use super::share::Cycle;

/// Rounding of sums may take this much from the last arrival of a stage.
const FORGIVEN: f64 = 1e-9;

/// A straight piece of the rate with what lies before it.
#[derive(Debug, Clone, Copy)]
struct Piece {
    from_per_s: f64,
    slope: f64,
    seconds: f64,
    starts_at: Nanos,
    /// Expected arrivals before and at the end of the piece.
    before: f64,
    until: f64,
}

impl Piece {
    /// On the ramp r(t) = a + k·t, so a·t + k·t²/2 = n and t = 2n / (a + √(a² + 2kn)).
    fn time_of(&self, place: f64) -> Nanos {
        let n = (place - self.before).max(0.0);
        let a = self.from_per_s;
        let root = libm::sqrt((a * a + 2.0 * self.slope * n).max(0.0));
        let seconds = if n == 0.0 { 0.0 } else { 2.0 * n / (a + root) };
        self.starts_at + Nanos::from_secs_f64(seconds.min(self.seconds))
    }
}

/// Where the first even arrival lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// At the start; arrival n when n arrivals are behind. The end is excluded.
    FromZero,
    /// When one whole arrival has built up, as in k6's ramps. The end is included.
    FromOne,
}

/// The due times of one worker's arrivals, in order.
#[derive(Debug)]
pub(super) struct Walk {
    pieces: Vec<Piece>,
    /// Pieces before it are over.
    at_piece: usize,
    counting: Counting,
    cycle: Cycle,
    /// How many of this worker's were given out, if they are evenly spaced.
    nth: u64,
    poisson: Option<Poisson>,
    next: Option<Nanos>,
}

#[derive(Debug)]
struct Poisson {
    rng: Rng,
    /// The next index of the whole schedule, and the expected arrivals before it.
    index: u64,
    reached: f64,
}

impl Walk {
    pub(super) fn new(executor: &Executor, start: Nanos, cycle: Cycle, seed: u64) -> Self {
        let counting = match executor {
            Executor::RampingArrivalRate { .. } => Counting::FromOne,
            _ => Counting::FromZero,
        };
        let arrivals = executor.arriving().map(|arriving| arriving.arrivals);
        let poisson = (arrivals == Some(Arrivals::Poisson)).then(|| Poisson {
            rng: Rng::new(seed, 0),
            index: 0,
            reached: 0.0,
        });
        let mut walk = Self {
            pieces: pieces(&executor.rate_legs(), start),
            at_piece: 0,
            counting,
            cycle,
            nth: 0,
            poisson,
            next: None,
        };
        if !cycle.is_empty() {
            walk.advance();
        }
        walk
    }

    /// When this worker's next arrival is due; `None` after the last.
    pub(super) const fn peek(&self) -> Option<Nanos> {
        self.next
    }

    pub(super) fn advance(&mut self) {
        let place = self.next_place();
        self.next = self.time_of(place);
    }

    /// The next arrival's place in expected arrivals.
    fn next_place(&mut self) -> f64 {
        if let Some(poisson) = &mut self.poisson {
            loop {
                poisson.reached += poisson.rng.exponential();
                poisson.index += 1;
                if self.cycle.has(poisson.index - 1) {
                    return poisson.reached;
                }
            }
        }
        let index = self.cycle.index(self.nth) as f64;
        self.nth += 1;
        match self.counting {
            Counting::FromZero => index,
            Counting::FromOne => index + 1.0,
        }
    }

    /// Places only grow, so pieces that are over are never looked at again.
    fn time_of(&mut self, place: f64) -> Option<Nanos> {
        let forgiven = FORGIVEN * place.max(1.0);
        while let Some(piece) = self.pieces.get(self.at_piece) {
            let is_here = match self.counting {
                Counting::FromZero => place < piece.until - forgiven,
                Counting::FromOne => place <= piece.until + forgiven,
            };
            if is_here {
                return Some(piece.time_of(place));
            }
            self.at_piece += 1;
        }
        None
    }
}

fn pieces(legs: &[RateLeg], start: Nanos) -> Vec<Piece> {
    let (mut starts_at, mut before) = (start, 0.0);
    let mut pieces = Vec::new();
    for leg in legs {
        let seconds = leg.duration_ns.as_secs_f64();
        let until = before + f64::midpoint(leg.from_per_s, leg.to_per_s) * seconds;
        if until > before {
            pieces.push(Piece {
                from_per_s: leg.from_per_s,
                slope: (leg.to_per_s - leg.from_per_s) / seconds,
                seconds,
                starts_at,
                before,
                until,
            });
        }
        starts_at += leg.duration_ns;
        before = until;
    }
    pieces
}

//! Judges from the generator's own figures whether it could sustain the load of a level.
//!
//! One judgement for the gate, the search and the report: which figure, what was measured, what is tolerated. Being late
//! adds to response times and takes nothing from them, so a late generator voids nothing by itself: what its lateness could
//! have turned is weighed attempt by attempt ([`crate::judge::Lateness`]). A level is void only where the load was not the
//! one that was asked for.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::units::{Nanos, three_digits};
use crate::window::Window;

/// The least lag that matters (DESIGN section 5): below it timers and the scheduler are the noise.
const LAG_FLOOR: Nanos = Nanos::from_millis(1);
/// Lag that is tolerated, as a share of the objective's tightest bound; without one, of the p99 of service times.
const LAG_RATIO: f64 = 0.05;
/// A send is late, not merely lagging, from this multiple of the tolerated lag (our choice: the
/// p99 rule allows 1 % above the tolerance, so counting those again would be a second, stricter p99).
const LATE_FACTOR: u64 = 10;
/// Share of due attempts that may be dropped by us or sent late (capacity-science B.6).
const LOST_RATIO: f64 = 0.001;
/// Share of a level that a worker thread may run (B.6).
const BUSY_RATIO: f64 = 0.8;
/// A thread that ran full for less, or sent less meanwhile, is no limit of the load.
const BUSY_SECONDS_LEAST: f64 = 2.0;
const BUSY_SENT_LEAST: u64 = 100;
/// Share of a level that a worker thread may wait for a processor (B.6).
const WAIT_RATIO: f64 = 0.05;
/// Where no objective names a bound, a thread may stall for as long as a person notices.
const STALL_MOST: Nanos = Nanos::from_millis(100);
/// One-sided 95 % of the normal distribution.
const Z_95: f64 = 1.645;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// p99 of intended start to write where a connection was free, in nanoseconds; at least, with 95 % confidence.
    LagP99,
    /// Attempts sent later than ten times the tolerated lag, as a share of due ones; at least, with 95 % confidence.
    LateSends,
    /// Attempts dropped for a reason on our side, as a share of due ones; at least, with 95 % confidence.
    DroppedOurs,
    /// Processor time of the busiest worker thread, as a share of the time.
    WorkerBusy,
    /// Time a worker thread waited for a processor, as a share of the time.
    WorkerWait,
    /// How much later than asked a worker thread came round at worst, in nanoseconds.
    Stall,
    /// The median of intended start to write: more than half of the attempts were sent later than this.
    LagP50,
}

impl Figure {
    pub const fn name(self) -> &'static str {
        match self {
            Self::LagP99 => "lag p99 of at least",
            Self::LateSends => "late sends",
            Self::DroppedOurs => "dropped by us",
            Self::WorkerBusy => "busiest worker thread",
            Self::WorkerWait => "worker thread waiting for a processor",
            Self::Stall => "longest stall of a worker thread",
            Self::LagP50 => "lag p50",
        }
    }

    /// A value of it with its unit.
    pub fn shown(self, value: f64) -> String {
        if self.is_time() {
            Nanos(value as u64).to_string()
        } else {
            format!("{} %", three_digits(value * 100.0))
        }
    }

    /// In nanoseconds; the others are ratios.
    const fn is_time(self) -> bool {
        matches!(self, Self::LagP99 | Self::LagP50 | Self::Stall)
    }

    /// Beyond its tolerance the load was not the one that was asked for.
    const fn falsifies(self) -> bool {
        matches!(self, Self::DroppedOurs | Self::LagP50)
    }
}

/// One figure against its tolerance. Lag is in nanoseconds, everything else a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub figure: Figure,
    /// Over all windows of the level together.
    pub measured: f64,
    pub tolerance: f64,
    /// The worst single window.
    pub worst_window: f64,
}

impl Reading {
    pub fn exceeds(&self) -> bool {
        self.measured > self.tolerance
    }
}

/// `lag p99 of at least 3.20 ms, tolerated 1.00 ms, worst second 8.10 ms`
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}, tolerated {}, worst second {}",
            self.figure.name(),
            self.figure.shown(self.measured),
            self.figure.shown(self.tolerance),
            self.figure.shown(self.worst_window)
        )
    }
}

/// What the readings mean for the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    Clean,
    /// A worker thread ran full: a label, the figures hold, and the target may carry more.
    GeneratorBound,
    /// Our own lateness is in the response times: what they meet is met, what they miss may be ours.
    Late,
    /// The load was not the one that was asked for: the level says nothing about the target.
    Breached,
    /// No window, or none with a figure in it.
    Unknown,
}

/// How the generator fared over a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    pub condition: Condition,
    /// Every figure that was measured, in the order of [`Figure`].
    pub(crate) readings: Vec<Reading>,
}

impl Assessment {
    /// What decided the condition: of the readings that are beyond their tolerance those that falsify before the others,
    /// the furthest first; if none is, the nearest to its tolerance.
    pub fn worst(&self) -> Option<&Reading> {
        let excess = |reading: &Reading| {
            let over = reading.measured / reading.tolerance;
            (over > 1.0 && reading.figure.falsifies(), over)
        };
        self.readings.iter().max_by(|a, b| {
            excess(a)
                .partial_cmp(&excess(b))
                .unwrap_or(std::cmp::Ordering::Equal)
        })
    }

    pub fn breached(&self) -> bool {
        self.condition == Condition::Breached
    }
}

/// Whether attempts come at their own times or each waits for the last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    Open,
    Closed,
}

/// Collects the generator's figures window by window.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    /// The objective's tightest bound.
    bound: Option<Nanos>,
    windows: u64,
    length: Nanos,
    due: u64,
    dropped_ours: u64,
    lag: Histogram,
    service: Histogram,
    stall: Nanos,
    workers: Vec<Worker>,
    worst: Worst,
}

#[derive(Debug, Clone, Copy, Default)]
struct Worker {
    run: Nanos,
    wait: Nanos,
}

/// The worst single window of each figure.
#[derive(Debug, Clone, Copy, Default)]
struct Worst {
    lag_p99: f64,
    lag_p50: f64,
    late: f64,
    dropped: f64,
    busy: f64,
    wait: f64,
}

/// Judges the windows of one level; `bound` is the objective's tightest.
pub fn assess<'a>(
    model: Loop,
    bound: Option<Nanos>,
    windows: impl IntoIterator<Item = &'a Window>,
) -> Assessment {
    let mut meter = Meter::new(bound);
    for window in windows {
        meter.add(window);
    }
    meter.assess(model)
}

impl Meter {
    pub fn new(bound: Option<Nanos>) -> Self {
        Self {
            bound,
            ..Self::default()
        }
    }

    pub fn add(&mut self, window: &Window) {
        let health = &window.health;
        self.windows += 1;
        self.length += window.length_ns;
        self.due += window.due_count;
        self.dropped_ours += health.dropped_ours_count;
        self.lag.merge(&health.lag);
        self.stall = self.stall.max(health.stall_max_ns);
        for tally in &window.operations {
            for (_, class) in tally.occurred() {
                self.service.merge(&class.service);
            }
        }
        let at = |q| health.lag.quantile(q).unwrap_or_default().0 as f64;
        let due = window.due_count.max(1) as f64;
        let worst = &mut self.worst;
        worst.lag_p99 = worst.lag_p99.max(at(0.99));
        worst.lag_p50 = worst.lag_p50.max(at(0.5));
        worst.dropped = worst.dropped.max(health.dropped_ours_count as f64 / due);
        let late = self.late(&health.lag) as f64 / due;
        self.worst.late = self.worst.late.max(late);
        self.add_workers(window);
    }

    /// Sends later than ten times the tolerated lag.
    fn late(&self, lag: &Histogram) -> u64 {
        let bound = self.lag_tolerance().saturating_mul(LATE_FACTOR);
        lag.count() - lag.count_at_most(bound)
    }

    fn add_workers(&mut self, window: &Window) {
        let health = &window.health;
        let count = health.worker_run_ns.len();
        if self.workers.len() < count {
            self.workers.resize(count, Worker::default());
        }
        let length = window.length_ns.as_secs_f64();
        for (index, worker) in self.workers.iter_mut().enumerate() {
            let at = |times: &[Nanos]| times.get(index).copied().unwrap_or_default();
            let (run, wait) = (at(&health.worker_run_ns), at(&health.worker_wait_ns));
            worker.run += run;
            worker.wait += wait;
            if length > 0.0 {
                self.worst.busy = self.worst.busy.max(run.as_secs_f64() / length);
                self.worst.wait = self.worst.wait.max(wait.as_secs_f64() / length);
            }
        }
    }

    /// max(1 ms, 5 % of the bound): under `p99<250ms`, 12.5 ms. Without a bound, of the p99 of service times.
    fn lag_tolerance(&self) -> Nanos {
        let of = self.bound.or_else(|| self.service.quantile(0.99));
        LAG_FLOOR.max(Nanos((of.unwrap_or_default().0 as f64 * LAG_RATIO) as u64))
    }

    /// What the figures so far mean. In a closed loop an attempt is due when the last one has ended: lag means nothing there.
    pub fn assess(&self, model: Loop) -> Assessment {
        let mut readings = self.readings();
        if model == Loop::Closed {
            let of_arrivals = [Figure::LagP99, Figure::LateSends, Figure::LagP50];
            readings.retain(|reading| !of_arrivals.contains(&reading.figure));
        }
        let exceeds = |which: fn(Figure) -> bool| {
            let mut over = readings.iter().filter(|reading| reading.exceeds());
            over.any(|reading| which(reading.figure))
        };
        let condition = if readings.is_empty() {
            Condition::Unknown
        } else if exceeds(Figure::falsifies) {
            Condition::Breached
        } else if exceeds(|figure| figure == Figure::WorkerBusy) {
            Condition::GeneratorBound
        } else if exceeds(|_| true) {
            Condition::Late
        } else {
            Condition::Clean
        };
        Assessment {
            condition,
            readings,
        }
    }

    fn readings(&self) -> Vec<Reading> {
        let mut readings = Vec::new();
        let mut push = |figure, measured, tolerance, worst_window| {
            readings.push(Reading {
                figure,
                measured,
                tolerance,
                worst_window,
            });
        };
        let tolerance = self.lag_tolerance().0 as f64;
        if let (Some(p99), Some(p50)) = (p99_at_least(&self.lag), self.lag.quantile(0.5)) {
            push(Figure::LagP99, p99.0 as f64, tolerance, self.worst.lag_p99);
            push(Figure::LagP50, p50.0 as f64, tolerance, self.worst.lag_p50);
        }
        if self.due > 0 {
            let late = share_at_least(self.late(&self.lag), self.due);
            push(Figure::LateSends, late, LOST_RATIO, self.worst.late);
            let dropped = share_at_least(self.dropped_ours, self.due);
            push(Figure::DroppedOurs, dropped, LOST_RATIO, self.worst.dropped);
        }
        let length = self.length.as_secs_f64();
        if !self.workers.is_empty() && length > 0.0 {
            let most = |of: fn(&Worker) -> Nanos| {
                let times = self.workers.iter().map(of);
                times.max().unwrap_or_default().as_secs_f64() / length
            };
            let (busy, wait) = (most(|worker| worker.run), most(|worker| worker.wait));
            // A script that computes for a moment fills its thread too, and says nothing of what the target may carry.
            if length >= BUSY_SECONDS_LEAST && self.due >= BUSY_SENT_LEAST {
                push(Figure::WorkerBusy, busy, BUSY_RATIO, self.worst.busy);
            }
            push(Figure::WorkerWait, wait, WAIT_RATIO, self.worst.wait);
            let (stall, most) = (self.stall.0 as f64, self.bound.unwrap_or(STALL_MOST));
            push(Figure::Stall, stall, most.max(LAG_FLOOR).0 as f64, stall);
        }
        readings
    }
}

/// The p99 is at least this, with 95 % confidence: of n values the one of rank n·q − z·√(n·q·(1 − q)), the normal
/// approximation of the binomial interval of a quantile (Hahn and Meeker 1991, 5.2). Of 100 values the 97th, so that one
/// late send of a short level is no p99.
fn p99_at_least(lag: &Histogram) -> Option<Nanos> {
    let n = lag.count() as f64;
    let rank = n * 0.99 - Z_95 * (n * 0.99 * 0.01).sqrt();
    lag.at_rank((rank.floor() as u64).max(1))
}

/// The lower end of Wilson's one-sided 95 % interval of a share (Wilson 1927): one of a thousand is 0.02 % at least.
fn share_at_least(count: u64, of: u64) -> f64 {
    let (n, z2) = (of as f64, Z_95 * Z_95);
    let p = (count as f64 / n).min(1.0);
    let centre = p + z2 / (2.0 * n);
    let half = Z_95 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    ((centre - half) / (1.0 + z2 / n)).max(0.0)
}

#[cfg(test)]
mod tests;

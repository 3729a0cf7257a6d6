//! Judges from the generator's own figures whether it could sustain the load of a level.
//!
//! One judgement for the gate, the search and the report: which figure, what was measured, what is
//! tolerated. Figures are merged over the windows of a level, and a blip in one second does not void
//! it: lag and late sends of the worst window are forgiven, and stated beside the merged figure.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::units::{Nanos, three_digits};
use crate::window::Window;

/// The least lag that matters (DESIGN section 5): below it timers and the scheduler are the noise.
const LAG_FLOOR: Nanos = Nanos::from_millis(1);
/// Lag as a share of the median service time that is tolerated (DESIGN section 5).
const LAG_RATIO: f64 = 0.05;
/// A send is late, not merely lagging, from this multiple of the tolerated lag (our choice: the
/// p99 rule allows 1 % above the tolerance, so counting those again would be a second, stricter p99).
const LATE_FACTOR: u64 = 10;
/// Share of due attempts that may be dropped by us or sent late (capacity-science B.6).
const LOST_RATIO: f64 = 0.001;
/// Share of a window that a worker thread may be running or runnable in an open loop (B.6).
const BUSY_RATIO: f64 = 0.8;
/// Share of a window that a worker thread may wait for a processor (B.6).
const WAIT_RATIO: f64 = 0.05;

/// Windows from which on the worst one is forgiven its lag and its late sends.
const FORGIVING_FROM: u64 = 5;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// p99 of intended start to write where a connection was free, in nanoseconds.
    LagP99,
    /// Attempts sent later than ten times the tolerated lag, as a share of due ones.
    LateSends,
    /// Attempts dropped for a reason on our side, as a share of due ones.
    DroppedOurs,
    /// Running plus waiting time of the busiest worker thread, as a share of the time.
    WorkerBusy,
    /// Time a worker thread waited for a processor, as a share of the time.
    WorkerWait,
}

impl Figure {
    pub const fn name(self) -> &'static str {
        match self {
            Self::LagP99 => "lag p99",
            Self::LateSends => "late sends",
            Self::DroppedOurs => "dropped by us",
            Self::WorkerBusy => "busiest worker thread",
            Self::WorkerWait => "worker thread waiting for a processor",
        }
    }

    /// A full thread is what a closed loop against a fast target is: it names the limit, it does
    /// not falsify the level. Lost attempts falsify every level.
    const fn is_label_when_closed(self) -> bool {
        matches!(
            self,
            Self::LagP99 | Self::LateSends | Self::WorkerBusy | Self::WorkerWait
        )
    }
}

/// One figure against its tolerance. Lag is in nanoseconds, everything else a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub figure: Figure,
    /// Over all windows of the level together; for lag and late sends, over all but the worst.
    pub measured: f64,
    pub tolerance: f64,
    /// The worst single window.
    pub worst_window: f64,
}

impl Reading {
    pub fn exceeds(&self) -> bool {
        self.measured > self.tolerance
    }

    fn shown(&self, value: f64) -> String {
        match self.figure {
            Figure::LagP99 => Nanos(value as u64).to_string(),
            _ => format!("{} %", three_digits(value * 100.0)),
        }
    }
}

/// `lag p99 3.20 ms, tolerated 1.00 ms, worst second 8.10 ms`
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}, tolerated {}, worst second {}",
            self.figure.name(),
            self.shown(self.measured),
            self.shown(self.tolerance),
            self.shown(self.worst_window)
        )
    }
}

/// What the readings mean for the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    Clean,
    /// A closed loop that fills its own thread: a label, the figures hold.
    GeneratorBound,
    /// The level says nothing about the target.
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
    /// The reading furthest beyond (or nearest to) its tolerance.
    pub fn worst(&self) -> Option<&Reading> {
        let excess = |reading: &Reading| reading.measured / reading.tolerance;
        self.readings
            .iter()
            .max_by(|a, b| excess(a).total_cmp(&excess(b)))
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
    windows: u64,
    length: Nanos,
    due: u64,
    dropped_ours: u64,
    late: u64,
    late_in_worst: u64,
    /// Without the window that lagged most, which is kept beside it.
    lag: Histogram,
    lag_of_worst: Histogram,
    service: Histogram,
    workers: Vec<Worker>,
    worst: Worst,
}

#[derive(Debug, Clone, Copy, Default)]
struct Worker {
    run: Nanos,
    wait: Nanos,
}

#[derive(Debug, Clone, Copy, Default)]
struct Worst {
    lag: f64,
    late: f64,
    dropped: f64,
    busy: f64,
    wait: f64,
}

/// Judges the windows of one level.
pub fn assess<'a>(model: Loop, windows: impl IntoIterator<Item = &'a Window>) -> Assessment {
    let mut meter = Meter::default();
    for window in windows {
        meter.add(window);
    }
    meter.assess(model)
}

impl Meter {
    pub fn add(&mut self, window: &Window) {
        let health = &window.health;
        self.windows += 1;
        self.length += window.length_ns;
        self.due += window.due_count;
        self.dropped_ours += health.dropped_ours_count;
        self.add_lag(&health.lag);
        for tally in &window.operations {
            for (_, class) in tally.occurred() {
                self.service.merge(&class.service);
            }
        }
        self.add_late(window);
        self.add_workers(window);
        let due = window.due_count.max(1) as f64;
        self.worst.dropped = (self.worst.dropped).max(health.dropped_ours_count as f64 / due);
    }

    fn add_lag(&mut self, lag: &Histogram) {
        let p99 = lag.quantile(0.99).unwrap_or_default().0 as f64;
        if self.windows == 1 || p99 > self.worst.lag {
            self.worst.lag = p99;
            let before = std::mem::replace(&mut self.lag_of_worst, lag.clone());
            self.lag.merge(&before);
        } else {
            self.lag.merge(lag);
        }
    }

    /// Over all windows but the worst, when there are enough of them: at 60 attempts per second one
    /// hiccup of 60 ms is already 1 % of a short level.
    fn lag_p99(&self) -> Option<Nanos> {
        if self.windows >= FORGIVING_FROM {
            return self.lag.quantile(0.99);
        }
        let mut all = self.lag.clone();
        all.merge(&self.lag_of_worst);
        all.quantile(0.99)
    }

    /// Late by the tolerance known so far: the median service time settles within a window.
    fn add_late(&mut self, window: &Window) {
        let lag = &window.health.lag;
        let bound = self.lag_tolerance().saturating_mul(LATE_FACTOR);
        let late = lag.count() - lag.count_at_most(bound);
        self.late += late;
        self.late_in_worst = self.late_in_worst.max(late);
        let ratio = late as f64 / window.due_count.max(1) as f64;
        self.worst.late = self.worst.late.max(ratio);
    }

    fn add_workers(&mut self, window: &Window) {
        let health = &window.health;
        let count = health.worker_run_ns.len();
        if self.workers.len() < count {
            self.workers.resize(count, Worker::default());
        }
        let length = window.length_ns.as_secs_f64();
        for (index, worker) in self.workers.iter_mut().enumerate() {
            let run = health.worker_run_ns.get(index).copied().unwrap_or_default();
            let wait = health
                .worker_wait_ns
                .get(index)
                .copied()
                .unwrap_or_default();
            worker.run += run;
            worker.wait += wait;
            if length > 0.0 {
                self.worst.busy = self.worst.busy.max((run + wait).as_secs_f64() / length);
                self.worst.wait = self.worst.wait.max(wait.as_secs_f64() / length);
            }
        }
    }

    /// max(1 ms, 5 % of the median service time): with a p50 of 100 ms, 5 ms.
    fn lag_tolerance(&self) -> Nanos {
        let median = self.service.quantile(0.5).unwrap_or_default();
        LAG_FLOOR.max(Nanos((median.0 as f64 * LAG_RATIO) as u64))
    }

    /// What the figures so far mean.
    pub fn assess(&self, model: Loop) -> Assessment {
        let readings = self.readings();
        let breach = |r: &&Reading| {
            r.exceeds() && !(model == Loop::Closed && r.figure.is_label_when_closed())
        };
        let condition = if readings.is_empty() {
            Condition::Unknown
        } else if readings.iter().any(|reading| breach(&reading)) {
            Condition::Breached
        } else if readings.iter().any(Reading::exceeds) {
            Condition::GeneratorBound
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
        if let Some(lag) = self.lag_p99() {
            let tolerance = self.lag_tolerance().0 as f64;
            push(Figure::LagP99, lag.0 as f64, tolerance, self.worst.lag);
        }
        if self.due > 0 {
            let due = self.due as f64;
            // One hiccup of the host falls into one window: that window is forgiven, two are not.
            let forgiven = if self.windows >= FORGIVING_FROM {
                self.late_in_worst
            } else {
                0
            };
            let late = self.late - forgiven;
            push(
                Figure::LateSends,
                late as f64 / due,
                LOST_RATIO,
                self.worst.late,
            );
            let dropped = self.dropped_ours as f64 / due;
            push(Figure::DroppedOurs, dropped, LOST_RATIO, self.worst.dropped);
        }
        let length = self.length.as_secs_f64();
        if !self.workers.is_empty() && length > 0.0 {
            let most = |of: fn(&Worker) -> Nanos| {
                self.workers
                    .iter()
                    .map(of)
                    .max()
                    .unwrap_or_default()
                    .as_secs_f64()
                    / length
            };
            let busy = most(|worker| worker.run + worker.wait);
            push(Figure::WorkerBusy, busy, BUSY_RATIO, self.worst.busy);
            push(
                Figure::WorkerWait,
                most(|worker| worker.wait),
                WAIT_RATIO,
                self.worst.wait,
            );
        }
        readings
    }
}

#[cfg(test)]
mod tests;

//! The limit that needs no number: compares goodput at the limit with goodput at half of it, and follows the slope.
//!
//! The rule of the limiter study. Time is cut into slots of the shared wall clock; every twelfth slot runs at half the
//! limit, so that several guards of one upstream probe it together (each alone would see only its own slope). A filter
//! weighs each epoch by its noise, and the limit moves until a larger one would bring almost nothing.

mod brake;
mod epoch;
mod line;
mod pace;
#[cfg(test)]
mod same_elsewhere;

use plimsoll_core::Nanos;

use super::limit::{Answer, Demand, Ended, Explained, Limit};
use super::mean::Mean;
use brake::{Brake, Verdict};
use epoch::{Epoch, Measured};
use line::Line;
use pace::Pace;

const LIMIT_FIRST: f64 = 4.0;
const LIMIT_MOST: f64 = 20_000.0;
/// Slope at which the limit rests: about 1.85 workers' worth for a pool, the peak less 5 % under pure contention.
const TARGET: f64 = 0.12;
/// What one step may change, as a factor in logarithms.
const STEP: (f64, f64) = (-0.5, 0.7);
/// A slope that leaves no doubt, and the step that it is worth at least: timid ones never arrive at a large pool's limit.
const CLEAR: f64 = 0.5;
const STEP_CLEAR: f64 = 0.35;
/// A slope of which this is the deviation is known well enough for whole steps.
const DEVIATION_FINE: f64 = 0.25;
/// Probing costs something: not while (almost) nobody is turned away.
const DEMAND_LEAST: f64 = 0.02;
/// A limit of which less is used is not what holds goodput back.
const USED_LEAST: f64 = 0.75;
/// Where more would surely help, it may be what holds bursts back although less of it is used on the average.
const BURSTS_LEAST: f64 = 0.4;
/// Smoothing of the shares of failed answers.
const SHARE_WEIGHT: f64 = 0.3;
/// Below so many independent answers a slot of the ramp says nothing, unless it is the longest.
const RAMP_ANSWERS: f64 = 10.0;

#[derive(Debug)]
pub(super) struct HalfLoad {
    level: f64,
    line: Line,
    pace: Pace,
    epoch: Epoch,
    brake: Brake,
    /// Limit and line from before a standstill.
    held: Option<(f64, Line)>,
    phase: Phase,
    /// Wall time less our own, so that slots begin at the same moment everywhere.
    wall_ahead_ns: i128,
    slot_index: i128,
    /// Latency of answers that were good, for permits of those that were not.
    good_seconds: f64,
    /// How long answers take that came to a client.
    usual: Mean,
    /// Smoothed share of failed answers at the limit and at half of it.
    failed: (f64, f64),
    /// Mean in flight of the last epoch at the limit.
    used: f64,
    /// Goodput, in logarithms, of the last epoch at the limit.
    height: Option<f64>,
    asked: Demand,
    demand: Demand,
    /// Turned away when the phase began.
    turned_away_before: u64,
    probes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// At the limit, between probes.
    Whole,
    /// A slot at half of it.
    Half,
    /// Step by step upwards, a slot each; takes back a step that lost something.
    Ramp {
        before: f64,
        height: Option<f64>,
        /// What the first slot showed, when it seemed to gain nothing.
        doubted: Option<f64>,
    },
}

impl HalfLoad {
    /// `start` is a limit that was measured: it is looked at from there, instead of being found step by step.
    pub(super) fn new(now: Nanos, start: Option<f64>) -> Self {
        let level = start.unwrap_or(LIMIT_FIRST).clamp(1.0, LIMIT_MOST);
        let ramp = Phase::Ramp {
            before: LIMIT_FIRST,
            height: None,
            doubted: None,
        };
        Self {
            level,
            line: Line::default(),
            pace: Pace::default(),
            epoch: Epoch::begun(now),
            brake: Brake::default(),
            held: None,
            phase: if start.is_some() { Phase::Whole } else { ramp },
            wall_ahead_ns: 0,
            slot_index: 0,
            good_seconds: 0.0,
            usual: Mean::new(now),
            failed: (0.0, 0.0),
            used: 0.0,
            height: None,
            asked: Demand::default(),
            demand: Demand::default(),
            turned_away_before: 0,
            probes: 0,
        }
    }

    fn slot(&self) -> Nanos {
        match self.phase {
            Phase::Ramp { .. } => self.pace.ramp_slot(),
            Phase::Whole | Phase::Half => self.pace.slot(),
        }
    }

    fn index(&self, now: Nanos) -> i128 {
        (i128::from(now.0) + self.wall_ahead_ns).div_euclid(i128::from(self.slot().0.max(1)))
    }

    /// Slots from one probe to the next.
    fn cycle(&self) -> i128 {
        if self.pace.is_slowest() {
            4
        } else if self.line.deviation() > 0.2 {
            6
        } else {
            12
        }
    }

    fn change(&mut self, now: Nanos, phase: Phase) {
        self.phase = phase;
        self.epoch = Epoch::begun(now);
        self.slot_index = self.index(now);
        self.turned_away_before = self.demand.turned_away;
    }

    fn step(&mut self, by: f64) {
        let level = (self.level * libm::exp(by)).clamp(1.0, LIMIT_MOST);
        let by = libm::log(level / self.level);
        self.level = level;
        self.line.move_by(by);
    }

    fn boundary(&mut self, now: Nanos) {
        match self.phase {
            Phase::Whole => self.whole_slot_over(now),
            Phase::Half => self.half_slot_over(now),
            Phase::Ramp {
                before,
                height,
                doubted,
            } => self.ramp_slot_over(now, before, height, doubted),
        }
    }

    fn whole_slot_over(&mut self, now: Nanos) {
        if self.slot_index.rem_euclid(self.cycle()) != 0 {
            return;
        }
        self.pace.shorten();
        self.slot_index = self.index(now);
        if self.slot_index.rem_euclid(self.cycle()) != 0 {
            return;
        }
        let arrived = self.demand.arrived - self.asked.arrived;
        let turned_away = self.demand.turned_away - self.asked.turned_away;
        // Where more would surely help, the limit is to blame for even a few.
        let is_tight = self.mean_in_flight(now) >= BURSTS_LEAST * self.level;
        let least = if self.line.slope() > CLEAR && is_tight {
            0.0
        } else {
            DEMAND_LEAST
        };
        let is_asked_for = turned_away as f64 >= least * arrived as f64 && turned_away > 0;
        self.asked = self.demand;
        let Some(measured) = self.epoch.measured(now).filter(|_| is_asked_for) else {
            self.change(now, Phase::Whole);
            return;
        };
        self.see(&measured);
        self.used = measured.in_flight;
        self.height = Some(measured.log_goodput());
        self.failed.0 += SHARE_WEIGHT * (measured.failed_ratio() - self.failed.0);
        if whole(self.level) < 2 {
            // One cannot be halved.
            self.step(libm::log(2.0 / self.level));
            self.change(now, Phase::Whole);
        } else {
            self.probes += 1;
            self.change(now, Phase::Half);
        }
    }

    fn mean_in_flight(&self, now: Nanos) -> f64 {
        self.epoch.measured(now).map_or(0.0, |m| m.in_flight)
    }

    fn see(&mut self, measured: &Measured) {
        let load = libm::log(measured.in_flight / self.level);
        let independent = measured.served / self.pace.dispersion();
        self.line.see(measured.log_goodput(), load, independent);
    }

    fn half_slot_over(&mut self, now: Nanos) {
        let Some(measured) = self.epoch.measured(now).filter(|m| m.answers > 0.0) else {
            // What was in flight before the probe has not gone yet: the same slot once more would probe alone.
            self.change(now, Phase::Whole);
            return;
        };
        self.see(&measured);
        self.failed.1 += SHARE_WEIGHT * (measured.failed_ratio() - self.failed.1);
        let before = self.level;
        let by = self.wanted_step();
        let was_clear = self.line.slope() > CLEAR;
        self.step(by);
        let phase = if by >= 0.3 || (was_clear && by > 0.0) {
            Phase::Ramp {
                before,
                height: self.height,
                doubted: None,
            }
        } else {
            Phase::Whole
        };
        self.change(now, phase);
    }

    fn wanted_step(&self) -> f64 {
        let fails_more = self.failed.0 - self.failed.1;
        let slope = self.line.slope();
        let gain = (DEVIATION_FINE / self.line.deviation()).min(1.0);
        let mut step = gain * (slope - 3.0 * fails_more.max(0.0) - TARGET);
        step = step.clamp(STEP.0, STEP.1);
        if slope > CLEAR && fails_more <= 0.0 {
            step = step.max(STEP_CLEAR);
        }
        if fails_more > 0.05 {
            step = step.min(0.0);
        }
        let used_least = if slope > CLEAR && fails_more <= 0.0 {
            BURSTS_LEAST
        } else {
            USED_LEAST
        };
        if self.used < used_least * self.level {
            step = step.min(0.0);
            if fails_more > 0.02 {
                step = step.min(-0.15);
            }
        }
        step
    }

    fn ramp_slot_over(
        &mut self,
        now: Nanos,
        before: f64,
        height: Option<f64>,
        doubted: Option<f64>,
    ) {
        let long_enough = self.slot() >= Nanos::from_secs(2);
        let enough = self.epoch.answers() >= RAMP_ANSWERS * self.pace.dispersion() || long_enough;
        let Some(measured) = self.epoch.measured(now).filter(|_| enough) else {
            return;
        };
        let is_binding = measured.in_flight > USED_LEAST * self.level;
        if height.is_none() && !is_binding {
            // Nobody needs more yet: the steps are taken when the load comes, and not given up because it had not.
            self.change(now, self.phase);
            return;
        }
        self.see(&measured);
        self.failed.0 += SHARE_WEIGHT * (measured.failed_ratio() - self.failed.0);
        self.used = measured.in_flight;
        let seen = measured.log_goodput();
        let seen = doubted.map_or(seen, |first| f64::midpoint(first, seen));
        self.height = Some(seen);
        let needed = TARGET * libm::log(self.level / before);
        let gained = height.is_none_or(|height| seen - height > needed);
        if !gained && self.demand.turned_away == self.turned_away_before {
            // All that came was let in: so much was asked for, and it says nothing of what can be done.
            self.change(now, Phase::Whole);
        } else if !gained && doubted.is_none() {
            let phase = Phase::Ramp {
                before,
                height,
                doubted: Some(seen),
            };
            self.change(now, phase);
        } else if height.is_some_and(|height| seen - height < -needed) {
            self.step(libm::log(before / self.level));
            self.height = height;
            self.change(now, Phase::Whole);
        } else if !gained {
            // As good as before: a limit that stands just at the knee would be sent back to it again and again, and half
            // of it costs half of the goodput at every probe.
            self.change(now, Phase::Whole);
        } else if is_binding && self.line.slope() > 0.35 {
            let before = self.level;
            self.step(self.wanted_step().max(STEP_CLEAR));
            let phase = Phase::Ramp {
                before,
                height: Some(seen),
                doubted: None,
            };
            self.change(now, phase);
        } else {
            self.change(now, Phase::Whole);
        }
    }

    fn heed(&mut self, now: Nanos, verdict: Verdict) {
        match verdict {
            Verdict::Nothing => {}
            Verdict::Fall => self.fall(now),
            Verdict::FallFor(fine) => {
                self.held = Some((fine, self.line.clone()));
                self.fall(now);
            }
            Verdict::TakeUp => {
                if let Some((level, line)) = self.held.take() {
                    self.level = level.max(self.level);
                    self.line = line;
                    self.change(now, Phase::Whole);
                }
            }
        }
    }

    /// Its client went before an answer could be expected, as one does that types on or sends one request to two places: that
    /// says nothing about the service. When many do so, they must not make the limit fall for those that stay.
    fn is_abandoned(&self, answer: &Answer) -> bool {
        answer.ended == Ended::Left && answer.took.as_secs_f64() < self.usual.seconds()
    }

    fn fall(&mut self, now: Nanos) {
        self.level = (self.level * 0.6).max(1.0);
        self.line.doubt(0.3);
        self.change(now, Phase::Whole);
    }
}

/// A limit counts requests.
fn whole(level: f64) -> u32 {
    (libm::round(level) as u32).max(1)
}

impl Limit for HalfLoad {
    fn limit(&self) -> u32 {
        match self.phase {
            Phase::Half => whole(self.level / 2.0),
            Phase::Whole | Phase::Ramp { .. } => whole(self.level),
        }
    }

    fn turn(&mut self, now: Nanos, in_flight: u32, demand: Demand) {
        self.demand = demand;
        let (limit, settle) = (self.limit(), self.pace.mean());
        self.epoch.pass(now, in_flight, limit, settle);
        let index = self.index(now);
        if index != self.slot_index {
            self.slot_index = index;
            self.boundary(now);
        }
    }

    fn answered(&mut self, answer: &Answer) {
        if answer.ended == Ended::Served {
            self.usual.add(answer.now, answer.took.as_secs_f64());
        } else if self.is_abandoned(answer) {
            return;
        }
        let says_nothing = matches!(answer.ended, Ended::Failed | Ended::Busy)
            || self.brake.is_of_standstill(answer);
        self.epoch.count(answer.ended);
        if !says_nothing {
            self.pace.answered(answer.now, answer.took);
            let weight = 1.0 / 300.0;
            let seconds = answer.took.as_secs_f64();
            if self.good_seconds > 0.0 {
                self.good_seconds += weight * (seconds - self.good_seconds);
            } else {
                self.good_seconds = seconds;
            }
            let in_ramp = matches!(self.phase, Phase::Ramp { .. });
            if self.pace.lengthen() && !in_ramp {
                // The epoch under way was planned in shorter slots.
                self.change(answer.now, Phase::Whole);
            }
        }
        let verdict = self.brake.answered(answer, self.level, self.pace.mean());
        self.heed(answer.now, verdict);
    }

    fn set_wall(&mut self, now: Nanos, wall: Nanos) {
        // A clock that jumps ends the slot under way, no more.
        self.wall_ahead_ns = i128::from(wall.0) - i128::from(now.0);
    }

    fn kept_after_failure(&self) -> Nanos {
        Nanos::from_secs_f64(self.good_seconds)
    }

    fn explain(&self) -> Explained {
        Explained {
            level: self.level,
            slope: Some((self.line.slope(), self.line.deviation())),
            is_probing: self.phase == Phase::Half,
            is_ramping: matches!(self.phase, Phase::Ramp { .. }),
            probes_count: self.probes,
        }
    }
}

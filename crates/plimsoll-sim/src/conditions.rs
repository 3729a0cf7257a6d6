//! Plays the conditions of a model: what each changes when its turn comes, and when it comes again.

use std::f64::consts::TAU;

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;

use crate::model::Condition;
use crate::station::Reading;

/// Steps of a sine: its speed is off by half a step at most, 1.2 % of the amplitude.
const SWING_STEPS: u64 = 256;
/// How often a leak shows.
const LEAK_STEP: Nanos = Nanos::from_secs(1);
/// How often credits are counted; the quota of a control group has the same period.
const CREDITS_STEP: Nanos = Nanos::from_millis(100);
/// How soon a service notices how many requests it has served: that it is warm, or has to collect.
const COUNT_STEP: Nanos = Nanos::from_millis(10);
/// How often a cache that fills shows.
const WARMING_STEP: Nanos = Nanos::from_millis(500);
/// How often a service that scales looks at its load.
const SCALE_STEP: Nanos = Nanos::from_secs(1);
const HOUR_NS: f64 = 3.6e12;

/// What a turn changes at the station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change {
    Speed(f64),
    Stall(Nanos),
    Servers(u32),
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Conditions {
    playing: Vec<Playing>,
    /// Of the model, before anything scales.
    servers: u32,
}

/// One condition under way.
#[derive(Debug)]
struct Playing {
    condition: Condition,
    rng: Rng,
    speed: f64,
    /// Where a neighbour or a swing was in its period at the start.
    phase: u64,
    /// The value of a wandering, the credits left, the requests collected, or the seconds of load for or against scaling.
    value: f64,
    busy_seconds: f64,
    scaling: Scaling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scaling {
    Small,
    /// More servers are on their way.
    Growing,
    Large,
}

impl Conditions {
    /// With a random stream for each condition.
    pub(crate) fn new(conditions: &[Condition], servers: u32, rng: impl Fn(usize) -> Rng) -> Self {
        let start = |(index, &condition)| Playing::new(condition, rng(index));
        Self {
            playing: conditions.iter().enumerate().map(start).collect(),
            servers,
        }
    }

    /// The first turn of each condition that has any, in nanoseconds since the start.
    pub(crate) fn first_turns(&mut self) -> Vec<(u32, u64)> {
        let playing = self.playing.iter_mut().zip(0..);
        playing
            .filter_map(|(playing, index)| Some((index, playing.first_turn()?)))
            .collect()
    }

    /// What the condition with this index changes, and when its next turn is.
    pub(crate) fn turn(
        &mut self,
        index: u32,
        now: u64,
        reading: &Reading,
    ) -> (Change, Option<u64>) {
        let servers = self.servers;
        let Some(playing) = self.playing.get_mut(index as usize) else {
            return (Change::Nothing, None);
        };
        let (change, next) = playing.turn(now, reading, servers);
        let Change::Speed(speed) = change else {
            return (change, next);
        };
        playing.speed = speed;
        (Change::Speed(self.speed()), next)
    }

    /// The speed with which a level begins; `rng` is the level's own.
    pub(crate) fn begin_level(&mut self, mut rng: Rng) -> f64 {
        for playing in &mut self.playing {
            if let Condition::LevelNoise { sd } = playing.condition {
                playing.speed = libm::exp(-sd * rng.normal());
            }
        }
        self.speed()
    }

    fn speed(&self) -> f64 {
        self.playing.iter().map(|playing| playing.speed).product()
    }
}

impl Playing {
    fn new(condition: Condition, mut rng: Rng) -> Self {
        let (phase, value) = match condition {
            Condition::Neighbour { period, .. } | Condition::Swing { period, .. } => {
                (rng.below(period.0), 0.0)
            }
            // As if it had wandered for ever.
            Condition::Wander { .. } => (0, rng.normal()),
            Condition::Credits { start, .. } => (0, start),
            _ => (0, 0.0),
        };
        Self {
            condition,
            rng,
            speed: 1.0,
            phase,
            value,
            busy_seconds: 0.0,
            scaling: Scaling::Small,
        }
    }

    fn first_turn(&mut self) -> Option<u64> {
        match self.condition {
            Condition::LevelNoise { .. } => None,
            Condition::Pause {
                earliest, latest, ..
            }
            | Condition::Step {
                earliest, latest, ..
            } => {
                let span = latest.0 - earliest.0;
                Some(earliest.0 + self.rng.below(span.saturating_add(1)))
            }
            Condition::Stalls {
                interval, random, ..
            } => {
                // Anywhere in the first interval, or after an exponential gap.
                let share = if random {
                    self.rng.exponential()
                } else {
                    self.rng.unit()
                };
                Some((share * interval.0 as f64) as u64)
            }
            Condition::Visits { gap, .. } => Some(self.exponential(gap)),
            Condition::Neighbour { .. }
            | Condition::Collection { .. }
            | Condition::Warming { .. }
            | Condition::Wander { .. }
            | Condition::Swing { .. }
            | Condition::Leak { .. }
            | Condition::Credits { .. }
            | Condition::Cold { .. }
            | Condition::ScaleOut { .. } => Some(0),
        }
    }

    fn turn(&mut self, now: u64, reading: &Reading, servers: u32) -> (Change, Option<u64>) {
        match self.condition {
            Condition::LevelNoise { .. } => (Change::Nothing, None),
            Condition::Pause { length, .. } => (Change::Stall(length), None),
            Condition::Stalls {
                interval,
                length,
                random,
            } => {
                let share = if random { self.rng.exponential() } else { 1.0 };
                let gap = (share * interval.0 as f64) as u64;
                (Change::Stall(length), after(now, gap.max(1)))
            }
            Condition::Neighbour {
                share,
                busy,
                period,
            } => self.neighbour(now, share, busy, period),
            Condition::Visits { share, busy, gap } => self.visit(now, share, busy, gap),
            Condition::Collection {
                every_requests,
                length,
            } => self.collect(now, reading, every_requests as f64, length),
            Condition::Warming { slower, half_life } => (
                Change::Speed(warmed(now, slower, half_life)),
                after(now, WARMING_STEP.0),
            ),
            Condition::Step { speed, .. } => (Change::Speed(speed), None),
            Condition::Wander {
                sd,
                correlation,
                step,
            } => {
                let speed = libm::exp(sd * self.value);
                let fresh = libm::sqrt(1.0 - correlation * correlation);
                self.value = correlation * self.value + fresh * self.rng.normal();
                (Change::Speed(speed), after(now, step.0))
            }
            Condition::Swing { amplitude, period } => {
                let step = period.0 / SWING_STEPS;
                let middle = now.wrapping_add(self.phase).wrapping_add(step / 2) % period.0;
                let turn = middle as f64 / period.0 as f64;
                let speed = 1.0 + amplitude * libm::sin(TAU * turn);
                (Change::Speed(speed), after(now, step))
            }
            Condition::Leak {
                per_hour,
                per_million,
            } => {
                // Of the middle of the step, so that the mean over time is that of a line.
                let hours = (now + LEAK_STEP.0 / 2) as f64 / HOUR_NS;
                let grown = per_hour * hours + per_million * reading.served as f64 / 1e6;
                (Change::Speed(1.0 / (1.0 + grown)), after(now, LEAK_STEP.0))
            }
            Condition::Cold { slower, requests } => {
                if reading.served < requests {
                    (Change::Speed(1.0 / slower), after(now, COUNT_STEP.0))
                } else {
                    (Change::Speed(1.0), None)
                }
            }
            Condition::Credits { baseline, most, .. } => {
                let speed = self.count_credits(now, reading, baseline, most);
                (Change::Speed(speed), after(now, CREDITS_STEP.0))
            }
            Condition::ScaleOut { .. } => self.scale(now, reading, servers),
        }
    }

    /// Comes at the beginning of each period and goes.
    fn neighbour(&self, now: u64, share: f64, busy: Nanos, period: Nanos) -> (Change, Option<u64>) {
        let at = now.wrapping_add(self.phase) % period.0;
        if at < busy.0 {
            (Change::Speed(1.0 - share), after(now, busy.0 - at))
        } else {
            (Change::Speed(1.0), after(now, period.0 - at))
        }
    }

    /// Comes if it is away, and goes if it is there.
    fn visit(&mut self, now: u64, share: f64, busy: Nanos, gap: Nanos) -> (Change, Option<u64>) {
        let (speed, length) = if self.speed < 1.0 {
            (1.0, gap)
        } else {
            (1.0 - share, busy)
        };
        (Change::Speed(speed), after(now, self.exponential(length)))
    }

    /// Stands still when so many were served since it did last.
    fn collect(
        &mut self,
        now: u64,
        reading: &Reading,
        every: f64,
        length: Nanos,
    ) -> (Change, Option<u64>) {
        let next = after(now, COUNT_STEP.0);
        if (reading.served as f64) < self.value + every {
            return (Change::Nothing, next);
        }
        self.value += every;
        (Change::Stall(length), next)
    }

    /// Nanoseconds drawn from the exponential distribution with this mean, at least one.
    fn exponential(&mut self, mean: Nanos) -> u64 {
        ((self.rng.exponential() * mean.0 as f64) as u64).max(1)
    }

    /// Credits earned and spent since the last turn, and the speed that those left allow.
    fn count_credits(&mut self, now: u64, reading: &Reading, baseline: f64, most: f64) -> f64 {
        if now > 0 {
            let servers = f64::from(reading.servers);
            let earned = baseline * servers * CREDITS_STEP.as_secs_f64();
            let spent = self.busy(reading) * self.speed;
            self.value = (self.value + earned - spent).min(most);
        }
        if self.value > 0.0 { 1.0 } else { baseline }
    }

    fn scale(&mut self, now: u64, reading: &Reading, servers: u32) -> (Change, Option<u64>) {
        let Condition::ScaleOut {
            servers: more,
            above,
            hold,
            delay,
            back_below,
        } = self.condition
        else {
            return (Change::Nothing, None);
        };
        let next = after(now, SCALE_STEP.0);
        let busy = self.busy(reading) / (f64::from(reading.servers) * SCALE_STEP.as_secs_f64());
        let wanted = now > 0
            && match self.scaling {
                Scaling::Small => busy > above,
                Scaling::Growing => {
                    self.scaling = Scaling::Large;
                    self.value = 0.0;
                    return (Change::Servers(more), next);
                }
                Scaling::Large => back_below.is_some_and(|below| busy < below),
            };
        self.value = if wanted { self.value + 1.0 } else { 0.0 };
        if self.value < hold.as_secs_f64().max(1.0) {
            return (Change::Nothing, next);
        }
        self.value = 0.0;
        if self.scaling == Scaling::Small {
            self.scaling = Scaling::Growing;
            return (Change::Nothing, after(now, delay.0));
        }
        self.scaling = Scaling::Small;
        (Change::Servers(servers), next)
    }

    /// Server seconds since the last turn.
    fn busy(&mut self, reading: &Reading) -> f64 {
        let busy = reading.busy_seconds - self.busy_seconds;
        self.busy_seconds = reading.busy_seconds;
        busy
    }
}

/// The speed of a service that is half as cold after each half-life.
fn warmed(now: u64, slower: f64, half_life: Nanos) -> f64 {
    let lives = Nanos(now).as_secs_f64() / half_life.as_secs_f64();
    1.0 / (1.0 + (slower - 1.0) * libm::exp2(-lives))
}

fn after(now: u64, gap: u64) -> Option<u64> {
    now.checked_add(gap)
}

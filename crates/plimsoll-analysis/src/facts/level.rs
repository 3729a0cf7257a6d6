//! Levels of a record as the few figures that attribution needs.

use plimsoll_core::judge::{self, Growth};
use plimsoll_core::objective::Clause;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::Record;
use plimsoll_core::statistics::ratio;
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::verdict::{Judgement, LevelState};
use plimsoll_core::window::Disturbed;
use plimsoll_core::{Nanos, Objectives, Tally, Window};

/// From this share of the attempts on, what fails is no accident, and is worth a sentence: one in a hundred is what users
/// of a page with a few requests meet every day.
pub(crate) const FAILING: f64 = 0.01;
/// How an attempt ends that nobody answered.
pub(crate) const NO_ANSWER: [Outcome; 4] = [
    Outcome::Eof,
    Outcome::Reset,
    Outcome::Refused,
    Outcome::ConnectTimeout,
];
/// How a wait ends that took the service too long.
pub(crate) const GIVEN_UP: [Outcome; 2] = [Outcome::Shed, Outcome::Http5xx];

/// At the end of a script's own load virtual users leave one by one, as their last iterations end: up to this share of the
/// windows that is no ramp.
const LEAVING: f64 = 0.2;

/// One level, or one part of a ramp, over its judged windows.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    /// In flight of a closed loop, or its virtual users; `None` where arrivals come at their own times.
    pub(crate) closed: Option<u32>,
    pub(crate) state: LevelState,
    /// Its own attempts break a response-time objective, whether anybody judged it or not.
    pub(crate) late: bool,
    /// A response-time objective was asked for, and its own attempts meet it.
    pub(crate) in_time: bool,
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// What it was to offer, per second, by which levels are told above and below each other: of 8 s at 90/s chance makes 83 to 97.
    /// Of a closed loop, and of a part of a ramp, what was due.
    pub(crate) rate: f64,
    /// Attempts due, answers, and ok or accepted answers per second of its time.
    pub(crate) offered: f64,
    pub(crate) answered: f64,
    pub(crate) served: f64,
    pub(crate) in_flight: f64,
    /// More came in than was served, all the time.
    pub(crate) queue_grows: bool,
    /// Everything that ended in its time, late ends of earlier levels included.
    pub(crate) tally: Tally,
    /// Ok answers and time of each window, for bursts.
    pub(crate) windows: Vec<WindowFacts>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowFacts {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    unanswered: u64,
    given_up: u64,
    /// Those that came to an end, but for those that stalls of the generator met: they tell nothing of the service.
    pub(crate) attempts: u64,
    /// Of these, those that failed or were later than the longest bound of the objectives.
    pub(crate) bad: u64,
    pub(crate) in_flight_mean: f64,
    pub(crate) in_flight_max: f64,
    pub(crate) longest: Nanos,
    pub(crate) median: Nanos,
}

impl Level {
    pub(crate) fn seconds(&self) -> f64 {
        (self.end - self.start).as_secs_f64()
    }

    /// Share of the attempts that ended in it.
    pub(crate) fn share(&self, outcomes: &[Outcome]) -> f64 {
        let count: u64 = outcomes.iter().map(|o| self.tally.class(*o).count).sum();
        ratio(count as f64, self.tally.decided() as f64)
    }

    /// Failures other than attempts that we ourselves did not send.
    pub(crate) fn failed_share(&self) -> f64 {
        let failures = self.tally.failures() - self.tally.class(Outcome::Dropped).count;
        ratio(failures as f64, self.tally.decided() as f64)
    }

    /// Attempts that failed or were later than the longest bound of the objectives, and all.
    pub(crate) fn bad(&self) -> (u64, u64) {
        let windows = self.windows.iter();
        windows.fold((0, 0), |(bad, all), window| {
            (bad + window.bad, all + window.attempts)
        })
    }

    /// Mean response time of what was served.
    pub(crate) fn served_response(&self) -> Option<Nanos> {
        self.tally.served_response().mean()
    }

    /// Mean service time of what was served.
    pub(crate) fn served_service(&self) -> Option<Nanos> {
        self.tally.served_service().mean()
    }
}

impl WindowFacts {
    /// Attempts that ended without an answer.
    pub(crate) fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Attempts that the service gave up with an answer of its own.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up
    }
}

/// The generator's own check, warm-up and the recovery probe say nothing about a steady load.
pub(crate) fn is_steady(phase: Phase) -> bool {
    !matches!(
        phase,
        Phase::SelfCheck
            | Phase::WarmUp
            | Phase::Settle
            | Phase::Drain
            | Phase::RecoveryBefore
            | Phase::RecoveryPulse
            | Phase::RecoveryAfter
    )
}

/// Levels that the target was measured at, in the order played.
pub(crate) fn levels(record: &Record) -> Vec<Level> {
    let mut levels = Vec::new();
    for start in &record.levels {
        let result = record.level_result(start.step.level);
        let state = result.map_or(LevelState::Observed, |result| result.state);
        if !is_steady(start.step.phase) || state == LevelState::Void {
            continue;
        }
        let judged: Vec<&Window> = record.judged_windows(start.step.level).collect();
        for part in parts(start.step.load, &judged) {
            levels.extend(level(record, start.step.load, state, part));
        }
    }
    levels
}

/// Does the number of virtual users change on purpose? By more than users who end their iteration late.
pub(crate) fn users_vary<'a>(windows: impl Iterator<Item = &'a Window>) -> bool {
    let mut users: Vec<u32> = windows.filter_map(|window| window.vus).collect();
    let most = users.iter().max().map_or(0, |most| u64::from(*most));
    let are_few = |users: &&u32| most * 2 > u64::from(**users) * 3;
    let leaving = users.iter().rev().take_while(are_few).count();
    if leaving as f64 <= LEAVING * users.len() as f64 {
        users.truncate(users.len() - leaving);
    }
    users.iter().any(|users| are_few(&users))
}

/// Arrivals per second of a level that stays at one rate.
pub(crate) fn constant_rate(load: StepLoad) -> Option<f64> {
    match load {
        StepLoad::Open { profile, .. } => profile.constant_rate(),
        StepLoad::Closed { .. } => None,
    }
}

/// A ramp passes through many rates, or numbers of users: it is cut into up to ten parts of at least
/// three windows.
fn parts<'a, 'w>(load: StepLoad, windows: &'a [&'w Window]) -> Vec<&'a [&'w Window]> {
    let is_ramp = match load {
        StepLoad::Open { profile, .. } => profile.constant_rate().is_none(),
        StepLoad::Closed { .. } => users_vary(windows.iter().copied()),
    };
    if is_ramp {
        let length = windows.len().div_ceil(10).max(3);
        windows.chunks(length).collect()
    } else {
        vec![windows]
    }
}

fn level(record: &Record, load: StepLoad, state: LevelState, windows: &[&Window]) -> Option<Level> {
    let (first, last) = (windows.first()?, windows.last()?);
    let seconds: f64 = windows.iter().map(|w| w.length_ns.as_secs_f64()).sum();
    if seconds <= 0.0 {
        return None;
    }
    let mut tally = Tally::default();
    let mut disturbed = Disturbed::default();
    let (mut due, mut in_flight) = (0, 0.0);
    let users = windows.iter().filter_map(|window| window.vus);
    let users_mean = users.clone().map(u64::from).sum::<u64>() / users.count().max(1) as u64;
    for window in windows {
        tally.merge(&window.total());
        for carried in &window.carried {
            tally.merge(&carried.tally);
        }
        disturbed.merge(&window.health.disturbed);
        due += window.due_count;
        in_flight += window.in_flight_mean * window.length_ns.as_secs_f64();
    }
    let objectives = record.header.test.objectives();
    let in_time = objectives.map(|objectives| in_time(objectives, &tally, &disturbed));
    let in_flight_means: Vec<f64> = windows.iter().map(|w| w.in_flight_mean).collect();
    let offered = due as f64 / seconds;
    Some(Level {
        closed: match load {
            StepLoad::Closed { .. } if users_mean > 0 => u32::try_from(users_mean).ok(),
            StepLoad::Closed { in_flight } => Some(in_flight),
            StepLoad::Open { .. } => None,
        },
        state,
        late: in_time == Some(Judgement::Fail),
        in_time: in_time == Some(Judgement::Pass),
        start: first.start_ns,
        end: last.end_ns(),
        rate: constant_rate(load).unwrap_or(offered),
        offered,
        answered: tally.answers() as f64 / seconds,
        served: tally.served() as f64 / seconds,
        in_flight: in_flight / seconds,
        queue_grows: Growth::over_windows(&in_flight_means, due)
            .is_some_and(Growth::is_without_end),
        tally,
        windows: windows.iter().map(|w| facts(w, objectives)).collect(),
    })
}

/// Whether its own attempts meet the response-time objectives. What stalls of the generator made late breaks none, as in the
/// test's own verdict.
fn in_time(objectives: &Objectives, tally: &Tally, disturbed: &Disturbed) -> Judgement {
    let each = judge::bad_of_each(objectives, tally);
    let each = each.zip(judge::disturbed_of_each(objectives, disturbed));
    let times = each.filter(|((clause, _), _)| matches!(clause, Clause::ResponseTime { .. }));
    let judged: Vec<Judgement> = times
        .map(|((clause, bad), met)| judge::verdict_despite(clause, bad, met.count, met))
        .collect();
    if judged.contains(&Judgement::Fail) {
        Judgement::Fail
    } else if !judged.is_empty() && judged.iter().all(|one| *one == Judgement::Pass) {
        Judgement::Pass
    } else {
        Judgement::Inconclusive
    }
}

fn facts(window: &Window, objectives: Option<&Objectives>) -> WindowFacts {
    let mut total = window.total();
    for carried in &window.carried {
        total.merge(&carried.tally);
    }
    let answers = total.served_response();
    let median = answers.quantile(0.5).unwrap_or_default();
    // Without an objective an attempt is late at ten times the window's median.
    let bound = objectives.and_then(Objectives::longest_bound);
    let late_at = bound.unwrap_or(Nanos(median.0.saturating_mul(10)));
    let bad = judge::bad_at(&total, late_at);
    let met = &window.health.disturbed;
    let met_bad = met.late_counts.iter().copied().min();
    let count = |kinds: &[Outcome]| kinds.iter().map(|kind| total.class(*kind).count).sum();
    WindowFacts {
        start: window.start_ns,
        end: window.end_ns(),
        unanswered: count(&NO_ANSWER),
        given_up: count(&GIVEN_UP),
        attempts: bad.attempts.saturating_sub(met.attempts_count),
        // Without a bound nobody counted which of them were late.
        bad: bad
            .count
            .saturating_sub(met_bad.unwrap_or(met.attempts_count)),
        in_flight_mean: window.in_flight_mean,
        in_flight_max: window.in_flight_max as f64,
        longest: answers.max().unwrap_or_default(),
        median,
    }
}

#[cfg(test)]
mod tests;

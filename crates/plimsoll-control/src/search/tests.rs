//! The order of levels, the ceilings, void levels and interruptions, on an ideal target.

use std::num::NonZeroU32;

use plimsoll_core::step::{StepError, StepRunner};
use plimsoll_core::{Nanos, Objectives, Outcome, Tally};

use super::*;

mod unlucky;

/// Answers in 10 ms up to its capacity, in a second beyond it; no chance, no queue, no memory.
struct Ideal {
    capacity: f64,
    /// The generator lags from this rate on.
    lags_from: f64,
    interrupted_at_level: u32,
    windows: u64,
    answer: Outcome,
    /// Beyond its capacity it answers nothing at all.
    is_silent: bool,
    hanging: u64,
    /// Of the rate that is asked, so much arrives.
    arriving: f64,
}

impl Ideal {
    fn new(capacity: f64) -> Self {
        Self {
            capacity,
            lags_from: f64::INFINITY,
            interrupted_at_level: u32::MAX,
            windows: 0,
            answer: Outcome::Ok,
            is_silent: false,
            hanging: 0,
            arriving: 1.0,
        }
    }

    fn window(&mut self, step: &Step) -> Window {
        let (rate, offered) = match step.load {
            StepLoad::Open { profile, .. } => {
                (self.arriving * profile.constant_rate().unwrap(), true)
            }
            StepLoad::Closed { in_flight } => {
                (self.capacity.min(f64::from(in_flight) * 100.0), false)
            }
        };
        let late = offered && rate > self.capacity;
        let time = if late {
            Nanos::from_secs(1)
        } else {
            Nanos::from_millis(10)
        };
        let mut tally = Tally::default();
        let count = rate as u64;
        let is_hung = late && self.is_silent;
        self.hanging = if is_hung { self.hanging + count } else { 0 };
        for _ in 0..if is_hung { 0 } else { count } {
            tally.record(
                self.answer,
                time,
                Some(time),
                100,
                &[Nanos::from_millis(100)],
            );
        }
        let in_flight = if is_hung {
            self.hanging as f64
        } else {
            count as f64 * time.as_secs_f64()
        };
        let mut window = Window {
            level: step.level,
            start_ns: Nanos::from_secs(self.windows),
            length_ns: Nanos::from_secs(1),
            due_count: count,
            sent_count: count,
            in_flight_mean: in_flight,
            in_flight_end: in_flight as u64,
            operations: vec![tally],
            ..Window::default()
        };
        let lag = if offered && rate >= self.lags_from {
            50_000
        } else {
            10
        };
        window.health.lag.record_n(Nanos::from_micros(lag), count);
        self.windows += 1;
        window
    }
}

impl StepRunner for Ideal {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError> {
        for _ in 0..step.windows_max {
            if judge(&self.window(step)) == Go::Stop {
                break;
            }
            if step.level >= self.interrupted_at_level {
                return Err(StepError::Interrupted);
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Log {
    levels: Vec<(Step, LevelResult)>,
    step: Option<Step>,
}

impl Observer for Log {
    fn level_start(&mut self, step: &Step, _left: Nanos) -> Result<(), StepError> {
        self.step = Some(step.clone());
        Ok(())
    }

    fn window(&mut self, _window: &Window) -> Result<(), StepError> {
        Ok(())
    }

    fn level_end(&mut self, result: &LevelResult) -> Result<(), StepError> {
        self.levels
            .push((self.step.take().unwrap(), result.clone()));
        Ok(())
    }
}

impl Log {
    fn phases(&self) -> Vec<Phase> {
        let mut phases: Vec<_> = self.levels.iter().map(|(step, _)| step.phase).collect();
        phases.dedup();
        phases
    }

    fn rate_max(&self) -> f64 {
        let rates = self.levels.iter().filter_map(|(step, _)| match step.load {
            StepLoad::Open { profile, .. } => profile.constant_rate(),
            StepLoad::Closed { .. } => None,
        });
        rates.fold(0.0, f64::max)
    }
}

fn config() -> Config {
    let objectives = Objectives::parse("p99<100ms,errors<1%").unwrap();
    Config::new(objectives, NonZeroU32::new(1000).unwrap())
}

fn played(config: Config, target: &mut Ideal) -> (SearchResult, Log) {
    let mut search = Search::new(config).unwrap();
    let mut log = Log::default();
    let found = drive(&mut search, target, &mut log).unwrap();
    (found, log)
}

#[test]
fn the_phases_follow_each_other() {
    use Phase::{
        Anchor, Bisect, Bracket, Overshoot, RecoveryAfter, RecoveryBefore, RecoveryPulse, Repeat,
        Settle, Soak, WarmUp,
    };

    let mut config = config();
    config.within = Nanos::from_secs(720);
    let (found, log) = played(config, &mut Ideal::new(640.0));
    let phases: Vec<_> = log
        .phases()
        .into_iter()
        .filter(|phase| *phase != Settle)
        .collect();
    // Holding is blocks with probes between them.
    let mut firsts = Vec::new();
    for phase in phases {
        if !firsts.contains(&phase) {
            firsts.push(phase);
        }
    }
    assert_eq!(
        firsts,
        [
            WarmUp,
            Anchor,
            Bracket,
            Bisect,
            Soak,
            Overshoot,
            RecoveryBefore,
            RecoveryPulse,
            RecoveryAfter,
            Repeat
        ]
    );
    let capacity = found.capacity_per_s.unwrap();
    // What was played is on average at most half a per cent less than what is claimed.
    assert!(
        capacity.lower.unwrap() <= 640.0 * 1.005 && capacity.upper.unwrap() > 640.0,
        "{capacity:?}"
    );
    let watched = |remark: &SearchRemark| matches!(remark, SearchRemark::Watched { .. });
    assert!(
        found.converged && found.remarks.iter().all(watched),
        "{found:?}"
    );
    assert_eq!(found.binding_clause.as_deref(), Some("p99 < 100 ms"));
    assert_eq!(found.recovery_seconds.unwrap().seconds, Some(0.0));
    let knee = found.knee_in_flight.unwrap();
    assert!((knee - 6.4).abs() < 0.01, "640/s at 10 ms: {knee}");
    let level = found.capacity_level.unwrap();
    let soak = log
        .levels
        .iter()
        .find(|(step, _)| step.level == level)
        .unwrap();
    assert_eq!((soak.0.phase, soak.1.state), (Soak, LevelState::Pass));
}

#[test]
fn a_service_that_answers_202_carries_what_it_would_carry_with_200() {
    let (done, _) = played(config(), &mut Ideal::new(640.0));
    let mut accepting = Ideal::new(640.0);
    accepting.answer = Outcome::Accepted;
    let (accepted, _) = played(config(), &mut accepting);
    assert!(accepted.converged, "{accepted:?}");
    assert_eq!(accepted.capacity_per_s, done.capacity_per_s);
    assert_eq!(accepted.knee_in_flight, done.knee_in_flight);
    assert_eq!(accepted.collapse_per_s, done.collapse_per_s);
    assert_eq!(accepted.recovery_seconds, done.recovery_seconds);
    assert_eq!(accepted.peak_goodput_per_s, None, "nothing is done yet");
}

#[test]
fn nothing_above_the_ceiling_is_offered_and_the_result_says_so() {
    for (max_rate, generator, reason) in [
        (Some(200.0), None, "the highest rate allowed"),
        (None, Some(200.0), "the generator"),
        (Some(300.0), Some(200.0), "the generator"),
    ] {
        let mut config = config();
        config.max_rate_per_s = max_rate;
        config.generator_max_per_s = generator;
        let (found, log) = played(config, &mut Ideal::new(640.0));
        assert!(log.rate_max() <= 200.0, "{reason}: {}", log.rate_max());
        let capacity = found.capacity_per_s.unwrap();
        assert_eq!(
            (capacity.lower, capacity.upper),
            (Some(200.0), None),
            "{reason}"
        );
        let remarks: Vec<String> = found.remarks.iter().map(ToString::to_string).collect();
        let text = remarks.join("; ");
        assert!(
            text.contains("at least 200/s") && text.contains(reason),
            "{text}"
        );
        assert!(found.converged && found.collapse_per_s.is_none());
        let closed = log.phases().contains(&Phase::Anchor);
        assert_eq!(
            closed,
            max_rate.is_none(),
            "a closed loop cannot keep a highest rate"
        );
    }
}

#[test]
fn levels_the_generator_cannot_sustain_are_played_later_until_a_third_of_the_time_is_lost() {
    let mut target = Ideal::new(640.0);
    target.lags_from = 300.0;
    let (found, log) = played(config(), &mut target);
    let is_void = |level: &&(Step, LevelResult)| level.1.state == LevelState::Void;
    let void: Vec<_> = log.levels.iter().filter(is_void).collect();
    assert!(void.len() > 2, "{}", void.len());
    let twice = log
        .levels
        .windows(2)
        .any(|pair| pair.iter().all(|level| is_void(&level)));
    assert!(
        !twice,
        "something low lies between two levels that could not be sustained"
    );
    assert!(
        void[1].1.reason.contains("lag p50 50.0 ms"),
        "{}",
        void[1].1.reason
    );
    let remarks: Vec<String> = found.remarks.iter().map(ToString::to_string).collect();
    assert!(
        !found.converged && remarks.join("; ").contains("could not sustain"),
        "{found:?}"
    );
    let capacity = found.capacity_per_s.unwrap();
    assert_eq!(capacity.lower, None, "{capacity:?}");
    let seconds: u32 = void.iter().map(|level| level.0.windows_max).sum();
    assert!(
        (90..130).contains(&seconds),
        "a third of five minutes: {seconds} s"
    );
}

#[test]
fn an_interruption_keeps_what_was_found() {
    let (_, log) = played(config(), &mut Ideal::new(640.0));
    let soak = log
        .levels
        .iter()
        .rfind(|(step, _)| step.phase == Phase::Soak)
        .unwrap()
        .0
        .level;
    let mut target = Ideal::new(640.0);
    target.interrupted_at_level = soak + 1;
    let mut search = Search::new(config()).unwrap();
    let mut log = Log::default();
    let error = drive(&mut search, &mut target, &mut log).unwrap_err();
    assert!(matches!(error, StepError::Interrupted));
    assert_eq!(log.levels.last().unwrap().1.reason, "interrupted");
    assert!(
        search.found().capacity_per_s.unwrap().lower.is_some(),
        "the blocks had held"
    );
}

#[test]
fn a_target_that_fails_everything_ends_the_search_at_once() {
    struct Refusing;
    impl StepRunner for Refusing {
        fn play(
            &mut self,
            step: &Step,
            judge: &mut dyn FnMut(&Window) -> Go,
        ) -> Result<(), StepError> {
            let mut tally = Tally::default();
            tally.record(Outcome::Refused, Nanos(100), None, 0, &[]);
            let window = Window {
                level: step.level,
                length_ns: Nanos::from_secs(1),
                due_count: 1,
                operations: vec![tally],
                ..Window::default()
            };
            while judge(&window) == Go::On {}
            Ok(())
        }
    }
    let mut search = Search::new(config()).unwrap();
    let mut log = Log::default();
    let found = drive(&mut search, &mut Refusing, &mut log).unwrap();
    assert_eq!(log.levels.len(), 1);
    assert!(
        found.remarks[0]
            .to_string()
            .contains("no attempt succeeded"),
        "{found:?}"
    );
    assert_eq!(found.capacity_per_s, None);
}

#[test]
fn an_anchor_that_is_far_too_high_is_walked_down_from() {
    let mut config = config();
    config.anchor = Some(Anchor {
        response_ns: Nanos::from_millis(10),
        throughput_max_per_s: 100_000.0,
    });
    let (found, log) = played(config, &mut Ideal::new(640.0));
    assert!(!log.phases().contains(&Phase::Anchor));
    let capacity = found.capacity_per_s.unwrap();
    // What was played is on average at most half a per cent less than what is claimed.
    assert!(
        capacity.lower.unwrap() <= 640.0 * 1.005 && capacity.upper.unwrap() > 640.0,
        "{capacity:?}"
    );
}

#[test]
fn windows_of_another_level_are_not_judged() {
    let mut search = Search::new(config()).unwrap();
    let step = search.next_step().unwrap();
    assert_eq!(
        search.next_step().unwrap(),
        step,
        "asked twice, the same step"
    );
    let mut window = Ideal::new(640.0).window(&step);
    window.level = step.level + 7;
    for _ in 0..50 {
        assert_eq!(search.observe(&window), Go::On);
    }
    assert!(search.finish_step().is_some());
    assert!(search.finish_step().is_none(), "nothing is under way");
}

#[test]
fn the_plan_is_what_was_given_or_less() {
    let plan = |change: fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        Search::new(config).unwrap().plan_seconds()
    };
    assert!((plan(|_| {}) - 300.0).abs() < 1e-9);
    assert!((plan(|config| config.within = Nanos::from_secs(720)) - 720.0).abs() < 1e-9);
    let check = plan(|config| config.check_rate_per_s = Some(100.0));
    assert!(check < 150.0, "{check}");
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_fix() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 7] = [
        (|c| c.within = Nanos::from_secs(140), "name a rate to check"),
        (|c| c.spent = Nanos::from_secs(280), "allow more time"),
        (|c| c.goal_width = 0.001, "goal width 0.001"),
        (|c| c.max_rate_per_s = Some(0.0), "the highest rate 0"),
        (|c| c.generator_max_per_s = Some(f64::NAN), "NaN"),
        (|c| c.check_rate_per_s = Some(-1.0), "the rate to check -1"),
        (
            |c| {
                c.check_rate_per_s = Some(50.0);
                c.max_rate_per_s = Some(20.0);
            },
            "above the highest rate allowed, 20/s",
        ),
    ];
    for (change, fragment) in cases {
        let mut config = config();
        change(&mut config);
        let error = Search::new(config).unwrap_err().to_string();
        assert!(error.contains(fragment), "{error}");
    }
}

#[test]
fn the_client_timeout_follows_the_longest_bound() {
    for (slo, seconds) in [
        ("p99<250ms", 1),
        ("p99<100ms", 1),
        ("p50<100ms,p99<2s", 8),
        ("p99<5s", 10),
        ("p90<8s", 10),
        ("p90<20s", 25),
        ("errors<1%", 10),
    ] {
        let timeout = client_timeout(&Objectives::parse(slo).unwrap());
        assert_eq!(timeout, Nanos::from_secs(seconds), "{slo}");
    }
}

/// Nothing ends in a level at which a target only takes requests in: that is too much, not nothing. An error budget alone
/// does not count what is late, and sees it all the same.
#[test]
fn a_target_that_answers_nothing_is_loaded_too_much() {
    for slo in ["p99<3s,errors<1%", "errors<1%"] {
        let config = Config {
            max_rate_per_s: Some(400.0),
            ..Config::new(
                Objectives::parse(slo).unwrap(),
                NonZeroU32::new(1000).unwrap(),
            )
        };
        let mut target = Ideal {
            is_silent: true,
            ..Ideal::new(100.0)
        };
        let (found, _) = played(config, &mut target);
        let capacity = found.capacity_per_s.unwrap();
        let estimate = capacity.estimate;
        assert!((80.0..=101.0).contains(&estimate), "{slo}: {capacity:?}");
        let upper = capacity.upper;
        assert!(
            upper.is_some_and(|upper| upper < 120.0),
            "{slo}: {capacity:?}"
        );
    }
}

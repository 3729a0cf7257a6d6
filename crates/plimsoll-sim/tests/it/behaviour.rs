//! What the simulator does beyond closed forms: stalls, slots, rules, contention, repeatability.

use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Go, Phase, Step, StepLoad, StepRunner};
use plimsoll_core::{Nanos, Outcome, Window};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::{Condition, Model, RateRule, ServiceTime, Slots};

const MEAN: Nanos = Nanos::from_millis(5);

pub(crate) fn open(level: u32, rate: f64, windows_max: u32) -> Step {
    Step {
        level,
        phase: Phase::Run,
        load: StepLoad::Open {
            profile: RateProfile::constant(rate).unwrap(),
            arrivals: Arrivals::Poisson,
        },
        windows_max,
    }
}

pub(crate) fn closed(level: u32, in_flight: u32, windows_max: u32) -> Step {
    Step {
        load: StepLoad::Closed { in_flight },
        ..open(level, 1.0, windows_max)
    }
}

pub(crate) fn windows(simulator: &mut Simulator, step: &Step) -> Vec<Window> {
    let mut windows = Vec::new();
    let mut judge = |window: &Window| {
        windows.push(window.clone());
        Go::On
    };
    simulator.play(step, &mut judge).unwrap();
    windows
}

pub(crate) fn throughput(simulator: &mut Simulator, step: &Step) -> f64 {
    let windows = windows(simulator, step);
    let ok: u64 = windows.iter().map(|window| window.total().ok()).sum();
    ok as f64 / windows.len() as f64
}

#[test]
fn the_same_seed_gives_the_same_windows() {
    let model = Model {
        client_timeout: Some(Nanos::from_millis(40)),
        conditions: vec![
            Condition::LevelNoise { sd: 0.05 },
            Condition::Stalls {
                interval: Nanos::from_secs(3),
                length: Nanos::from_millis(100),
                random: true,
            },
        ],
        ..Model::station(
            4,
            ServiceTime::Lognormal {
                mean: MEAN,
                cv: 1.0,
            },
        )
    };
    let play = |seed| {
        let mut simulator = Simulator::new(model.clone(), vec![MEAN], seed).unwrap();
        let mut all = windows(&mut simulator, &closed(1, 8, 3));
        all.extend(windows(&mut simulator, &open(2, 600.0, 5)));
        all
    };
    assert_eq!(play(7), play(7));
    assert_ne!(play(7), play(8));
}

#[test]
fn every_attempt_ends_once_and_in_its_own_level() {
    let model = Model {
        client_timeout: Some(Nanos::from_millis(200)),
        queue_max: Some(500),
        ..Model::station(2, ServiceTime::Exponential { mean: MEAN })
    };
    let mut simulator = Simulator::new(model, Vec::new(), 3).unwrap();
    let mut due = [0u64; 4];
    let mut ended = [0u64; 4];
    let mut pending = 0;
    for (level, rate) in [(1, 600.0), (2, 100.0), (3, 50.0)] {
        for window in windows(&mut simulator, &open(level, rate, 4)) {
            assert_eq!(window.level, level);
            due[level as usize] += window.due_count;
            ended[level as usize] += window.total().attempts();
            for carried in &window.carried {
                assert!(carried.level < level);
                ended[carried.level as usize] += carried.tally.attempts();
            }
            pending = window.in_flight_end;
        }
    }
    let total_due: u64 = due.iter().sum();
    let total_ended: u64 = ended.iter().sum();
    assert_eq!(total_due, total_ended + pending);
    assert_eq!(
        due[1], ended[1],
        "the overload of the first level ended long ago"
    );
}

#[test]
fn a_stall_makes_everything_wait_and_nothing_is_lost() {
    let model = Model {
        conditions: vec![Condition::Stalls {
            interval: Nanos::from_secs(5),
            length: Nanos::from_millis(400),
            random: false,
        }],
        ..Model::station(4, ServiceTime::Fixed { mean: MEAN })
    };
    let mut simulator = Simulator::new(model, Vec::new(), 1).unwrap();
    let windows = windows(&mut simulator, &open(1, 200.0, 50));
    let stalled = windows
        .iter()
        .filter(|window| window.in_flight_max > 40)
        .count();
    // One that straddles two windows is seen in both, one at an edge of the 50 s in none.
    assert!(
        (9..=20).contains(&stalled),
        "{stalled} of 50 s saw one of 10 stalls"
    );
    let slowest = windows
        .iter()
        .filter_map(|w| w.total().answers_only().max())
        .max()
        .unwrap();
    assert!(
        slowest > Nanos::from_millis(400) && slowest < Nanos::from_millis(600),
        "{slowest}"
    );
}

#[test]
fn slots_refuse_or_queue_and_a_rule_sheds() {
    let fast = Model::station(64, ServiceTime::Fixed { mean: MEAN });
    let with_slots = |waiting_max| Model {
        slots: Some(Slots {
            max: 2,
            waiting_max,
        }),
        ..fast.clone()
    };
    let share = |model: &Model, outcome| {
        let mut simulator = Simulator::new(model.clone(), Vec::new(), 1).unwrap();
        let windows = windows(&mut simulator, &open(1, 1000.0, 20));
        let of = |window: &Window| window.total().class(outcome).count;
        windows.iter().map(of).sum::<u64>() as f64 / 20_000.0
    };
    // Two slots of 5 ms serve 400/s of 1,000/s; deterministic service keeps Erlang B: 2 slots at 5
    // erlangs lose 25/2 ÷ (1 + 5 + 25/2) = 67.6 %.
    let refused = share(&with_slots(0), Outcome::Refused);
    assert!((refused - 0.676).abs() < 0.02, "{refused}");
    let queued = share(&with_slots(100), Outcome::Refused);
    assert!(
        (queued - 0.6).abs() < 0.02,
        "with a queue the slots are never idle: {queued}"
    );
    let rule = Model {
        rate_rule: Some(RateRule {
            per_s: 400.0,
            burst: 20.0,
        }),
        ..fast.clone()
    };
    let shed = share(&rule, Outcome::Shed);
    assert!((shed - 0.6).abs() < 0.02, "{shed}");
}

#[test]
fn contention_makes_throughput_go_backwards() {
    let model = Model {
        contention: 0.05,
        ..Model::station(4, ServiceTime::Fixed { mean: MEAN })
    };
    let at = |in_flight| {
        let mut simulator = Simulator::new(model.clone(), Vec::new(), 1).unwrap();
        throughput(&mut simulator, &closed(1, in_flight, 20))
    };
    let (four, many) = (at(4), at(64));
    assert!(
        four > 650.0 && many < 0.4 * four,
        "{four} with 4, {many} with 64 in flight"
    );
}

#[test]
fn noise_changes_the_speed_from_level_to_level_only() {
    let model = Model {
        conditions: vec![Condition::LevelNoise { sd: 0.1 }],
        ..Model::station(1, ServiceTime::Fixed { mean: MEAN })
    };
    let mut simulator = Simulator::new(model, Vec::new(), 5).unwrap();
    let mut speeds: Vec<_> = (1..=40)
        .map(|level| throughput(&mut simulator, &closed(level, 2, 3)))
        .collect();
    let again = throughput(&mut simulator, &closed(40, 2, 3));
    assert!(
        (again / speeds[39] - 1.0).abs() < 0.01,
        "the draw belongs to the level"
    );
    speeds.sort_by(f64::total_cmp);
    let (low, middle, high) = (speeds[6], speeds[20], speeds[33]);
    assert!((middle / 200.0 - 1.0).abs() < 0.05, "{middle}");
    assert!(
        high / low > 1.12 && high / low < 1.35,
        "one deviation each way: {low} to {high}"
    );
}

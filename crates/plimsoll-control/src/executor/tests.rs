//! Executors on a virtual clock: what they start, when, on whom, and that workers add up.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_base::random::Rng;
use plimsoll_core::scenario::{Layer, Options, Origin, Strictness};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn scenario(fields: &Value) -> Scenario {
    let options = json!({ "scenarios": { "s": fields } });
    let layer = Layer::from_object(Origin::Script, &options, Strictness::Normal).unwrap();
    let options = Options::from_layers(&[layer]).unwrap();
    options.scenarios.named("s").unwrap().clone()
}

/// What happened, with the time.
#[derive(Debug, Default)]
struct Log {
    starts: Vec<(Nanos, Iteration)>,
    drops: Vec<Nanos>,
    interrupts: Vec<(Nanos, u32)>,
    ends: Vec<(Nanos, u32)>,
    done_at: Nanos,
    running_max: usize,
    /// VUs at work, whenever there was nothing more to do at once.
    active: Vec<(Nanos, u32)>,
}

/// Plays one worker: `length` says how long an iteration takes, a new VU takes `init`.
fn play(
    scenario: &Scenario,
    share: Share,
    init: Nanos,
    mut length: impl FnMut(&Iteration) -> Nanos,
) -> Log {
    let range = VuRange {
        first: 0,
        count: scenario.executor.vus_max(),
    };
    let mut executor = Executor::new(scenario, range, share, 7);
    let mut log = Log::default();
    // What comes: ends of iterations and VUs that become ready, by time and VU.
    let mut ends: BTreeSet<(Nanos, u32)> = BTreeSet::new();
    let mut ready: BTreeSet<(Nanos, u32)> = BTreeSet::new();
    let mut now = Nanos::ZERO;
    loop {
        let until = match executor.next(now) {
            Action::Start(iteration) => {
                assert!(iteration.intended_at <= now, "{iteration:?} at {now}");
                ends.insert((now + length(&iteration), iteration.vu));
                log.starts.push((now, iteration));
                log.running_max = log.running_max.max(ends.len());
                continue;
            }
            Action::AddVu { vu } => {
                ready.insert((now + init, vu));
                continue;
            }
            Action::Interrupt { vu } => {
                let planned = *ends.iter().find(|(_, running)| *running == vu).unwrap();
                ends.remove(&planned);
                log.interrupts.push((now, vu));
                executor.ended(vu, now);
                continue;
            }
            Action::Drop { intended_at, count } => {
                log.drops.extend((0..count).map(|_| intended_at));
                continue;
            }
            Action::Done => {
                log.done_at = now;
                assert!(ends.is_empty(), "done while {ends:?} run");
                assert_eq!(executor.vus_active(), 0, "all of it is over");
                return log;
            }
            Action::Wait { until } => until,
        };
        let active = executor.vus_active();
        assert!(
            active as usize >= ends.len(),
            "{active} for {ends:?} at {now}"
        );
        assert!(now >= scenario.start_ns || active == 0, "before the start");
        log.active.push((now, active));
        assert!(until > now, "waiting for the past: {until} at {now}");
        let next_end = ends.first().map_or(Nanos::MAX, |(at, _)| *at);
        let next_ready = ready.first().map_or(Nanos::MAX, |(at, _)| *at);
        now = until.min(next_end).min(next_ready);
        assert!(now < Nanos::MAX, "waits for nothing");
        while let Some((at, vu)) = ends.first().copied().filter(|(at, _)| *at <= now) {
            ends.remove(&(at, vu));
            log.ends.push((at, vu));
            executor.ended(vu, at);
        }
        while let Some((at, vu)) = ready.first().copied().filter(|(at, _)| *at <= now) {
            ready.remove(&(at, vu));
            executor.added(vu, at);
        }
    }
}

fn alone(scenario: &Scenario, length: Nanos) -> Log {
    play(scenario, Share::new(0, 1), Nanos::ZERO, |_| length)
}

const fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

#[test]
fn shared_iterations_are_made_once_by_whoever_is_free() {
    let scenario =
        scenario(&json!({ "executor": "shared-iterations", "vus": 3, "iterations": 10 }));
    let log = play(&scenario, Share::new(0, 1), Nanos::ZERO, |iteration| {
        ms(if iteration.vu == 1 { 1 } else { 100 })
    });
    let numbers: Vec<u64> = log.starts.iter().map(|(_, i)| i.in_scenario).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    let by_first = log.starts.iter().filter(|(_, i)| i.vu == 1).count();
    assert_eq!(
        by_first, 8,
        "the fast VU makes all but one of each slow one"
    );
    assert_eq!(log.done_at, ms(100));
}

#[test]
fn per_vu_iterations_are_the_same_for_all() {
    let scenario = scenario(&json!({ "executor": "per-vu-iterations", "vus": 3, "iterations": 4 }));
    let log = play(&scenario, Share::new(0, 1), Nanos::ZERO, |i| {
        ms(u64::from(i.vu))
    });
    let mut made: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (_, iteration) in &log.starts {
        made.entry(iteration.vu).or_default().push(iteration.of_vu);
    }
    assert_eq!(made.len(), 3);
    assert!(made.values().all(|numbers| *numbers == [0, 1, 2, 3]));
    assert_eq!(log.done_at, ms(12));
}

/// All of them counted as active from before the start until after the end.
#[test]
fn vus_count_as_active_from_the_start_until_they_leave() {
    let at_work = |fields: &Value, length: fn(&Iteration) -> Nanos| {
        let log = play(&scenario(fields), Share::new(0, 1), Nanos::ZERO, length);
        let mut seen: Vec<u32> = log.active.iter().map(|(_, active)| *active).collect();
        seen.dedup();
        seen
    };
    let by_number: fn(&Iteration) -> Nanos = |iteration| ms(100 * u64::from(iteration.vu));
    let one_each =
        json!({ "executor": "per-vu-iterations", "vus": 3, "iterations": 2, "startTime": "1s" });
    assert_eq!(at_work(&one_each, by_number), [0, 3, 2, 1]);
    // The second finds nothing left when its first is over.
    let shared = json!({ "executor": "shared-iterations", "vus": 3, "iterations": 5 });
    assert_eq!(at_work(&shared, by_number), [3, 2]);
    let looping =
        json!({ "executor": "constant-vus", "vus": 3, "duration": "1950ms", "startTime": "1s" });
    assert_eq!(at_work(&looping, by_number), [0, 3, 1]);
    let ramp = json!({ "executor": "ramping-vus", "startVUs": 2, "gracefulRampDown": "10s",
        "stages": [{ "duration": "0s", "target": 0 }, { "duration": "2s", "target": 0 }] });
    assert_eq!(
        at_work(&ramp, by_number),
        [0],
        "taken away before anything began"
    );
    // The third is not wanted from the first second on, and leaves when its iteration is over.
    let down = json!({ "executor": "ramping-vus", "startVUs": 3,
        "stages": [{ "duration": "1s", "target": 3 }, { "duration": "0s", "target": 2 }, { "duration": "1s", "target": 2 }] });
    let log = play(&scenario(&down), Share::new(0, 1), Nanos::ZERO, by_number);
    let at = |wanted| {
        log.active
            .iter()
            .find(|(at, _)| *at == ms(wanted))
            .map(|(_, active)| *active)
    };
    assert_eq!((at(1100), at(1200)), (Some(3), Some(2)));
    let arrivals = json!({ "executor": "constant-arrival-rate", "rate": 1, "duration": "2s",
        "preAllocatedVUs": 5 });
    assert_eq!(at_work(&arrivals, |_| ms(500)), [1, 0, 1, 0]);
}

#[test]
fn the_grace_of_the_end_is_kept_and_then_iterations_are_interrupted() {
    for (grace, length, done, interrupted) in [
        (5_000, 900, 10_800, 0),
        (5_000, 12_000, 12_000, 0),
        (1_000, 12_000, 11_000, 2),
        (0, 300, 10_000, 2),
    ] {
        let scenario = scenario(
            &json!({ "executor": "constant-vus", "vus": 2, "duration": "10s",
                                         "gracefulStop": grace }),
        );
        let log = alone(&scenario, ms(length));
        assert_eq!(
            log.done_at,
            ms(done),
            "grace {grace} ms, iterations of {length} ms"
        );
        assert_eq!(log.interrupts.len(), interrupted, "grace {grace} ms");
    }
}

#[test]
fn max_duration_ends_iterations_that_are_counted() {
    let scenario = scenario(
        &json!({ "executor": "shared-iterations", "vus": 2, "iterations": 100,
                                     "maxDuration": "1s", "gracefulStop": "100ms" }),
    );
    let log = alone(&scenario, ms(400));
    assert_eq!(log.starts.len(), 6);
    assert_eq!((log.interrupts.len(), log.done_at), (2, ms(1100)));
}

/// Observed in k6 2.2: what is left after maxDuration counts as dropped.
#[test]
fn iterations_that_nobody_begins_are_dropped() {
    for (executor, iterations, made, dropped) in [
        ("shared-iterations", 28, 2, 26),
        ("per-vu-iterations", 5, 2, 8),
    ] {
        let scenario = scenario(
            &json!({ "executor": executor, "vus": 2, "iterations": iterations,
                                         "maxDuration": "1s", "gracefulStop": "300ms" }),
        );
        let log = alone(&scenario, ms(1230));
        assert_eq!(
            (log.starts.len(), log.drops.len()),
            (made, dropped),
            "{executor}"
        );
        assert!(log.drops.iter().all(|at| *at == ms(1000)));
        let mut late = Executor::new(
            &scenario,
            VuRange { first: 0, count: 2 },
            Share::new(0, 1),
            0,
        );
        let all = late.next(ms(5000));
        let count = (made + dropped) as u64;
        assert_eq!(
            all,
            Action::Drop {
                intended_at: ms(1000),
                count
            }
        );
        assert_eq!(late.next(ms(5000)), Action::Done);
    }
}

#[test]
fn a_scenario_starts_at_its_time() {
    let scenario = scenario(&json!({ "executor": "constant-vus", "duration": "1s",
                                     "startTime": "5s" }));
    let log = alone(&scenario, ms(250));
    assert_eq!(log.starts[0].0, ms(5000));
    assert_eq!((log.starts.len(), log.done_at), (4, ms(6000)));
}

/// Observed in k6 2.2 with the same stages: VUs 2 to 5 begin at 0.5, 1, 1.5 and 2 s.
#[test]
fn ramping_vus_come_and_go_one_by_one() {
    let scenario = scenario(&json!({ "executor": "ramping-vus", "startVUs": 1,
        "stages": [{ "duration": "2s", "target": 5 }, { "duration": "2s", "target": 1 }],
        "gracefulRampDown": "100ms", "gracefulStop": "0s" }));
    let log = alone(&scenario, ms(60_000));
    let starts: Vec<(Nanos, u32)> = log.starts.iter().map(|(at, i)| (*at, i.vu)).collect();
    let expected = [(0, 1), (500, 2), (1000, 3), (1500, 4), (2000, 5)];
    assert_eq!(starts, expected.map(|(at, vu)| (ms(at), vu)));
    let gone = [(2600, 5), (3100, 4), (3600, 3), (4000, 1), (4000, 2)];
    assert_eq!(log.interrupts, gone.map(|(at, vu)| (ms(at), vu)));
}

#[test]
fn a_vu_that_is_wanted_again_goes_on() {
    let scenario = scenario(&json!({ "executor": "ramping-vus", "startVUs": 2,
        "stages": [{ "duration": "0s", "target": 0 }, { "duration": "1s", "target": 0 },
                   { "duration": "0s", "target": 2 }, { "duration": "1s", "target": 2 }] }));
    let log = alone(&scenario, ms(1500));
    let starts: Vec<Nanos> = log.starts.iter().map(|(at, _)| *at).collect();
    assert_eq!(
        starts,
        [1000, 1000].map(ms),
        "taken away before anything began"
    );
    let scenario = self::scenario(&json!({ "executor": "ramping-vus", "startVUs": 2,
        "stages": [{ "duration": "1s", "target": 2 }, { "duration": "0s", "target": 0 },
                   { "duration": "1s", "target": 0 }, { "duration": "0s", "target": 2 },
                   { "duration": "1s", "target": 2 }] }));
    let log = alone(&scenario, ms(2500));
    let starts: Vec<Nanos> = log.starts.iter().map(|(at, _)| *at).collect();
    assert_eq!(
        starts,
        [0, 0, 2500, 2500].map(ms),
        "the same iteration runs on"
    );
}

/// Observed in k6 2.2 with the same stages: of six, the last three are cut off at once and stay away, the two
/// beyond them begin, and all go one by one.
#[test]
fn a_jump_down_and_up_at_one_moment_brings_nobody_back() {
    let stages = |grace: &str| {
        scenario(
            &json!({ "executor": "ramping-vus", "startVUs": 6, "gracefulRampDown": grace,
            "stages": [{ "duration": "1s", "target": 6 }, { "duration": "0s", "target": 3 },
                       { "duration": "0s", "target": 8 }, { "duration": "800ms", "target": 0 },
                       { "duration": "500ms", "target": 5 }], "gracefulStop": "0s" }),
        )
    };
    let log = alone(&stages("0s"), ms(60_000));
    let gone: Vec<(Nanos, u32)> = log.interrupts;
    let at_once = [(1000, 6), (1000, 5), (1000, 4)];
    let later = [(1100, 8), (1200, 7), (1600, 3), (1700, 2), (1800, 1)];
    let expected = at_once.iter().chain(&later).map(|&(at, vu)| (ms(at), vu));
    let before_the_end: Vec<_> = gone.into_iter().filter(|(at, _)| *at < ms(2300)).collect();
    assert_eq!(before_the_end, expected.collect::<Vec<_>>());
    // A later step brings them back.
    let back = log.starts.iter().filter(|(at, _)| *at > ms(1800));
    assert_eq!(
        back.map(|(_, begun)| begun.vu).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    // With any grace they go on.
    let log = alone(&stages("10ms"), ms(60_000));
    assert!(
        log.interrupts.iter().all(|(at, _)| *at > ms(1000)),
        "{:?}",
        log.interrupts
    );
}

/// Observed in k6 2.2: 0 to 10/s over 2 s, then 2/s, starts at 0.632 s, … 2 s, 2.5 s, … 4 s.
#[test]
fn a_ramp_of_arrivals_starts_when_a_whole_one_has_built_up() {
    let scenario = scenario(&json!({ "executor": "ramping-arrival-rate", "startRate": 0,
        "stages": [{ "duration": "2s", "target": 10 }, { "duration": "0s", "target": 2 },
                   { "duration": "2s", "target": 2 }], "preAllocatedVUs": 2 }));
    let log = alone(&scenario, ms(1));
    let starts: Vec<u64> = log.starts.iter().map(|(at, _)| at.0 / 1_000_000).collect();
    assert_eq!(
        starts,
        [
            632, 894, 1095, 1264, 1414, 1549, 1673, 1788, 1897, 2000, 2500, 3000, 3500, 4000
        ]
    );
}

/// Observed in k6 2.2: the arrival that finds no VU is dropped and asks for one more, which the next
/// arrival finds.
#[test]
fn extra_vus_come_one_at_a_time_and_arrivals_do_not_wait() {
    let scenario = scenario(&json!({ "executor": "constant-arrival-rate", "rate": 10,
        "duration": "1s", "preAllocatedVUs": 1, "maxVUs": 3 }));
    let log = play(&scenario, Share::new(0, 1), ms(50), |_| ms(499));
    let starts: Vec<(u64, u32)> = log
        .starts
        .iter()
        .map(|(at, i)| (at.0 / 1_000_000, i.vu))
        .collect();
    assert_eq!(
        starts,
        [(0, 1), (200, 2), (400, 3), (500, 1), (700, 2), (900, 3)]
    );
    assert_eq!(log.drops, [100, 300, 600, 800].map(ms));
}

#[test]
fn arrivals_may_wait_as_long_as_they_are_told() {
    let fields = |wait: &str| {
        json!({ "executor": "constant-arrival-rate", "rate": 10, "duration": "1s",
                "preAllocatedVUs": 1, "maxWait": wait })
    };
    let log = alone(&scenario(&fields("10s")), ms(200));
    assert!(log.drops.is_empty());
    let waits: Vec<u64> = log
        .starts
        .iter()
        .map(|(at, i)| (*at - i.intended_at).0 / 1_000_000)
        .collect();
    assert_eq!(waits, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    let log = alone(&scenario(&fields("250ms")), ms(200));
    assert!(!log.drops.is_empty());
    assert!(
        log.starts
            .iter()
            .all(|(at, i)| *at - i.intended_at <= ms(250))
    );
    assert_eq!(log.starts.len() + log.drops.len(), 10);
}

#[test]
fn a_stopped_scenario_interrupts_and_is_done() {
    let scenario = scenario(&json!({ "executor": "constant-vus", "vus": 2, "duration": "10s" }));
    let range = VuRange { first: 4, count: 2 };
    let mut executor = Executor::new(&scenario, range, Share::new(0, 1), 0);
    assert_eq!(executor.vus_before_start().collect::<Vec<_>>(), [5, 6]);
    for vu in [5, 6] {
        let Action::Start(iteration) = executor.next(ms(1)) else {
            panic!("both VUs start")
        };
        assert_eq!(iteration.vu, vu);
    }
    executor.stop(ms(2));
    assert_eq!(executor.next(ms(2)), Action::Interrupt { vu: 5 });
    assert_eq!(executor.next(ms(2)), Action::Interrupt { vu: 6 });
    assert_eq!(executor.next(ms(2)), Action::Wait { until: Nanos::MAX });
    executor.ended(5, ms(3));
    executor.ended(6, ms(3));
    assert_eq!(executor.next(ms(3)), Action::Done);
}

#[test]
fn scenarios_that_never_overlap_share_their_vus() {
    let part = |start: &str, vus: u32| {
        json!({ "executor": "constant-vus", "duration": "10s", "gracefulStop": "0s",
                "startTime": start, "vus": vus })
    };
    let options = json!({ "scenarios": {
        "a": part("0s", 5), "b": part("5s", 3), "c": part("10s", 4), "d": part("20s", 9) } });
    let layer = Layer::from_object(Origin::Script, &options, Strictness::Normal).unwrap();
    let scenarios = Options::from_layers(&[layer]).unwrap().scenarios;
    let (ranges, all) = vu_ranges(&scenarios);
    let firsts: Vec<u32> = ranges.iter().map(|range| range.first).collect();
    assert_eq!(firsts, [0, 5, 0, 0]);
    assert_eq!(all, 9);
}

fn any_stages() -> impl Strategy<Value = Value> + Clone {
    prop::collection::vec((0u64..3000, 0u64..20), 1..5).prop_map(|legs| {
        let leg = |(millis, target): &(u64, u64)| json!({ "duration": millis, "target": target });
        Value::Array(legs.iter().map(leg).collect())
    })
}

fn any_closed_loop() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1u64..8, 0u64..50).prop_map(|(vus, more)| json!({
            "executor": "shared-iterations", "vus": vus, "iterations": vus + more })),
        (1u64..8, 1u64..9).prop_map(|(vus, each)| json!({
            "executor": "per-vu-iterations", "vus": vus, "iterations": each })),
        (1u64..8).prop_map(|vus| json!({
            "executor": "constant-vus", "vus": vus, "duration": "3s" })),
        (any_stages(), 1u64..8, 0u64..900).prop_map(|(stages, vus, grace)| json!({
            "executor": "ramping-vus", "startVUs": vus, "stages": stages,
            "gracefulRampDown": grace })),
    ]
}

fn any_open_loop(law: &'static str) -> impl Strategy<Value = Value> {
    let vus = (1u64..10, 0u64..10, 0u64..500).prop_map(move |(before, more, wait)| {
        json!({ "preAllocatedVUs": before, "maxVUs": before + more, "maxWait": wait, "arrivals": law })
    });
    let own = prop_oneof![
        (1u64..60).prop_map(|rate| json!({
            "executor": "constant-arrival-rate", "rate": rate, "duration": "3s" })),
        (any_stages(), 0u64..20).prop_map(|(stages, rate)| json!({
            "executor": "ramping-arrival-rate", "startRate": rate, "stages": stages })),
        any_stages().prop_map(|stages| json!({
            "executor": "stepped-arrival-rate", "stages": stages })),
    ];
    (own, vus).prop_map(|(own, vus)| joined(&own, &vus))
}

fn at_some_time(own: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (own, 0u64..1000, 0u64..2000).prop_map(|(own, start, grace)| {
        joined(&own, &json!({ "startTime": start, "gracefulStop": grace }))
    })
}

/// Any of the seven executors, small enough to be played in a blink.
fn any_scenario() -> impl Strategy<Value = Value> {
    let own = prop_oneof![4 => any_closed_loop(), 2 => any_open_loop("uniform"), 1 => any_open_loop("poisson")];
    at_some_time(own)
}

fn joined(a: &Value, b: &Value) -> Value {
    let mut map = a.as_object().unwrap().clone();
    map.extend(b.as_object().unwrap().clone());
    Value::Object(map)
}

/// Iterations of 1 to 800 ms.
fn lengths(seed: u64) -> impl FnMut(&Iteration) -> Nanos {
    let mut rng = Rng::new(seed, 1);
    move |_| ms(1 + rng.below(800))
}

/// The number of VUs that the stages ask for, straight from their definition.
fn wanted(scenario: &Scenario, at: Nanos) -> f64 {
    let scenario::Executor::RampingVus {
        start_vus, stages, ..
    } = &scenario.executor
    else {
        panic!("no ramp")
    };
    let (mut from, mut start) = (f64::from(*start_vus), scenario.start_ns);
    for stage in stages {
        let end = start + stage.duration_ns;
        let to = stage.target as f64;
        if at < end {
            let part = (at - start).as_secs_f64() / stage.duration_ns.as_secs_f64();
            return from + (to - from) * part;
        }
        (from, start) = (to, end);
    }
    from
}

proptest! {
    #[test]
    fn no_executor_breaks_its_rules(fields in any_scenario(), seed: u64, workers in 1u32..4, init in 0u64..200) {
        let scenario = scenario(&fields);
        let most = scenario.executor.vus_max();
        let mut numbers = BTreeSet::new();
        let mut vus = BTreeSet::new();
        for worker in 0..workers {
            let share = Share::new(worker, workers);
            let log = play(&scenario, share, ms(init), lengths(seed));
            for (at, iteration) in &log.starts {
                prop_assert!(numbers.insert(iteration.in_scenario), "{iteration:?} twice");
                prop_assert_eq!((iteration.vu - 1) % workers, worker, "someone else's VU");
                prop_assert!(*at >= scenario.start_ns && *at <= scenario.last_end_ns());
                vus.insert(iteration.vu);
            }
            prop_assert!(log.done_at <= scenario.last_end_ns());
            prop_assert_eq!(log.starts.len(), log.ends.len() + log.interrupts.len());
        }
        prop_assert!(vus.len() <= most as usize, "{vus:?}");
        prop_assert!(vus.iter().all(|vu| (1..=most).contains(vu)), "{vus:?}");
    }

    #[test]
    fn workers_together_make_what_one_would(fields in any_scenario(), workers in 1u32..6) {
        let fields = joined(&fields, &json!({ "gracefulStop": "30s" }));
        let scenario = scenario(&fields);
        let due = |log: &Log| {
            let started = log.starts.iter().map(|(_, i)| i.intended_at);
            started.chain(log.drops.iter().copied()).collect::<Vec<_>>()
        };
        let mut whole = due(&alone(&scenario, ms(50)));
        let mut joined: Vec<Nanos> = (0..workers)
            .flat_map(|worker| due(&play(&scenario, Share::new(worker, workers), ms(10), |_| ms(50))))
            .collect();
        whole.sort();
        joined.sort();
        if matches!(scenario.executor, scenario::Executor::SharedIterations { .. }) {
            prop_assert_eq!(whole.len(), joined.len());
        } else {
            prop_assert_eq!(whole, joined);
        }
    }

    #[test]
    fn arrivals_are_the_integral_of_the_rate(fields in at_some_time(any_open_loop("uniform"))) {
        let scenario = scenario(&joined(&fields, &json!({ "gracefulStop": "60s" })));
        let legs = scenario.executor.rate_legs();
        let integral: f64 = legs
            .iter()
            .map(|leg| f64::midpoint(leg.from_per_s, leg.to_per_s) * leg.duration_ns.as_secs_f64())
            .sum();
        let log = alone(&scenario, ms(1));
        let counted = (log.starts.len() + log.drops.len()) as f64;
        prop_assert!((counted - integral).abs() < 1.0 + 1e-6, "{counted} of {integral}");
        let poisson = self::scenario(&joined(&fields, &json!({ "arrivals": "poisson" })));
        let log = alone(&poisson, ms(1));
        let counted = (log.starts.len() + log.drops.len()) as f64;
        let allowed = 6.0 * integral.sqrt() + 3.0;
        prop_assert!((counted - integral).abs() <= allowed, "{counted} of {integral}");
    }

    #[test]
    fn the_number_of_vus_follows_the_stages(
        legs in prop::collection::vec((0u64..3000, 0u64..20), 1..6), start in 1u64..10, part in 0.0..1.0f64
    ) {
        let stages: Vec<Value> =
            legs.iter().map(|(ms, target)| json!({ "duration": ms, "target": target })).collect();
        let scenario = scenario(&json!({ "executor": "ramping-vus", "startVUs": start,
                                         "stages": stages, "startTime": 500 }));
        let length = scenario.regular_end_ns() - ms(500);
        prop_assume!(length > Nanos::ZERO);
        let probe = ms(500) + Nanos((length.0 as f64 * part) as u64);
        let range = VuRange { first: 0, count: scenario.executor.vus_max() };
        let mut executor = Executor::new(&scenario, range, Share::new(0, 1), 0);
        // Everything that is due until then, without ever ending an iteration.
        while !matches!(executor.next(probe), Action::Wait { .. }) {}
        let wanted = wanted(&scenario, probe);
        let active = f64::from(executor.vus_active());
        prop_assert!((active - wanted).abs() < 1.0 + 1e-6, "{active} VUs, {wanted} wanted");
    }
}

/// It ended with its last arrival, and rates were over less time than in k6.
#[test]
fn a_fixed_rate_of_arrivals_lasts_until_its_regular_end() {
    let vus = json!({ "preAllocatedVUs": 2, "timeUnit": "1s" });
    let with = |fields: Value| {
        let mut all = vus.clone();
        let map = all.as_object_mut().unwrap();
        map.extend(fields.as_object().unwrap().clone());
        scenario(&all)
    };
    let fixed =
        with(json!({ "executor": "constant-arrival-rate", "rate": 1, "duration": "2500ms" }));
    let log = alone(&fixed, ms(10));
    assert_eq!((log.starts.len(), log.done_at), (3, ms(2500)));
    let ramp = with(json!({ "executor": "ramping-arrival-rate", "startRate": 2,
        "stages": [{ "target": 2, "duration": "1s" }, { "target": 0, "duration": "0s" }, { "target": 0, "duration": "5s" }] }));
    let log = alone(&ramp, ms(10));
    assert_eq!(
        log.done_at,
        ms(1010),
        "k6's ramps end with their last arrival"
    );
}

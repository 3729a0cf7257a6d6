//! Gates 3 and 5 on services that queue, and on answers of very different sizes: what is stable is not accused, what
//! slowed down is found.

use plimsoll_analysis::gates::evaluate;
use plimsoll_base::random::Rng;
use plimsoll_core::record::{LevelStart, Line, Record};
use plimsoll_core::step::{Phase, Step};
use plimsoll_core::test::Request;
use plimsoll_core::verdict::GateState;
use plimsoll_core::{Nanos, Objectives, Outcome, Tally, Window};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::{Condition, Model, ServiceTime};

use crate::behaviour::{open, windows};
use crate::rendered::header;

/// How many of the cases go on for how long: some in CI, many when asked to soak.
fn seeds() -> u64 {
    if std::env::var_os("PLIMSOLL_SOAK").is_some() {
        1_000
    } else {
        200
    }
}

fn empty() -> Record {
    let objectives = Objectives::parse("p99<10s,errors<1%").unwrap();
    Record::new(header(Request::get("http://simulated/").into(), objectives))
}

/// Adds a level with its windows.
fn push(record: &mut Record, step: &Step, windows: Vec<Window>) {
    record.push(Line::Level(LevelStart {
        start_ns: windows[0].start_ns,
        step: step.clone(),
    }));
    for window in windows {
        record.push(Line::Window(window));
    }
}

fn state_of(record: &Record, level: u32, number: u8) -> GateState {
    let gates = evaluate(record, level);
    let mut gates = gates.iter();
    gates.find(|gate| gate.id.number() == number).unwrap().state
}

/// M/M/4 of these service times at `share` of what it carries: ten seconds first, a minute, and eight seconds again, all at
/// the same rate. From the middle on service takes `slower` times as long.
fn repeated(mean: Nanos, share: f64, slower: f64, seed: u64) -> GateState {
    let middle = Nanos::from_secs(40);
    let step = Condition::Step {
        earliest: middle,
        latest: middle,
        speed: 1.0 / slower,
    };
    let model = Model {
        conditions: vec![step],
        ..Model::station(4, ServiceTime::Exponential { mean })
    };
    let mut simulator = Simulator::new(model, vec![Nanos::from_secs(10)], seed).unwrap();
    let rate = share * 4.0 / mean.as_secs_f64();
    let mut record = empty();
    for (level, phase, seconds) in [
        (1, Phase::Bracket, 10),
        (2, Phase::Soak, 60),
        (3, Phase::Repeat, 10),
    ] {
        let step = Step {
            phase,
            ..open(level, rate, seconds)
        };
        let played = windows(&mut simulator, &step);
        if phase != Phase::Soak {
            push(&mut record, &step, played);
        }
    }
    state_of(&record, 1, 5)
}

fn percent(count: usize, of: u64) -> f64 {
    count as f64 * 100.0 / of as f64
}

#[test]
fn a_stable_queue_is_seldom_void_and_a_fifth_slower_is_found() {
    for (millis, share) in [(8, 0.8), (8, 0.5), (8, 0.25), (40, 0.8)] {
        let mean = Nanos::from_millis(millis);
        let states = |slower: f64| -> Vec<GateState> {
            (0..seeds())
                .map(|seed| repeated(mean, share, slower, seed))
                .collect()
        };
        let count = |states: &[GateState], state| {
            percent(states.iter().filter(|s| **s == state).count(), seeds())
        };
        let (stable, slower) = (states(1.0), states(1.2));
        let void = count(&stable, GateState::Fail);
        let warned = count(&stable, GateState::Warning);
        let found = 100.0 - count(&slower, GateState::Pass);
        println!(
            "{millis} ms at {share}: void {void:.1} %, warned {warned:.1} %, found {found:.1} %"
        );
        assert!(void < 1.0, "{millis} ms at {share}: {void} % void");
        assert!(found >= 80.0, "{millis} ms at {share}: {found} % found");
    }
}

/// The same as a run of a minute: nothing grows.
#[test]
fn a_stable_queue_is_steady() {
    for millis in [8, 40, 80] {
        let mean = Nanos::from_millis(millis);
        let state = |seed| {
            let model = Model::station(4, ServiceTime::Exponential { mean });
            let mut simulator = Simulator::new(model, Vec::new(), seed).unwrap();
            let step = open(1, 3.2 / mean.as_secs_f64(), 60);
            let mut record = empty();
            let played = windows(&mut simulator, &step);
            push(&mut record, &step, played);
            state_of(&record, 1, 5)
        };
        let passed = (0..seeds()).filter(|seed| state(*seed) == GateState::Pass);
        let warned = 100.0 - percent(passed.count(), seeds());
        println!("{millis} ms: warned {warned:.1} %");
        assert!(warned <= 5.0, "{millis} ms: {warned} % warned");
    }
}

/// Bytes of one answer.
type Size = fn(&mut Rng) -> f64;

/// A catalogue: most answers are small, one in ten is a page of 50 kB.
fn two_kinds(rng: &mut Rng) -> f64 {
    if rng.below(10) == 0 { 50_000.0 } else { 400.0 }
}

/// The median is 3 kB, the mean 14.
fn lognormal(rng: &mut Rng) -> f64 {
    3_000.0 * (1.75 * rng.normal()).exp()
}

fn pareto(rng: &mut Rng) -> f64 {
    1_000.0 * rng.unit().powf(-1.0 / 2.2)
}

fn exponential(rng: &mut Rng) -> f64 {
    5_000.0 * rng.exponential()
}

/// So many seconds of answers of drawn sizes, scaled.
fn of_sizes(level: u32, seconds: u64, size: Size, scale: f64, rng: &mut Rng) -> Vec<Window> {
    let second = |at: u64| {
        let mut tally = Tally::default();
        for _ in 0..100 {
            let bytes = (scale * size(rng)).max(1.0) as u64;
            let time = Nanos::from_millis(10);
            tally.record(Outcome::Ok, time, Some(time), bytes, &[]);
        }
        Window {
            level,
            start_ns: Nanos::from_secs(100 * u64::from(level) + at),
            length_ns: Nanos::from_secs(1),
            due_count: 100,
            operations: vec![tally],
            ..Window::default()
        }
    };
    (0..seconds).map(second).collect()
}

/// The quoted level against the lowest, six seconds each, or sixty.
#[test]
fn answers_of_very_different_sizes_are_the_same_work() {
    let sizes: [(&str, Size); 4] = [
        ("two kinds", two_kinds),
        ("lognormal", lognormal),
        ("Pareto 2.2", pareto),
        ("exponential", exponential),
    ];
    for (name, size) in sizes {
        for seconds in [6, 60] {
            let state = |seed: u64, scale: f64| {
                let mut rng = Rng::new(seed, 57);
                let mut record = empty();
                for (level, rate, scale) in [(1, 10.0, 1.0), (2, 100.0, scale)] {
                    let step = Step {
                        phase: Phase::Bracket,
                        ..open(level, rate, seconds as u32)
                    };
                    let played = of_sizes(level, seconds, size, scale, &mut rng);
                    push(&mut record, &step, played);
                }
                state_of(&record, 2, 3)
            };
            let void = (0..seeds()).filter(|seed| state(*seed, 1.0) == GateState::Fail);
            let void = percent(void.count(), seeds());
            let found = (0..seeds()).filter(|seed| state(*seed, 0.2) == GateState::Fail);
            let found = percent(found.count(), seeds());
            println!("{name}, {seconds} s: void {void:.1} %, a fifth of the size {found:.1} %");
            assert!(void < 1.0, "{name}, {seconds} s: {void} % void");
            assert!(found >= 80.0, "{name}, {seconds} s: {found} % found");
        }
    }
}

//! Each gate passes on a clean record and fails on the mistake it is there for.

use std::num::{NonZeroU32, NonZeroU64};

use plimsoll_core::objective::Objectives;
use plimsoll_core::plan::{Load, Plan, Request, Until};
use plimsoll_core::record::{Header, LevelStart, Line, Machine, SCHEMA};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::Step;
use plimsoll_core::window::Health;
use plimsoll_core::{Nanos, Outcome};

use super::*;
use crate::summary;
use plimsoll_core::verdict::Judgement;

const RATE: u64 = 1000;

fn plan(load: Load) -> Plan {
    Plan {
        request: Request {
            method: "GET".into(),
            url: "http://127.0.0.1:1/".into(),
            headers: vec![],
            body: vec![],
        },
        load,
        until: Some(Until::AttemptsCount(NonZeroU64::MIN)),
        connections_max: NonZeroU32::new(100).unwrap(),
        workers: NonZeroU32::MIN,
        timeout_ns: Nanos::from_secs(1),
        keepalive: true,
        streams_per_connection: None,
        insecure: false,
        objectives: Some(Objectives::parse("p99<250ms,errors<1%").unwrap()),
        seed: 1,
    }
}

fn record_with(profile: RateProfile) -> Record {
    let load = Load::Open {
        profile,
        arrivals: Arrivals::Uniform,
    };
    let header = Header {
        schema: SCHEMA.into(),
        command: "run".into(),
        plan: plan(load),
        started_at: String::new(),
        machine: Machine::default(),
        plimsoll_version: String::new(),
        title: String::new(),
        note: String::new(),
        lab: None,
    };
    let mut record = Record::new(header);
    let load = StepLoad::Open {
        profile,
        arrivals: Arrivals::Uniform,
    };
    let step = Step {
        level: 0,
        phase: Phase::Run,
        load,
        windows_max: 6,
    };
    record.push(Line::Level(LevelStart {
        start_ns: Nanos::ZERO,
        step,
    }));
    record
}

/// Six clean seconds of 1,000/s that take 10 ms each.
fn clean() -> Record {
    let mut record = record_with(RateProfile::constant(RATE as f64).unwrap());
    for second in 0..6 {
        record.push(Line::Window(window(second)));
    }
    record
}

fn window(second: u64) -> Window {
    let mut tally = Tally::default();
    let time = Nanos::from_millis(10);
    for _ in 0..RATE {
        tally.record(
            Outcome::Ok,
            time,
            Some(time),
            200,
            &[Nanos::from_millis(250)],
        );
    }
    let mut health = Health {
        worker_run_ns: vec![Nanos::from_millis(100)],
        worker_wait_ns: vec![Nanos::ZERO],
        connections_open: 20,
        ..Health::default()
    };
    health.lag.record_n(Nanos::from_micros(60), RATE);
    Window {
        level: 0,
        start_ns: Nanos::from_secs(second),
        length_ns: Nanos::from_secs(1),
        due_count: RATE,
        sent_count: RATE,
        in_flight_mean: 10.0,
        in_flight_max: 12,
        in_flight_end: 0,
        wire_max: 12,
        vus: None,
        operations: vec![tally],
        carried: Vec::new(),
        health,
    }
}

fn state_of(record: &Record, number: u8) -> (GateState, String) {
    let gates = evaluate(record, 0);
    let gate = gates.iter().find(|gate| gate.number == number).unwrap();
    (gate.state, gate.note.clone())
}

#[test]
fn a_clean_run_passes_and_gets_its_verdict() {
    let record = clean();
    let gates = evaluate(&record, 0);
    let numbers: Vec<u8> = gates.iter().map(|gate| gate.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 10, 13]);
    for gate in &gates {
        assert!(
            !matches!(gate.state, GateState::Fail | GateState::Warning),
            "{gate:?}"
        );
    }
    let verdict = summary::of_run(&record);
    assert!(verdict.valid);
    assert_eq!(verdict.verdict, Judgement::Pass);
    assert!((verdict.goodput_per_s - 1000.0).abs() < 1e-9);
}

#[test]
fn time_lost_inside_the_client_breaks_littles_law() {
    let mut record = clean();
    for window in &mut record.windows {
        window.in_flight_mean = 11.0;
    }
    assert_eq!(state_of(&record, 1).0, GateState::Fail);
    assert_eq!(
        summary::of_run(&record).verdict,
        Judgement::Invalid,
        "a failed gate withholds it"
    );
}

#[test]
fn an_interrupted_level_is_no_contradiction_of_littles_law() {
    let mut record = clean();
    let mut drain = window(6);
    // The level was left after 0.8 s of its window: 800 more attempts, 8 attempt-seconds.
    let carried = plimsoll_core::window::Carried {
        level: 0,
        due_count: 800,
        in_flight_seconds: 8.0,
        tally: window(0).total(),
    };
    drain.operations = vec![Tally::default()];
    (drain.level, drain.in_flight_mean) = (1, 2.0);
    (drain.due_count, drain.carried) = (0, vec![carried]);
    record.push(Line::Window(drain));
    assert_eq!(state_of(&record, 1).0, GateState::Pass);
    record.windows[6].carried[0].in_flight_seconds = 0.0;
    assert_eq!(state_of(&record, 1).0, GateState::Fail);
}

#[test]
fn lost_attempts_break_the_accounting() {
    let mut record = clean();
    record.windows[3].due_count += 1;
    assert_eq!(state_of(&record, 2).0, GateState::Fail);
    record.windows[5].in_flight_end = 1;
    assert_eq!(
        state_of(&record, 2).0,
        GateState::Pass,
        "it is still in flight"
    );
}

#[test]
fn empty_answers_under_load_are_not_successes() {
    let mut record = clean();
    for window in &mut record.windows[3..] {
        let mut tally = Tally::default();
        let time = Nanos::from_millis(10);
        for _ in 0..RATE {
            tally.record(
                Outcome::Ok,
                time,
                Some(time),
                120,
                &[Nanos::from_millis(250)],
            );
        }
        window.operations = vec![tally];
    }
    assert_eq!(state_of(&record, 3).0, GateState::Fail);
}

#[test]
fn growing_in_flight_is_not_steady() {
    let mut record = clean();
    for (index, window) in record.windows.iter_mut().enumerate() {
        window.in_flight_end = 100 * index as u64;
    }
    assert_eq!(state_of(&record, 5).0, GateState::Warning);
}

#[test]
fn a_generator_that_lagged_voids_the_run() {
    let mut record = clean();
    for window in &mut record.windows {
        window.health.lag.record_n(Nanos::from_millis(30), RATE);
    }
    let (state, note) = state_of(&record, 6);
    assert_eq!(state, GateState::Fail);
    assert!(note.contains("doctor"), "{note}");
}

#[test]
fn failures_are_named_and_make_the_p99_never() {
    let mut record = clean();
    let tally = &mut record.windows[2].operations[0];
    for _ in 0..100 {
        tally.record(Outcome::Eof, Nanos::from_millis(1), Some(Nanos(1)), 0, &[]);
    }
    record.windows[2].due_count += 100;
    let (state, note) = state_of(&record, 7);
    assert_eq!(state, GateState::Pass);
    assert!(note.contains("100 eof") && note.contains("never"), "{note}");
    assert_eq!(summary::of_run(&record).verdict, Judgement::Fail);
}

#[test]
fn a_ramp_has_no_percentile_to_judge() {
    let mut record = record_with(RateProfile::ramp(1.0, 2000.0, Nanos::from_secs(6)).unwrap());
    for second in 0..6 {
        record.push(Line::Window(window(second)));
    }
    assert_eq!(state_of(&record, 8).0, GateState::Fail);
    record.header.plan.objectives = None;
    assert_eq!(state_of(&record, 8).0, GateState::Warning);
}

#[test]
fn a_starved_few_pull_the_mean_above_the_p95() {
    let mut record = clean();
    let tally = &mut record.windows[1].operations[0];
    for _ in 0..20 {
        let time = Nanos::from_secs(30);
        tally.record(
            Outcome::Ok,
            time,
            Some(time),
            200,
            &[Nanos::from_millis(250)],
        );
    }
    assert_eq!(state_of(&record, 8).0, GateState::Warning);
}

#[test]
fn connections_at_the_generators_limit_are_said() {
    let mut record = clean();
    record.windows[4].health.connections_open = 100;
    let (state, note) = state_of(&record, 10);
    assert_eq!(state, GateState::Warning);
    assert!(note.contains("-c"), "{note}");
}

#[test]
fn declared_limits_are_held_against_what_was_on_the_wire() {
    let tier = |slots: f64| plimsoll_core::record::TierSetup {
        tier: "proxy".to_owned(),
        limits: [("slots".to_owned(), slots), ("per_request".to_owned(), 2.0)].into(),
        ..plimsoll_core::record::TierSetup::default()
    };
    let mut record = clean();
    for (tiers, state) in [
        (vec![tier(24.0)], GateState::Warning),
        (vec![tier(24.0), tier(24.0)], GateState::Pass),
        (vec![tier(1024.0)], GateState::Pass),
    ] {
        record.header.lab = Some(plimsoll_core::record::LabSetup {
            tiers,
            ..plimsoll_core::record::LabSetup::default()
        });
        assert_eq!(state_of(&record, 10).0, state, "12 were on the wire");
    }
    record.header.lab.as_mut().unwrap().tiers = vec![tier(24.0)];
    let (_, note) = state_of(&record, 10);
    let said = "12 requests were under way at once, and the slots of proxy carry 12";
    assert!(note.contains(said), "{note}");
}

#[test]
fn too_few_attempts_decide_nothing() {
    let mut record = clean();
    record.header.plan.objectives = Some(Objectives::parse("errors<0.01%").unwrap());
    let verdict = summary::of_run(&record);
    assert_eq!(
        verdict.verdict,
        Judgement::Inconclusive,
        "30,000 attempts would be needed"
    );
}

//! Gates of a workload pass where the store and its client did what they said, and find each way in which they did not.

use std::num::NonZeroU32;

use plimsoll_core::record::{After, Header, LevelStart, Line, Machine, Record, SCHEMA};
use plimsoll_core::step::{Phase, Step};
use plimsoll_core::test::workload::{Client, Database, Keys, Mix};
use plimsoll_core::test::{Generator, How, Load, Test, What};
use plimsoll_core::{Nanos, Outcome, Tally, Window};

use super::*;

const DATABASES: u32 = 3;
const WORKERS: u32 = 10;
const SECONDS: u64 = 6;

fn plan() -> Workload {
    let database = |number: u32| Database {
        name: format!("plimsoll_{number}"),
        mix: Mix::default(),
        documents: 100,
        document_bytes: 1024,
    };
    Workload {
        store: "mongodb://127.0.0.1".to_owned(),
        databases: (1..=DATABASES).map(database).collect(),
        connections: NonZeroU32::new(WORKERS).unwrap(),
        sessions: NonZeroU32::new(WORKERS).unwrap(),
        keys: Keys::Uniform,
        batch: NonZeroU32::MIN,
        phases: Vec::new(),
        client: Client::default(),
        replicas: None,
        keep: false,
        verify: true,
    }
}

/// Six seconds in which each database came to this.
fn record(effects: &Effects) -> Record {
    let in_flight = NonZeroU32::new(DATABASES * WORKERS).unwrap();
    let load = Load::Closed { in_flight };
    let mut record = Record::new(Header {
        schema: SCHEMA.into(),
        test: Test {
            what: What::Workload(Box::new(plan())),
            how: How::endless(load),
            generator: Generator::default(),
        },
        started_at: String::new(),
        machine: Machine::default(),
        plimsoll_version: String::new(),
        title: String::new(),
        note: String::new(),
        lab: None,
    });
    record.push(Line::Level(LevelStart {
        start_ns: Nanos::ZERO,
        step: Step {
            level: 0,
            phase: Phase::Run,
            load: load.into(),
            windows_max: SECONDS as u32,
        },
    }));
    for second in 0..SECONDS {
        let mut tally = Tally::default();
        let time = Nanos::from_millis(10);
        tally.record(Outcome::Ok, time, Some(time), 1000, &[]);
        record.push(Line::Window(Window {
            start_ns: Nanos::from_secs(second),
            length_ns: Nanos::from_secs(1),
            operations: vec![tally],
            databases: vec![effects.clone(); DATABASES as usize],
            ..Window::default()
        }));
    }
    record
}

fn clean() -> Effects {
    Effects {
        attempts_count: 100,
        acknowledged_count: 100,
        asked_count: 100,
        returned_count: 40,
        inserted_count: 30,
        matched_count: 20,
        deleted_count: 10,
        wire_seconds: 9.8,
        wire_max: WORKERS.into(),
        commands_count: 100,
    }
}

fn states(record: &Record) -> [GateState; 3] {
    let case = Case { record, level: 0 };
    [work(case), wire(case, &plan()), stored(case)].map(|gate| gate.state)
}

fn verified(record: &mut Record, verified: Verified) {
    record.push(Line::After(After {
        verified: Some(verified),
        ..After::default()
    }));
}

#[test]
fn a_clean_workload_passes_and_one_that_nobody_looked_at_says_so() {
    let mut record = record(&clean());
    assert_eq!(
        states(&record),
        [GateState::Pass, GateState::Pass, GateState::Unknown]
    );
    verified(
        &mut record,
        Verified {
            expected_count: 500,
            intact_count: 500,
            unknown_count: 3,
            ..Verified::default()
        },
    );
    assert_eq!(states(&record)[2], GateState::Pass);
    let numbers: Vec<u8> = super::super::evaluate(&record, 0)
        .iter()
        .map(|gate| gate.id.number())
        .collect();
    assert!(
        [3, 4, 12].iter().all(|number| numbers.contains(number)),
        "{numbers:?}"
    );
}

#[test]
fn connections_that_carry_any_number_are_never_nearly_full() {
    let path = |shared: bool| {
        let mut record = record(&clean());
        let What::Workload(workload) = &mut record.header.test.what else {
            panic!("the record is of a workload");
        };
        workload.client.shares_connections = shared;
        let load = StepLoad::Open {
            profile: plimsoll_core::schedule::RateProfile::constant(5.0).unwrap(),
            arrivals: plimsoll_core::schedule::Arrivals::Poisson,
        };
        record.levels[0].step.load = load;
        record.windows[0].wire_max = u64::from(DATABASES * WORKERS);
        let gates = super::super::evaluate(&record, 0);
        let path = gates.into_iter().find(|gate| gate.id == GateId::Path);
        path.unwrap().state
    };
    assert_eq!(path(false), GateState::Warning);
    assert_eq!(path(true), GateState::Pass);
}

#[test]
fn a_store_that_refuses_a_third_without_an_error_did_less_work() {
    let refusing = Effects {
        inserted_count: 0,
        ..clean()
    };
    assert_eq!(states(&record(&refusing))[0], GateState::Fail);
    let rarely = Effects {
        inserted_count: 29,
        ..clean()
    };
    assert_eq!(states(&record(&rarely))[0], GateState::Warning);
    let silent = Effects {
        asked_count: 0,
        ..Effects::default()
    };
    assert_eq!(states(&record(&silent))[0], GateState::Unknown);
}

#[test]
fn a_client_that_serialises_was_measured_instead_of_the_store() {
    let serial = Effects {
        wire_seconds: 1.0,
        wire_max: 1,
        ..clean()
    };
    let found = record(&serial);
    let gate = wire(
        Case {
            record: &found,
            level: 0,
        },
        &plan(),
    );
    assert_eq!(gate.state, GateState::Fail);
    assert!(
        gate.note.contains("the client holds them back"),
        "{}",
        gate.note
    );
    let busy = Effects {
        wire_seconds: 6.0,
        ..clean()
    };
    assert_eq!(states(&record(&busy))[1], GateState::Warning);
    let beyond = Effects {
        wire_max: 11,
        ..clean()
    };
    assert_eq!(states(&record(&beyond))[1], GateState::Fail);
}

#[test]
fn what_is_missing_stale_undead_or_unasked_fails() {
    let kinds = [
        Verified {
            missing_count: 1,
            ..Verified::default()
        },
        Verified {
            stale_count: 1,
            ..Verified::default()
        },
        Verified {
            undead_count: 1,
            ..Verified::default()
        },
        Verified {
            unasked_count: 1,
            ..Verified::default()
        },
    ];
    for kind in kinds {
        let mut record = record(&clean());
        verified(&mut record, kind);
        assert_eq!(states(&record)[2], GateState::Fail, "{kind:?}");
    }
}

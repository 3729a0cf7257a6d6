//! What was seen once is enough, however long the run: a process that ended alone, a queue that was full.

use plimsoll_core::record::{AbsentSample, Event, Fault, HostSample, Line, ListenerSample, Record};
use plimsoll_core::schedule::RateProfile;

use super::super::tests::{RATE, record_with, state_of, window};
use super::*;

/// So many clean seconds, and whatever was seen at their ends.
fn record(seconds: u64, seen: impl Fn(u64) -> Vec<Seen>) -> Record {
    let mut record = record_with(RateProfile::constant(RATE as f64).unwrap());
    for second in 1..=seconds {
        record.push(Line::Window(window(second - 1)));
        for seen in seen(second) {
            record.push(look(second, seen));
        }
    }
    record
}

fn look(second: u64, seen: Seen) -> Line {
    Line::Observation(Observation {
        at_ns: Nanos::from_secs(second),
        length_ns: Nanos::from_secs(1),
        tier: "target".to_owned(),
        seen,
    })
}

fn process(pid: u32) -> Seen {
    Seen::Process(ProcessSample {
        pid,
        ..ProcessSample::default()
    })
}

fn ended(pid: u32) -> Seen {
    Seen::Absent(AbsentSample {
        what: format!("process {pid}"),
        reason: "it ended".to_owned(),
    })
}

/// The target's only process until the third second, and the word of its end after that.
fn killed() -> Record {
    record(10, |second| match second {
        1..=3 => vec![process(7)],
        4 => vec![ended(7)],
        _ => Vec::new(),
    })
}

#[test]
fn a_target_whose_only_process_ended_is_another_one() {
    let (state, note) = state_of(&killed(), 13);
    assert_eq!(state, GateState::Fail);
    assert!(note.contains("process 7 ended during the run"), "{note}");
    let worker = record(10, |second| match second {
        1..=3 => vec![process(7), process(8)],
        4 => vec![ended(7), process(8)],
        _ => vec![process(8)],
    });
    assert_eq!(state_of(&worker, 13).0, GateState::Fail, "one of two");
}

#[test]
fn an_end_that_changed_nothing_is_none() {
    let mut after = record(10, |_| vec![process(7)]);
    after.push(look(11, ended(7)));
    assert_eq!(state_of(&after, 13).0, GateState::Pass, "after the load");
    let unread = record(10, |second| match second {
        4 => vec![ended(7)],
        5 => Vec::new(),
        _ => vec![process(7)],
    });
    assert_eq!(state_of(&unread, 13).0, GateState::Pass, "it is there");
}

#[test]
fn what_the_experiment_ended_is_no_failure_of_the_run() {
    let fault = |second: u64, instance: &str| {
        Line::Event(Event {
            at_ns: Nanos::from_secs(second),
            what: EventKind::Fault(Fault {
                instance: instance.to_owned(),
                what: FaultKind::Ended,
            }),
            detail: String::new(),
        })
    };
    for (second, instance, state) in [
        (3, "target", GateState::Pass),
        (6, "target", GateState::Fail),
        (3, "db", GateState::Fail),
    ] {
        let mut record = killed();
        record.push(fault(second, instance));
        let found = state_of(&record, 13).0;
        assert_eq!(found, state, "{instance} at {second} s");
    }
}

#[test]
fn a_queue_that_overflowed_in_one_second_is_said_however_long_the_run() {
    for seconds in [100, 130, 500] {
        let record = record(seconds, |second| {
            let is_it = second == 77;
            let host = HostSample {
                listen_overflows: if is_it { 500 } else { 0 },
                ..HostSample::default()
            };
            let listener = ListenerSample {
                port: 80,
                accept_queue: if is_it { 8 } else { 0 },
                accept_queue_max: 8,
                ..ListenerSample::default()
            };
            vec![Seen::Host(host), Seen::Listener(listener)]
        });
        let (state, note) = state_of(&record, 10);
        assert_eq!(state, GateState::Warning, "{seconds}");
        assert!(note.contains("500 connections overflowed"), "{note}");
        assert!(note.contains("port 80 (target) was full at 8"), "{note}");
    }
}

//! A service beside busy neighbours on the same machine.

use std::collections::BTreeMap;

use plimsoll_core::record::{
    HostSample, Line, NeighbourSample, Observation, ProcessSample, Record, Seen, ThreadSample,
};
use plimsoll_core::verdict::{Judgement, ObjectiveResult};
use plimsoll_core::{Nanos, Outcome};

use crate::gates::tests::clean;
use crate::summary;

/// So many of a second's answers take 400 ms under p99<250ms.
fn late(count: u64) -> Record {
    let mut record = clean();
    for window in &mut record.windows {
        let time = Nanos::from_millis(400);
        for _ in 0..count {
            window.operations[0].record(
                Outcome::Ok,
                time,
                Some(time),
                200,
                &[Nanos::from_millis(250)],
            );
        }
        window.due_count += count;
        window.sent_count += count;
        window.in_flight_mean += count as f64 * time.as_secs_f64();
        window.in_flight_max += count;
    }
    record
}

/// What a thread of the service ran and waited in each second, and the cores that a neighbour had of two.
fn seen(record: &mut Record, (run, wait): (u64, u64), neighbour: f64, calls: u32) {
    let seconds: Vec<Nanos> = record
        .windows
        .iter()
        .map(|window| window.start_ns)
        .collect();
    for start in seconds {
        let thread = ThreadSample {
            run_ns: Nanos::from_millis(run),
            wait_ns: Nanos::from_millis(wait),
            ..ThreadSample::default()
        };
        let process = ProcessSample {
            pid: 7,
            threads: vec![thread],
            connections_out: Some(BTreeMap::from([(5432, calls)])),
            ..ProcessSample::default()
        };
        let host = HostSample {
            cores: 2,
            neighbours: vec![NeighbourSample {
                pid: 99,
                name: "loop".to_owned(),
                cores: neighbour,
            }],
            ..HostSample::default()
        };
        for (tier, seen) in [
            ("target", Seen::Process(process)),
            ("host", Seen::Host(host)),
        ] {
            record.push(Line::Observation(Observation {
                at_ns: start + Nanos::from_millis(900),
                length_ns: Nanos::from_millis(900),
                tier: tier.to_owned(),
                seen,
            }));
        }
    }
}

fn judged(late_count: u64, times: (u64, u64), neighbour: f64, calls: u32) -> ObjectiveResult {
    let mut record = late(late_count);
    seen(&mut record, times, neighbour, calls);
    summary::of_run(&record).objectives.remove(0)
}

#[test]
fn a_service_that_waits_for_processors_of_others_has_not_failed() {
    let result = judged(100, (30, 400), 1.5, 0);
    assert_eq!(result.judgement, Judgement::Inconclusive);
    let why = result.held_up.unwrap();
    assert!(
        why.contains("loop (pid 99) ran on 1.50 of 2 cores"),
        "{why}"
    );
    assert!(why.contains("44.4 %"), "{why}");
}

#[test]
fn one_that_passes_beside_others_passes() {
    let result = judged(0, (30, 400), 1.5, 0);
    assert_eq!(result.judgement, Judgement::Pass);
    assert_eq!(result.held_up, None);
}

#[test]
fn a_failure_of_its_own_stays_one() {
    let failed = |late, times, neighbour, calls, why: &str| {
        let result = judged(late, times, neighbour, calls);
        assert_eq!(result.judgement, Judgement::Fail, "{why}");
        assert_eq!(result.held_up, None, "{why}");
    };
    failed(100, (30, 400), 0.1, 0, "nobody else ran");
    failed(100, (30, 20), 1.5, 0, "it hardly waited");
    failed(100, (800, 100), 1.0, 0, "its thread was full");
    failed(100, (30, 400), 1.5, 3, "what it calls may be what ran");
    failed(
        20_000,
        (30, 400),
        1.5,
        0,
        "nearly all are late, also those that met no wait",
    );
}

/// Of more than sixteen threads the rest is a sum: what it ran is the service's own all the same.
#[test]
fn a_service_that_fills_the_machine_with_many_threads_is_in_its_own_way() {
    let held_up = |others_ms: u64| {
        let mut record = late(100);
        seen(&mut record, (100, 450), 0.25, 0);
        for observation in &mut record.observations {
            match &mut observation.seen {
                Seen::Process(process) => {
                    let thread = process.threads.remove(0);
                    process.threads = vec![thread; 16];
                    process.others.run_ns = Nanos::from_millis(others_ms);
                }
                Seen::Host(host) => host.cores = 8,
                _ => {}
            }
        }
        summary::of_run(&record).objectives.remove(0)
    };
    let result = held_up(4_800);
    assert_eq!(result.judgement, Judgement::Fail);
    assert_eq!(result.held_up, None);
    assert_eq!(held_up(0).judgement, Judgement::Inconclusive);
}

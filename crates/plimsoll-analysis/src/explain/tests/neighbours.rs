//! Processors that neighbours take.

use plimsoll_core::Nanos;
use plimsoll_core::judge;
use plimsoll_core::record::{HostSample, NeighbourSample, Record, Seen};
use plimsoll_core::verdict::{Cause, Confidence};
use plimsoll_core::window::Disturbed;

use super::build::{ThreadLoad, search};
use super::{is, service, sick, stalling};

#[test]
fn a_thread_that_neighbours_keep_from_its_core_is_suspected_and_they_are_named() {
    let robbed = |rate: f64| vec![ThreadLoad::new("main", rate * 0.0012, rate * 0.0012)];
    let mut record = sick(&service(robbed));
    for observation in &mut record.observations {
        if let Seen::Host(host) = &mut observation.seen {
            host.neighbours.push(NeighbourSample {
                pid: 77,
                name: "loop".to_owned(),
                cores: 0.9,
            });
        }
    }
    let explanation = is(&record, Cause::PinnedThread, Confidence::Suspected);
    let told =
        "neighbours hold its core for the 48 % that it waits: loop (pid 77) ran on 0.90 of 2 cores";
    let evidence = &explanation.limit.evidence;
    assert!(evidence.iter().any(|e| e.text == told), "{evidence:?}");
    // Where several threads wait for a core, one more core for one of them is no answer.
    let crowded = |rate: f64| {
        let each = |name| ThreadLoad::new(name, rate * 0.0004, 1.0 - rate * 0.0004);
        vec![each("one"), each("two")]
    };
    is(&sick(&service(crowded)), Cause::Cpu, Confidence::Suspected);
}

/// What the host says in the seconds in which attempts are late, and in the others.
fn in_bursts(of_host: impl Fn(&mut HostSample, bool)) -> Record {
    let mut record = search(&stalling(), &[0.02, 0.05, 0.1, 0.2], true);
    let windows = record.windows.iter();
    let late =
        windows.filter(|window| window.in_flight_max as f64 > 1.0 + window.in_flight_mean.ceil());
    let late: Vec<Nanos> = late.map(|window| window.start_ns).collect();
    for observation in &mut record.observations {
        if let Seen::Host(host) = &mut observation.seen {
            let start = observation.at_ns - observation.length_ns - Nanos::from_millis(130);
            of_host(host, late.contains(&start));
        }
    }
    record
}

fn beside(host: &mut HostSample, cores: f64) {
    host.neighbours.push(NeighbourSample {
        pid: 77,
        name: "loop".to_owned(),
        cores,
    });
}

#[test]
fn bursts_in_the_seconds_of_a_neighbour_are_not_surely_pauses_of_the_service() {
    let alone = |host: &mut HostSample, _: bool| host.core_busy_ratio = vec![0.1, 0.1];
    is(&in_bursts(alone), Cause::Stalls, Confidence::Supported);
    let now_and_then = |host: &mut HostSample, is_late: bool| {
        if is_late {
            beside(host, 1.0);
            host.core_busy_ratio = vec![1.0, 0.95];
        }
    };
    let explanation = is(
        &in_bursts(now_and_then),
        Cause::Stalls,
        Confidence::Suspected,
    );
    let told = "in those seconds the host was not the service's alone: loop (pid 77) ran on 1.00 of 2 cores; between them others took 0 cores";
    let evidence = &explanation.limit.evidence;
    assert!(evidence.iter().any(|e| e.text == told), "{evidence:?}");
    // Other guests of the hypervisor have no name.
    let stolen = |host: &mut HostSample, is_late: bool| {
        host.steal_ratio = if is_late { 0.5 } else { 0.0 };
    };
    is(&in_bursts(stolen), Cause::Stalls, Confidence::Suspected);
}

#[test]
fn bursts_that_the_generators_own_stalls_made_are_no_pauses_of_the_service() {
    let shares = [0.02, 0.05, 0.1, 0.2];
    for searched in [true, false] {
        let mut record = search(&stalling(), &shares, searched);
        is(&record, Cause::Stalls, Confidence::Supported);
        for window in &mut record.windows {
            let late = judge::bad_at(&window.total(), Nanos::from_millis(50)).count;
            window.health.stall_max_ns = Nanos::from_millis(if late > 0 { 180 } else { 0 });
            window.health.disturbed = Disturbed {
                attempts_count: late,
                failures_count: 0,
                late_counts: vec![late],
            };
        }
        let limit = super::explained(&record).limit;
        assert_ne!(limit.cause, Cause::Stalls, "{limit:#?}");
    }
}

#[test]
fn a_thread_that_has_the_only_core_is_named_however_full_that_is() {
    let on_one_core = |busy: f64| {
        let mut record = sick(&service(|rate| {
            vec![ThreadLoad::new("main", rate * 0.0025, 0.0)]
        }));
        for observation in &mut record.observations {
            if let Seen::Process(process) = &mut observation.seen {
                process.cores_allowed = 1;
                for thread in &mut process.threads {
                    thread.run_ns = Nanos::from_secs_f64(thread.run_ns.as_secs_f64() * busy);
                }
            }
        }
        record
    };
    for busy in [1.0, 0.9, 0.87] {
        is(
            &on_one_core(busy),
            Cause::PinnedThread,
            Confidence::Supported,
        );
    }
}

#[test]
fn a_neighbour_that_is_always_there_or_takes_nothing_from_the_service_explains_no_burst() {
    let always = |host: &mut HostSample, _: bool| {
        beside(host, 1.0);
        host.core_busy_ratio = vec![1.0, 0.95];
    };
    is(&in_bursts(always), Cause::Stalls, Confidence::Supported);
    let on_a_free_core = |host: &mut HostSample, is_late: bool| {
        host.cores = 8;
        host.core_busy_ratio = vec![0.1; 8];
        if is_late {
            beside(host, 1.0);
            host.core_busy_ratio[0] = 1.0;
        }
    };
    is(
        &in_bursts(on_a_free_core),
        Cause::Stalls,
        Confidence::Supported,
    );
}

//! Services that serve only so many at a time while every processor is idle.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{ListenerSample, Observation, Record, Seen, ThreadState, WaitSample};
use plimsoll_core::step::StepLoad;
use plimsoll_core::verdict::{Cause, Confidence, Signal};

use super::build::{OkTime, Service, ThreadLoad, search};
use super::{explained, idle, is, service, sick, stalling, twin_is_not_reached};

/// Processors idle, so many at once; no thread waits for a futex, as in Go, Node and Java.
fn workers(count: u64) -> Service {
    let mut service = service(idle);
    service.base = Nanos::from_micros(2_500 * count);
    service
}

#[test]
fn eight_at_a_time_and_their_twin() {
    let explanation = is(
        &sick(&workers(8)),
        Cause::Concurrency,
        Confidence::Supported,
    );
    let shown = format!("{:?}", explanation.limit.evidence);
    assert!(shown.contains("8.00 are served at once"), "{shown}");
    assert!(
        explanation
            .advice
            .iter()
            .any(|a| a.action.contains("serve more at once"))
    );
    twin_is_not_reached(&workers(8));
}

/// The record as one of a generator with so many connections, all of them open.
pub(super) fn over_connections(mut record: Record, count: u32) -> Record {
    record.header.test.generator.connections_max = NonZeroU32::new(count).unwrap();
    for window in &mut record.windows {
        window.health.connections_open = count;
    }
    record
}

/// `run --ramp 4/s..60/s -c 2` on a service without a limit stands still at what two connections carry.
#[test]
fn the_generators_own_connections_are_not_the_services_limit() {
    let record = over_connections(sick(&workers(8)), 8);
    let limit = is(&record, Cause::Concurrency, Confidence::Suspected).limit;
    assert_eq!(limit.tier.as_deref(), Some("the client"), "{limit:#?}");
    assert!(limit.evidence[0].text.contains("-c"), "{limit:#?}");
    // One at a time is its one connection, and no lock of the service.
    let record = over_connections(sick(&workers(1)), 1);
    let limit = is(&record, Cause::Concurrency, Confidence::Suspected).limit;
    assert_eq!(limit.tier.as_deref(), Some("the client"), "{limit:#?}");
    // Eight at once of 64 connections is the service.
    let record = over_connections(sick(&workers(8)), 64);
    let limit = is(&record, Cause::Concurrency, Confidence::Supported).limit;
    assert_eq!(limit.tier.as_deref(), Some("target"));
}

#[test]
fn a_thread_that_always_spins_is_neither_the_event_loop_nor_the_limit() {
    let mut service = workers(6);
    service.threads = |_| vec![ThreadLoad::new("poller", 0.98, 0.01)];
    is(&sick(&service), Cause::Concurrency, Confidence::Supported);
    // Beside a neighbour it gets half of its core.
    service.threads = |_| vec![ThreadLoad::new("poller", 0.53, 0.45)];
    is(&sick(&service), Cause::Concurrency, Confidence::Supported);
}

/// Sixty workers of 80 ms in Python, found live: the closed loop ended before they were full, hundreds of threads waited for a
/// permit, and it was called a lock.
#[test]
fn more_workers_than_the_closed_loop_reaches_are_no_lock() {
    let mut service = service(idle);
    (service.capacity, service.base) = (800.0, Nanos::from_millis(100));
    service.states = |share| {
        let waiting = if share > 1.0 { 600.0 } else { 60.0 * share };
        BTreeMap::from([(ThreadState::Futex, waiting)])
    };
    service.switches = |share| if share > 1.0 { 3.0 } else { 2.0 };
    let at_the_peak = search(&service, &[0.3, 0.6, 0.8, 1.0, 1.03, 1.04], true);
    let limit = is(&at_the_peak, Cause::Concurrency, Confidence::Supported).limit;
    let shown = format!("{:?}", limit.evidence);
    assert!(shown.contains("80.0 are served at once"), "{shown}");
    // No level stands at the peak with half as much in flight.
    let beyond = search(&service, &[0.3, 0.6, 0.8, 1.03, 1.04], true);
    let limit = is(&beyond, Cause::Concurrency, Confidence::Suspected).limit;
    let shown = format!("{:?}", limit.evidence);
    assert!(shown.contains("80.0 or more at once"), "{shown}");
}

#[test]
fn one_at_a_time_without_a_futex_is_a_serial_section() {
    is(&sick(&workers(1)), Cause::Lock, Confidence::Supported);
}

/// A section of 13.0 ms in Node beside a busy loop: 76.7/s, and 16.0 ms without load, as much waits for a processor.
#[test]
fn a_section_beside_a_busy_neighbour_is_not_two_at_a_time() {
    let mut service = workers(1);
    service.base = Nanos::from_micros(3_050);
    let explanation = is(&sick(&service), Cause::Lock, Confidence::Supported);
    let shown = format!("{:?}", explanation.limit.evidence);
    assert!(
        shown.contains("2.50 ms of that time are one at a time"),
        "{shown}"
    );
    // 83.7/s and 17.1 ms were 1.43: no two, but two whose throughput was held down are not excluded either.
    service.base = Nanos::from_micros(3_575);
    is(&sick(&service), Cause::Lock, Confidence::Suspected);
    service.states = |share| BTreeMap::from([(ThreadState::Futex, 12.0 * share)]);
    is(&sick(&service), Cause::Lock, Confidence::Supported);
    is(
        &sick(&workers(2)),
        Cause::Concurrency,
        Confidence::Supported,
    );
}

/// A writer that forces every request to the disk waited for its core for 0.66 of the time, beside a busy loop and others: the
/// fsync itself took 0.11. One at a time it was, and neither a lock nor two.
#[test]
fn one_at_a_time_that_waits_for_a_processor_is_a_suspicion() {
    let mut service = workers(1);
    service.base = Nanos::from_micros(3_450);
    service.threads = |rate| vec![ThreadLoad::new("writer", 0.18 * rate / 400.0, 0.6)];
    service.switches = |share| 10.0 + 64.0 * share;
    let limit = is(&sick(&service), Cause::Lock, Confidence::Suspected).limit;
    let shown = format!("{:?}", limit.evidence);
    assert!(shown.contains("not ruled out: processors"), "{shown}");
    let out = limit
        .ruled_out
        .iter()
        .find(|line| line.starts_with("processors"));
    assert_eq!(out, None);
    // Of eight at once it is not much.
    let mut service = workers(8);
    service.threads = |rate| vec![ThreadLoad::new("writer", 0.18 * rate / 400.0, 0.6)];
    is(&sick(&service), Cause::Concurrency, Confidence::Supported);
}

#[test]
fn what_cannot_be_seen_behind_keeps_it_a_suspicion() {
    let mut record = sick(&workers(8));
    call(&mut record, |_| 2);
    is(&record, Cause::Concurrency, Confidence::Suspected);
}

/// A database on a Unix socket, or behind a port that was handed on: its connections have no port, and come with the load.
#[test]
fn calls_without_a_port_that_grow_with_the_load_keep_it_a_suspicion() {
    let with = |unnamed: fn(u32) -> u32| {
        let mut record = sick(&workers(8));
        call(&mut record, |_| 0);
        let mut in_flight = 0;
        for observation in &mut record.observations {
            match &mut observation.seen {
                Seen::Process(process) => process.connections_unnamed = unnamed(in_flight),
                // What was in flight a second ago will do.
                Seen::Listener(listener) => in_flight = listener.established - 1,
                _ => {}
            }
        }
        record
    };
    let limit = is(
        &with(|in_flight| 1 + in_flight.min(10)),
        Cause::Concurrency,
        Confidence::Suspected,
    );
    let shown = format!("{:?}", limit.limit.evidence);
    assert!(shown.contains("what it calls is not seen"), "{shown}");
    // Workers hold a pair of sockets to their parent, load or no load.
    is(&with(|_| 6), Cause::Concurrency, Confidence::Supported);
}

/// Docker's proxy holds the port of a container, and the kernel leads the connections past it.
#[test]
fn a_holder_of_the_port_that_no_request_reaches_is_not_the_limit() {
    for waits in [None, Some(inside(0.0))] {
        let mut record = sick(&workers(8));
        for observation in &mut record.observations {
            if let Seen::Listener(listener) = &mut observation.seen {
                listener.established = 0;
                listener.unread = 0;
                listener.waits = waits;
            }
        }
        let limit = explained(&record).limit;
        assert_eq!(limit.cause, Cause::Unknown, "{limit:#?}");
    }
}

/// Connections of the target to port 81, by how many are in flight.
fn call(record: &mut Record, connections: fn(u32) -> u32) {
    let mut in_flight = Vec::new();
    for observation in &record.observations {
        if let Seen::Listener(listener) = &observation.seen {
            in_flight.push((observation.at_ns, listener.established - 1));
        }
    }
    for observation in &mut record.observations {
        let at = in_flight.iter().find(|(at, _)| *at == observation.at_ns);
        if let (Seen::Process(process), Some((_, count))) = (&mut observation.seen, at)
            && observation.tier == "target"
        {
            process.connections_out = Some(BTreeMap::from([(81, connections(*count))]));
        }
    }
}

/// Its connections grow with the requests in flight, and its own processor is idle.
#[test]
fn an_idle_tier_behind_holds_the_queue_seen_or_unseen() {
    let mut service = workers(4);
    service.behind = Some(|_| vec![ThreadLoad::new("worker", 0.05, 0.0)]);
    let mut record = sick(&service);
    call(&mut record, |in_flight| in_flight);
    let unseen = explained(&record).limit;
    assert_eq!(unseen.cause, Cause::Downstream, "{unseen:#?}");
    let behind: Vec<_> = record
        .observations
        .iter()
        .filter(|o| o.tier == "behind")
        .cloned()
        .collect();
    record
        .observations
        .extend(behind.into_iter().map(|o| Observation {
            seen: Seen::Listener(ListenerSample {
                port: 81,
                ..ListenerSample::default()
            }),
            ..o
        }));
    let seen = is(&record, Cause::Downstream, Confidence::Supported);
    assert_eq!(seen.limit.tier.as_deref(), Some("behind"));
}

/// Erlang's formula tells a limit of eight at once from a rule.
#[test]
fn a_limit_on_requests_at_once_that_refuses_is_no_rate_rule() {
    let mut service = Service {
        capacity: 400.0,
        base: Nanos::from_millis(20),
        threads: idle,
        excess: Outcome::Shed,
        excess_time: Nanos::from_micros(500),
        ok_time: OkTime::Unchanged,
        ..Service::default()
    };
    is(&sick(&service), Cause::Rule, Confidence::Supported);
    // 8 at once refuse 12.2 % at 300/s, 24 % at 400/s, 57 % at 800/s.
    service.overload_ok = |share| 8.0 * (1.0 - erlang(8, 8.0 * share)) * share / 8.0;
    let record = search(&service, &[0.25, 0.5, 0.75, 1.001, 1.5, 2.0], true);
    is(&record, Cause::Concurrency, Confidence::Supported);
}

pub(super) fn erlang(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |b, n| load * b / (f64::from(n) + load * b))
}

/// The sockets of the target and, if any, of `behind` on port 81: requests by place, by how many are in flight.
fn with_sockets(record: &mut Record, target: fn(f64) -> WaitSample, behind: fn(f64) -> WaitSample) {
    let mut in_flight = Vec::new();
    for observation in &mut record.observations {
        if let Seen::Listener(listener) = &mut observation.seen {
            let mean = f64::from(listener.established - 1);
            in_flight.push((observation.at_ns, mean));
            listener.waits = Some(target(mean));
        }
    }
    let tiers = record.observations.iter().filter(|o| o.tier == "behind");
    let listeners = tiers.filter_map(|observation| {
        let (_, mean) = in_flight.iter().find(|(at, _)| *at == observation.at_ns)?;
        Some(Observation {
            seen: Seen::Listener(ListenerSample {
                port: 81,
                waits: Some(behind(*mean)),
                ..ListenerSample::default()
            }),
            ..observation.clone()
        })
    });
    let listeners: Vec<Observation> = listeners.collect();
    record.observations.extend(listeners);
}

const LOOKS: WaitSample = WaitSample {
    looks: 10,
    inside: 0.0,
    unread: 0.0,
    not_accepted: 0.0,
    held: 0.0,
    answers_unread: 0.0,
};

fn inside(count: f64) -> WaitSample {
    WaitSample {
        inside: count,
        ..LOOKS
    }
}

/// What `limit` takes at once is inside, the rest lies before it.
fn unread(count: f64) -> WaitSample {
    WaitSample {
        inside: count.min(8.0),
        unread: (count - 8.0).max(0.0),
        ..LOOKS
    }
}

fn not_accepted(count: f64) -> WaitSample {
    WaitSample {
        inside: count.min(8.0),
        not_accepted: (count - 8.0).max(0.0),
        ..LOOKS
    }
}

#[test]
fn where_the_requests_wait_is_told_from_the_sockets() {
    for (place, told) in [
        (inside as fn(f64) -> WaitSample, "are not answered"),
        (unread, "lie unread in its sockets"),
        (not_accepted, "wait to be accepted"),
    ] {
        let mut record = sick(&workers(8));
        with_sockets(&mut record, place, inside);
        let limit = is(&record, Cause::Concurrency, Confidence::Supported).limit;
        let shown = limit.evidence.iter().any(|e| e.text.contains(told));
        assert!(shown, "{told}: {:?}", limit.evidence);
    }
    // Half of what was in flight is not seen, as with streams on few connections: nothing is said.
    let mut record = sick(&workers(8));
    with_sockets(&mut record, |count| inside(count / 2.0), inside);
    let limit = is(&record, Cause::Concurrency, Confidence::Supported).limit;
    let said = limit.evidence.iter().any(|e| e.signal == Signal::Sockets);
    assert!(!said, "{:?}", limit.evidence);
}

/// The connections to it are a pool that is never used up: only the sockets tell that the requests are there.
#[test]
fn a_tier_behind_is_found_by_its_sockets_where_connections_do_not_tell() {
    let mut service = workers(4);
    service.behind = Some(|_| vec![ThreadLoad::new("worker", 0.05, 0.0)]);
    let mut record = sick(&service);
    call(&mut record, |_| 200);
    with_sockets(&mut record, inside, inside);
    let limit = is(&record, Cause::Downstream, Confidence::Supported).limit;
    assert_eq!(limit.tier.as_deref(), Some("behind"));
    // The same with everything inside the front.
    let mut record = sick(&service);
    call(&mut record, |_| 200);
    with_sockets(&mut record, inside, |_| inside(1.0));
    let limit = is(&record, Cause::Concurrency, Confidence::Supported).limit;
    assert_eq!(limit.tier.as_deref(), Some("target"));
}

/// Half here and half behind: no single limit has its queue in two places.
#[test]
fn a_queue_in_two_places_is_no_more_than_a_suspicion() {
    let mut record = sick(&workers(8));
    let spread = |count: f64| WaitSample {
        inside: count / 2.0,
        unread: count / 2.0,
        ..LOOKS
    };
    with_sockets(&mut record, spread, inside);
    is(&record, Cause::Concurrency, Confidence::Suspected);
}

/// A server that writes head and body by themselves: 40 ms of each answer wait for an acknowledgement (Java, Python). Six threads,
/// and not fourteen.
#[test]
fn answers_that_wait_to_be_sent_are_no_work() {
    let mut service = workers(14);
    service.base = Nanos::from_millis(35);
    let mut record = sick(&service);
    let held = |count: f64| WaitSample {
        inside: count * 3.0 / 7.0,
        held: count * 4.0 / 7.0,
        ..LOOKS
    };
    with_sockets(&mut record, held, inside);
    let limit = explained(&record).limit;
    assert_eq!(limit.cause, Cause::Concurrency, "{limit:#?}");
    let shown = format!("{:?}", limit.evidence);
    assert!(shown.contains("6.00 are served at once"), "{shown}");
    assert!(
        shown.contains("20.0 ms for which answers wait in sockets"),
        "{shown}"
    );
}

const HALF: Nanos = Nanos::from_micros(500);

/// A search of two minutes ends near the limit: only its closed loop was far enough beyond for many refusals.
#[test]
fn what_a_closed_loop_was_refused_counts_where_nothing_else_was() {
    let service = Service {
        capacity: 400.0,
        base: Nanos::from_millis(5),
        threads: idle,
        excess: Outcome::Shed,
        excess_time: Nanos::from_micros(500),
        ok_time: OkTime::Unchanged,
        overload_ok: |_| 1.0,
        ..Service::default()
    };
    let mut record = search(&service, &[0.25, 0.5, 0.9, 1.02, 1.025], true);
    for window in &mut record.windows {
        let mut starts = record.levels.iter();
        let start = starts.find(|start| start.step.level == window.level);
        let StepLoad::Closed { in_flight } = start.unwrap().step.load else {
            continue;
        };
        if in_flight >= 4 {
            let mut refused = plimsoll_core::Tally::default();
            for _ in 0..2_000 {
                refused.record(Outcome::Shed, HALF, Some(HALF), 0, &[]);
            }
            window.operations[0].merge(&refused);
        }
    }
    is(&record, Cause::Rule, Confidence::Supported);
}

/// What bounds throughput bounds it at the same rate, and not once in a while.
#[test]
fn pauses_far_below_the_peak_are_no_lock_however_its_threads_wait() {
    let service = Service {
        base: Nanos::from_micros(300),
        switches: |share| if share < 0.15 { 0.9 } else { 0.5 },
        states: |share| [(ThreadState::Futex, if share < 0.15 { 6.0 } else { 1.0 })].into(),
        ..stalling()
    };
    let record = search(&service, &[0.02, 0.05, 0.1], true);
    is(&record, Cause::Stalls, Confidence::Supported);
}

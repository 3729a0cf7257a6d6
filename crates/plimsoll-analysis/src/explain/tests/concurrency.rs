//! Services that serve only so many at a time while every processor is idle.

use std::collections::BTreeMap;

use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{ListenerSample, Observation, Record, Seen};
use plimsoll_core::verdict::{Cause, Confidence};

use super::build::{OkTime, Service, ThreadLoad, search};
use super::{explained, idle, is, service, sick, twin_is_not_reached};

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

#[test]
fn a_thread_that_always_spins_is_neither_the_event_loop_nor_the_limit() {
    let mut service = workers(6);
    service.threads = |_| vec![ThreadLoad::new("poller", 0.98, 0.01)];
    is(&sick(&service), Cause::Concurrency, Confidence::Supported);
    // Beside a neighbour it gets half of its core.
    service.threads = |_| vec![ThreadLoad::new("poller", 0.53, 0.45)];
    is(&sick(&service), Cause::Concurrency, Confidence::Supported);
}

#[test]
fn one_at_a_time_without_a_futex_is_a_serial_section() {
    is(&sick(&workers(1)), Cause::Lock, Confidence::Supported);
}

#[test]
fn what_cannot_be_seen_behind_keeps_it_a_suspicion() {
    let mut record = sick(&workers(8));
    call(&mut record, |_| 2);
    is(&record, Cause::Concurrency, Confidence::Suspected);
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

fn erlang(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |b, n| load * b / (f64::from(n) + load * b))
}

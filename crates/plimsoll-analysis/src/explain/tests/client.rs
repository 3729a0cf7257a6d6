//! Workloads whose client is short of connections while the store has nothing to do, and what looks like it.

use std::num::NonZeroU32;

use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::Record;
use plimsoll_core::test::What;
use plimsoll_core::test::workload::{Client, Database, Keys, Mix, Workload};
use plimsoll_core::verdict::{Cause, Confidence};
use plimsoll_core::window::Effects;

use super::{explained, idle, is, pinned, service, sick};

const CONNECTIONS: u32 = 256;

fn plan() -> Workload {
    Workload {
        store: "mongodb://127.0.0.1".to_owned(),
        databases: vec![Database {
            name: "plimsoll_1".to_owned(),
            mix: Mix::default(),
            documents: 100,
            document_bytes: 1024,
        }],
        connections: NonZeroU32::new(CONNECTIONS).unwrap(),
        sessions: NonZeroU32::new(CONNECTIONS).unwrap(),
        keys: Keys::Uniform,
        batch: NonZeroU32::MIN,
        phases: Vec::new(),
        client: Client {
            closes_given_up: true,
            ..Client::default()
        },
        replicas: None,
        keep: false,
        verify: true,
    }
}

/// The record as one of operations over so many open connections.
fn over(mut record: Record, plan: Workload, open: u32) -> Record {
    record.header.test.what = What::Workload(Box::new(plan));
    for window in &mut record.windows {
        window.health.connections_open = open;
        let wire_seconds = window.in_flight_mean.min(f64::from(open));
        window.databases = vec![Effects {
            wire_seconds,
            ..Effects::default()
        }];
    }
    record
}

fn names_the_client(record: &Record) -> bool {
    explained(record).limit.tier.as_deref() == Some("the client")
}

#[test]
fn operations_that_wait_for_connections_which_are_gone_wait_in_the_client() {
    let record = over(sick(&service(idle)), plan(), 7);
    let explanation = is(&record, Cause::Pool, Confidence::Supported);
    assert!(names_the_client(&record));
    let shown = format!("{:?}", explanation.limit.evidence);
    let said = "7 of its 256 connections were open";
    assert!(shown.contains(said), "{shown}");
    assert!(shown.contains("target had room"), "{shown}");
    assert!(explanation.advice[0].action.contains("finish"));
    let rules = explanation.advice.iter().map(|advice| &advice.action);
    assert!(
        rules.clone().all(|rule| !rule.contains("in flight")),
        "a cap on what is in flight does not mend the client: {:?}",
        rules.collect::<Vec<_>>()
    );
}

/// All but one in a hundred of what fails is dropped before it is sent, as where the driver opens two connections at a time.
#[test]
fn a_connection_that_broke_now_and_then_does_not_hide_it() {
    let mut service = service(idle);
    service.excess = Outcome::Dropped;
    let mut record = over(sick(&service), plan(), 7);
    let bounds = [Nanos::from_millis(250)];
    for window in &mut record.windows {
        let tally = &mut window.operations[0];
        if tally.class(Outcome::Dropped).count > 0 {
            let time = Nanos::from_millis(1);
            tally.record(Outcome::Eof, time, Some(time), 0, &bounds);
        }
    }
    assert!(names_the_client(&record), "{:#?}", explained(&record).limit);
}

#[test]
fn a_client_with_its_connections_or_beside_a_busy_store_is_not_named() {
    assert!(!names_the_client(&over(
        sick(&service(idle)),
        plan(),
        CONNECTIONS
    )));
    let busy = over(sick(&service(pinned)), plan(), 7);
    is(&busy, Cause::PinnedThread, Confidence::Supported);
    let mut turned_away = service(idle);
    turned_away.excess = Outcome::Refused;
    assert!(!names_the_client(&over(sick(&turned_away), plan(), 7)));
    let mut shared = plan();
    shared.client.shares_connections = true;
    assert!(!names_the_client(&over(sick(&service(idle)), shared, 7)));
}

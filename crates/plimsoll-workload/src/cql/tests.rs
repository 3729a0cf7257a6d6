//! The CQL driver against a server whose faults are chosen: what is counted is true, and every fault is found.

mod double;

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_core::record::Verified;
use plimsoll_core::test::Workload;
use plimsoll_core::test::workload::Mix;
use plimsoll_core::{Nanos, Outcome};

use super::Cql;
use crate::tests::{Played, closed, play_on, seconds};
use crate::{Asked, AskedClient, WorkloadError, store};
use double::{Faults, start};

/// A test machine may be busy; nobody waits for this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

fn asked(store: String, connections: u32, workers: u32) -> Asked {
    Asked {
        store: Some(store),
        connections: NonZeroU32::new(connections),
        workers: NonZeroU32::new(workers),
        documents: Some(200),
        ..Asked::default()
    }
}

fn workload(faults: Faults, connections: u32, workers: u32) -> Workload {
    let store = format!("cql://{}", start(faults));
    asked(store, connections, workers).plan().unwrap()
}

fn play(workload: &Workload, length: u64) -> Played {
    play_on::<Cql>(workload, closed(workload), seconds(length), 1)
}

#[test]
fn operations_share_connections_and_each_of_them_is_counted_on_the_wire() {
    let faults = Faults {
        delay_ms: 20,
        ..Faults::default()
    };
    let shared = workload(faults, 2, 10);
    let played = play(&shared, 3);
    assert_eq!(played.tally().failures(), 0);
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);
    let effects = &played.effects()[0];
    assert_eq!((effects.wire_max, shared.wire_of_each()), (10, 10));
    assert_eq!(effects.commands_count, effects.attempts_count);
    assert!(played.wire()[0] > 8.0, "{:?} of 10", played.wire());

    let mut bounded = workload(faults, 2, 10);
    bounded.client.per_connection = NonZeroU32::new(2);
    let played = play(&bounded, 3);
    let effects = &played.effects()[0];
    assert_eq!((effects.wire_max, bounded.wire_of_each()), (4, 4));
    assert!(played.wire()[0] > 3.2, "{:?} of 4", played.wire());
}

#[test]
fn a_server_that_takes_one_at_a_time_shows_it_in_its_times() {
    let faults = Faults {
        delay_ms: 5,
        serial: true,
        ..Faults::default()
    };
    let played = play(&workload(faults, 1, 8), 2);
    let tally = played.tally();
    let ok = tally.class(Outcome::Ok);
    let mean_ms = ok.service.sum_ns() as f64 / ok.count as f64 / 1e6;
    assert!(mean_ms > 7.0 * 5.0, "{mean_ms} ms with 8 under way");
}

#[test]
fn a_server_that_lies_is_found_by_what_it_has_in_the_end() {
    let faults = Faults {
        lose: 30,
        ..Faults::default()
    };
    let mut lying = workload(faults, 2, 4);
    lying.databases[0].mix = Mix::new(0.0, 40.0, 40.0, 20.0).unwrap();
    let Verified {
        missing_count,
        stale_count,
        undead_count,
        ..
    } = play(&lying, 2).verified;
    assert!(missing_count > 0, "insertions");
    assert!(stale_count > 0, "updates");
    assert!(undead_count > 0, "deletions");
}

#[test]
fn errors_of_the_server_have_their_classes_and_break_nothing() {
    let cases = [
        (
            Faults {
                overloaded: 30,
                ..Faults::default()
            },
            Outcome::Shed,
        ),
        (
            Faults {
                unavailable: 30,
                ..Faults::default()
            },
            Outcome::CheckFailed,
        ),
        (
            Faults {
                late: 30,
                ..Faults::default()
            },
            Outcome::Timeout,
        ),
    ];
    for (faults, outcome) in cases {
        let played = play(&workload(faults, 2, 4), 1);
        let tally = played.tally();
        let failed = tally.class(outcome).count;
        assert!(failed > 0, "{outcome:?}: {tally:?}");
        assert_eq!(failed, tally.failures(), "{outcome:?}: {tally:?}");
        assert_eq!(played.verified.broken_count(), 0, "{outcome:?}");
    }
}

#[test]
fn who_tries_again_sends_more_and_breaks_nothing() {
    let faults = Faults {
        late: 30,
        overloaded: 10,
        ..Faults::default()
    };
    let mut retrying = workload(faults, 2, 4);
    retrying.client.retries = 5;
    let played = play(&retrying, 1);
    let effects = &played.effects()[0];
    assert!(effects.commands_count > effects.attempts_count * 11 / 10);
    let tally = played.tally();
    assert!(tally.failures() * 20 < tally.attempts(), "{tally:?}");
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);

    let faults = Faults {
        delay_ms: 600,
        ..Faults::default()
    };
    let mut hasty = workload(faults, 2, 4);
    hasty.client.retries = 3;
    hasty.client.try_timeout_ns = Some(Nanos::from_millis(30));
    let played = play(&hasty, 2);
    let effects = &played.effects()[0];
    let sent = effects.commands_count as f64 / effects.attempts_count as f64;
    assert!((3.4..=4.1).contains(&sent), "{sent} for each");
    assert_eq!(played.tally().ok(), 0);
    assert_eq!(effects.wire_max, 4, "what was given up is off the books");
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);
}

#[test]
fn who_finds_no_place_on_a_connection_in_time_is_dropped() {
    let faults = Faults {
        delay_ms: 50,
        ..Faults::default()
    };
    let mut full = workload(faults, 1, 6);
    full.client.per_connection = NonZeroU32::new(2);
    full.client.pool_wait_ns = Some(Nanos::from_millis(10));
    let played = play(&full, 1);
    let tally = played.tally();
    assert!(
        tally.class(Outcome::Dropped).count > tally.ok(),
        "{tally:?}"
    );
    assert_eq!(played.effects()[0].commands_count, tally.ok());
}

#[test]
fn connections_that_are_closed_are_made_again() {
    let faults = Faults {
        hang_up: 2,
        ..Faults::default()
    };
    let played = play(&workload(faults, 4, 4), 2);
    let tally = played.tally();
    let lost = tally.class(Outcome::Eof).count + tally.class(Outcome::Reset).count;
    assert!(lost > 0 && tally.ok() > 0, "{tally:?}");
    assert_eq!(tally.class(Outcome::CheckFailed).count, 0, "{tally:?}");
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);
}

#[test]
fn a_batch_of_which_a_part_was_done_is_in_doubt() {
    let faults = Faults {
        partial: 10,
        ..Faults::default()
    };
    let mut batched = workload(faults, 2, 4);
    batched.batch = NonZeroU32::new(6).unwrap();
    let played = play(&batched, 2);
    let tally = played.tally();
    let refused = tally.class(Outcome::CheckFailed).count;
    assert!(refused > 0 && tally.ok() > refused, "{tally:?}");
    assert_eq!(refused, tally.failures(), "{tally:?}");
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);
    assert!(played.verified.unknown_count > 0, "{:?}", played.verified);
}

/// Its first attempt is done when the connection breaks; what the other node answers to the second says nothing of that.
#[test]
fn what_the_driver_sent_before_its_last_attempt_is_in_doubt() {
    let faults = Faults {
        torn: 3,
        is_pair: true,
        ..Faults::default()
    };
    let mut retrying = workload(faults, 2, 4);
    retrying.client.driver_retries = true;
    retrying.databases[0].mix = Mix::new(10.0, 50.0, 0.0, 40.0).unwrap();
    let played = play(&retrying, 2);
    let tally = played.tally();
    // Only what is sent a second time is refused.
    assert!(tally.class(Outcome::CheckFailed).count > 0, "{tally:?}");
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);
    assert!(played.verified.unknown_count > 0, "{:?}", played.verified);
}

fn greeted(store: String) -> Result<(), WorkloadError> {
    store::greet::<Cql>(&asked(store, 1, 1).plan().unwrap(), PATIENCE)
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let faults = Faults {
        auth: true,
        ..Faults::default()
    };
    let address = start(faults);
    greeted(format!("cql://me:s3cret@{address}")).unwrap();
    greeted(format!("cql://me:s%33cret@{address}")).unwrap();
    for store in [
        format!("cql://{address}"),
        format!("cql://me:wrong@{address}"),
    ] {
        let words = greeted(store).unwrap_err().to_string();
        assert!(words.contains("authentication refused"), "{words}");
        assert!(words.contains("cql://NAME:PASSWORD@HOST"), "{words}");
        assert!(!words.contains("wrong"), "{words}");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let words = greeted(format!("cql://{nobody}")).unwrap_err().to_string();
    assert!(words.contains("is the store running"), "{words}");
}

#[test]
fn what_only_one_kind_of_store_has_is_refused_for_the_other() {
    let refused = |asked: Asked| asked.plan().unwrap_err();
    let mongo = || asked("mongodb://127.0.0.1".to_owned(), 1, 1);
    let cql = || asked("cql://127.0.0.1".to_owned(), 1, 1);
    let each = NonZeroU32::new(2);
    let client = |per_connection, pool_wait| AskedClient {
        pool_wait,
        per_connection,
        ..AskedClient::default()
    };
    let error = refused(Asked {
        replicas: each,
        ..mongo()
    });
    assert_eq!(error.key, "replicas");
    let error = refused(Asked {
        client: client(each, None),
        ..mongo()
    });
    assert_eq!(error.key, "client.per_connection");
    let waits = client(None, Some(Nanos::from_millis(1)));
    let error = refused(Asked {
        client: waits,
        ..cql()
    });
    assert_eq!(error.key, "client.pool_wait");
    for wrong in [
        "cql://",
        "cql://h/keyspace",
        "cql://h?tls=true",
        "cql://me@h",
        "cql://h:0",
        "cql://h:x",
        "cql://a,,b",
    ] {
        assert_eq!(
            refused(asked(wrong.to_owned(), 1, 1)).key,
            "store",
            "{wrong}"
        );
    }
    for right in ["cql://h", "cql://h:1/", "cql://me:pw@[::1]:9042,b"] {
        asked(right.to_owned(), 1, 1).plan().unwrap();
    }
}

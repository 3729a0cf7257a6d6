//! Requests counted where they are: the rules one by one, and a real server whose requests are known.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::*;
use crate::socket::{ESTABLISHED, traffic};

fn socket(queue: u32, inode: u64) -> Socket {
    Socket {
        state: ESTABLISHED,
        local_port: 80,
        remote_port: 40_000,
        queue,
        queue_max: 0,
        user: 0,
        inode,
    }
}

/// After this many segments each way; received and sent so many milliseconds ago.
fn after(segments: (u32, u32), received_ago: u32, sent_ago: u32) -> Traffic {
    Traffic {
        received_bytes: 100,
        received_ago,
        acknowledged_ago: received_ago,
        sent_ago,
        segments_in: segments.0,
        segments_out: segments.1,
        ..Traffic::default()
    }
}

#[test]
fn one_look_tells_what_it_can() {
    let now = after((2, 1), 4, 8);
    assert_eq!(found(&socket(0, 1), &now), Found::Inside);
    assert_eq!(found(&socket(0, 1), &after((2, 2), 8, 4)), Found::Idle);
    assert_eq!(found(&socket(90, 1), &now), Found::Unread);
    assert_eq!(found(&socket(90, 0), &now), Found::NotAccepted);
    assert_eq!(found(&socket(0, 0), &Traffic::default()), Found::Idle);
    let held = Traffic {
        unsent: 2,
        ..after((1, 1), 8, 8)
    };
    assert_eq!(found(&socket(0, 1), &held), Found::Held);
    let tie = after((2, 1), 8, 8);
    assert_eq!(found(&socket(0, 1), &tie), Found::Open);
    let acknowledged = Traffic {
        acknowledged_ago: 4,
        ..tie
    };
    assert_eq!(found(&socket(0, 1), &acknowledged), Found::Idle);
    let unacknowledged = Traffic {
        unacknowledged: 1,
        ..tie
    };
    assert_eq!(found(&socket(0, 1), &unacknowledged), Found::Idle);
}

/// Two looks in one tick of answer and request, and what comes after.
#[test]
fn what_a_look_leaves_open_the_next_change_tells() {
    for (next, inside) in [
        // Only answered: a request was inside. Answered, and asked again: so too.
        (after((2, 2), 8, 4), 2.0),
        (after((3, 2), 1, 4), 3.0),
        // Only asked: it was idle, and has one request now.
        (after((3, 1), 4, 40), 1.0),
        // Nothing: not known yet.
        (after((2, 1), 12, 12), 0.0),
    ] {
        let mut waits = Waits::default();
        waits.follow(BTreeSet::from([80]));
        for traffic in [after((2, 1), 8, 8), after((2, 1), 10, 10), next] {
            waits.look(&[(socket(0, 1), traffic)]);
        }
        let sample = waits.of(80).unwrap();
        assert_eq!((sample.looks, sample.inside * 3.0), (3, inside), "{next:?}");
    }
}

#[test]
fn intervals_and_ports_are_kept_apart() {
    let mut waits = Waits::default();
    assert!(!waits.is_needed());
    assert_eq!(waits.of(80), None);
    waits.follow(BTreeSet::from([80]));
    assert_eq!(waits.of(80), None, "no look yet");
    waits.look(&[(socket(0, 1), after((2, 1), 4, 8))]);
    waits.look(&[]);
    let sample = waits.of(80).unwrap();
    assert_eq!((sample.looks, sample.inside), (2, 0.5));
    assert_eq!(waits.of(81), None);
    waits.restart();
    assert_eq!(waits.of(80), None);
}

/// One thread serves one connection after the other, 20 ms each; four callers ask at once and again: one is inside, the others
/// are accepted by nobody.
#[test]
fn a_server_that_takes_one_connection_at_a_time_leaves_the_others_unaccepted() {
    const CALLERS: usize = 4;
    const CALLS: usize = 15;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        for _ in 0..CALLERS * CALLS {
            let (mut connection, _) = listener.accept().unwrap();
            connection.read_exact(&mut [0; 7]).unwrap();
            std::thread::sleep(Duration::from_millis(20));
            connection.write_all(b"answer").unwrap();
        }
    });
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            std::thread::spawn(move || {
                for _ in 0..CALLS {
                    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
                    connection.write_all(b"request").unwrap();
                    connection.read_to_end(&mut Vec::new()).unwrap();
                }
            })
        })
        .collect();
    let mut waits = Waits::default();
    waits.follow(BTreeSet::from([port]));
    // The last calls have fewer beside them.
    for look in 0_u64..40 {
        std::thread::sleep(Duration::from_millis(15 + look % 7));
        waits.look(&traffic().unwrap());
    }
    let sample = waits.of(port).unwrap();
    // Shares of what was seen: on a busy machine callers and server come late.
    let all = sample.inside + sample.unread + sample.not_accepted + sample.held;
    assert!((0.1..=0.45).contains(&(sample.inside / all)), "{sample:?}");
    assert!(sample.not_accepted >= 0.5 * all, "{sample:?}");
    assert!(sample.unread + sample.held <= 0.15 * all, "{sample:?}");
    for caller in callers {
        caller.join().unwrap();
    }
    server.join().unwrap();
}

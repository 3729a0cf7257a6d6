//! Clients that leave before they are answered, thousands of times and at every point: nothing of them stays.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::{Guard, eventually};

const LIMIT: usize = 64;
/// Three times as many as there are permits: the rest wait for one, or are refused.
const CROWD: usize = 3 * LIMIT;

/// Answers nothing, or begins an answer that it never ends.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(mut stream: TcpStream) {
    let mut read = [0; 4096];
    while stream.read(&mut read).is_ok_and(|count| count > 0) {
        if read.starts_with(b"GET /begun ") {
            let begun = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegun";
            drop(stream.write_all(begun));
        }
    }
}

/// What a client has sent when it leaves.
const SENT: [&str; 5] = [
    "GET /held HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /begun HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nwhole",
    "POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
    "GET /head HTTP/1.1\r\nHos",
];

fn crowd(guard: &Guard) -> Vec<TcpStream> {
    let came = (0..CROWD).map(|number| {
        let mut client = guard.connect();
        client
            .write_all(SENT[number % SENT.len()].as_bytes())
            .unwrap();
        if number % 2 == 0 {
            // Its end is a reset, and no closed half.
            set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        }
        client
    });
    came.collect()
}

/// Bytes of its memory, and its open descriptors.
fn held(guard: &Guard) -> (usize, usize) {
    let process = format!("/proc/{}", guard.child.id());
    let statm = std::fs::read_to_string(format!("{process}/statm")).unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    let descriptors = std::fs::read_dir(format!("{process}/fd")).unwrap();
    (pages * 4096, descriptors.count())
}

#[test]
fn nothing_is_left_of_clients_that_leave() {
    let soaks = std::env::var_os("PLIMSOLL_SOAK").is_some();
    let rounds = if soaks {
        1_000_000 / CROWD
    } else {
        20_000 / CROWD
    } + 1;
    let url = format!("http://{}", upstream());
    let limit = format!("fixed:{LIMIT}");
    let guard = Guard::start(&[
        "--upstream",
        &url,
        "--limit",
        &limit,
        "--admin",
        "127.0.0.1:0",
    ]);
    let held_by = |count: usize| (guard.metric("in_flight") - count as f64).abs() < 0.5;
    let is_calm = || {
        let of = ["in_flight", "waiting", "outside", "connections"];
        of.iter().all(|name| guard.metric(name) < 0.5)
    };
    let mut early = None;
    for round in 0..rounds {
        let clients = crowd(&guard);
        eventually("permits", || held_by(LIMIT));
        drop(clients);
        eventually("an empty guard", is_calm);
        if round == rounds / 10 {
            early = Some(held(&guard));
        }
    }
    let (early, late) = (early.unwrap(), held(&guard));
    let more = late.0.saturating_sub(early.0);
    assert!(more < 4 << 20, "{} KiB more", more >> 10);
    assert!(late.1 <= early.1 + 4, "{early:?} {late:?}");
    // Everybody has come to an end, and to one alone.
    let all = |name| guard.metric(name);
    let ends = all("refused_total") + all("left_waiting_total") + all("admitted_total");
    assert!((all("arrived_total") - ends).abs() < 0.5, "{ends}");
    assert!((all("admitted_total") - all("ended_total")).abs() < 0.5);
    assert!(all("ended_total") > (rounds * LIMIT) as f64 - 0.5);
    // All permits are there.
    let _clients = crowd(&guard);
    eventually("all permits", || held_by(LIMIT));
}

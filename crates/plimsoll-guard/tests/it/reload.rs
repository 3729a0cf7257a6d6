//! SIGHUP: new settings as a whole or not at all, connections go on, and what limits have learned stays.
//!
//! The signal reaches every guard of the process, so that these are told what to read one at a time: a guard that is told
//! nothing says that the reload was refused, which no other test looks at.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_guard::{Config, Listener};
use rustix::process::{Signal, getpid, kill_process};

use crate::support::{
    Guard, OK, Upstream, answer, config, connect, eventually, guard, metric, start,
};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Reloads with this, or with nothing that is right.
fn reload(guard: &Guard, with: Option<Config>, says: &str) {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    guard.said.lock().unwrap().clear();
    *guard.next.lock().unwrap() = with;
    kill_process(getpid(), Signal::HUP).unwrap();
    eventually("the reload", || !guard.said.lock().unwrap().is_empty());
    let said = guard.said.lock().unwrap().join("\n");
    assert!(said.contains(says), "{said}");
}

#[test]
fn new_upstreams_take_over_and_connections_go_on() {
    let (one, two) = (Upstream::answering(OK), Upstream::answering(OK));
    let guard = guard(one.address, Rule::HalfLoad);
    let mut client = connect(guard.proxy);
    client.write_all(GET).unwrap();
    assert!(answer(&mut client).ends_with("ok\n"));
    let next = config(&[two.address], Rule::HalfLoad);
    reload(&guard, Some(next), "in force");
    client.write_all(GET).unwrap();
    assert!(answer(&mut client).ends_with("ok\n"));
    assert_eq!(two.requests().matches("GET / ").count(), 1);
    assert!(metric(&guard, "reloads_total{outcome=\"applied\"}") > 0.5);
}

#[test]
fn wrong_settings_change_nothing() {
    let up = Upstream::answering(OK);
    let guard = guard(up.address, Rule::HalfLoad);
    reload(&guard, None, "refused: guard.toml:1");
    let mut unresolved = config(&[up.address], Rule::HalfLoad);
    unresolved.groups[0].upstreams[0].host = "nowhere.invalid".to_owned();
    reload(&guard, Some(unresolved), "nowhere.invalid");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut occupied = config(&[up.address], Rule::HalfLoad);
    let place = taken.local_addr().unwrap().into();
    occupied.listeners.push(Listener::plain(place));
    reload(&guard, Some(occupied), "cannot listen");
    let mut client = connect(guard.proxy);
    client.write_all(GET).unwrap();
    assert!(answer(&mut client).ends_with("ok\n"));
    assert!(metric(&guard, "reloads_total{outcome=\"refused\"}") > 2.5);
}

#[test]
fn an_upstream_that_stays_keeps_its_limit_and_listeners_come_and_go() {
    let (stays, comes) = (Upstream::answering(OK), Upstream::answering(OK));
    let mut told = config(&[stays.address], Rule::HalfLoad);
    // Another place than that of the first, which must be told apart from it.
    let extra = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = extra.local_addr().unwrap();
    drop(extra);
    told.listeners.push(Listener::plain(address.into()));
    let guard = start(told);
    let mut client = connect(guard.proxies[1]);
    for _ in 0..30 {
        client.write_all(GET).unwrap();
        assert!(answer(&mut client).ends_with("ok\n"));
    }
    let admitted = format!("admitted_total{{upstream=\"{}\"", stays.address);
    assert!(metric(&guard, &admitted) > 29.5);
    reload(
        &guard,
        Some(config(&[stays.address, comes.address], Rule::HalfLoad)),
        "in force",
    );
    // The same upstream as before, with all that it has counted and learned.
    assert!(metric(&guard, &admitted) > 29.5);
    eventually("the end of the listener", || {
        TcpStream::connect(address).is_err()
    });
    // Whoever came in there goes on.
    for _ in 0..30 {
        client.write_all(GET).unwrap();
        assert!(answer(&mut client).ends_with("ok\n"));
    }
    assert!(comes.requests().matches("GET / ").count() > 3);
}

/// What was learned under load, which a guard that starts does not know: it begins with 4.
#[test]
fn what_a_limit_has_learned_stays() {
    let up = Upstream::start(Arc::new(|stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        thread::sleep(Duration::from_millis(4));
        stream.write_all(OK.as_bytes()).is_ok()
    }));
    let guard = guard(up.address, Rule::HalfLoad);
    let level = || metric(&guard, "limit_level");
    assert!(level() < 4.5);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                let mut client = connect(guard.proxy);
                while !is_over.load(Ordering::Relaxed) {
                    client.write_all(GET).unwrap();
                    answer(&mut client);
                }
            });
        }
        eventually("a larger limit", || level() > 7.0);
        is_over.store(true, Ordering::Relaxed);
    });
    let (learned, slope) = (level(), metric(&guard, "slope"));
    let answered = metric(&guard, "ended_total{outcome=\"served\"");
    let mut next = config(&[up.address], Rule::HalfLoad);
    next.timeouts.head = Duration::from_secs(7);
    reload(&guard, Some(next), "in force");
    let after = level();
    assert!(
        learned > 6.0 && (after - learned).abs() < 0.5,
        "{learned} {after}"
    );
    assert!((metric(&guard, "slope") - slope).abs() < 0.1, "{slope}");
    assert!((metric(&guard, "ended_total{outcome=\"served\"") - answered).abs() < 0.5);
}

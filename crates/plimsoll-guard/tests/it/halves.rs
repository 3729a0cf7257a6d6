//! Clients that close their half once they have sent their request: they are answered, and those that have closed both are not
//! waited for.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_guard::{Config, Listener, Place};
use plimsoll_net::tls::Offer;
use rustix::net::sockopt::set_socket_linger;

use crate::sockets::{self, Folder, certificate};
use crate::streams::{SWITCHED, UPGRADE, echo};
use crate::support::{OK, Upstream, config, connect, eventually, guard, metric, start};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const ASKED: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// Answers 200 after a while once a request ends like this.
fn slow(end: &'static str) -> Upstream {
    Upstream::start(Arc::new(move |stream, read| {
        if !read.ends_with(end.as_bytes()) {
            return false;
        }
        thread::sleep(Duration::from_millis(100));
        stream.write_all(OK.as_bytes()).is_ok()
    }))
}

fn rest(stream: &mut impl std::io::Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn who_closes_a_half_is_answered_wherever_the_request_is_by_then() {
    let upstream = slow("\r\n\r\n");
    // One permit: of the two that come together one waits.
    let listening = guard(upstream.address, Rule::Fixed(1));
    let clients = (0..2).map(|_| {
        let mut client = connect(listening.proxy);
        client.write_all(GET).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        client
    });
    for mut client in clients.collect::<Vec<_>>() {
        let text = rest(&mut client);
        let answer = text.strip_prefix(ASKED).unwrap_or_else(|| panic!("{text}"));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(answer.contains("\r\nConnection: close\r\n"), "{text}");
        assert!(answer.ends_with("\r\n\r\nok\n"), "{text}");
    }
    assert!(metric(&listening, "ended_total{outcome=\"served\"") > 1.5);
}

/// Requests that were sent ahead were sent before the half was closed.
#[test]
fn all_that_was_sent_before_is_answered() {
    let upstream = slow("\r\n\r\n");
    let listening = guard(upstream.address, Rule::HalfLoad);
    let mut client = connect(listening.proxy);
    client.write_all(&GET.repeat(3)).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let text = rest(&mut client);
    assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 3, "{text}");
    assert_eq!(text.matches("\r\nok\n").count(), 3, "{text}");
}

/// Bodies that are taken in whole, in part, and while they go on: whole they were sent in all cases, or not.
#[test]
fn a_body_counts_as_whole_if_it_is() {
    let upstream = slow("end");
    let listening = guard(upstream.address, Rule::Fixed(1));
    for bytes in [10, 100_000, 1_000_000] {
        for missing in [0, 1] {
            let mut holder = connect(listening.proxy);
            let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nend";
            holder.write_all(head.as_bytes()).unwrap();
            eventually("a permit", || metric(&listening, "in_flight") > 0.5);
            let mut client = connect(listening.proxy);
            let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {bytes}\r\n\r\n");
            let body = format!("{}end", "x".repeat(bytes - 3 - missing));
            client.write_all((head + &body).as_bytes()).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let mut text = String::new();
            // One that is cut may be reset.
            drop(client.read_to_string(&mut text));
            let is_served = text.ends_with("\r\nok\n");
            assert_eq!(is_served, missing == 0, "{bytes} {missing}: {text}");
            eventually("all permits", || metric(&listening, "in_flight") < 0.5);
        }
    }
}

/// It is told what HTTP/1.0 knows nothing of; so there a half that is closed is a client that has gone.
#[test]
fn in_http10_it_has_gone() {
    let upstream = Upstream::start(Arc::new(|_, _| false));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let mut client = connect(listening.proxy);
    client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    eventually("a permit", || metric(&listening, "in_flight") > 0.5);
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), "");
    eventually("the permit", || metric(&listening, "in_flight") < 0.5);
    eventually("the upstream's end", || {
        upstream.closed.load(Ordering::SeqCst) == 1
    });
}

/// Whoever has closed both halves looks alike at first, and is not there when it is asked; nor is whoever was there and goes later.
#[test]
fn who_closes_both_takes_the_request_along() {
    let upstream = Upstream::start(Arc::new(|_, _| false));
    let folder = Folder::new("halves");
    let path = folder.0.join("front");
    let (own, pem) = certificate(&folder.0, "one.test");
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    // Another place than that of the first, which must be told apart from it.
    let other = std::net::SocketAddr::from(([127, 0, 0, 2], 0));
    let mut secure = Listener::plain(other.into());
    secure.certificates = vec![own];
    let listening = start(Config {
        listeners: vec![
            Listener::plain(any.into()),
            Listener::plain(Place::Unix(path.clone())),
            secure,
        ],
        ..config(&[upstream.address], Rule::Fixed(4))
    });
    let in_flight = |count: f64| (metric(&listening, "in_flight") - count).abs() < 0.5;
    let mut plain = connect(listening.proxies[0]);
    plain.write_all(GET).unwrap();
    let mut unix = UnixStream::connect(&path).unwrap();
    unix.write_all(GET).unwrap();
    let config = sockets::client(&pem, Offer::Http1);
    let mut in_tls = sockets::secure(listening.proxies[2], "one.test", &config);
    in_tls.write_all(GET).unwrap();
    let mut halved = connect(listening.proxies[0]);
    halved.write_all(GET).unwrap();
    eventually("permits", || in_flight(4.0));
    halved.shutdown(Shutdown::Write).unwrap();
    let mut told = [0; ASKED.len()];
    halved.read_exact(&mut told).unwrap();
    assert_eq!(told, ASKED.as_bytes());
    drop((plain, unix));
    eventually("two of them", || in_flight(2.0));
    in_tls.conn.send_close_notify();
    drop(in_tls.flush());
    drop(in_tls);
    eventually("one more", || in_flight(1.0));
    thread::sleep(Duration::from_millis(100));
    assert!(in_flight(1.0));
    set_socket_linger(&halved, Some(Duration::ZERO)).unwrap();
    drop(halved);
    eventually("the last", || in_flight(0.0));
    eventually("the upstream's connections", || {
        upstream.closed.load(Ordering::SeqCst) == 4
    });
    assert!(metric(&listening, "ended_total{outcome=\"left\"") > 3.5);
}

/// Between its request and the 101 there is time enough to say that nothing more comes.
#[test]
fn what_was_sent_ahead_of_a_tunnel_goes_into_it() {
    let upstream = echo();
    let listening = guard(upstream.address, Rule::Fixed(1));
    for ahead in [1, 50_000] {
        let ahead = "x".repeat(ahead);
        let mut client = connect(listening.proxy);
        client
            .write_all(format!("{UPGRADE}{ahead}").as_bytes())
            .unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut client), format!("{ASKED}{SWITCHED}hello {ahead}"));
        eventually("its end", || metric(&listening, "outside") < 0.5);
    }
}

/// The service has nothing to say, and does not end when it hears that nothing more comes; before the 101, or behind it.
#[test]
fn in_a_tunnel_too_who_goes_later_is_missed() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        thread::sleep(Duration::from_millis(100));
        if read.ends_with(b"\r\n\r\n") && stream.write_all(SWITCHED.as_bytes()).is_ok() {
            thread::sleep(Duration::from_secs(3600));
        }
        false
    }));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let outside = |count: f64| (metric(&listening, "outside") - count).abs() < 0.5;
    let mut before = connect(listening.proxy);
    before.write_all(UPGRADE.as_bytes()).unwrap();
    before.shutdown(Shutdown::Write).unwrap();
    let mut told = vec![0; ASKED.len() + SWITCHED.len()];
    before.read_exact(&mut told).unwrap();
    assert_eq!(told, format!("{ASKED}{SWITCHED}").as_bytes());
    let mut behind = connect(listening.proxy);
    behind.write_all(UPGRADE.as_bytes()).unwrap();
    behind.read_exact(&mut told[..SWITCHED.len()]).unwrap();
    behind.shutdown(Shutdown::Write).unwrap();
    thread::sleep(Duration::from_millis(100));
    assert!(outside(2.0));
    for (client, left) in [(before, 1.0), (behind, 0.0)] {
        set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        eventually("its end", || outside(left));
    }
}

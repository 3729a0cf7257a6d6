//! What is longer than a request and its answer: trailers, informational answers, events, tunnels, slow and large bodies.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_guard::{Match, Route};

use crate::support::{
    OK, Upstream, answer, config, connect, eventually, guard, metric, sent, start,
};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
pub(crate) const UPGRADE: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n";
pub(crate) const SWITCHED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/// Reads until these bytes have come.
pub(crate) fn until(stream: &mut TcpStream, end: &str) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(end.as_bytes()) {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{text:?}");
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn trailers_pass_in_both_directions_without_those_that_none_may_be() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n3\r\nabc\r\n0\r\n\
                      X-End: 7\r\nContent-Length: 9\r\nSet-Cookie: a=b\r\n\r\n";
        read.ends_with(b"X-Sum: 5\r\n\r\n") && stream.write_all(answer.as_bytes()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::HalfLoad);
    let request = "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
                   2\r\nxy\r\n0\r\nHost: evil\r\nX-Forwarded-For: 9.9.9.9\r\nX-Sum: 5\r\n\r\n";
    let text = sent(listening.proxy, request);
    assert!(text.contains("\r\nTrailer: X-End\r\n"), "{text}");
    assert!(
        text.ends_with("3\r\nabc\r\n0\r\nX-End: 7\r\n\r\n"),
        "{text}"
    );
    let seen = upstream.requests();
    assert!(
        seen.contains("\r\nConnection: TE\r\nTE: trailers\r\n"),
        "{seen}"
    );
    assert!(seen.ends_with("2\r\nxy\r\n0\r\nX-Sum: 5\r\n\r\n"), "{seen}");
    let old =
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum : 5\r\n\r\n";
    assert!(sent(listening.proxy, old).starts_with("HTTP/1.1 400 "));
}

#[test]
fn informational_answers_pass_and_a_storm_of_them_does_not() {
    let hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n\
                 HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
    let upstream = Upstream::answering(hints);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let mut client = connect(listening.proxy);
    client.write_all(GET.as_bytes()).unwrap();
    let hint = until(&mut client, "\r\n\r\n");
    assert_eq!(hint, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n");
    assert!(answer(&mut client).starts_with("HTTP/1.1 200 OK\r\n"));
    let old = sent(listening.proxy, "GET / HTTP/1.0\r\n\r\n");
    assert!(old.starts_with("HTTP/1.1 200 OK\r\n"), "{old}");
    let storm = Upstream::start(Arc::new(|stream, read| {
        let hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(10_000);
        read.ends_with(b"\r\n\r\n") && stream.write_all(hints.as_bytes()).is_ok()
    }));
    let listening = guard(storm.address, Rule::HalfLoad);
    let text = sent(
        listening.proxy,
        &GET.replace("Host: a", "Host: a\r\nConnection: close"),
    );
    assert!(
        text.contains("HTTP/1.1 502 ") && text.matches(" 103 ").count() <= 32,
        "{text}"
    );
}

/// One permit in all: a stream that held it would let nobody else in.
#[test]
fn events_come_at_once_and_hold_no_permit() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        if !read.starts_with(b"GET /events ") {
            return stream.write_all(OK.as_bytes()).is_ok();
        }
        let begun =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\ndata: 1\n\n";
        stream.write_all(begun.as_bytes()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let mut streams: Vec<_> = (0..3).map(|_| connect(listening.proxy)).collect();
    for stream in &mut streams {
        stream
            .write_all(GET.replace("/ ", "/events ").as_bytes())
            .unwrap();
        until(stream, "data: 1\n\n\r\n");
    }
    assert!(metric(&listening, "outside") > 2.5);
    let mut other = connect(listening.proxy);
    other.write_all(GET.as_bytes()).unwrap();
    assert!(answer(&mut other).ends_with("ok\n"));
    drop(streams);
    eventually("the streams' end", || metric(&listening, "outside") < 0.5);
    eventually("the upstream's connections", || {
        upstream.closed.load(Ordering::SeqCst) >= 3
    });
}

/// Twice as many as there are permits at first, none of which is answered meanwhile.
#[test]
fn long_polls_do_not_shut_out_the_others() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        if read.starts_with(b"GET /poll ") {
            thread::sleep(Duration::from_secs(3600));
        }
        stream.write_all(OK.as_bytes()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::HalfLoad);
    let ask = |path: &str| {
        let mut client = connect(listening.proxy);
        let request = GET.replace("/ ", &format!("{path} "));
        client.write_all(request.as_bytes()).unwrap();
        client
    };
    let _polls: Vec<_> = (0..8).map(|_| ask("/poll")).collect();
    let served = (0..40).filter(|_| {
        thread::sleep(Duration::from_millis(60));
        answer(&mut ask("/fast")).ends_with("ok\n")
    });
    let served = served.count();
    // Until the polls have lasted for longer than anybody waits, they may be about to end.
    assert!(served >= 36, "{served} of 40");
}

/// One permit in all, and far more polls than that: each is with the service, until there are as many as may be.
#[test]
fn polls_of_a_route_that_waits_need_no_permit_and_have_a_bound_of_their_own() {
    const MOST: usize = 20;
    let is_time = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_time);
    let upstream = Upstream::start(Arc::new(move |stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        while read.starts_with(b"GET /poll/") && !ends.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        stream.write_all(OK.as_bytes()).is_ok()
    }));
    let mut config = config(&[upstream.address], Rule::Fixed(1));
    config.connections_max = 2 * MOST;
    config.routes = vec![Route {
        matches: Match {
            path: Some("/poll".to_owned()),
            ..Match::default()
        },
        group: 0,
        class: None,
        timeouts: None,
        waits: true,
    }];
    let listening = start(config);
    let ask = |path: &str| {
        let mut client = connect(listening.proxy);
        let request = GET.replace("/ ", &format!("{path} "));
        client.write_all(request.as_bytes()).unwrap();
        client
    };
    let mut polls: Vec<_> = (0..MOST).map(|_| ask("/poll/7")).collect();
    eventually("all polls", || upstream.seen.lock().unwrap().len() == MOST);
    let outside = || metric(&listening, "outside").round() as usize;
    assert_eq!(outside(), MOST);
    for _ in 0..10 {
        assert!(answer(&mut ask("/fast")).ends_with("ok\n"));
    }
    let refused = answer(&mut ask("/poll/7"));
    assert!(
        refused.starts_with("HTTP/1.1 503 ") && refused.contains("X-Plimsoll: streams"),
        "{refused}"
    );
    let mut upgrade = connect(listening.proxy);
    upgrade.write_all(UPGRADE.as_bytes()).unwrap();
    let refused = answer(&mut upgrade);
    assert!(refused.contains("X-Plimsoll: streams"), "{refused}");
    assert!((metric(&listening, "refused_total{reason=\"streams\"}") - 2.0).abs() < 0.5);
    // Who leaves makes room; and nothing of all this is the limit's.
    drop(polls.pop());
    eventually("room for one", || outside() == MOST - 1);
    polls.push(ask("/poll/7"));
    eventually("one more", || outside() == MOST);
    assert!((metric(&listening, "arrived_total") - 10.0).abs() < 0.5);
    is_time.store(true, Ordering::SeqCst);
    for poll in &mut polls {
        assert!(answer(poll).ends_with("ok\n"));
    }
    eventually("their end", || outside() == 0);
    assert!((metric(&listening, "ended_total") - 10.0).abs() < 0.5);
}

pub(crate) fn echo() -> Upstream {
    Upstream::start(Arc::new(|stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        // Nothing of the tunnel may be here before it is one.
        thread::sleep(Duration::from_millis(50));
        stream.set_nonblocking(true).unwrap();
        let early = stream.read(&mut [0; 16]);
        assert!(early.is_err(), "{early:?}");
        stream.set_nonblocking(false).unwrap();
        stream
            .write_all(format!("{SWITCHED}hello ").as_bytes())
            .unwrap();
        let mut from = stream.try_clone().unwrap();
        drop(std::io::copy(&mut from, stream));
        true
    }))
}

#[test]
fn a_tunnel_carries_bytes_both_ways_once_it_is_one() {
    let upstream = echo();
    let listening = guard(upstream.address, Rule::Fixed(1));
    let mut client = connect(listening.proxy);
    // Sent ahead: it may only be passed on after the 101.
    client
        .write_all(format!("{UPGRADE}GET /a HTTP/1.1\r\n").as_bytes())
        .unwrap();
    let head = until(&mut client, "\r\n\r\n");
    assert_eq!(head, SWITCHED);
    assert_eq!(
        until(&mut client, "HTTP/1.1\r\n"),
        "hello GET /a HTTP/1.1\r\n"
    );
    assert!(metric(&listening, "in_flight") < 0.5 && metric(&listening, "outside") > 0.5);
    let large = vec![b'x'; 1 << 20];
    let mut sending = client.try_clone().unwrap();
    let writer = thread::spawn(move || {
        sending.write_all(&large).unwrap();
        sending.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut back = Vec::new();
    client.read_to_end(&mut back).unwrap();
    writer.join().unwrap();
    assert_eq!(back.len(), 1 << 20);
    eventually("the tunnel's end", || metric(&listening, "outside") < 0.5);
}

/// As long as a head may be: with what the guard adds to it, it is more than is kept for an upstream.
#[test]
fn a_tunnel_behind_the_longest_head_carries_bytes() {
    let upstream = echo();
    let listening = guard(upstream.address, Rule::Fixed(1));
    let field = "X-Long: \r\n\r\n";
    let long = "x".repeat((64 << 10) - 8 - UPGRADE.len() - field.len());
    let head = UPGRADE.replacen("\r\n\r\n", &format!("\r\nX-Long: {long}\r\n\r\n"), 1);
    for ahead in ["", "and "] {
        let mut client = connect(listening.proxy);
        client
            .write_all(format!("{head}{ahead}").as_bytes())
            .unwrap();
        until(&mut client, &format!("hello {ahead}"));
        client.write_all(b"there").unwrap();
        until(&mut client, "there");
    }
}

/// A tunnel, or events, may be silent for as long as was said and no longer; each byte counts, from either side.
#[test]
fn a_tunnel_or_a_stream_of_events_ends_when_nothing_moves_in_it() {
    let tunnel = echo();
    let events = Upstream::answering(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
    );
    let before = |upstream: &Upstream| {
        let mut config = config(&[upstream.address], Rule::Fixed(4));
        config.timeouts.stream = Duration::from_secs(1);
        start(config)
    };
    let (to_tunnel, to_events) = (before(&tunnel), before(&events));
    let mut client = connect(to_tunnel.proxy);
    client.write_all(UPGRADE.as_bytes()).unwrap();
    until(&mut client, "hello ");
    for _ in 0..8 {
        thread::sleep(Duration::from_millis(200));
        client.write_all(b"x").unwrap();
        until(&mut client, "x");
    }
    let mut reader = connect(to_events.proxy);
    reader.write_all(GET.as_bytes()).unwrap();
    until(&mut reader, "data: 1\n\n\r\n");
    for listening in [&to_tunnel, &to_events] {
        assert!(metric(listening, "outside") > 0.5);
    }
    for (mut client, listening, upstream) in
        [(client, to_tunnel, tunnel), (reader, to_events, events)]
    {
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"");
        eventually("its end", || metric(&listening, "outside") < 0.5);
        eventually("the end of the other half", || {
            upstream.closed.load(Ordering::SeqCst) == 1
        });
    }
}

#[test]
fn an_upgrade_that_is_not_answered_with_one_stays_http() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let after = "GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let text = sent(listening.proxy, &format!("{UPGRADE}{after}"));
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2, "{text}");
    let seen = upstream.requests();
    assert!(
        seen.contains("Connection: Upgrade\r\nUpgrade: websocket\r\n"),
        "{seen}"
    );
    assert!(
        seen.contains("GET /after HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: "),
        "{seen}"
    );
}

#[test]
fn an_upgrade_of_the_connection_itself_or_with_a_body_is_not_passed_on() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    for upgrade in [
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        "Connection: Upgrade\r\nUpgrade: websocket, h2c",
        "Upgrade: websocket",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: x",
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{upgrade}\r\n\r\n");
        let mut client = connect(listening.proxy);
        client.write_all(request.as_bytes()).unwrap();
        assert!(answer(&mut client).ends_with("ok\n"));
    }
    let seen = upstream.requests().to_lowercase();
    assert!(
        !seen.contains("upgrade") && !seen.contains("settings"),
        "{seen}"
    );
    let switched = Upstream::answering(SWITCHED);
    let listening = guard(switched.address, Rule::HalfLoad);
    let close = GET.replace("Host: a", "Host: a\r\nConnection: close");
    assert!(sent(listening.proxy, &close).starts_with("HTTP/1.1 502 "));
}

/// One permit in all: whoever is slow to send a body must not keep the others out.
#[test]
fn a_slow_body_holds_no_permit() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        let is_get = read.starts_with(b"GET ") && read.ends_with(b"\r\n\r\n");
        (is_get || read.ends_with(b"end")) && stream.write_all(OK.as_bytes()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let get = || {
        let mut other = connect(listening.proxy);
        other.write_all(GET.as_bytes()).unwrap();
        answer(&mut other).ends_with("ok\n")
    };
    let mut small = connect(listening.proxy);
    small
        .write_all(b"POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n1234567")
        .unwrap();
    thread::sleep(Duration::from_millis(50));
    assert!(get());
    let mut large = connect(listening.proxy);
    let head = "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 200003\r\n\r\n";
    large.write_all(head.as_bytes()).unwrap();
    large.write_all(&vec![b'x'; 100_000]).unwrap();
    eventually("room for others", get);
    eventually("its permit", || metric(&listening, "outside") > 0.5);
    large.write_all(&vec![b'x'; 100_000]).unwrap();
    for client in [&mut large, &mut small] {
        client.write_all(b"end").unwrap();
        assert!(answer(client).ends_with("ok\n"));
    }
}

#[test]
fn a_large_answer_arrives_as_it_was_sent() {
    let numbers: Vec<String> = (0..200_000).map(|number| number.to_string()).collect();
    let body = numbers.join(",");
    let whole = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let upstream = Upstream::start(Arc::new(move |stream, read| {
        read.ends_with(b"\r\n\r\n") && stream.write_all(whole.as_bytes()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let mut client = connect(listening.proxy);
    client.write_all(GET.as_bytes()).unwrap();
    // A client that does not read: what the service has done is done.
    let mut other = connect(listening.proxy);
    eventually("the permit of the slow one", || {
        metric(&listening, "in_flight") < 0.5
    });
    other.write_all(GET.as_bytes()).unwrap();
    assert!(answer(&mut other).ends_with(&body));
    assert!(answer(&mut client).ends_with(&body));
}

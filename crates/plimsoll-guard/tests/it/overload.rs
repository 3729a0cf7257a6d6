//! More than the upstream can do: refusals are quick and say when to come again, and nothing leaks.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use plimsoll_control::admission::Rule;

use plimsoll_guard::{Config, Listener, Place};

use crate::sockets::Folder;
use crate::support::{
    OK, Upstream, answer, config, connect, eventually, guard, metric, sent, start,
};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn slow(length: Duration) -> Upstream {
    Upstream::start(Arc::new(move |stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        thread::sleep(length);
        stream.write_all(OK.as_bytes()).is_ok()
    }))
}

#[test]
fn never_more_in_flight_than_the_limit_and_the_rest_is_refused_with_a_time() {
    let upstream = slow(Duration::from_millis(400));
    let listening = guard(upstream.address, Rule::Fixed(2));
    let clients = (0..12).map(|_| {
        thread::spawn(move || {
            let mut client = connect(listening.proxy);
            client.write_all(GET).unwrap();
            answer(&mut client)
        })
    });
    let clients: Vec<_> = clients.collect();
    let answers: Vec<String> = clients.into_iter().map(|c| c.join().unwrap()).collect();
    let served = answers.iter().filter(|text| text.ends_with("ok\n")).count();
    let refused: Vec<&String> = answers
        .iter()
        .filter(|text| text.starts_with("HTTP/1.1 503 "))
        .collect();
    assert_eq!(served + refused.len(), 12);
    // Two at once, and those who waited less than a quarter of a second for them.
    assert!((2..=4).contains(&served), "{served}");
    assert!(upstream.seen.lock().unwrap().len() <= 2);
    for text in refused {
        assert!(
            text.contains("\r\nRetry-After: ") && text.contains("no-store"),
            "{text}"
        );
        assert!(!text.contains("Connection: close"), "{text}");
    }
}

/// A browser opens several connections at once, and again with the next page: whatever can be done in time is done.
#[test]
fn bursts_at_an_idle_guard_wait_their_turn() {
    let upstream = slow(Duration::from_millis(10));
    let listening = guard(upstream.address, Rule::Fixed(4));
    for _ in 0..6 {
        let mut clients: Vec<_> = (0..16).map(|_| connect(listening.proxy)).collect();
        for client in &mut clients {
            client.write_all(GET).unwrap();
        }
        for client in &mut clients {
            let text = answer(client);
            assert!(text.ends_with("ok\n"), "{text}");
        }
        thread::sleep(Duration::from_millis(130));
    }
}

/// Each of the fields that clients tell their patience with; and a client that waits long enough is served.
#[test]
fn who_says_that_it_waits_for_less_than_it_takes_is_refused_before_it_is_begun() {
    let upstream = slow(Duration::from_millis(200));
    let listening = guard(upstream.address, Rule::Fixed(8));
    let asks = |field: &str| {
        let mut client = connect(listening.proxy);
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        answer(&mut client)
    };
    assert!(asks("X-Request-Timeout: 5").ends_with("ok\n"));
    for hurried in [
        "grpc-timeout: 20m",
        "X-Envoy-Expected-Rq-Timeout-Ms: 20",
        "X-Request-Timeout: 20ms",
        "x-request-timeout: 0.02",
        "Request-Timeout: 0.02s",
    ] {
        let text = asks(hurried);
        assert!(text.contains("X-Plimsoll: deadline"), "{hurried}: {text}");
    }
    for patient in [
        "grpc-timeout: 10S",
        "X-Request-Timeout: soon",
        "grpc-timeout: m",
    ] {
        assert!(asks(patient).ends_with("ok\n"), "{patient}");
    }
    assert_eq!(upstream.requests().matches("GET / ").count(), 4);
}

/// The time in which it sends its body is time that it waits.
#[test]
fn who_took_too_long_to_send_is_not_begun() {
    let upstream = Upstream::after("end");
    let listening = guard(upstream.address, Rule::Fixed(8));
    let mut client = connect(listening.proxy);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nX-Request-Timeout: 0.1\r\nContent-Length: 6\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(150));
    client.write_all(b"at end").unwrap();
    let text = answer(&mut client);
    assert!(text.contains("X-Plimsoll: deadline"), "{text}");
    assert_eq!(upstream.requests(), "");
}

#[test]
fn a_refused_connection_goes_on_and_its_body_is_passed_over() {
    let upstream = slow(Duration::from_millis(600));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let mut first = connect(listening.proxy);
    first.write_all(GET).unwrap();
    eventually("a permit", || metric(&listening, "in_flight") > 0.5);
    let mut second = connect(listening.proxy);
    second
        .write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /")
        .unwrap();
    assert!(answer(&mut second).starts_with("HTTP/1.1 503 "));
    assert!(answer(&mut first).ends_with("ok\n"));
    second.write_all(GET).unwrap();
    assert!(answer(&mut second).ends_with("ok\n"));
    assert_eq!(upstream.requests().matches("GET /").count(), 2);
}

/// A body that may be of any length is not passed over, and one that was not asked for is not waited for.
#[test]
fn a_refused_connection_ends_where_its_body_may_be_long_or_was_not_sent_yet() {
    let upstream = slow(Duration::from_secs(3600));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let mut first = connect(listening.proxy);
    first.write_all(GET).unwrap();
    eventually("a permit", || metric(&listening, "in_flight") > 0.5);
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x1_0000));
    let long = format!("Transfer-Encoding: chunked\r\n\r\n{chunk}{chunk}");
    for rest in [&long, "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{rest}");
        let text = sent(listening.proxy, &request);
        assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
        assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
    }
    assert_eq!(upstream.requests().matches("POST").count(), 0);
}

#[test]
fn clients_that_leave_take_their_permits_and_connections_with_them() {
    let upstream = slow(Duration::from_secs(3600));
    let listening = guard(upstream.address, Rule::Fixed(4));
    for _ in 0..25 {
        let mut clients: Vec<_> = (0..8).map(|_| connect(listening.proxy)).collect();
        for client in &mut clients {
            client.write_all(GET).unwrap();
        }
        eventually("permits", || metric(&listening, "in_flight") > 3.5);
        drop(clients);
        eventually("the permits", || metric(&listening, "in_flight") < 0.5);
    }
    eventually("an empty queue", || metric(&listening, "waiting") < 0.5);
    eventually("the end", || metric(&listening, "connections") < 0.5);
}

const LONG: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16000000\r\n\r\n";

/// Sends until nobody takes any more.
fn sent_until_full(client: &mut (impl std::io::Write + ?Sized)) {
    client.write_all(LONG).unwrap();
    while client.write(&[b'x'; 4096]).is_ok() {}
}

/// While the service takes nothing of a body, nobody reads it: its client's end has to be seen all the same.
#[test]
fn clients_that_break_off_an_upload_that_nobody_takes_give_their_permits_back() {
    let upstream = Upstream::start(Arc::new(|_, _| {
        thread::sleep(Duration::from_secs(3600));
        false
    }));
    let folder = Folder::new("broken-off");
    let path = folder.0.join("front");
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let listening = start(Config {
        listeners: vec![
            Listener::plain(any.into()),
            Listener::plain(Place::Unix(path.clone())),
        ],
        ..config(&[upstream.address], Rule::Fixed(4))
    });
    let patience = Some(Duration::from_millis(500));
    for _ in 0..3 {
        // One is reset, of the other all comes before its end.
        let mut reset = TcpStream::connect(listening.proxy).unwrap();
        reset.set_write_timeout(patience).unwrap();
        sent_until_full(&mut reset);
        let mut closed = UnixStream::connect(&path).unwrap();
        closed.set_write_timeout(patience).unwrap();
        sent_until_full(&mut closed);
        eventually("permits", || metric(&listening, "in_flight") > 1.5);
        rustix::net::sockopt::set_socket_linger(&reset, Some(Duration::ZERO)).unwrap();
        drop((reset, closed));
        eventually("the permits", || metric(&listening, "in_flight") < 0.5);
    }
    assert!(metric(&listening, "ended_total{outcome=\"left\"") > 5.5);
    assert!(metric(&listening, "ejected_total") < 0.5);
}

#[test]
fn who_is_critical_goes_before_those_who_came_first() {
    let upstream = slow(Duration::from_millis(100));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let ask = |class: &str| {
        let mut client = connect(listening.proxy);
        let request = format!("GET /{class} HTTP/1.1\r\nHost: a\r\nX-Class: {class}\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        client
    };
    let mut clients = vec![ask("default")];
    eventually("a permit", || metric(&listening, "in_flight") > 0.5);
    clients.push(ask("background"));
    eventually("a wait", || metric(&listening, "waiting") > 0.5);
    clients.push(ask("critical"));
    for client in &mut clients {
        assert!(answer(client).starts_with("HTTP/1.1 "));
    }
    let seen = upstream.requests();
    let place = |class: &str| seen.find(&format!("GET /{class} ")).unwrap();
    assert!(place("critical") < seen.find("GET /background ").unwrap_or(usize::MAX));
}

/// A client that counts no attempts, but gives each request a key: it may try again as often as the budget allows.
#[test]
fn a_key_that_comes_again_and_again_spends_the_budget_for_retries() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::Fixed(4));
    let ask = |key: u32| {
        let mut client = connect(listening.proxy);
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        assert!(answer(&mut client).ends_with("ok\n"));
    };
    (0..20).for_each(ask);
    assert!(metric(&listening, "retries_demoted_total") < 0.5);
    (0..40).for_each(|_| ask(7));
    assert!(metric(&listening, "retries_demoted_total") > 0.5);
}

/// Three times as many as those that read to the end go halfway: that is not what the service does, and no reason to refuse.
#[test]
fn clients_that_go_before_an_answer_could_come_cost_the_others_nothing() {
    let upstream = slow(Duration::from_millis(30));
    let listening = guard(upstream.address, Rule::HalfLoad);
    let ask = || {
        let mut client = connect(listening.proxy);
        client.write_all(GET).unwrap();
        client
    };
    let read = || answer(&mut ask()).ends_with("ok\n");
    assert!(read());
    let is_over = AtomicBool::new(false);
    let served = thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let client = ask();
                    thread::sleep(Duration::from_millis(15));
                    drop(client);
                    thread::sleep(Duration::from_millis(18));
                }
            });
        }
        let readers = (0..4).map(|_| {
            scope.spawn(|| {
                let served = (0..40).filter(|_| {
                    thread::sleep(Duration::from_millis(60));
                    read()
                });
                served.count()
            })
        });
        let readers: Vec<_> = readers.collect();
        let served: usize = readers.into_iter().map(|r| r.join().unwrap()).sum();
        is_over.store(true, Ordering::Relaxed);
        served
    });
    assert!(served >= 152, "{served} of 160");
}

/// An answer up to the end of its head, and no byte further.
fn head(client: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
    String::from_utf8(read).unwrap()
}

fn head_and_get(client: &mut TcpStream) -> (String, String) {
    client
        .write_all(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    (head(client), answer(client))
}

/// Whoever is refused at the door is refused before anything is done for the request: the connection goes on all the same, and
/// an answer to HEAD has no body.
#[test]
fn at_the_door_too_a_connection_goes_on_and_everybody_is_counted() {
    let upstream = slow(Duration::from_secs(3600));
    let listening = guard(upstream.address, Rule::Fixed(1));
    let mut holder = connect(listening.proxy);
    holder.write_all(GET).unwrap();
    eventually("a permit", || metric(&listening, "in_flight") > 0.5);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Somebody always waits: each for a quarter of a second, and the next comes long before.
        scope.spawn(|| {
            let mut crowd = Vec::new();
            while !is_over.load(Ordering::Relaxed) && crowd.len() < 1000 {
                let mut waiting = connect(listening.proxy);
                waiting.write_all(GET).unwrap();
                crowd.push(waiting);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let mut client = connect(listening.proxy);
        for _ in 0..100 {
            let (to_head, to_get) = head_and_get(&mut client);
            for answer in [&to_head, &to_get] {
                assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
                assert!(answer.contains("\r\nRetry-After: "), "{answer}");
            }
            let at_the_door = "\r\nX-Plimsoll: overload\r\n";
            if to_head.contains(at_the_door) && to_get.contains(at_the_door) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(metric(&listening, "refused_total{reason=\"overload\"") >= 2.0);
}

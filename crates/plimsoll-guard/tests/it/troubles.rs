//! An upstream that is not there, breaks off, says nonsense or closes what was kept.

use std::io::Write as _;
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_guard::{Group, settings};

use crate::support::{OK, Upstream, answer, config, connect, guard, metric, sent, start};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[test]
fn an_upstream_that_is_not_there_is_a_502() {
    let address = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap();
    let listening = guard(address, Rule::HalfLoad);
    let text = sent(listening.proxy, GET);
    assert!(text.starts_with("HTTP/1.1 502 ") && text.contains("X-Plimsoll: unreachable"));
}

#[test]
fn nonsense_and_broken_heads_are_a_502_and_their_connections_are_not_kept() {
    for nonsense in [
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n",
    ] {
        let upstream = Upstream::answering(nonsense);
        let listening = guard(upstream.address, Rule::HalfLoad);
        for _ in 0..2 {
            let text = sent(listening.proxy, GET);
            assert!(text.starts_with("HTTP/1.1 502 "), "{nonsense:?}: {text}");
        }
        assert_eq!(upstream.seen.lock().unwrap().len(), 2, "{nonsense:?}");
    }
}

#[test]
fn a_truncated_answer_ends_without_looking_whole() {
    for part in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ] {
        let upstream = Upstream::start(Arc::new(move |stream, _| {
            drop(stream.write_all(part.as_bytes()));
            drop(stream.shutdown(Shutdown::Both));
            true
        }));
        let listening = guard(upstream.address, Rule::HalfLoad);
        let text = sent(listening.proxy, GET);
        assert!(
            text.contains("abc") && !text.contains("\r\n0\r\n"),
            "{text}"
        );
    }
}

/// A kept connection that closes under a safe request: it is sent again, once, over a fresh one. One that changes
/// something is not.
/// An upload that is too large: the service says so and closes, which breaks what is still being sent.
#[test]
fn an_answer_before_the_body_has_come_is_passed_on() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        if !read.windows(4).any(|four| four == b"\r\n\r\n") {
            return false;
        }
        let refusal = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        drop(stream.write_all(refusal.as_bytes()));
        drop(stream.shutdown(Shutdown::Both));
        true
    }));
    let listening = guard(upstream.address, Rule::HalfLoad);
    for _ in 0..20 {
        let mut client = connect(listening.proxy);
        let head = "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n";
        client.write_all(head.as_bytes()).unwrap();
        let mut sending = client.try_clone().unwrap();
        let sent = thread::spawn(move || drop(sending.write_all(&vec![b'x'; 8_000_000])));
        let text = answer(&mut client);
        assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
        drop(client.shutdown(Shutdown::Both));
        sent.join().unwrap();
    }
    assert!(metric(&listening, "out{") < 0.5);
}

#[test]
fn only_what_is_safe_is_sent_twice() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let upstream = Upstream::start(Arc::new(move |stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        // Every second request on any connection is met with its end.
        if counted.fetch_add(1, Ordering::SeqCst) % 2 == 1 {
            drop(stream.shutdown(Shutdown::Both));
        } else {
            drop(stream.write_all(OK.as_bytes()));
        }
        true
    }));
    let listening = guard(upstream.address, Rule::HalfLoad);
    let mut client = connect(listening.proxy);
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for _ in 0..2 {
        client.write_all(get.as_bytes()).unwrap();
        assert!(answer(&mut client).ends_with("ok\n"));
    }
    assert_eq!(count.load(Ordering::SeqCst), 3);
    assert!(metric(&listening, "sent_again_total") > 0.5);
    let delete = "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n";
    client.write_all(delete.as_bytes()).unwrap();
    assert!(answer(&mut client).starts_with("HTTP/1.1 502 "));
    assert_eq!(count.load(Ordering::SeqCst), 4);
}

/// The whole is over before its connection is: the client is told so in time, and nothing is sent that nobody waits for.
#[test]
fn the_time_for_the_whole_holds_for_connecting_too() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("https://{}", silent.local_addr().unwrap());
    let mut told = config(&[silent.local_addr().unwrap()], Rule::HalfLoad);
    told.groups = vec![Group::simple(vec![settings::origin(&origin).unwrap()])];
    told.timeouts.whole = Some(Duration::from_millis(300));
    assert!(told.timeouts.connect > Duration::from_secs(2));
    let listening = start(told);
    let begun = tokio::time::Instant::now();
    let get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let text = sent(listening.proxy, get);
    let took = begun.elapsed();
    assert!(text.starts_with("HTTP/1.1 504 "), "{text}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(metric(&listening, "in_flight") < 0.5);
}

/// The cached-answer desync: bytes that follow an answer unasked belong to nobody.
#[test]
fn bytes_that_nobody_asked_for_reach_nobody() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        drop(stream.write_all(OK.as_bytes()));
        thread::sleep(Duration::from_millis(50));
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil\n"));
        true
    }));
    let listening = guard(upstream.address, Rule::HalfLoad);
    for _ in 0..3 {
        assert!(sent(listening.proxy, GET).ends_with("ok\n"));
        thread::sleep(Duration::from_millis(120));
    }
}

//! One request stays one request, whatever bytes it was made of; and an answer arrives as it was meant.

use std::io::Write as _;
use std::net::TcpListener;

use plimsoll_control::admission::Rule;

use plimsoll_guard::Config;

use crate::support::{OK, Upstream, answer, config, connect, eventually, guard, page, sent, start};

const GET: &str = "GET /a?b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[test]
fn a_request_goes_through_and_its_answer_back() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let text = sent(listening.proxy, GET);
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nok\n"));
    assert!(text.contains("Connection: close"));
    let seen = upstream.requests();
    assert!(seen.starts_with("GET /a?b HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 127.0.0.1\r\n"));
    assert!(!seen.contains("Connection"));
}

const FORWARDED: &str = "X-Forwarded-For: 1.1.1.1, 203.0.113.9\r\nX-Forwarded-For: 127.0.0.9\r\nX-Forwarded-Proto: https\r\n\
                         X-Forwarded-Host: shop.example\r\nX-Forwarded-Port: 443\r\nX-Real-IP: 1.1.1.1\r\nForwarded: for=1.1.1.1\r\n";

/// What comes to the upstream of a request with [`FORWARDED`], and whom the permit is counted for.
fn forwarded(trusted: &str) -> (String, String) {
    let upstream = Upstream::start(std::sync::Arc::new(|_, _| false));
    let listening = start(Config {
        trusted: vec![trusted.parse().unwrap()],
        ..config(&[upstream.address], Rule::HalfLoad)
    });
    let mut client = connect(listening.proxy);
    client
        .write_all(format!("GET / HTTP/1.1\r\nHost: a\r\n{FORWARDED}\r\n").as_bytes())
        .unwrap();
    eventually("the request", || upstream.requests().ends_with("\r\n\r\n"));
    (upstream.requests(), page(&listening, "/explain"))
}

#[test]
fn a_trusted_proxy_is_believed_about_its_clients_and_nobody_else_is() {
    let (seen, explain) = forwarded("127.0.0.0/8");
    assert_eq!(
        seen,
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1, 203.0.113.9, 127.0.0.9, 127.0.0.1\r\n\
         X-Forwarded-Host: shop.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 443\r\n\r\n"
    );
    assert!(explain.contains("\"name\": \"203.0.113.9\""), "{explain}");
    let (seen, explain) = forwarded("10.0.0.0/8");
    assert_eq!(
        seen,
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\n\r\n"
    );
    assert!(explain.contains("\"name\": \"127.0.0.1\""), "{explain}");
}

#[test]
fn both_connections_are_kept() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let mut client = connect(listening.proxy);
    for _ in 0..20 {
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        assert!(answer(&mut client).ends_with("ok\n"));
    }
    assert_eq!(upstream.seen.lock().unwrap().len(), 1);
}

#[test]
fn requests_that_come_at_once_are_answered_in_turn() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let two = format!("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n{GET}");
    let text = sent(listening.proxy, &two);
    assert_eq!(text.matches("200 OK").count(), 2);
    assert_eq!(upstream.requests().matches("GET /").count(), 2);
}

/// None of these may reach the upstream, in whole or in part, and each is told so once.
#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for (head, body) in [
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "0\r\n\r\n",
        ),
        ("Transfer-Encoding: chunked\r\nContent-Length: 4", "5c\r\n"),
        ("Transfer-Encoding: xchunked", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked, cow", "0\r\n\r\n"),
        ("Transfer-Encoding : chunked", "0\r\n\r\n"),
        ("Transfer-Encoding:\u{b}chunked", "0\r\n\r\n"),
        ("Content-Length: 0\r\nContent-Length: 37", ""),
        ("Content-Length: +0", ""),
        ("Content-Length: 0,0", ""),
        ("X: y\r\n Content-Length: 37", ""),
        ("X: y\nContent-Length: 37", ""),
        ("Content-Length\r\n: 37", ""),
        ("Expect: 100-continues", ""),
    ] {
        let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n{body}{smuggled}");
        let answered = sent(listening.proxy, &text);
        assert_eq!(
            answered.matches("HTTP/1.1 ").count(),
            1,
            "{head:?}: {answered}"
        );
        let status = answered.get(9..10).unwrap();
        assert!(matches!(status, "4" | "5"), "{head:?}: {answered}");
    }
    assert_eq!(upstream.requests(), "");
}

/// A length counts with every method: what it covers is a body on both sides, whatever it looks like.
#[test]
fn a_body_where_none_is_usual_is_still_one() {
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let upstream = Upstream::after("/smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    let listening = guard(upstream.address, Rule::HalfLoad);
    let length = smuggled.len();
    let text = sent(
        listening.proxy,
        &format!(
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{smuggled}"
        ),
    );
    assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
    assert!(text.ends_with("ok\n"), "{text}");
    let seen = upstream.requests();
    let (head, body) = seen.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains(&format!("Content-Length: {length}")),
        "{head}"
    );
    assert_eq!(body, smuggled);
}

#[test]
fn what_is_too_long_is_told_so_and_the_connection_ends() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let target = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(17 << 10));
    let field = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "a".repeat(66 << 10)
    );
    let fields = format!(
        "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
        "X: y\r\n".repeat(101)
    );
    for (request, status) in [(target, 414), (field, 431), (fields, 431)] {
        let text = sent(listening.proxy, &request);
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
        assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
    }
    assert_eq!(upstream.requests(), "");
}

#[test]
fn chunks_are_written_anew_and_what_follows_is_another_request() {
    let upstream = Upstream::after("0\r\n\r\n");
    let listening = guard(upstream.address, Rule::HalfLoad);
    let mut client = connect(listening.proxy);
    let request = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = "3;ext=\"a\"\r\nabc\r\n002\r\nde\r\n0\r\nTrailer: x\r\n\r\n";
    client
        .write_all(format!("{request}{body}").as_bytes())
        .unwrap();
    assert!(answer(&mut client).ends_with("ok\n"));
    let seen = upstream.requests();
    let (_, sent) = seen.split_once("\r\n\r\n").unwrap();
    assert_eq!(sent, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
}

#[test]
fn a_body_that_breaks_its_framing_ends_both_connections() {
    let upstream = Upstream::after("0\r\n\r\n");
    let listening = guard(upstream.address, Rule::HalfLoad);
    let request =
        "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n";
    let text = sent(listening.proxy, request);
    assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
}

/// Nobody knows where such a body ends: what lies behind its error is no other request, whatever it looks like.
#[test]
fn after_a_body_that_breaks_its_framing_nothing_is_read() {
    let upstream = Upstream::after("0\r\n\r\n");
    let listening = guard(upstream.address, Rule::HalfLoad);
    let behind = "GET /behind HTTP/1.1\r\nHost: a\r\n\r\n";
    for wrong in ["0\r\nX-Sum : 1\r\n\r\n", "3\r\nabcd\r\n"] {
        let request = format!(
            "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n{wrong}{behind}"
        );
        let text = sent(listening.proxy, &request);
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
        assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
        assert!(text.contains("Connection: close"), "{text}");
    }
    assert!(!upstream.requests().contains("/behind"));
}

#[test]
fn an_answer_without_length_is_framed_for_the_client() {
    let until_closed = Upstream::start(std::sync::Arc::new(|stream, _| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"));
        drop(stream.shutdown(std::net::Shutdown::Both));
        true
    }));
    let listening = guard(until_closed.address, Rule::HalfLoad);
    let text = sent(listening.proxy, GET);
    assert!(text.contains("Transfer-Encoding: chunked"), "{text}");
    assert!(text.ends_with("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), "{text}");
    let old = sent(listening.proxy, "GET / HTTP/1.0\r\n\r\n");
    assert!(
        old.ends_with("\r\n\r\nabc") && !old.contains("chunked"),
        "{old}"
    );
}

/// A client of HTTP/1.0 takes an answer for whole when the connection ends, unless it is told that it goes on.
#[test]
fn own_answers_say_to_old_clients_that_the_connection_goes_on() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let listening = guard(gone.unwrap(), Rule::HalfLoad);
    let mut client = connect(listening.proxy);
    for _ in 0..2 {
        let get = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
        client.write_all(get.as_bytes()).unwrap();
        let text = answer(&mut client);
        assert!(text.starts_with("HTTP/1.1 502 "), "{text}");
        assert!(text.contains("\r\nConnection: keep-alive\r\n"), "{text}");
    }
    let text = sent(listening.proxy, "GET / HTTP/1.0\r\n\r\n");
    assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
}

#[test]
fn answers_of_the_connection_stay_on_it() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-End: 2\r\nContent-Length: 0\r\n\r\n",
    );
    let listening = guard(upstream.address, Rule::HalfLoad);
    let text = sent(listening.proxy, GET);
    assert!(text.contains("X-End: 2") && !text.contains("X-Hop") && !text.contains("Keep-Alive"));
}

#[test]
fn an_answer_in_folded_lines_goes_on_in_one() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nX-Long: a\r\n Content-Length: 9\r\nContent-Length: 0\r\n\r\n",
    );
    let listening = guard(upstream.address, Rule::HalfLoad);
    let text = sent(listening.proxy, GET);
    assert!(text.contains("X-Long: a   Content-Length: 9\r\n"), "{text}");
}

#[test]
fn who_expects_to_go_on_is_told_so_by_the_guard() {
    let upstream = Upstream::after("abc");
    let listening = guard(upstream.address, Rule::HalfLoad);
    let mut client = connect(listening.proxy);
    let head = "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    assert!(answer(&mut client).starts_with("HTTP/1.1 100 Continue\r\n"));
    client.write_all(b"abc").unwrap();
    assert!(answer(&mut client).ends_with("ok\n"));
    assert!(!upstream.requests().contains("Expect"));
}

#[test]
fn head_has_no_body() {
    let upstream = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    let listening = guard(upstream.address, Rule::HalfLoad);
    let request = "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let text = sent(listening.proxy, request);
    assert!(text.contains("Content-Length: 500") && text.ends_with("\r\n\r\n"));
}

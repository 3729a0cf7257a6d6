//! The proxy forwards what HTTP/1.1 knows, and fails in nginx's ways.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use crate::support::{Connection, Served, get};

/// What the upstream was sent: its head, line by line in lower case, and its body.
struct Received {
    head: Vec<String>,
    body: Vec<u8>,
}

impl Received {
    fn has(&self, line: &str) -> bool {
        self.head.iter().any(|known| known == line)
    }
}

/// An upstream that gives every request the same bytes and passes on what it was sent.
fn upstream(answer: Vec<u8>) -> (SocketAddr, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (requests, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if let Some(request) = read_request(&stream) {
                stream.write_all(&answer).unwrap();
                if requests.send(request).is_err() {
                    return;
                }
            }
        }
    });
    (address, received)
}

fn read_request(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_lowercase()),
        }
    }
    let mut body = Vec::new();
    let length = head
        .iter()
        .find_map(|line| line.strip_prefix("content-length: "));
    if let Some(length) = length {
        body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
    } else if head.iter().any(|line| line == "transfer-encoding: chunked") {
        while !body.ends_with(b"0\r\n\r\n") {
            reader.read_until(b'\n', &mut body).unwrap();
        }
    }
    (!head.is_empty()).then_some(Received { head, body })
}

fn proxy(upstream: SocketAddr, arguments: &[&str]) -> Served {
    let to = upstream.to_string();
    Served::start("proxy", &[&["--upstream", &to], arguments].concat())
}

const PLAIN: &[u8] =
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nX-Mine: 1\r\nContent-Length: 3\r\n\r\nabc";

#[test]
fn requests_of_one_connection_go_to_connections_of_their_own() {
    let (address, received) = upstream(PLAIN.to_vec());
    let proxy = proxy(address, &[]);
    let mut connection = Connection::open(proxy.address).unwrap();
    for _ in 0..3 {
        let request = "GET /a?b=c HTTP/1.1\r\nHost: shop\r\nConnection: keep-alive, x-hop\r\n\
                       X-Hop: 1\r\nX-End: 2\r\nTE: trailers\r\n\r\n";
        connection.send(request.as_bytes()).unwrap();
        let answer = connection.answer().unwrap();
        assert_eq!((answer.status, answer.text()), (200, "abc"));
        assert_eq!(answer.header("x-mine"), Some("1"));
        assert_eq!(answer.header("connection"), None, "kept alive");
        let request = received.recv().unwrap();
        assert_eq!(request.head[0], "get /a?b=c http/1.1");
        assert!(request.has("host: shop") && request.has("x-end: 2"));
        assert!(request.has("connection: close") && request.has("x-forwarded-for: 127.0.0.1"));
        assert!(!request.has("x-hop: 1") && !request.has("te: trailers"));
    }
}

#[test]
fn chunks_and_large_bodies_pass_both_ways() {
    let large: Vec<u8> = (0..8_u32 << 20).map(|index| (index % 251) as u8).collect();
    let mut answer = format!(
        "HTTP/1.1 201 Made\r\nContent-Length: {}\r\n\r\n",
        large.len()
    )
    .into_bytes();
    answer.extend_from_slice(&large);
    let (address, received) = upstream(answer);
    let first = proxy(address, &[]);
    let mut connection = Connection::open(first.address).unwrap();
    let head = format!(
        "POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        large.len()
    );
    connection.send(head.as_bytes()).unwrap();
    connection.send(&large).unwrap();
    let answer = connection.answer().unwrap();
    assert_eq!(answer.status, 201);
    assert!(answer.body == large, "the answer is another");
    assert!(
        received.recv().unwrap().body == large,
        "the request is another"
    );
    drop(first);

    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    let (address, received) = upstream(chunked.to_vec());
    let second = proxy(address, &[]);
    let mut connection = Connection::open(second.address).unwrap();
    let request =
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwxyz\r\n0\r\n\r\n";
    connection.send(request.as_bytes()).unwrap();
    let answer = connection.answer().unwrap();
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!(answer.text(), "abc");
    let request = received.recv().unwrap();
    assert!(request.has("transfer-encoding: chunked"));
    assert_eq!(request.body, b"4\r\nwxyz\r\n0\r\n\r\n");
}

#[test]
fn a_client_of_http_1_0_gets_an_answer_it_understands() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let (address, received) = upstream(chunked.to_vec());
    let proxy = proxy(address, &[]);
    let mut connection = Connection::open(proxy.address).unwrap();
    connection.send(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let answer = connection.answer().unwrap();
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.text(), "abc");
    assert!(received.recv().unwrap().has(&format!("host: {address}")));
}

#[test]
fn an_upstream_that_is_down_or_answers_nonsense_is_a_502() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let down = proxy(free, &[]);
    let answer = get(down.address, "/");
    assert_eq!(answer.status, 502);
    assert!(
        answer.text().starts_with(&format!("upstream {free}: ")),
        "{}",
        answer.text()
    );
    drop(down);

    let (address, _received) = upstream(b"nonsense\r\n\r\n".to_vec());
    let nonsense = proxy(address, &[]);
    assert_eq!(get(nonsense.address, "/").status, 502);
    // The connection and the proxy live on.
    assert_eq!(get(nonsense.address, "/").status, 502);
}

#[test]
fn without_a_slot_a_connection_is_closed_without_an_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let proxy = proxy(address, &["--set", "slots=2"]);
    let mut first = Connection::open(proxy.address).unwrap();
    first
        .send(b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let (mut held, _) = listener.accept().unwrap();
    assert!(read_request(&held).is_some());

    // Both slots are in use: one for the client, one for the upstream.
    let second = Connection::open(proxy.address).and_then(|mut second| second.get("/second"));
    let error = second.unwrap_err().kind();
    let closed = [
        std::io::ErrorKind::UnexpectedEof,
        std::io::ErrorKind::ConnectionReset,
        std::io::ErrorKind::BrokenPipe,
    ];
    assert!(closed.contains(&error), "{error:?}");

    held.write_all(PLAIN).unwrap();
    assert_eq!(first.answer().unwrap().text(), "abc");
    drop(held);
    // Free again. The first connection waits, so it is closed to make room.
    let mut third = Connection::open(proxy.address).unwrap();
    third
        .send(b"GET /third HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let (mut held, _) = listener.accept().unwrap();
    assert!(read_request(&held).is_some());
    held.write_all(PLAIN).unwrap();
    assert_eq!(third.answer().unwrap().status, 200);
    assert!(first.get("/").is_err());
}

#[test]
fn a_request_without_a_slot_for_the_upstream_is_a_500_that_reached_nobody() {
    let log = std::env::temp_dir().join(format!("plimsoll-test-{}.log", std::process::id()));
    let (address, _received) = upstream(PLAIN.to_vec());
    let file = log.display().to_string();
    let proxy = proxy(address, &["--set", "slots=1", "--log", &file]);
    let mut connection = Connection::open(proxy.address).unwrap();
    assert_eq!(connection.get("/x").unwrap().status, 500);
    assert_eq!(connection.get("/x").unwrap().status, 500);
    assert_eq!(proxy.stop(), Some(0));
    assert!(Path::new(&log).exists(), "a log that was asked for stays");
    let lines = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert_eq!(lines.lines().count(), 2);
    assert!(
        lines
            .lines()
            .all(|line| line.ends_with(" urt=- uht=- uct=- us=- st=500")),
        "{lines}"
    );
}

#[test]
fn requests_go_to_the_upstreams_in_turn() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
    let (one, first) = upstream(answer.clone());
    let (two, second) = upstream(answer);
    let to = [one.to_string(), two.to_string()];
    let proxy = Served::start("proxy", &["--upstream", &to[0], "--upstream", &to[1]]);
    for _ in 0..10 {
        assert_eq!(get(proxy.address, "/").status, 200);
    }
    assert_eq!(
        (first.iter().take(5).count(), second.iter().take(5).count()),
        (5, 5)
    );
    assert!(first.try_recv().is_err() && second.try_recv().is_err());
}

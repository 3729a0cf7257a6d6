//! The HTTP/2 client against the server of another hand: the h2 crate.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use plimsoll_base::poll::Poll;
use plimsoll_core::test::Request;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::h2::{
    Connection, EncodedRequest, Event, NewStream, PeerError, Sink, write_field,
};
use plimsoll_net::{Failure, Target};
use plimsoll_net::{SCRATCH_BYTES, Setup};

use crate::h2_server::serve;

fn request(address: SocketAddr, method: &str, path: &str, body: &[u8]) -> EncodedRequest {
    let request = Request {
        method: method.to_owned(),
        url: format!("http://{address}{path}"),
        headers: Vec::new(),
        body: body.to_vec(),
    };
    EncodedRequest::new(&request, &Target::parse(&request.url).unwrap()).unwrap()
}

/// A connection with its poll.
struct Client {
    connection: Connection,
    poll: Poll,
    scratch: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let setup = Setup {
            address: address.into(),
            tunnel: None,
            tls: None,
            head_request: false,
        };
        let connection = Connection::open(None, &setup).unwrap();
        let poll = Poll::new().unwrap();
        poll.add(&connection, 0).unwrap();
        let mut client = Self {
            connection,
            poll,
            scratch: vec![0; SCRATCH_BYTES],
        };
        assert_eq!(client.events(1).unwrap(), [Event::Connected]);
        client
    }

    /// Waits for so many events.
    fn events(&mut self, count: usize) -> Result<Vec<Event>, Failure> {
        let mut events = Vec::new();
        let mut ready = Vec::new();
        while events.len() < count {
            self.connection.flush()?;
            self.poll.wait(Nanos::from_secs(20), &mut ready).unwrap();
            assert!(!ready.is_empty(), "nothing came for 20 s after {events:?}");
            for one in ready.drain(..) {
                let done = self.read(one.hung_up, &mut events);
                // A server that leaves may close with its last answer.
                match done {
                    Err(failure) if events.len() < count => return Err(failure),
                    _ => {}
                }
            }
        }
        Ok(events)
    }

    /// All that has come.
    fn read(&mut self, hung_up: bool, events: &mut Vec<Event>) -> Result<(), Failure> {
        let scratch = &mut self.scratch;
        let mut done = self.connection.ready(hung_up, scratch, events);
        while done.is_ok() && self.connection.has_more() {
            done = self.connection.ready(hung_up, scratch, events);
        }
        done
    }
}

fn statuses(events: &[Event]) -> Vec<(u64, u16)> {
    let mut found: Vec<(u64, u16)> = events
        .iter()
        .map(|event| match event {
            Event::Answered { owner, answer } => (*owner, answer.status),
            other => panic!("{other:?}"),
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn many_requests_are_answered_at_once_each_with_its_own() {
    let address = serve(50);
    let mut client = Client::connect(address);
    assert_eq!(client.connection.vacant(), 50);
    let (found, missing) = (
        request(address, "GET", "/", b""),
        request(address, "GET", "/missing", b""),
    );
    for round in 0..20 {
        for owner in 0..50 {
            let request = if owner % 3 == 0 { &missing } else { &found };
            client.connection.start(request, round * 100 + owner);
        }
        assert_eq!(client.connection.vacant(), 0);
        let events = client.events(50).unwrap();
        let expected: Vec<(u64, u16)> = (0..50)
            .map(|owner| (round * 100 + owner, if owner % 3 == 0 { 404 } else { 200 }))
            .collect();
        assert_eq!(statuses(&events), expected);
    }
}

#[test]
fn bodies_larger_than_all_windows_go_both_ways() {
    let address = serve(10);
    let mut client = Client::connect(address);
    let body: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    client
        .connection
        .start(&request(address, "POST", "/echo", &body), 1);
    client
        .connection
        .start(&request(address, "GET", "/large/20000000", b""), 2);
    let events = client.events(2).unwrap();
    assert_eq!(statuses(&events), [(1, 200), (2, 200)]);
    for event in events {
        if let Event::Answered { owner, answer } = event {
            let least = if owner == 1 { 3_000_000 } else { 20_000_000 };
            // Frame heads and headers are counted too: 9 bytes for 16 KiB.
            assert!(
                (least..least + least / 500).contains(&answer.bytes),
                "{answer:?}"
            );
        }
    }
}

/// What came of each stream.
#[derive(Default)]
struct Collected {
    events: Vec<Event>,
    fields: BTreeMap<u64, Vec<(String, String)>>,
    bodies: BTreeMap<u64, Vec<u8>>,
}

impl Sink for Collected {
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn field(&mut self, owner: u64, name: &[u8], value: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let fields = self.fields.entry(owner).or_default();
        fields.push((text(name), text(value)));
    }

    fn body(&mut self, owner: u64, bytes: &[u8]) {
        self.bodies
            .entry(owner)
            .or_default()
            .extend_from_slice(bytes);
    }
}

#[test]
fn requests_that_differ_get_each_its_own_head_and_body() {
    let address = serve(10);
    let mut client = Client::connect(address);
    let body =
        |owner: u64| -> Arc<[u8]> { Arc::from(format!("{owner} ").repeat(9_000).as_bytes()) };
    for owner in 0..10 {
        let mut block = Vec::new();
        for (name, value) in [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "shop.test"),
            (":path", "/echo"),
            ("X-Trace", &owner.to_string()),
        ] {
            write_field(name, value, &mut block);
        }
        let stream = NewStream {
            body: Some(body(owner)),
            is_head: false,
            owner,
        };
        client.connection.start_plain(&block, stream);
    }
    let (mut kept, mut ready) = (Collected::default(), Vec::new());
    while kept.events.len() < 10 {
        client.connection.flush().unwrap();
        client.poll.wait(Nanos::from_secs(20), &mut ready).unwrap();
        let one = ready.pop().expect("something comes within 20 s");
        let read = client
            .connection
            .ready(one.hung_up, &mut client.scratch, &mut kept);
        read.unwrap();
    }
    let expected: Vec<(u64, u16)> = (0..10).map(|owner| (owner, 200)).collect();
    assert_eq!(statuses(&kept.events), expected);
    for owner in 0..10 {
        assert_eq!(kept.bodies[&owner], *body(owner), "{owner}");
        let length = body(owner).len().to_string();
        let fields = [("x-served-by", "h2"), ("content-length", &length)];
        for (name, value) in fields {
            let field = (name.to_owned(), value.to_owned());
            assert!(
                kept.fields[&owner].contains(&field),
                "{:?}",
                kept.fields[&owner]
            );
        }
        assert!(kept.fields[&owner].iter().all(|(name, _)| name != "x-end"));
    }
}

#[test]
fn a_reset_stream_leaves_the_others_alone_and_a_cancelled_one_is_forgotten() {
    let address = serve(10);
    let mut client = Client::connect(address);
    client
        .connection
        .start(&request(address, "GET", "/reset", b""), 1);
    let slow = client
        .connection
        .start(&request(address, "GET", "/large/9000000", b""), 2);
    client
        .connection
        .start(&request(address, "GET", "/", b""), 3);
    client.connection.cancel(slow);
    let mut events = client.events(2).unwrap();
    events.sort_by_key(|event| matches!(event, Event::Answered { .. }));
    assert!(
        matches!(&events[0], Event::Failed { owner: 1, failure } if failure.outcome == Outcome::Reset && failure.reason.contains("REFUSED"))
    );
    assert!(matches!(events[1], Event::Answered { owner: 3, .. }));
    client
        .connection
        .start(&request(address, "GET", "/", b""), 4);
    assert_eq!(statuses(&client.events(1).unwrap()), [(4, 200)]);
}

#[test]
fn a_server_that_leaves_loses_no_request() {
    let address = serve(100);
    let leave = request(address, "GET", "/leave", b"");
    let (mut done, mut connections) = (0, 0);
    while done < 60 {
        let mut client = Client::connect(address);
        connections += 1;
        let started = client.connection.vacant().min(10);
        for owner in 0..started {
            client.connection.start(&leave, owner as u64);
        }
        for event in client.events(started).unwrap() {
            match event {
                Event::Answered { .. } => done += 1,
                Event::Unprocessed { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(connections > 5);
}

/// The server names the last request that it looked at and closes at once: what was on its way to it meets a reset, and
/// that comes to light with a write.
#[test]
fn what_a_server_said_before_it_closed_is_heard_although_a_write_failed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (greeted, go) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        // Its settings, empty.
        socket.write_all(b"\0\0\0\x04\0\0\0\0\0").unwrap();
        go.recv().unwrap();
        // What the client has said by now stays unread.
        let said = socket.peek(&mut [0; 1024]).unwrap();
        assert!(said > 24);
        socket
            .write_all(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0")
            .unwrap();
    });
    let mut client = Client::connect(address);
    let get = request(address, "GET", "/", b"");
    for owner in 1..=3 {
        client.connection.start(&get, owner);
    }
    client.connection.flush().unwrap();
    greeted.send(()).unwrap();
    server.join().unwrap();
    client.connection.start(&get, 4);
    // The reset is here as soon as the socket is closed; the first write that meets it says so.
    let failure = client.connection.flush().unwrap_err();
    assert_eq!(failure.outcome, Outcome::Reset);
    let mut events = Vec::new();
    let failure = client
        .connection
        .read_last(failure, &mut client.scratch, &mut events);
    assert!(
        matches!(failure.peer_error, Some(PeerError::GoAway(_))),
        "{failure:?}: why it left, so that nobody takes the request for one that it never saw"
    );
    let owners = events.iter().map(|event| match event {
        Event::Unprocessed { owner, .. } => *owner,
        other => panic!("{other:?}"),
    });
    assert_eq!(owners.collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(client.connection.take_owners(), [1]);
}

/// What comes with the end of the connecting raises no event of its own.
#[test]
fn a_server_that_speaks_or_closes_before_the_client_does_is_heard_at_once() {
    for settings in [None, Some(b"\0\0\0\x04\0\0\0\0\0")] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let setup = Setup {
            address: address.into(),
            tunnel: None,
            tls: None,
            head_request: false,
        };
        let mut connection: Connection = Connection::open(None, &setup).unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        match settings {
            None => socket.shutdown(std::net::Shutdown::Write).unwrap(),
            Some(bytes) => socket.write_all(bytes).unwrap(),
        }
        // Only now does the client look: its first event is both.
        let poll = Poll::new().unwrap();
        poll.add(&connection, 0).unwrap();
        let (mut ready, mut scratch) = (Vec::new(), vec![0; SCRATCH_BYTES]);
        poll.wait(Nanos::from_secs(20), &mut ready).unwrap();
        let mut events = Vec::new();
        let read = connection.ready(ready[0].hung_up, &mut scratch, &mut events);
        match settings {
            None => assert_eq!(read.unwrap_err().outcome, Outcome::Eof),
            Some(_) => assert_eq!(events, [Event::Connected]),
        }
    }
}

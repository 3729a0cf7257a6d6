//! A connection of HTTP/1.1 whose server answers early, leaves in a hurry, or says more than is read at once.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use plimsoll_base::poll::Poll;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::h1::Answer;
use plimsoll_net::{Connection, Failure, Progress, Reached};
use plimsoll_net::{SCRATCH_BYTES, Setup};

/// A connection with its poll.
struct Client {
    connection: Connection,
    poll: Poll,
    scratch: Vec<u8>,
}

impl Client {
    /// Connected, with the other end.
    fn connect() -> (Self, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let setup = Setup {
            address: listener.local_addr().unwrap().into(),
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
        assert_eq!(client.progress(b""), Progress::Connected);
        (client, listener.accept().unwrap().0)
    }

    /// What the next event leads to that leads to something.
    fn progress(&mut self, request: &[u8]) -> Progress {
        let mut ready = Vec::new();
        loop {
            self.poll.wait(Nanos::from_secs(20), &mut ready).unwrap();
            let event = ready.pop().expect("something comes within 20 s");
            loop {
                let (connection, scratch) = (&mut self.connection, &mut self.scratch);
                match connection.ready(request, event.hung_up, scratch) {
                    Progress::Pending if connection.has_more() => {}
                    Progress::Pending => break,
                    progress => return progress,
                }
            }
        }
    }

    fn answer(&mut self, request: &[u8]) -> Answer {
        match self.progress(request) {
            Progress::Answered(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// How it fails.
    fn failure(&mut self, request: &[u8]) -> Failure {
        match self.progress(request) {
            Progress::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }
}

/// Far more than both sockets hold.
fn large_upload(method: &str) -> Vec<u8> {
    let body = vec![b'x'; 64 << 20];
    let head = format!(
        "{method} / HTTP/1.1\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), &body].concat()
}

#[test]
fn an_answer_before_the_end_of_its_request_is_the_last_of_its_connection() {
    let (mut client, mut server) = Client::connect();
    let request = large_upload("POST");
    client.connection.send(&request).unwrap();
    assert!(!client.connection.has_written(&request));
    server.read_exact(&mut [0; 100]).unwrap();
    let early = b"HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n";
    server.write_all(early).unwrap();
    let answer = client.answer(&request);
    assert_eq!((answer.status, answer.keepalive), (401, false));
}

#[test]
fn an_answer_after_the_whole_request_keeps_its_connection() {
    let (mut client, mut server) = Client::connect();
    let request = b"GET / HTTP/1.1\r\n\r\n";
    client.connection.send(request).unwrap();
    let whole = b"HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n";
    server.write_all(whole).unwrap();
    let answer = client.answer(request);
    assert_eq!((answer.status, answer.keepalive), (401, true));
}

/// The server closes with most of the request unread, which resets the connection: writing fails before the answer is read.
#[test]
fn an_answer_is_heard_although_the_rest_of_its_request_cannot_be_written() {
    let (mut client, mut server) = Client::connect();
    let request = large_upload("PUT");
    client.connection.send(&request).unwrap();
    server.read_exact(&mut [0; 100]).unwrap();
    let refusal = b"HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
    server.write_all(refusal).unwrap();
    drop(server);
    let answer = client.answer(&request);
    assert_eq!((answer.status, answer.keepalive), (413, false));
}

/// Half an answer is none.
#[test]
fn a_failed_write_counts_where_the_answer_is_not_whole() {
    let (mut client, mut server) = Client::connect();
    let request = large_upload("PUT");
    client.connection.send(&request).unwrap();
    server.read_exact(&mut [0; 100]).unwrap();
    let part = b"HTTP/1.1 413 X\r\nContent-Length: 9\r\n\r\nno";
    server.write_all(part).unwrap();
    drop(server);
    let failure = client.failure(&request);
    assert_eq!(failure.outcome, Outcome::Reset);
    assert_eq!(failure.reached, Reached::Answer);
}

/// Nothing reads at the other end any more: the socket takes some, and says at the next that the connection was reset.
#[test]
fn what_was_written_before_a_write_failed_counts_as_written() {
    let (mut client, server) = Client::connect();
    drop(server);
    let request = large_upload("POST");
    let failure = match client.connection.send(&request) {
        Err(failure) => failure,
        Ok(()) => client.failure(&request),
    };
    assert_eq!(failure.reached, Reached::Written, "{failure}");
}

/// One that sends faster than its answer is read would keep a thread from all its other connections.
#[test]
fn others_have_their_turn_before_a_long_answer_is_read_to_its_end() {
    let (mut client, mut server) = Client::connect();
    let request = b"GET / HTTP/1.1\r\n\r\n";
    client.connection.send(request).unwrap();
    let head = b"HTTP/1.1 200 X\r\nContent-Length: 60000\r\n\r\n";
    server.write_all(head).unwrap();
    server.write_all(&vec![b'x'; 60_000]).unwrap();
    client.scratch.truncate(1000);
    let mut turns = 1;
    let last = loop {
        let (connection, scratch) = (&mut client.connection, &mut client.scratch);
        match connection.ready(request, false, scratch) {
            Progress::Pending if connection.has_more() => turns += 1,
            last => break last,
        }
    };
    assert!(matches!(last, Progress::Answered(answer) if answer.keepalive));
    assert_eq!(turns, 4, "60,039 bytes, 16 reads of 1000 each");
    assert!(!client.connection.has_more());
}

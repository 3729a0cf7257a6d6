//! TLS against a real rustls server: small and large answers, unverified chains, the close.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use plimsoll_core::Outcome;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{Case, case, closed, options, play, preflight};

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// Answers every request with `bytes` of body; closes after each when told to.
fn serve(bytes: usize, close: bool) -> u16 {
    serve_with(move |stream| answer(stream, bytes, close))
}

/// Hands every connection to `answer`, on a thread of its own.
fn serve_with(answer: impl Fn(Stream) + Clone + Send + 'static) -> u16 {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            let answer = answer.clone();
            std::thread::spawn(move || answer(StreamOwned::new(session, stream)));
        }
    });
    port
}

/// Answers once a request and `bytes` of its body have come.
fn take_body(mut stream: Stream, bytes: usize) {
    let mut came = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        came.extend_from_slice(&buffer[..read]);
        let head = came.windows(4).position(|four| four == b"\r\n\r\n");
        if head.is_some_and(|end| came.len() >= end + 4 + bytes) {
            came.clear();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

fn answer(mut stream: Stream, bytes: usize, close: bool) {
    let connection = if close { "Connection: close\r\n" } else { "" };
    let head = format!("HTTP/1.1 200 OK\r\n{connection}Content-Length: {bytes}\r\n\r\n");
    let body = vec![b'x'; bytes];
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        if stream.write_all(head.as_bytes()).is_err() || stream.write_all(&body).is_err() {
            return;
        }
        if close {
            stream.conn.send_close_notify();
            let _gone = stream.flush();
            return;
        }
    }
}

/// Answers a request in two records that come at once: the whole answer, and more.
fn answer_twice(mut stream: Stream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        for record in [&answer[..], b"and more"] {
            stream.conn.writer().write_all(record).unwrap();
        }
        if stream.flush().is_err() {
            return;
        }
    }
}

/// Answers a request and says that nothing more comes, and then something does.
fn answer_and_go_on(mut stream: Stream) {
    let mut buffer = [0; 4096];
    if stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        stream.conn.writer().write_all(answer).unwrap();
        stream.conn.send_close_notify();
        let mut wire = Vec::new();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut wire).unwrap();
        }
        wire.extend_from_slice(b"what nobody may read");
        let _gone = stream.sock.write_all(&wire);
        // The client closes; bytes that nobody read would make the close a reset.
        let _closed = stream.sock.read(&mut buffer);
    }
}

/// Takes a request of so many bytes with pauses in which its client's socket fills up.
fn take_slowly(mut stream: Stream, bytes: usize) {
    let mut buffer = vec![0; 1 << 20];
    let mut came = 0;
    while came < bytes {
        std::thread::sleep(std::time::Duration::from_millis(3));
        let mut at_once = 0;
        while at_once < 1 << 20 && came < bytes {
            let Ok(read @ 1..) = stream.read(&mut buffer) else {
                return;
            };
            at_once += read;
            came += read;
        }
    }
    let answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let _gone = stream.write_all(answer).and_then(|()| stream.flush());
    let _closed = stream.read(&mut buffer);
}

fn https(port: u16) -> Case {
    let mut case = case(port, 1);
    case.url.request.url = format!("https://localhost:{port}/");
    case.generator.insecure = true;
    case.generator.timeout = plimsoll_core::Nanos::from_secs(5);
    case
}

#[test]
fn answers_of_any_size_arrive_whole() {
    // One record, several records, more than all buffers together, more than is read at once.
    for bytes in [0, 2, 20_000, 1_000_000, 5_000_000] {
        let port = serve(bytes, false);
        let played = play(&https(port), Some(40), &[(closed(4), 30)]);
        played.check_flows();
        let tally = played.tally();
        assert_eq!(
            tally.ok(),
            40,
            "{bytes} bytes: {:?}",
            tally.occurred().collect::<Vec<_>>()
        );
        assert!(tally.bytes() >= 40 * bytes as u64);
    }
}

/// TLS takes 64 KiB at a time: a request that is longer once waited for a socket that was not full.
#[test]
fn requests_of_any_size_arrive_whole() {
    for bytes in [60_000, 66_000, 100_000, 200_000, 3_000_000] {
        let port = serve_with(move |stream| take_body(stream, bytes));
        let mut case = https(port);
        case.url.request.method = "POST".to_owned();
        case.url.request.body = vec![b'x'; bytes];
        let played = play(&case, Some(8), &[(closed(2), 30)]);
        played.check_flows();
        assert_eq!(played.tally().ok(), 8, "{bytes} bytes");
    }
}

/// A socket that was full takes all that TLS had ready, and raises no edge because it is not full any more.
#[test]
fn an_upload_goes_on_after_its_server_has_read_nothing_for_a_while() {
    let body = 12_000_000;
    let port = serve_with(move |stream| take_slowly(stream, body));
    let mut case = https(port);
    case.url.request.method = "POST".to_owned();
    case.url.request.body = vec![b'x'; body];
    case.generator.timeout = plimsoll_core::Nanos::from_secs(20);
    let played = play(&case, Some(12), &[(closed(2), 60)]);
    played.check_flows();
    let tally = played.tally();
    let got = tally.occurred().collect::<Vec<_>>();
    assert_eq!(tally.ok(), 12, "{got:?}");
}

#[test]
fn a_whole_answer_counts_although_more_follows() {
    let port = serve_with(answer_twice);
    let played = play(&https(port), Some(20), &[(closed(2), 30)]);
    played.check_flows();
    assert_eq!(played.tally().ok(), 20, "{:?}", played.tally());
}

/// The worker once turned in a loop from there on.
#[test]
fn bytes_behind_the_end_of_tls_mean_nothing() {
    let port = serve_with(answer_and_go_on);
    let played = play(&https(port), Some(20), &[(closed(2), 30)]);
    played.check_flows();
    assert_eq!(played.tally().ok(), 20, "{:?}", played.tally());
}

#[test]
fn a_handshake_per_request_loses_nothing() {
    for (close, keepalive) in [(true, true), (true, false), (false, false)] {
        let port = serve(100, close);
        let mut case = https(port);
        case.generator.keepalive = keepalive;
        let played = play(&case, Some(60), &[(closed(4), 30)]);
        played.check_flows();
        assert_eq!(played.tally().ok(), 60);
    }
}

#[test]
fn an_unknown_authority_is_refused_in_words_unless_told_otherwise() {
    let port = serve(2, false);
    let mut strict = https(port);
    strict.generator.insecure = false;
    let failure = preflight(&options(&strict)).unwrap_err();
    assert_eq!(failure.outcome, Outcome::Tls);
    assert!(failure.reason.contains("certificate"), "{}", failure.reason);
    assert!(preflight(&options(&https(port))).is_ok());
}

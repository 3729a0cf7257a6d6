//! TLS against a real rustls server: small and large answers, unverified chains, the close.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use plimsoll_core::Outcome;
use plimsoll_engine::preflight::preflight;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{Case, case, closed, options, play};

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

fn https(port: u16) -> Case {
    let mut case = case(port, 1);
    case.url.request.url = format!("https://localhost:{port}/");
    case.generator.insecure = true;
    case.generator.timeout = plimsoll_core::Nanos::from_secs(5);
    case
}

#[test]
fn answers_of_any_size_arrive_whole() {
    // One record, several records, more than all buffers together.
    for bytes in [0, 2, 20_000, 1_000_000] {
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

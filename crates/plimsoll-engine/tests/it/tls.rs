//! TLS against a real rustls server: small and large answers, unverified chains, the close.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use plimsoll_core::Outcome;
use plimsoll_core::plan::Plan;
use plimsoll_engine::Options;
use plimsoll_engine::preflight::preflight;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{closed, plan, play};

/// Answers every request with `bytes` of body; closes after each when told to.
fn serve(bytes: usize, close: bool) -> u16 {
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
            std::thread::spawn(move || answer(StreamOwned::new(session, stream), bytes, close));
        }
    });
    port
}

fn answer(
    mut stream: StreamOwned<ServerConnection, std::net::TcpStream>,
    bytes: usize,
    close: bool,
) {
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

fn https(port: u16) -> Plan {
    let mut plan = plan(port, 1);
    plan.request.url = format!("https://localhost:{port}/");
    plan.insecure = true;
    plan.timeout_ns = plimsoll_core::Nanos::from_secs(5);
    plan
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

#[test]
fn a_handshake_per_request_loses_nothing() {
    for (close, keepalive) in [(true, true), (true, false), (false, false)] {
        let port = serve(100, close);
        let plan = Plan {
            keepalive,
            ..https(port)
        };
        let played = play(&plan, Some(60), &[(closed(4), 30)]);
        played.check_flows();
        assert_eq!(played.tally().ok(), 60);
    }
}

#[test]
fn an_unknown_authority_is_refused_in_words_unless_told_otherwise() {
    let port = serve(2, false);
    let strict = Plan {
        insecure: false,
        ..https(port)
    };
    let failure = preflight(&Options::new(&strict, None).unwrap()).unwrap_err();
    assert_eq!(failure.outcome, Outcome::Tls);
    assert!(failure.reason.contains("certificate"), "{}", failure.reason);
    assert!(preflight(&Options::new(&https(port), None).unwrap()).is_ok());
}

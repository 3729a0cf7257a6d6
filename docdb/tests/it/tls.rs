//! `--tls-cert`: clients over TLS, and those who come without it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use bson::{Document, doc};
use plimsoll_docdb::internals::{HEADER_BYTES, Header};
use plimsoll_docdb::server::{Config, Server, ServerError, TlsFiles};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{Client, config, message, start};
use crate::folder::Folder;

type Secret = StreamOwned<ClientConnection, TcpStream>;

/// A certificate and its key as files, and what a client trusts.
fn certificate(folder: &Folder) -> (TlsFiles, Arc<ClientConfig>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles {
        certificate: folder.path().join("tls.crt"),
        key: folder.path().join("tls.key"),
    };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let trust = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (files, Arc::new(trust))
}

fn serve() -> (Folder, Server, Arc<ClientConfig>) {
    let folder = Folder::new("it");
    let (files, trust) = certificate(&folder);
    let server = start(Config {
        tls: Some(files),
        ..config(&folder)
    });
    (folder, server, trust)
}

fn connect(server: &Server, trust: &Arc<ClientConfig>) -> Secret {
    let name = ServerName::try_from("localhost").unwrap();
    let tls = ClientConnection::new(Arc::clone(trust), name).unwrap();
    StreamOwned::new(tls, Client::connect(server.address()).stream)
}

fn reply(stream: &mut Secret) -> Document {
    let mut head = [0; HEADER_BYTES];
    stream.read_exact(&mut head).unwrap();
    let length = Header::read(&head).unwrap().unwrap().length;
    let mut body = vec![0; length - HEADER_BYTES];
    stream.read_exact(&mut body).unwrap();
    Document::from_reader(&body[5..]).unwrap()
}

fn ok(stream: &mut Secret, mut command: Document) -> Document {
    command.insert("$db", "db");
    stream.write_all(&message(0, &command)).unwrap();
    let reply = reply(stream);
    assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{reply}");
    reply
}

#[test]
fn commands_and_replies_of_any_size_go_through_tls() {
    let (_folder, server, trust) = serve();
    let mut client = connect(&server, &trust);
    ok(&mut client, doc! { "ping": 1 });
    // More than a record, a buffer of the socket and a buffer of TLS hold.
    let wide = "x".repeat(1 << 20);
    for id in 0..12 {
        let insert = doc! { "insert": "wide", "documents": [{ "_id": id, "text": &wide }] };
        assert_eq!(ok(&mut client, insert).get_i32("n").unwrap(), 1);
    }
    for _ in 0..3 {
        let found = ok(&mut client, doc! { "find": "wide" });
        let batch = found.get_document("cursor").unwrap();
        assert_eq!(batch.get_array("firstBatch").unwrap().len(), 12);
    }
    // Messages in one record, and a message in many.
    let ping = message(0, &doc! { "ping": 1, "$db": "db" });
    client.write_all(&ping.repeat(20)).unwrap();
    for _ in 0..20 {
        assert_eq!(reply(&mut client).get_f64("ok").unwrap(), 1.0);
    }
    for byte in &ping {
        client.write_all(&[*byte]).unwrap();
    }
    assert_eq!(reply(&mut client).get_f64("ok").unwrap(), 1.0);
    // Metrics, too, are at the same port.
    let mut page = connect(&server, &trust);
    page.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    page.read_to_string(&mut text).expect("a proper end");
    assert!(text.contains("docdb_connections"), "{text}");
    server.stop().unwrap();
}

#[test]
fn a_client_that_does_not_read_through_tls_blocks_nobody_else() {
    let (_folder, server, trust) = serve();
    let (mut good, mut slow) = (connect(&server, &trust), connect(&server, &trust));
    let wide = "x".repeat(1 << 20);
    for id in 0..12 {
        let insert = doc! { "insert": "wide", "documents": [{ "_id": id, "text": &wide }] };
        ok(&mut good, insert);
    }
    let find = message(0, &doc! { "find": "wide", "$db": "db" });
    slow.write_all(&find.repeat(4)).unwrap();
    for _ in 0..50 {
        ok(&mut good, doc! { "ping": 1 });
    }
    for _ in 0..4 {
        let found = reply(&mut slow);
        let batch = found.get_document("cursor").unwrap();
        assert_eq!(batch.get_array("firstBatch").unwrap().len(), 12);
    }
    server.stop().unwrap();
}

#[test]
fn who_speaks_plainly_is_told_what_to_do_and_hears_nothing_else() {
    let (_folder, server, trust) = serve();
    let mut plain = Client::connect(server.address());
    let told = plain.command("admin", doc! { "hello": 1 });
    assert_eq!(told.get_i32("code").unwrap(), 141, "{told}");
    assert!(
        told.get_str("errmsg").unwrap().contains("tls=true"),
        "{told}"
    );
    assert!(plain.is_closed());
    let mut page = Client::connect(server.address());
    page.stream
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    page.stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 400") && !text.contains("docdb_connections"));
    // A greeting that is none: an alert, and the end.
    let mut greeting = vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    greeting.resize(0x205, 0x5a);
    let mut bad = Client::connect(server.address());
    bad.stream.write_all(&greeting).unwrap();
    let mut answer = Vec::new();
    bad.stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer.first(), Some(&21), "an alert: {answer:?}");
    // Half a handshake holds nobody up.
    let mut half = Client::connect(server.address());
    half.stream.write_all(&greeting[..7]).unwrap();
    ok(&mut connect(&server, &trust), doc! { "ping": 1 });
    server.stop().unwrap();
}

#[test]
fn files_that_will_not_do_are_named_before_anyone_connects() {
    let folder = Folder::new("it");
    let (good, _) = certificate(&folder);
    let other = Folder::new("it");
    let (stranger, _) = certificate(&other);
    let missing = folder.path().join("missing.pem");
    let refused = |certificate: &PathBuf, key: &PathBuf| {
        let files = TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
        };
        let started = Server::start(Config {
            tls: Some(files),
            ..config(&folder)
        });
        let error: ServerError = started.expect_err("refused");
        error.to_string()
    };
    for (certificate, key, words) in [
        (&missing, &good.key, "missing.pem"),
        (&good.key, &good.key, "holds no certificate"),
        (&good.certificate, &good.certificate, "holds no private key"),
        (&good.certificate, &stranger.key, "does not go with"),
    ] {
        let text = refused(certificate, key);
        assert!(text.contains(words), "{text}");
    }
    // One file may hold both.
    let both = folder.path().join("both.pem");
    let pem = [&good.certificate, &good.key].map(|path| std::fs::read_to_string(path).unwrap());
    std::fs::write(&both, pem.concat()).unwrap();
    let server = start(Config {
        tls: Some(TlsFiles {
            certificate: both.clone(),
            key: both,
        }),
        ..config(&folder)
    });
    server.stop().unwrap();
}

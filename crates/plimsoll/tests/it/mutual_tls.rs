//! `tlsAuth` against a server that demands a certificate of its clients.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::support::{Folder, plimsoll};

fn made(name: &str) -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed([name.to_owned()]).unwrap()
}

/// Answers whoever shows the certificate of `client`, with the TLS versions given.
fn serve(
    client: &CertifiedKey<KeyPair>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> u16 {
    let own = made("localhost");
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(client.cert.der().clone()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || answer(StreamOwned::new(session, stream)));
        }
    });
    port
}

fn answer(mut stream: StreamOwned<ServerConnection, std::net::TcpStream>) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        if stream.write_all(head).is_err() {
            return;
        }
    }
    // A refused client gets the reason; closed with its request unread, the socket would be reset.
    let _gone = stream.conn.complete_io(&mut stream.sock);
    let _gone = stream.sock.shutdown(std::net::Shutdown::Write);
    while stream.sock.read(&mut buffer).is_ok_and(|read| read > 0) {}
}

fn save(folder: &Folder, name: &str, made: &CertifiedKey<KeyPair>) {
    std::fs::write(folder.file(&format!("{name}.pem")), made.cert.pem()).unwrap();
    std::fs::write(
        folder.file(&format!("{name}.key")),
        made.signing_key.serialize_pem(),
    )
    .unwrap();
}

/// What the script says of one request, with these entries of `tlsAuth`.
fn said(folder: &Folder, port: u16, entries: &str) -> String {
    let text = format!(
        "import http from 'k6/http';
         export const options = {{ insecureSkipTLSVerify: true, tlsAuth: [{entries}] }};
         export default () => {{
           const r = http.get('https://127.0.0.1:{port}/');
           console.log(`said ${{r.status}} ${{r.body}} ${{r.error_code}} ${{r.error}}`);
         }}"
    );
    let script = folder.file("script.js");
    std::fs::write(&script, text).unwrap();
    let (code, out, err) = plimsoll(folder, &["run", &script, "--no-record", "--quiet"]);
    assert_eq!(code, 0, "{out}{err}");
    let line = err.lines().find(|line| line.contains("said "));
    line.unwrap_or_else(|| panic!("{err}")).to_owned()
}

#[test]
fn a_client_certificate_is_shown_where_it_is_demanded() {
    let folder = Folder::new();
    let (ours, foreign) = (made("ours"), made("foreign"));
    save(&folder, "ours", &ours);
    save(&folder, "foreign", &foreign);
    let entry = |name: &str, domains: &str| {
        format!("{{ domains: [{domains}], cert: open('{name}.pem'), key: open('{name}.key') }}")
    };
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let port = serve(&ours, &[version]);
        for (entries, wanted) in [
            (entry("ours", "'127.0.0.1'"), "said 200 hi"),
            (entry("ours", ""), "said 200 hi"),
            (
                format!(
                    "{}, {}",
                    entry("foreign", "'other.test'"),
                    entry("ours", "'127.*'")
                ),
                "said 0 null 13",
            ),
            (entry("foreign", "'127.0.0.1'"), "said 0 null 13"),
            (entry("ours", "'other.test'"), "said 0 null 13"),
            (String::new(), "said 0 null 13"),
        ] {
            let said = said(&folder, port, &entries);
            assert!(
                said.contains(wanted),
                "{version:?} {entries}: {wanted} in {said}"
            );
        }
    }
}

//! Unix sockets and TLS, on both sides.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_guard::{Certificate, Config, Dial, GuardError, Place, run};
use plimsoll_net::tls::{ClientConfig, Offer, TlsChoice, client_config_of, server_name};
use tokio_rustls::rustls::{ClientConnection, StreamOwned};

use crate::support::{OK, Started, Upstream, config, eventually, metric, sent, started};

const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// A folder of this test's own, removed at its end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("plimsoll-guard-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn fails(config: Config) -> GuardError {
    run(&config, |listening| panic!("listens on {listening:?}")).unwrap_err()
}

fn over(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(GET.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn both_sides_may_be_unix_sockets_and_one_left_behind_is_replaced() {
    let folder = Folder::new("unix");
    let (front, back) = (folder.0.join("front"), folder.0.join("back"));
    let upstream = Upstream::answering(OK);
    // What a guard that was killed leaves behind.
    drop(std::os::unix::net::UnixListener::bind(&back).unwrap());
    let inner = Config {
        listen: Place::Unix(back.clone()),
        ..config(upstream.address.into(), Rule::HalfLoad)
    };
    started(inner.clone());
    let outer = Config {
        listen: Place::Unix(front.clone()),
        ..config(Dial::plain(Place::Unix(back.clone())), Rule::HalfLoad)
    };
    started(outer);
    assert!(over(&front).ends_with("ok\n"));
    assert_eq!(
        fs::metadata(&front).unwrap().permissions().mode() & 0o777,
        0o660
    );
    assert!(upstream.requests().contains("X-Forwarded-For: 127.0.0.1"));
    // One that is listened on, and a file that is no socket, stay.
    assert!(
        fails(inner.clone())
            .to_string()
            .contains("somebody listens there already")
    );
    let file = folder.0.join("file");
    fs::write(&file, "precious").unwrap();
    let wrong = Config {
        listen: Place::Unix(file.clone()),
        ..inner
    };
    assert!(fails(wrong).to_string().contains("is no socket"));
    assert_eq!(fs::read_to_string(file).unwrap(), "precious");
}

/// Makes a certificate for a name and writes it and its key; its text, which is also its authority.
fn certificate(folder: &Path, name: &str) -> (Certificate, String) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (chain, key) = (
        folder.join(format!("{name}.pem")),
        folder.join(format!("{name}.key")),
    );
    fs::write(&chain, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (
        Certificate {
            chain,
            key: Some(key),
        },
        made.cert.pem(),
    )
}

fn client(authorities: &str, offer: Offer) -> Arc<ClientConfig> {
    client_config_of(&TlsChoice {
        authorities: authorities.to_owned(),
        offer,
        ..TlsChoice::default()
    })
    .unwrap()
}

type Secure = StreamOwned<ClientConnection, TcpStream>;

fn secure(address: SocketAddr, name: &str, config: &Arc<ClientConfig>) -> Secure {
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let name = server_name(name).unwrap();
    StreamOwned::new(
        ClientConnection::new(Arc::clone(config), name).unwrap(),
        stream,
    )
}

/// The answer, or why the certificate is not taken.
fn asked(address: SocketAddr, name: &str, authorities: &str) -> Result<String, String> {
    let mut stream = secure(address, name, &client(authorities, Offer::Http1));
    stream
        .write_all(GET.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    Ok(text)
}

fn with_tls(upstream: SocketAddr, certificates: Vec<Certificate>) -> Started {
    started(Config {
        certificates,
        ..config(upstream.into(), Rule::HalfLoad)
    })
}

#[test]
fn each_name_is_shown_its_certificate_and_files_are_read_again_on_sighup() {
    let folder = Folder::new("tls");
    let (one, one_pem) = certificate(&folder.0, "one.test");
    let (two, two_pem) = certificate(&folder.0, "two.test");
    let upstream = Upstream::answering(OK);
    let listening = with_tls(upstream.address, vec![one, two]);
    assert!(
        asked(listening.proxy, "one.test", &one_pem)
            .unwrap()
            .ends_with("ok\n")
    );
    assert!(
        asked(listening.proxy, "two.test", &two_pem)
            .unwrap()
            .ends_with("ok\n")
    );
    assert!(upstream.requests().contains("X-Forwarded-Proto: https"));
    let unknown = asked(listening.proxy, "three.test", &one_pem).unwrap_err();
    assert!(unknown.contains("certificate"), "{unknown}");
    // Plain words where TLS is expected end the connection and reach nobody.
    assert!(!sent(listening.proxy, GET).contains("HTTP/1.1"));
    let (_, newer) = certificate(&folder.0, "one.test");
    assert!(asked(listening.proxy, "one.test", &newer).is_err());
    let renew = || {
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::HUP).unwrap();
    };
    renew();
    eventually("the new certificate", || {
        asked(listening.proxy, "one.test", &newer).is_ok()
    });
    // What is of no use changes nothing.
    fs::write(folder.0.join("two.test.pem"), "nonsense").unwrap();
    renew();
    let refused = "certificates_total{outcome=\"refused\"}";
    eventually("a refusal", || metric(listening, refused) > 0.5);
    assert!(asked(listening.proxy, "two.test", &two_pem).is_ok());
}

#[test]
fn an_upstream_in_tls_is_verified() {
    let folder = Folder::new("upstream");
    let (own, pem) = certificate(&folder.0, "localhost");
    let upstream = Upstream::answering(OK);
    let inner = with_tls(upstream.address, vec![own]);
    let place = Place::Tcp(inner.proxy);
    let dial = Dial::secure(place.clone(), "localhost", &pem).unwrap();
    let fine = started(config(dial, Rule::HalfLoad));
    for _ in 0..3 {
        assert!(sent(fine.proxy, GET).ends_with("ok\n"));
    }
    let (_, other) = certificate(&folder.0, "other.test");
    for (name, authorities) in [("localhost", &other), ("other.test", &pem)] {
        let dial = Dial::secure(place.clone(), name, authorities).unwrap();
        let wrong = started(config(dial, Rule::HalfLoad));
        assert!(sent(wrong.proxy, GET).contains("X-Plimsoll: unreachable"));
    }
}

#[test]
fn certificates_of_no_use_are_named_at_the_start() {
    let folder = Folder::new("wrong");
    let (own, _) = certificate(&folder.0, "a.test");
    let (other, _) = certificate(&folder.0, "b.test");
    let upstream: SocketAddr = ([127, 0, 0, 1], 9).into();
    let start = |certificate: Certificate| {
        let config = config(upstream.into(), Rule::HalfLoad);
        fails(Config {
            certificates: vec![certificate],
            ..config
        })
        .to_string()
    };
    let mixed = Certificate {
        key: other.key,
        ..own.clone()
    };
    assert!(start(mixed).contains("a.test.pem"));
    let missing = Certificate {
        chain: folder.0.join("none.pem"),
        key: None,
    };
    assert!(start(missing).contains("none.pem"));
    let keyless = Certificate { key: None, ..own };
    assert!(start(keyless).contains("a.test.pem"));
}
